/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse DCT of two blocks at once (AVX2). */
#include "codec/idct.h"

#if defined(__x86_64__)
#include <immintrin.h>

typedef __m256i vector;
typedef int shift_count;
#define V(name) _mm256_##name
#define ZERO _mm256_setzero_si256()
#include "codec/idct_vector.h"

/* Natural order <- zigzag order by byte shuffles. Row y of a block comes from zigzag positions ROW_<y>; the
 * ones out of coefficients 8 s .. 8 s + 7 are picked by a mask MASK(s, ROW_<y>), the others become 0. */
#define ROW_0 0, 1, 5, 6, 14, 15, 27, 28
#define ROW_1 2, 4, 7, 13, 16, 26, 29, 42
#define ROW_2 3, 8, 12, 17, 25, 30, 41, 43
#define ROW_3 9, 11, 18, 24, 31, 40, 44, 53
#define ROW_4 10, 19, 23, 32, 39, 45, 52, 54
#define ROW_5 20, 22, 33, 38, 46, 51, 55, 60
#define ROW_6 21, 34, 37, 47, 50, 56, 59, 61
#define ROW_7 35, 36, 48, 49, 57, 58, 62, 63
#define PICK(s, k) ((k) / 8 == (s) ? 2 * ((k) % 8) : 0x80), ((k) / 8 == (s) ? 2 * ((k) % 8) + 1 : 0x80)
#define MASK_OF(s, a, b, c, d, e, f, g, h)                                                                   \
    {                                                                                                        \
        PICK(s, a), PICK(s, b), PICK(s, c), PICK(s, d), PICK(s, e), PICK(s, f), PICK(s, g), PICK(s, h)       \
    }
#define MASK(s, row) MASK_OF(s, row)

static const uint8_t MASKS[36][16] __attribute__((aligned(16))) = {
    MASK(0, ROW_0), MASK(1, ROW_0), MASK(3, ROW_0),
    MASK(0, ROW_1), MASK(1, ROW_1), MASK(2, ROW_1), MASK(3, ROW_1), MASK(5, ROW_1),
    MASK(0, ROW_2), MASK(1, ROW_2), MASK(2, ROW_2), MASK(3, ROW_2), MASK(5, ROW_2),
    MASK(1, ROW_3), MASK(2, ROW_3), MASK(3, ROW_3), MASK(5, ROW_3), MASK(6, ROW_3),
    MASK(1, ROW_4), MASK(2, ROW_4), MASK(4, ROW_4), MASK(5, ROW_4), MASK(6, ROW_4),
    MASK(2, ROW_5), MASK(4, ROW_5), MASK(5, ROW_5), MASK(6, ROW_5), MASK(7, ROW_5),
    MASK(2, ROW_6), MASK(4, ROW_6), MASK(5, ROW_6), MASK(6, ROW_6), MASK(7, ROW_6),
    MASK(4, ROW_7), MASK(6, ROW_7), MASK(7, ROW_7),
};

INLINE vector pick(vector from, int mask)
{
    return _mm256_shuffle_epi8(
        from, _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)MASKS[mask])));
}

/* The row whose masks begin at number `mask`, out of 3 or 5 registers. */
INLINE vector gather3(vector a, vector b, vector c, int mask)
{
    return _mm256_or_si256(_mm256_or_si256(pick(a, mask), pick(b, mask + 1)), pick(c, mask + 2));
}
INLINE vector gather5(vector a, vector b, vector c, vector d, vector e, int mask)
{
    return _mm256_or_si256(gather3(a, b, c, mask), _mm256_or_si256(pick(d, mask + 3), pick(e, mask + 4)));
}

INLINE vector load_pair(const int16_t *a, const int16_t *b)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)a);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}

/* r[y] = row y of both blocks, dequantised. */
INLINE void load_blocks(const int16_t *first, const int16_t *second, const uint16_t *quant, vector r[8])
{
    vector z[8];
    for (int i = 0; i < 8; i++) {
        vector q =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(quant + 8 * i)));
        z[i] = _mm256_mullo_epi16(load_pair(first + 8 * i, second + 8 * i), q);
    }
    r[0] = gather3(z[0], z[1], z[3], 0);
    r[1] = gather5(z[0], z[1], z[2], z[3], z[5], 3);
    r[2] = gather5(z[0], z[1], z[2], z[3], z[5], 8);
    r[3] = gather5(z[1], z[2], z[3], z[5], z[6], 13);
    r[4] = gather5(z[1], z[2], z[4], z[5], z[6], 18);
    r[5] = gather5(z[2], z[4], z[5], z[6], z[7], 23);
    r[6] = gather5(z[2], z[4], z[5], z[6], z[7], 28);
    r[7] = gather3(z[4], z[6], z[7], 33);
}

/* 16 columns of 8 rows. */
INLINE void store_rows(const vector rows[4], uint8_t *out, size_t stride)
{
    for (size_t i = 0; i < 4; i++) {
        vector v = _mm256_permute4x64_epi64(rows[i], 0xd8);
        _mm_storeu_si128((__m128i *)(void *)(out + 2 * i * stride), _mm256_castsi256_si128(v));
        _mm_storeu_si128((__m128i *)(void *)(out + (2 * i + 1) * stride), _mm256_extracti128_si256(v, 1));
    }
}

void stk_idct_row_avx2(const stk_idct_row *row)
{
    stk_idct_walk walk = {.block = row->coefs};
    for (uint32_t i = 0; i < row->n_blocks; i += 2) {
        const int16_t *first = stk_idct_next(&walk, row);
        const int16_t *second = i + 1 < row->n_blocks ? stk_idct_next(&walk, row) : first;
        vector r[8], rows[4];
        load_blocks(first, second, row->quant, r);
        rows_of_samples(r, rows);
        store_rows(rows, row->out + 8 * (size_t)i, row->stride);
    }
}

#endif
