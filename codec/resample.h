/* SPDX-License-Identifier: Apache-2.0
 *
 * Pillow's 8-bit convolution resampling, exactly (src/libImaging/Resample.c is the specification):
 * antialiased support, coefficients in double, rounded to 22 bits, two passes, rounded and clipped to 8 bits
 * between them. Scalar here (resample.c); vector families through codec/kernels.h. */
#ifndef STK_CODEC_RESAMPLE_H
#define STK_CODEC_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>
#include <stoker/types.h>

#include "codec/codec.h"

/* Coefficients of one axis for the outputs [first, first + n_out) of in_size -> out_size. Row i of `weights`
 * (n_taps wide, zero padded) applies to inputs start[i] .. start[i] + count[i] - 1. Both start and start +
 * count never decrease with i. Nearest is an axis of one tap of weight 1. */
typedef struct stk_axis {
    uint32_t n_out, n_taps;
    int32_t *start;
    int32_t *count;
    int32_t *weights; /* 22-bit fixed point */
} stk_axis;

enum { STK_WEIGHT_BITS = 22 };

/* Upper bound of count, without computing the axis. */
uint32_t stk_axis_max_taps(uint32_t in_size, uint32_t out_size, stk_filter filter);

/* Bytes of memory that stk_axis_compute needs (SIZE_MAX when that overflows; no allocation succeeds then). */
size_t stk_axis_bytes(uint32_t in_size, uint32_t out_size, uint32_t n_out, stk_filter filter);
/* Fills *axis with pointers into memory (8-byte aligned). Sizes are at least 1, first + n_out <= out_size. */
void stk_axis_compute(stk_axis *axis, void *memory, uint32_t in_size, uint32_t out_size, uint32_t first,
                      uint32_t n_out, stk_filter filter);

/* The inputs [*low, *high) that the outputs [first, first + n_out) depend on, without computing weights. Equal
 * sizes need just themselves. */
void stk_axis_span(uint32_t in_size, uint32_t out_size, uint32_t first, uint32_t n_out, stk_filter filter,
                   uint32_t *low, uint32_t *high);

/* One horizontal pass over n_rows rows of interleaved pixels, and one vertical pass over rows of n_bytes bytes:
 * out = clip8((sum of weight * input + half) >> 22). Starts are relative to `in`. Scalar reference. */
void stk_resample_across(const stk_axis *axis, const uint8_t *in, size_t in_stride, uint32_t n_rows,
                         uint32_t channels, uint8_t *out, size_t out_stride);
void stk_resample_down(const stk_axis *axis, const uint8_t *in, size_t in_stride, size_t n_bytes, uint8_t *out,
                       size_t out_stride);

/* True when Pillow runs the vertical pass first for this size (both passes needed). */
bool stk_vertical_first(stk_pixels pixels, uint32_t in_w, uint32_t in_h, uint32_t out_w, uint32_t out_h);

/* One resampling: a picture of box_width x box_height to full_width x full_height, of which only a window is
 * computed. `in` may be a part of that picture: its pixel (0, 0) is the picture's (in_x, in_y); it must hold
 * what the window depends on (stk_axis_span). */
typedef struct stk_resampling {
    uint32_t box_width, box_height;
    uint32_t full_width, full_height;
    stk_filter filter;
    stk_pixels pixels;
    uint32_t x, y, width, height; /* the window, inside the result */
    uint32_t in_x, in_y;
} stk_resampling;

/* Writes the window to out (height rows of width * in->channels bytes). Equal sizes on an axis skip its pass,
 * as in Pillow. Intermediates lie in STK_SCRATCH_RESAMPLE; `in` must not. Scalar reference. */
stk_status stk_resample_reference(stk_codec_ctx *ctx, const stk_image *in, const stk_resampling *job, uint8_t *out,
                                  size_t out_stride, stk_error *error);

/* As above, of a whole picture, by the context's kernel family. in->pixels may be any memory; nothing outside its
 * rows is read. */
stk_status stk_resample(stk_codec_ctx *ctx, const stk_image *in, uint32_t full_w, uint32_t full_h,
                        stk_filter filter, stk_pixels pixels, uint32_t wx, uint32_t wy, uint32_t ww, uint32_t wh,
                        uint8_t *out, size_t out_stride, stk_error *error);

#endif
