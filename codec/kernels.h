/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of function pointers per kernel family. The scalar family has no tail of its own: it takes the plain
 * reference path (render_reference.c), with which the others are compared. All families give the same bytes.
 * Kernels see plain pointers, never records or files. */
#ifndef STK_CODEC_KERNELS_H
#define STK_CODEC_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "codec/normalise.h"
#include "common/cpu_features.h"

typedef struct stk_kernels {
    stk_family family;
    const struct stk_tail_ops *tail; /* codec/tail.h; NULL: the reference path */
    /* As stk_normalise. */
    void (*normalise)(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                      void *out, size_t plane_elements);
} stk_kernels;

/* The table of a family (static data); the scalar one for families that this build lacks. */
const stk_kernels *stk_kernels_for(stk_family family);

/* The context's table: chosen when the context is opened. */
const stk_kernels *stk_codec_kernels(const stk_codec_ctx *ctx);

#endif
