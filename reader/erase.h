/* SPDX-License-Identifier: Apache-2.0
 *
 * RandomErasing's second half: boxes of the finished pixels of one entry are overwritten. */
#ifndef STK_READER_ERASE_H
#define STK_READER_ERASE_H

#include "common/normal_values.h"
#include "reader/augment.h"

/* What erasing needs beside the boxes. Immutable. */
typedef struct stk_erase_rule {
    stk_step step;
    stk_dtype dtype;
    stk_layout layout;
    uint32_t channels;
    float mean[3], std[3];
    float normal[STK_NORMAL_BINS + 1]; /* quantiles of the standard normal distribution */
} stk_erase_rule;

/* step: an ERASE step. mean and std tell what level a random value is in uint8 batches. */
void stk_erase_rule_init(stk_erase_rule *rule, const stk_step *step, stk_dtype dtype, stk_layout layout,
                         uint32_t channels, const float *mean, const float *std);

/* Overwrites the plan's boxes in `pixels`, one entry of a batch. */
void stk_erase_boxes(const stk_erase_rule *rule, const stk_draw_key *key, const stk_drawn_steps *plan, void *pixels,
                     uint32_t width, uint32_t height);

#endif
