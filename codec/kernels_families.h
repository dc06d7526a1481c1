/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables that kernels.c chooses from, one a family's file. */
#ifndef STK_CODEC_KERNELS_FAMILIES_H
#define STK_CODEC_KERNELS_FAMILIES_H

#include "codec/kernels.h"

extern const stk_kernels stk_kernels_scalar;

/* normalise.c */
void stk_normalise_scalar(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                          void *out, size_t plane_elements);

#endif
