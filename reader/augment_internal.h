/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind augment.h share. Included only by reader/augment*.c. */
#ifndef STK_READER_AUGMENT_INTERNAL_H
#define STK_READER_AUGMENT_INTERNAL_H

#include "common/rng.h"
#include "reader/augment.h"

/* Adds an operation with the step's filter and fill; an Identity or a step too many is left out. */
void stk_plan_add(stk_drawn_steps *plan, const stk_step *step, stk_rng *rng, stk_op_kind kind, double value);

/* augment_policy.c: the learnt and the random policies. */
void stk_draw_rand_augment(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height,
                           stk_drawn_steps *plan);
void stk_draw_trivial_augment(const stk_step *step, stk_rng *rng, stk_drawn_steps *plan);
void stk_draw_auto_augment(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height,
                           stk_drawn_steps *plan);
/* augment_affine.c. What is wrong with a step of STK_STEP_AFFINE, or NULL. */
const char *stk_affine_fault(const stk_step *step);
void stk_draw_affine(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan);
/* augment_timm.c. */
void stk_draw_timm_rand(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan);
void stk_draw_timm_auto(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan);

#endif
