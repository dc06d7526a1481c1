/* SPDX-License-Identifier: Apache-2.0
 *
 * libjpeg's slow-integer inverse DCT (jidctint.c), on 32-bit sums. The packer keeps blocks for which 16-bit and
 * 32-bit arithmetic could differ out of tiles records, so this equals every SIMD version. */
#ifndef STK_GPU_HD_IDCT_H
#define STK_GPU_HD_IDCT_H

#include "gpu_upload/hd_base.h"

/* Corrupt bits make coefficients of any size: sums wrap, as the machine's do, and mean nothing then. */
STK_HD int32_t stk_hd_wrap(uint32_t v) { return (int32_t)v; }
STK_HD int32_t stk_hd_times(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }

/* Eight values in, eight out, scaled up by 2^13 with `round` added before the caller's shift. */
STK_HD void stk_hd_idct_1d(const int32_t in[8], int32_t out[8], int32_t round)
{
    uint32_t i0 = (uint32_t)in[0], i2 = (uint32_t)in[2], i4 = (uint32_t)in[4], i6 = (uint32_t)in[6];
    uint32_t z1 = (i2 + i6) * 4433u;
    uint32_t e2 = z1 - i6 * 15137u, e3 = z1 + i2 * 6270u;
    uint32_t e0 = ((i0 + i4) << 13) + (uint32_t)round, e1 = ((i0 - i4) << 13) + (uint32_t)round;
    uint32_t t10 = e0 + e3, t13 = e0 - e3, t11 = e1 + e2, t12 = e1 - e2;
    uint32_t a = (uint32_t)in[7], b = (uint32_t)in[5], c = (uint32_t)in[3], d = (uint32_t)in[1];
    uint32_t y1 = a + d, y2 = b + c, y3 = a + c, y4 = b + d;
    uint32_t y5 = (y3 + y4) * 9633u;
    a *= 2446u;
    b *= 16819u;
    c *= 25172u;
    d *= 12299u;
    y1 *= (uint32_t)-7373;
    y2 *= (uint32_t)-20995;
    y3 = y3 * (uint32_t)-16069 + y5;
    y4 = y4 * (uint32_t)-3196 + y5;
    a += y1 + y3;
    b += y2 + y4;
    c += y2 + y3;
    d += y1 + y4;
    out[0] = stk_hd_wrap(t10 + d);
    out[7] = stk_hd_wrap(t10 - d);
    out[1] = stk_hd_wrap(t11 + c);
    out[6] = stk_hd_wrap(t11 - c);
    out[2] = stk_hd_wrap(t12 + b);
    out[5] = stk_hd_wrap(t12 - b);
    out[3] = stk_hd_wrap(t13 + a);
    out[4] = stk_hd_wrap(t13 - a);
}

/* Columns come first: descaled by 11 bits; rows then by 18, plus 128, clipped. */
enum { STK_HD_COLUMN_SHIFT = 11, STK_HD_ROW_SHIFT = 18 };

STK_HD uint8_t stk_hd_sample(int32_t row_sum) { return stk_hd_clip8((row_sum >> STK_HD_ROW_SHIFT) + 128); }

/* Zigzag position of natural position n = row * 8 + column. */
STK_HD int stk_hd_zigzag_of(int n)
{
    const uint8_t table[64] = {0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
                               41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
                               46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};
    return table[n];
}

#endif
