/* SPDX-License-Identifier: Apache-2.0
 *
 * Colour conversions of single rows: libjpeg's YCbCr -> RGB and Pillow's RGB -> L, exactly. Scalar reference. */
#ifndef STK_CODEC_COLOR_H
#define STK_CODEC_COLOR_H

#include <stddef.h>
#include <stdint.h>

/* n samples a component -> n interleaved RGB pixels. */
void stk_ycc_to_rgb_row(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, size_t n, uint8_t *rgb);

/* n interleaved RGB pixels -> n grey ones; may be in place. */
void stk_rgb_to_l_row(const uint8_t *rgb, size_t n, uint8_t *grey);

#endif
