/* SPDX-License-Identifier: Apache-2.0
 *
 * EXIF orientations: how turned coordinates (what a viewer shows, Pillow's exif_transpose) lie in the stored
 * picture. */
#ifndef STK_CODEC_TURN_H
#define STK_CODEC_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/types.h>

#include "codec/codec.h"

/* The turned pixel (x, y) is the stored pixel (sx, sy) with (sx, sy) = transpose ? (y, x) : (x, y), then
 * sx = stored_width - 1 - sx when mirror_x, and likewise sy. */
typedef struct stk_turn {
    bool transpose, mirror_x, mirror_y;
} stk_turn;

/* Of an EXIF orientation 1..8; other values are 1. */
stk_turn stk_turn_of(uint8_t orientation);

/* A box in turned coordinates -> the same pixels as a box of the stored picture. turned_width and turned_height
 * are the whole picture's. */
stk_box stk_turn_box(stk_turn turn, uint32_t turned_width, uint32_t turned_height, stk_box box);

/* Writes the turned picture of `in` to out (rows out_stride apart; width and height change places under
 * transpose). in and out do not overlap. */
void stk_turn_pixels(stk_turn turn, const stk_image *in, uint8_t *out, size_t out_stride);

#endif
