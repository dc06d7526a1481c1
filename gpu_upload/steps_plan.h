/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a transform's steps come to for the entries of a batch (stk_drawn_steps) to device operations in rounds, and
 * from a batch's mixing to partners. */
#ifndef STK_GPU_STEPS_PLAN_H
#define STK_GPU_STEPS_PLAN_H

#include <stoker/gather.h>
#include <stoker/loader.h>

#include "common/buffer.h"
#include "gpu_upload/gpu_steps.h"

/* Reused for all batches; its memory grows and stays. Zero is a fresh one. */
typedef struct stk_steps_plan {
    stk_buffer drawn, places, ops, rounds, boxes, weights, entries; /* `drawn`: operations as they came, `places`: theirs */
    stk_buffer block;                                               /* what is copied to the device */
    uint64_t ops_at, entries_at, boxes_at, weights_at;              /* within it */
    stk_gpu_output output;
    stk_erase_value erased;
    uint64_t image_bytes; /* of a picture */
    uint32_t n, n_added, n_counted, n_blurs; /* the last two: most of a round */
    bool moves; /* some picture needs two places */
} stk_steps_plan;

void stk_steps_plan_free(stk_steps_plan *plan);

/* What the stages before are to make: pictures of the tensor's size. */
stk_gpu_output stk_steps_picture(const stk_gpu_output *output);

/* Begins a batch of n entries; erased: what its boxes hold. Then comes each entry, in order, with what was drawn for it, or NULL for one that is bad;
 * stream: the key of its random values. */
void stk_steps_plan_begin(stk_steps_plan *plan, uint32_t n, const stk_gpu_output *output, stk_erase_value erased);
stk_status stk_steps_plan_add(stk_steps_plan *plan, const stk_drawn_steps *drawn, uint64_t stream, stk_error *error);
/* Sorts, and makes the block. mixings: the batch's, of n / n_views samples; NULL: nothing is mixed. */
stk_status stk_steps_plan_end(stk_steps_plan *plan, uint32_t n_views, const stk_mixing *mixings, stk_error *error);

/* Device memory for pictures, what is counted of them, and planes; where the parts lie. */
typedef struct stk_steps_room {
    uint64_t counted_at, planes_at, n_bytes;
    uint32_t planes_at_once;
} stk_steps_room;
stk_steps_room stk_steps_plan_room(const stk_steps_plan *plan);

/* The descriptor of a planned batch whose block and room are at the given device addresses. Norm, out, images and what
 * erasing needs are the caller's to fill in. */
void stk_steps_fill(const stk_steps_plan *plan, const uint8_t *block, uint8_t *room, stk_gpu_steps *out);

#endif
