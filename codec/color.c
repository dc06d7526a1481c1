/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/color.h"

static uint8_t clip8(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

/* libjpeg's jdcolor.c: the tables that it builds hold these very expressions, 16 fractional bits, rounded. */
void stk_ycc_to_rgb_row(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n, uint8_t *rgb)
{
    for (size_t i = 0; i < n; i++) {
        int32_t b = cb[i] - 128, r = cr[i] - 128, luma = y[i];
        rgb[3 * i] = clip8(luma + ((91881 * r + 32768) >> 16));                  /* 1.40200 */
        rgb[3 * i + 1] = clip8(luma + ((-22554 * b - 46802 * r + 32768) >> 16)); /* 0.34414, 0.71414 */
        rgb[3 * i + 2] = clip8(luma + ((116130 * b + 32768) >> 16));             /* 1.77200 */
    }
}

/* Pillow's L24 (src/libImaging/Convert.c): ITU-R 601-2 luma, 16 fractional bits, rounded. */
void stk_rgb_to_l_row(const uint8_t *rgb, size_t n, uint8_t *grey)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = rgb + 3 * i;
        grey[i] = (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
    }
}
