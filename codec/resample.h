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
 * (n_taps wide, zero padded) applies to inputs start[i] .. start[i] + count[i] - 1. */
typedef struct stk_axis {
    uint32_t n_out, n_taps;
    int32_t *start;
    int32_t *count;
    int32_t *weights; /* 22-bit fixed point */
} stk_axis;

/* Computes them into memory of the context's STK_SCRATCH_RESAMPLE or any caller memory: bytes needed by
 * stk_axis_bytes. */
size_t stk_axis_bytes(uint32_t in_size, uint32_t out_size, uint32_t n_out, stk_filter filter);
void stk_axis_compute(stk_axis *axis, void *memory, uint32_t in_size, uint32_t out_size, uint32_t first,
                      uint32_t n_out, stk_filter filter);

/* True when Pillow runs the vertical pass first for this size (both passes needed). */
bool stk_vertical_first(stk_pixels pixels, uint32_t in_w, uint32_t in_h, uint32_t out_w, uint32_t out_h);

/* Resamples in (whole picture in->width x in->height) to full_w x full_h and writes the window
 * [wx, wx+ww) x [wy, wy+wh) of the result (inside it) to out. Equal sizes on an axis skip its pass, as Pillow. */
stk_status stk_resample(stk_codec_ctx *ctx, const stk_image *in, uint32_t full_w, uint32_t full_h,
                        stk_filter filter, stk_pixels pixels, uint32_t wx, uint32_t wy, uint32_t ww, uint32_t wh,
                        uint8_t *out, size_t out_stride, stk_error *error);

#endif
