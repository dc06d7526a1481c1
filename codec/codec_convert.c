/* SPDX-License-Identifier: Apache-2.0
 *
 * Colour conversions of whole rows, as Pillow's src/libImaging/Convert.c computes them. */
#include "codec/codec_internal.h"

void stk_row_rgb_to_l(const uint8_t *rgb, size_t n, uint8_t *l)
{
    for (size_t i = 0; i < n; i++) l[i] = stk_luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}

void stk_row_l_to_rgb(const uint8_t *l, size_t n, uint8_t *rgb)
{
    for (size_t i = n; i-- > 0;) { /* backwards, so that the row may be widened in place */
        uint8_t v = l[i];
        rgb[3 * i] = v;
        rgb[3 * i + 1] = v;
        rgb[3 * i + 2] = v;
    }
}

void stk_rows_to_mode(const stk_image *image, uint8_t from_channels)
{
    if (image->channels == from_channels) return;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image->pixels + y * image->stride;
        if (from_channels == 3) {
            stk_row_rgb_to_l(row, image->width, row);
        } else {
            stk_row_l_to_rgb(row, image->width, row);
        }
    }
}

uint8_t stk_row_palette(const uint8_t *indices, size_t n, const uint8_t table[256][3], uint8_t out_channels,
                        uint8_t *out)
{
    uint8_t highest = 0;
    for (size_t i = n; i-- > 0;) { /* backwards, as above */
        uint8_t index = indices[i];
        if (index > highest) highest = index;
        for (size_t c = 0; c < out_channels; c++) out[i * out_channels + c] = table[index][c];
    }
    return highest;
}

/* Pillow's MULDIV255: a * b / 255, rounded. */
static inline uint32_t muldiv255(uint32_t a, uint32_t b)
{
    uint32_t t = a * b + 128;
    return ((t >> 8) + t) >> 8;
}

void stk_row_cmyk_to_rgb(const uint8_t *cmyk, size_t n, uint8_t *rgb)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t light = 255u - cmyk[4 * i + 3];
        for (size_t c = 0; c < 3; c++) {
            rgb[3 * i + c] = (uint8_t)(light - muldiv255(cmyk[4 * i + c], light));
        }
    }
}
