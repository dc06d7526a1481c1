/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse DCT of two blocks at once (AVX2): one register holds a row of both blocks, one block a 128-bit
 * lane, so that the in-lane unpack and pack instructions do the transposition. */
#include "codec/idct.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define PAIR(a, b)                                                                                           \
    _mm256_set1_epi32((int)((uint32_t)(uint16_t)(int16_t)(a) | (uint32_t)(uint16_t)(int16_t)(b) << 16))

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

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i pick(__m256i from, int mask)
{
    return _mm256_shuffle_epi8(
        from, _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)MASKS[mask])));
}

/* The row whose masks begin at number `mask`, out of 3 or 5 registers. */
INLINE __m256i gather3(__m256i a, __m256i b, __m256i c, int mask)
{
    return _mm256_or_si256(_mm256_or_si256(pick(a, mask), pick(b, mask + 1)), pick(c, mask + 2));
}
INLINE __m256i gather5(__m256i a, __m256i b, __m256i c, __m256i d, __m256i e, int mask)
{
    return _mm256_or_si256(gather3(a, b, c, mask), _mm256_or_si256(pick(d, mask + 3), pick(e, mask + 4)));
}

INLINE __m256i load_pair(const int16_t *a, const int16_t *b)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)a);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}

/* r[y] = row y of both blocks, dequantised. */
INLINE void load_blocks(const int16_t *first, const int16_t *second, const uint16_t *quant, __m256i r[8])
{
    __m256i z[8];
    for (int i = 0; i < 8; i++) {
        __m256i q =
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

typedef struct halves {
    __m256i low, high; /* 32-bit values of words 0..3 and 4..7 of each lane */
} halves;

INLINE halves multiply_pairs(__m256i a, __m256i b, __m256i pair)
{
    return (halves){_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair),
                    _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair)};
}
INLINE halves add(halves a, halves b)
{
    return (halves){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
INLINE halves subtract(halves a, halves b)
{
    return (halves){_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
/* v * 2^13 + round. */
INLINE halves scale(__m256i v, __m256i round)
{
    const __m256i zero = _mm256_setzero_si256();
    return (halves){
        _mm256_add_epi32(_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, v), 16 - STK_IDCT_BITS), round),
        _mm256_add_epi32(_mm256_srai_epi32(_mm256_unpackhi_epi16(zero, v), 16 - STK_IDCT_BITS), round)};
}

#define DESCALE(h, shift)                                                                                    \
    _mm256_packs_epi32(_mm256_srai_epi32((h).low, shift), _mm256_srai_epi32((h).high, shift))

/* One dimension, down the registers. */
INLINE void transform(__m256i r[8], const int shift)
{
    const __m256i round = _mm256_set1_epi32(1 << (shift - 1));
    const __m256i z3 = _mm256_add_epi16(r[7], r[3]), z4 = _mm256_add_epi16(r[5], r[1]);
    const halves even_sum = scale(_mm256_add_epi16(r[0], r[4]), round);
    const halves even_difference = scale(_mm256_sub_epi16(r[0], r[4]), round);
    const halves e3 = multiply_pairs(r[2], r[6], PAIR(STK_IDCT_0_541 + STK_IDCT_0_765, STK_IDCT_0_541));
    const halves e2 = multiply_pairs(r[2], r[6], PAIR(STK_IDCT_0_541, STK_IDCT_0_541 - STK_IDCT_1_847));
    const halves t0 = add(even_sum, e3), t3 = subtract(even_sum, e3);
    const halves t1 = add(even_difference, e2), t2 = subtract(even_difference, e2);
    const halves y3 = multiply_pairs(z3, z4, PAIR(STK_IDCT_1_175 - STK_IDCT_1_961, STK_IDCT_1_175));
    const halves y4 = multiply_pairs(z3, z4, PAIR(STK_IDCT_1_175, STK_IDCT_1_175 - STK_IDCT_0_390));
    const halves u0 =
        add(multiply_pairs(r[7], r[1], PAIR(STK_IDCT_0_298 - STK_IDCT_0_899, -STK_IDCT_0_899)), y3);
    const halves u3 =
        add(multiply_pairs(r[7], r[1], PAIR(-STK_IDCT_0_899, STK_IDCT_1_501 - STK_IDCT_0_899)), y4);
    const halves u1 =
        add(multiply_pairs(r[5], r[3], PAIR(STK_IDCT_2_053 - STK_IDCT_2_562, -STK_IDCT_2_562)), y4);
    const halves u2 =
        add(multiply_pairs(r[5], r[3], PAIR(-STK_IDCT_2_562, STK_IDCT_3_072 - STK_IDCT_2_562)), y3);
    r[0] = DESCALE(add(t0, u3), shift);
    r[7] = DESCALE(subtract(t0, u3), shift);
    r[1] = DESCALE(add(t1, u2), shift);
    r[6] = DESCALE(subtract(t1, u2), shift);
    r[2] = DESCALE(add(t2, u1), shift);
    r[5] = DESCALE(subtract(t2, u1), shift);
    r[3] = DESCALE(add(t3, u0), shift);
    r[4] = DESCALE(subtract(t3, u0), shift);
}

INLINE void transpose(__m256i r[8])
{
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(r[i], r[i + 4]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(r[i], r[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm256_unpacklo_epi16(a[i], a[i + 4]);
        b[2 * i + 1] = _mm256_unpackhi_epi16(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm256_unpacklo_epi16(b[i], b[i + 4]);
        r[2 * i + 1] = _mm256_unpackhi_epi16(b[i], b[i + 4]);
    }
}

/* r[x] = column x of both blocks. Packs to bytes, transposes back and stores 16 columns of 8 rows. */
INLINE void store_blocks(const __m256i r[8], uint8_t *out, size_t stride)
{
    const __m256i center = _mm256_set1_epi8((char)-128);
    __m256i p0 = _mm256_packs_epi16(r[0], r[1]), p1 = _mm256_packs_epi16(r[2], r[3]);
    __m256i p2 = _mm256_packs_epi16(r[4], r[5]), p3 = _mm256_packs_epi16(r[6], r[7]);
    __m256i a = _mm256_unpacklo_epi8(p0, p2), b = _mm256_unpackhi_epi8(p0, p2);
    __m256i c = _mm256_unpacklo_epi8(p1, p3), d = _mm256_unpackhi_epi8(p1, p3);
    __m256i e = _mm256_unpacklo_epi8(a, c), f = _mm256_unpackhi_epi8(a, c);
    __m256i g = _mm256_unpacklo_epi8(b, d), h = _mm256_unpackhi_epi8(b, d);
    __m256i rows[4] = {_mm256_unpacklo_epi8(e, g), _mm256_unpackhi_epi8(e, g), _mm256_unpacklo_epi8(f, h),
                       _mm256_unpackhi_epi8(f, h)};
    for (size_t i = 0; i < 4; i++) {
        __m256i v = _mm256_permute4x64_epi64(_mm256_xor_si256(rows[i], center), 0xd8);
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
        __m256i r[8];
        load_blocks(first, second, row->quant, r);
        transform(r, STK_IDCT_SHIFT_1);
        transpose(r);
        transform(r, STK_IDCT_SHIFT_2);
        store_blocks(r, row->out + 8 * (size_t)i, row->stride);
    }
}

#endif
