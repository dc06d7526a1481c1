/* SPDX-License-Identifier: Apache-2.0
 *
 * uint8 pixels -> normalised float16/bfloat16/float32 by a table of 256 entries a channel, NHWC or NCHW. */
#ifndef STK_CODEC_NORMALISE_H
#define STK_CODEC_NORMALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/types.h>

#include "common/cpu_features.h"

typedef struct stk_norm_table {
    stk_dtype dtype;
    uint32_t channels;
    float f32[3][256];
    uint16_t f16[3][256]; /* float16 or bfloat16 bits */
    uint8_t planes[3][4][256]; /* byte k of each element of the dtype's table, for vector look-ups */
} stk_norm_table;

/* torchvision's own float32 steps: ToTensor (x / 255) then (x - mean) / std; with v2 those of v2.ToDtype. Then
 * rounded to nearest even to the dtype. */
void stk_norm_table_fill(stk_norm_table *table, stk_dtype dtype, uint32_t channels, const float *mean,
                         const float *std, bool v2);

/* float32 -> float16 or bfloat16 bits, rounded to nearest even. */
uint16_t stk_float_to_f16(float x);
uint16_t stk_float_to_bf16(float x);

/* Converts n_pixels pixels of table->channels interleaved bytes. NHWC: out is n_pixels * channels elements.
 * NCHW: channel c goes to out + c * plane_elements elements. U8 tables copy (NCHW: de-interleave). */
void stk_normalise(stk_family family, const stk_norm_table *table, stk_layout layout, const uint8_t *pixels,
                   size_t n_pixels, void *out, size_t plane_elements);

#endif
