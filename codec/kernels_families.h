/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables that kernels.c chooses from. */
#ifndef STK_CODEC_KERNELS_FAMILIES_H
#define STK_CODEC_KERNELS_FAMILIES_H

#include "codec/kernels.h"

#if defined(__x86_64__)
extern const stk_kernels stk_kernels_avx2;
extern const stk_kernels stk_kernels_avx512;
#endif

/* normalise.c */
void stk_normalise_scalar(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                          void *out, size_t plane_elements);

#endif
