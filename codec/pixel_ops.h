/* SPDX-License-Identifier: Apache-2.0
 *
 * Augmentations of one finished picture, in place: what torchvision's transforms do to a Pillow image, byte for byte
 * (Pillow 13's ImageEnhance, ImageOps, convert("HSV"), transform and rotate), and torchvision's GaussianBlur within
 * one level. Every choice has been made before; here is only arithmetic, the same in every kernel family. */
#ifndef STK_CODEC_PIXEL_OPS_H
#define STK_CODEC_PIXEL_OPS_H

#include <stdint.h>

#include <stoker/transform.h>

#include "common/buffer.h"
#include "common/cpu_features.h"

/* Interleaved rows without padding; 1 or 3 channels. */
typedef struct stk_picture {
    uint8_t *pixels;
    uint32_t width, height, channels;
} stk_picture;

/* Runs n operations one after the other. scratch is the calling thread's, grown as needed. Errors: STK_ERR_MEMORY. */
stk_status stk_pixel_ops_run(stk_family family, const stk_picture *picture, const stk_pixel_op *ops, uint32_t n,
                             stk_buffer *scratch, stk_error *error);

/* x = y * (1 - share) + x * share on n elements of the dtype, in float32 as torchvision's v2.MixUp multiplies and
 * adds, then rounded to the nearest (uint8: half up). Elements are finite. */
void stk_mix_elements(stk_family family, stk_dtype dtype, void *x, const void *y, double share, size_t n);

#endif
