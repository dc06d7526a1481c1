/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse DCT of four blocks at once (AVX-512 BW and VBMI). */
#include "codec/idct.h"

#if defined(__x86_64__)
#include <immintrin.h>

typedef __m512i vector;
typedef unsigned shift_count;
#define V(name) _mm512_##name
#define ZERO _mm512_setzero_si512()
#include "codec/idct_vector.h"

/* Natural order <- zigzag order: the zigzag position of each place. */
static const uint16_t UNZIGZAG[64] __attribute__((aligned(64))) = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
    41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
    46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63,
};

/* Rows of the four blocks: r[y] = row y of blocks 0..3. */
INLINE void load_blocks(const int16_t *const blocks[4], const uint16_t *quant, vector r[8])
{
    const vector quant_low = _mm512_loadu_si512(quant), quant_high = _mm512_loadu_si512(quant + 32);
    const vector first = _mm512_load_si512(UNZIGZAG), second = _mm512_load_si512(UNZIGZAG + 32);
    vector top[4], bottom[4]; /* rows 0..3 and 4..7 of a block */
    for (int i = 0; i < 4; i++) {
        vector low = _mm512_mullo_epi16(_mm512_loadu_si512(blocks[i]), quant_low);
        vector high = _mm512_mullo_epi16(_mm512_loadu_si512(blocks[i] + 32), quant_high);
        top[i] = _mm512_permutex2var_epi16(low, first, high);
        bottom[i] = _mm512_permutex2var_epi16(low, second, high);
    }
    for (int half = 0; half < 2; half++) { /* a 4 x 4 transposition of lanes */
        const vector *v = half ? bottom : top;
        vector a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
        vector c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
        r[4 * half] = _mm512_shuffle_i32x4(a, c, 0x88);
        r[4 * half + 1] = _mm512_shuffle_i32x4(a, c, 0xdd);
        r[4 * half + 2] = _mm512_shuffle_i32x4(b, d, 0x88);
        r[4 * half + 3] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

/* 32 columns of 8 rows. */
INLINE void store_rows(const vector rows[4], uint8_t *out, size_t stride)
{
    const vector by_row = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (size_t i = 0; i < 4; i++) {
        vector v = _mm512_permutexvar_epi64(by_row, rows[i]);
        _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i * stride), _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(void *)(out + (2 * i + 1) * stride), _mm512_extracti64x4_epi64(v, 1));
    }
}

void stk_idct_row_avx512(const stk_idct_row *row)
{
    stk_idct_walk walk = {.block = row->coefs};
    for (uint32_t i = 0; i < row->n_blocks; i += 4) {
        const int16_t *blocks[4];
        vector r[8], rows[4];
        blocks[0] = stk_idct_next(&walk, row);
        for (uint32_t j = 1; j < 4; j++)
            blocks[j] = i + j < row->n_blocks ? stk_idct_next(&walk, row) : blocks[0];
        load_blocks(blocks, row->quant, r);
        rows_of_samples(r, rows);
        store_rows(rows, row->out + 8 * (size_t)i, row->stride);
    }
}

#endif
