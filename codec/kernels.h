/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of function pointers per kernel family. Scalar is the readable reference and complete; a vector
 * family may leave an entry NULL, then the scalar one is used (kernels.c merges). All families give the same
 * bytes. Kernels see plain pointers, never records or files. */
#ifndef STK_CODEC_KERNELS_H
#define STK_CODEC_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/normalise.h"
#include "codec/resample.h"
#include "common/cpu_features.h"

typedef struct stk_kernels {
    stk_family family;
    /* Rows mirrored left-right, interleaved pixels; in and out do not overlap. */
    void (*flip_row)(const uint8_t *in, uint32_t n_pixels, uint32_t channels, uint8_t *out);
    /* RGB <-> BGR in place. */
    void (*swap_red_blue)(uint8_t *pixels, size_t n_pixels);
    /* As stk_normalise. */
    void (*normalise)(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                      void *out, size_t plane_elements);
} stk_kernels;

/* The merged table of a family (static data). */
const stk_kernels *stk_kernels_for(stk_family family);

/* The context's table: chosen when the context is opened. */
const stk_kernels *stk_codec_kernels(const stk_codec_ctx *ctx);

#endif
