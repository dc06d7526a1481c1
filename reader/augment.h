/* SPDX-License-Identifier: Apache-2.0
 *
 * From a transform's steps and a sample's identity to plain operations with their values. The algorithms are
 * torchvision's (transforms.py, autoaugment.py) and timm's (auto_augment.py, random_erasing.py), the random numbers
 * ours (common/rng.h); each step draws from a stream of its own. */
#ifndef STK_READER_AUGMENT_H
#define STK_READER_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/gather.h>
#include <stoker/transform.h>

#include "codec/pixel_ops.h"

/* Which view of which sample. */
typedef struct stk_draw_key {
    uint64_t seed, epoch, sample;
    uint32_t occurrence, view;
} stk_draw_key;

/* The steps, checked and copied. Immutable: any number of threads. */
typedef struct stk_augment_rule {
    stk_step steps[STK_STEPS_MAX];
    uint32_t n_steps;
    bool erases; /* the last of them is ERASE */
} stk_augment_rule;

/* Checks the transform's steps. Errors: STK_ERR_ARGUMENT names the step and what is wrong. */
stk_status stk_augment_rule_init(stk_augment_rule *rule, const stk_transform *transform, stk_error *error);

/* The choices for one view of one sample whose picture is width x height. */
void stk_augment_draw(const stk_augment_rule *rule, const stk_draw_key *key, uint32_t width, uint32_t height,
                      stk_drawn_steps *plan);

#endif
