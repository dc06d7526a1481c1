/* SPDX-License-Identifier: Apache-2.0
 *
 * MixUp and CutMix of a finished batch, in place: torchvision's v2.MixUp and v2.CutMix
 * (torchvision/transforms/v2/_augment.py). Where torchvision mixes each sample with the one before it, here the
 * distance is drawn. */
#ifndef STK_READER_BATCH_MIX_H
#define STK_READER_BATCH_MIX_H

#include "reader/slots.h"
#include "reader/work.h"

/* What was chosen for a batch, or for one sample of it. */
typedef struct stk_mix_plan {
    uint32_t shift; /* STK_MIX_BATCH: sample i is mixed with sample (i + shift) % n; 0: not at all */
    bool cut;       /* CutMix: the box comes from the partner */
    stk_box box;
    double share;   /* of the sample itself */
} stk_mix_plan;

/* Errors: STK_ERR_ARGUMENT names the field. */
stk_status stk_mix_check(const stk_mix *mix, stk_error *error);

/* The choice of STK_MIX_BATCH for a batch of n samples of width x height pixels whose first one has this position in the epoch. */
void stk_mix_draw(const stk_mix *mix, uint64_t seed, uint64_t epoch, uint64_t first, uint32_t n, uint32_t width,
                  uint32_t height, stk_mix_plan *plan);

/* Fills labels2, shares and mixings of a slot whose samples are all done, and mixes its pixels where it has some. scratch
 * is the calling thread's. Errors: STK_ERR_MEMORY. */
stk_status stk_mix_slot(const stk_work_env *env, stk_slot *slot, uint32_t n_views, bool has_pixels,
                        stk_buffer *scratch, stk_error *error);

#endif
