/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar family's row operations. */
#include "codec/kernels_families.h"

static void flip_row(const uint8_t *in, uint32_t n_pixels, uint32_t channels, uint8_t *out)
{
    for (uint32_t x = 0; x < n_pixels; x++)
        for (uint32_t c = 0; c < channels; c++)
            out[(size_t)x * channels + c] = in[(size_t)(n_pixels - 1 - x) * channels + c];
}

static void swap_red_blue(uint8_t *pixels, size_t n_pixels)
{
    for (size_t i = 0; i < n_pixels; i++, pixels += 3) {
        uint8_t red = pixels[0];
        pixels[0] = pixels[2];
        pixels[2] = red;
    }
}

const stk_kernels stk_kernels_scalar = {
    .family = STK_FAMILY_SCALAR,
    .flip_row = flip_row,
    .swap_red_blue = swap_red_blue,
    .normalise = stk_normalise_scalar,
};
