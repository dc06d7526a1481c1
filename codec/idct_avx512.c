/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse DCT of four blocks at once (AVX-512 BW + VBMI level): one register holds a row of each block, one
 * block a 128-bit lane, so that the in-lane unpack and pack instructions do the transposition. */
#include "codec/idct.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define PAIR(a, b)                                                                                           \
    _mm512_set1_epi32((int)((uint32_t)(uint16_t)(int16_t)(a) | (uint32_t)(uint16_t)(int16_t)(b) << 16))

/* Natural order <- zigzag order: the zigzag position of each place. */
static const uint16_t UNZIGZAG[64] __attribute__((aligned(64))) = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
    41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
    46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63,
};

typedef struct halves {
    __m512i low, high; /* 32-bit values of words 0..3 and 4..7 of each lane */
} halves;

static inline __attribute__((always_inline)) halves multiply_pairs(__m512i a, __m512i b, __m512i pair)
{
    return (halves){_mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), pair),
                    _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), pair)};
}
static inline __attribute__((always_inline)) halves add(halves a, halves b)
{
    return (halves){_mm512_add_epi32(a.low, b.low), _mm512_add_epi32(a.high, b.high)};
}
static inline __attribute__((always_inline)) halves subtract(halves a, halves b)
{
    return (halves){_mm512_sub_epi32(a.low, b.low), _mm512_sub_epi32(a.high, b.high)};
}
/* v * 2^13 + round. */
static inline __attribute__((always_inline)) halves scale(__m512i v, __m512i round)
{
    const __m512i zero = _mm512_setzero_si512();
    return (halves){
        _mm512_add_epi32(_mm512_srai_epi32(_mm512_unpacklo_epi16(zero, v), 16 - STK_IDCT_BITS), round),
        _mm512_add_epi32(_mm512_srai_epi32(_mm512_unpackhi_epi16(zero, v), 16 - STK_IDCT_BITS), round)};
}

#define DESCALE(h, shift)                                                                                    \
    _mm512_packs_epi32(_mm512_srai_epi32((h).low, shift), _mm512_srai_epi32((h).high, shift))

/* One dimension, down the registers. */
static inline __attribute__((always_inline)) void transform(__m512i r[8], const unsigned shift)
{
    const __m512i round = _mm512_set1_epi32(1 << (shift - 1));
    const __m512i z3 = _mm512_add_epi16(r[7], r[3]), z4 = _mm512_add_epi16(r[5], r[1]);
    const halves even_sum = scale(_mm512_add_epi16(r[0], r[4]), round);
    const halves even_difference = scale(_mm512_sub_epi16(r[0], r[4]), round);
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

/* Rows of the four blocks: r[y] = row y of blocks 0..3. */
static inline __attribute__((always_inline)) void load_blocks(const int16_t *const blocks[4],
                                                              const uint16_t *quant, __m512i r[8])
{
    const __m512i quant_low = _mm512_loadu_si512(quant), quant_high = _mm512_loadu_si512(quant + 32);
    const __m512i first = _mm512_load_si512(UNZIGZAG), second = _mm512_load_si512(UNZIGZAG + 32);
    __m512i top[4], bottom[4]; /* rows 0..3 and 4..7 of a block */
    for (int i = 0; i < 4; i++) {
        __m512i low = _mm512_mullo_epi16(_mm512_loadu_si512(blocks[i]), quant_low);
        __m512i high = _mm512_mullo_epi16(_mm512_loadu_si512(blocks[i] + 32), quant_high);
        top[i] = _mm512_permutex2var_epi16(low, first, high);
        bottom[i] = _mm512_permutex2var_epi16(low, second, high);
    }
    for (int half = 0; half < 2; half++) { /* a 4 x 4 transposition of lanes */
        const __m512i *v = half ? bottom : top;
        __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
        __m512i c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
        r[4 * half] = _mm512_shuffle_i32x4(a, c, 0x88);
        r[4 * half + 1] = _mm512_shuffle_i32x4(a, c, 0xdd);
        r[4 * half + 2] = _mm512_shuffle_i32x4(b, d, 0x88);
        r[4 * half + 3] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

static inline __attribute__((always_inline)) void transpose(__m512i r[8])
{
    __m512i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm512_unpacklo_epi16(r[i], r[i + 4]);
        a[2 * i + 1] = _mm512_unpackhi_epi16(r[i], r[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        b[2 * i] = _mm512_unpacklo_epi16(a[i], a[i + 4]);
        b[2 * i + 1] = _mm512_unpackhi_epi16(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm512_unpacklo_epi16(b[i], b[i + 4]);
        r[2 * i + 1] = _mm512_unpackhi_epi16(b[i], b[i + 4]);
    }
}

/* r[x] = column x of the four blocks. Packs to bytes, transposes back and stores 32 columns of 8 rows. */
static inline __attribute__((always_inline)) void store_blocks(const __m512i r[8], uint8_t *out,
                                                               size_t stride)
{
    const __m512i center = _mm512_set1_epi8((char)-128), by_row = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i p0 = _mm512_packs_epi16(r[0], r[1]), p1 = _mm512_packs_epi16(r[2], r[3]);
    __m512i p2 = _mm512_packs_epi16(r[4], r[5]), p3 = _mm512_packs_epi16(r[6], r[7]);
    __m512i a = _mm512_unpacklo_epi8(p0, p2), b = _mm512_unpackhi_epi8(p0, p2);
    __m512i c = _mm512_unpacklo_epi8(p1, p3), d = _mm512_unpackhi_epi8(p1, p3);
    __m512i e = _mm512_unpacklo_epi8(a, c), f = _mm512_unpackhi_epi8(a, c);
    __m512i g = _mm512_unpacklo_epi8(b, d), h = _mm512_unpackhi_epi8(b, d);
    __m512i rows[4] = {_mm512_unpacklo_epi8(e, g), _mm512_unpackhi_epi8(e, g), _mm512_unpacklo_epi8(f, h),
                       _mm512_unpackhi_epi8(f, h)};
    for (size_t i = 0; i < 4; i++) {
        __m512i v = _mm512_permutexvar_epi64(by_row, _mm512_xor_si512(rows[i], center));
        _mm256_storeu_si256((__m256i *)(void *)(out + 2 * i * stride), _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(void *)(out + (2 * i + 1) * stride), _mm512_extracti64x4_epi64(v, 1));
    }
}

void stk_idct_row_avx512(const stk_idct_row *row)
{
    stk_idct_walk walk = {.block = row->coefs};
    for (uint32_t i = 0; i < row->n_blocks; i += 4) {
        const int16_t *blocks[4];
        blocks[0] = stk_idct_next(&walk, row);
        for (uint32_t j = 1; j < 4; j++)
            blocks[j] = i + j < row->n_blocks ? stk_idct_next(&walk, row) : blocks[0];
        __m512i r[8];
        load_blocks(blocks, row->quant, r);
        transform(r, STK_IDCT_SHIFT_1);
        transpose(r);
        transform(r, STK_IDCT_SHIFT_2);
        store_blocks(r, row->out + 8 * (size_t)i, row->stride);
    }
}

#endif
