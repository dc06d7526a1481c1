/* SPDX-License-Identifier: Apache-2.0
 *
 * Chroma upsampling exactly as libjpeg-turbo's jdsample.c with do_fancy_upsampling. Scalar reference. */
#ifndef STK_CODEC_UPSAMPLE_H
#define STK_CODEC_UPSAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/planes.h"

/* Which of jdsample.c's methods a component gets. */
typedef enum stk_upsampling {
    STK_UPSAMPLE_NONE,  /* full size */
    STK_UPSAMPLE_H2V1,  /* fancy: 3/4 near + 1/4 far */
    STK_UPSAMPLE_H2V2,  /* fancy in both directions */
    STK_UPSAMPLE_H1V2,  /* fancy, rows only */
    STK_UPSAMPLE_REPEAT /* any other integral factor, and two columns or less: repetition */
} stk_upsampling;

/* Real samples of a component (block padding not counted): ceil(image size * factor / max factor). */
uint32_t stk_component_width(const stk_planes *planes, unsigned component);
uint32_t stk_component_height(const stk_planes *planes, unsigned component);

/* True when all factors divide the largest ones (others libjpeg refuses). */
bool stk_sampling_integral(const stk_planes *planes);
stk_upsampling stk_upsampling_of(const stk_planes *planes, unsigned component);

/* The samples of a component that the full-size samples [x, x + n) need: columns [*low, *high), and for rows
 * alike. In component coordinates of the whole image. */
void stk_upsample_columns(const stk_planes *planes, unsigned component, uint32_t x, uint32_t n, uint32_t *low,
                          uint32_t *high);
void stk_upsample_rows(const stk_planes *planes, unsigned component, uint32_t y, uint32_t n, uint32_t *low,
                       uint32_t *high);

/* n full-size samples of a component, image row y, from image column x. The planes hold what they need. */
void stk_upsample_row(const stk_planes *planes, unsigned component, uint32_t x, uint32_t y, uint32_t n,
                      uint8_t *out);

#endif
