/* SPDX-License-Identifier: Apache-2.0
 *
 * libjpeg's slow-integer inverse DCT (jidctint.c), on 32-bit sums. The packer keeps blocks for which 16-bit and
 * 32-bit arithmetic could differ out of tiles records, so this equals every SIMD version. */
#ifndef STK_GPU_HD_IDCT_H
#define STK_GPU_HD_IDCT_H

#include "gpu_upload/hd_base.h"

/* Eight values in, eight out, scaled up by 2^13 with `round` added before the caller's shift. in[0] must hold the
 * rounding already where the pass needs it. */
STK_HD void stk_hd_idct_1d(const int32_t in[8], int32_t out[8], int32_t round)
{
    int32_t z1 = (in[2] + in[6]) * 4433;
    int32_t e2 = z1 - in[6] * 15137, e3 = z1 + in[2] * 6270;
    int32_t e0 = (int32_t)((uint32_t)(in[0] + in[4]) << 13) + round;
    int32_t e1 = (int32_t)((uint32_t)(in[0] - in[4]) << 13) + round;
    int32_t t10 = e0 + e3, t13 = e0 - e3, t11 = e1 + e2, t12 = e1 - e2;
    int32_t a = in[7], b = in[5], c = in[3], d = in[1];
    int32_t y1 = a + d, y2 = b + c, y3 = a + c, y4 = b + d;
    int32_t y5 = (y3 + y4) * 9633;
    a *= 2446;
    b *= 16819;
    c *= 25172;
    d *= 12299;
    y1 *= -7373;
    y2 *= -20995;
    y3 = y3 * -16069 + y5;
    y4 = y4 * -3196 + y5;
    a += y1 + y3;
    b += y2 + y4;
    c += y2 + y3;
    d += y1 + y4;
    out[0] = t10 + d;
    out[7] = t10 - d;
    out[1] = t11 + c;
    out[6] = t11 - c;
    out[2] = t12 + b;
    out[5] = t12 - b;
    out[3] = t13 + a;
    out[4] = t13 - a;
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
