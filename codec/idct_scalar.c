/* SPDX-License-Identifier: Apache-2.0
 *
 * The readable inverse DCT. Written on 32-bit unsigned sums, which wrap as the vector units' do. */
#include "codec/idct.h"

#include "codec/huffman.h"

static int16_t wrap16(int v)
{
    return (int16_t)(uint16_t)(unsigned)v;
}

static int16_t saturate16(int32_t v)
{
    return (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

/* a * x + b * y, modulo 2^32. */
static uint32_t mac(int a, int x, int b, int y)
{
    return (uint32_t)(a * x) + (uint32_t)(b * y);
}

static int16_t descale(uint32_t v, int shift)
{
    return saturate16((int32_t)v >> shift);
}

/* One dimension: v[0], v[step] ... v[7 step] in place. */
static void transform(int16_t *v, int step, int shift)
{
    const int r0 = v[0], r1 = v[step], r2 = v[2 * step], r3 = v[3 * step];
    const int r4 = v[4 * step], r5 = v[5 * step], r6 = v[6 * step], r7 = v[7 * step];
    const uint32_t round = 1u << (shift - 1);

    const uint32_t even_sum = ((uint32_t)wrap16(r0 + r4) << STK_IDCT_BITS) + round;
    const uint32_t even_difference = ((uint32_t)wrap16(r0 - r4) << STK_IDCT_BITS) + round;
    const uint32_t e3 = mac(r2, STK_IDCT_0_541 + STK_IDCT_0_765, r6, STK_IDCT_0_541);
    const uint32_t e2 = mac(r2, STK_IDCT_0_541, r6, STK_IDCT_0_541 - STK_IDCT_1_847);
    const uint32_t t0 = even_sum + e3, t3 = even_sum - e3;
    const uint32_t t1 = even_difference + e2, t2 = even_difference - e2;

    const int z3 = wrap16(r7 + r3), z4 = wrap16(r5 + r1);
    const uint32_t y3 = mac(z3, STK_IDCT_1_175 - STK_IDCT_1_961, z4, STK_IDCT_1_175);
    const uint32_t y4 = mac(z3, STK_IDCT_1_175, z4, STK_IDCT_1_175 - STK_IDCT_0_390);
    const uint32_t u0 = mac(r7, STK_IDCT_0_298 - STK_IDCT_0_899, r1, -STK_IDCT_0_899) + y3;
    const uint32_t u3 = mac(r7, -STK_IDCT_0_899, r1, STK_IDCT_1_501 - STK_IDCT_0_899) + y4;
    const uint32_t u1 = mac(r5, STK_IDCT_2_053 - STK_IDCT_2_562, r3, -STK_IDCT_2_562) + y4;
    const uint32_t u2 = mac(r5, -STK_IDCT_2_562, r3, STK_IDCT_3_072 - STK_IDCT_2_562) + y3;

    v[0] = descale(t0 + u3, shift);
    v[7 * step] = descale(t0 - u3, shift);
    v[step] = descale(t1 + u2, shift);
    v[6 * step] = descale(t1 - u2, shift);
    v[2 * step] = descale(t2 + u1, shift);
    v[5 * step] = descale(t2 - u1, shift);
    v[3 * step] = descale(t3 + u0, shift);
    v[4 * step] = descale(t3 - u0, shift);
}

/* As transform of (dc, 0, ... 0) along a column in the first pass: dc * 4, saturated. */
static void spread_dc(int16_t *v)
{
    int16_t all = saturate16(v[0] * 4);
    for (int i = 0; i < 8; i++)
        v[8 * i] = all;
}

static void block_to_samples(const int16_t *coefs, const uint16_t *quant, uint8_t *out, size_t stride)
{
    int16_t v[64];
    uint32_t below[8] = {0}; /* OR of a column's coefficients but the first */
    for (int k = 0; k < 64; k++) {
        int16_t value = wrap16((int)((uint32_t)coefs[k] * quant[k]));
        v[STK_ZIGZAG[k]] = value;
        if (STK_ZIGZAG[k] >= 8) below[STK_ZIGZAG[k] & 7] |= (uint16_t)value;
    }
    for (int x = 0; x < 8; x++) {
        if (below[x] == 0) {
            spread_dc(v + x);
        } else {
            transform(v + x, 8, STK_IDCT_SHIFT_1);
        }
    }
    for (int y = 0; y < 8; y++) {
        transform(v + 8 * y, 1, STK_IDCT_SHIFT_2);
        for (int x = 0; x < 8; x++) {
            int s = v[8 * y + x];
            out[(size_t)y * stride + (size_t)x] = (uint8_t)((s < -128 ? -128 : s > 127 ? 127 : s) + 128);
        }
    }
}

void stk_idct_row_scalar(const stk_idct_row *row)
{
    stk_idct_walk walk = {.block = row->coefs};
    for (uint32_t i = 0; i < row->n_blocks; i++) {
        block_to_samples(stk_idct_next(&walk, row), row->quant, row->out + 8 * (size_t)i, row->stride);
    }
}

stk_idct_row_fn stk_idct_row_for(stk_family family)
{
#if defined(__x86_64__)
    if (family == STK_FAMILY_AVX512) return stk_idct_row_avx512;
    if (family == STK_FAMILY_AVX2) return stk_idct_row_avx2;
#endif
    (void)family;
    return stk_idct_row_scalar;
}
