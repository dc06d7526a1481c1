/* SPDX-License-Identifier: Apache-2.0
 *
 * From a gathered batch to groups of device work. Runs on the host, touches descriptors and tables only (and the
 * segment offsets, which it checks), never the entropy-coded bits. */
#ifndef STK_GPU_PLAN_H
#define STK_GPU_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/gather.h>
#include <stoker/status.h>

#include "gpu_upload/gpu_batch.h"

typedef struct stk_gpu_plan stk_gpu_plan;

typedef struct stk_gpu_plan_group {
    uint32_t first_image, n_images;
    uint32_t first_item, n_items; /* of decoding */
    uint32_t first_other, n_others; /* images that are not fused */
    uint32_t rows[STK_GPU_STAGES];
    uint32_t n_strips[STK_GPU_WIDTHS], widest_line;
    uint64_t scratch_bytes;
} stk_gpu_plan_group;

/* One plan is reused for all batches of an uploader; its memory grows and stays. A sample's n_views images are in one
 * group, whose scratch therefore is scratch_cap bytes but for what they differ. */
stk_status stk_gpu_plan_open(uint64_t scratch_cap, uint32_t n_views, stk_gpu_plan **out, stk_error *error);
void stk_gpu_plan_close(stk_gpu_plan **plan);

/* Plans n entries at the start of batch (n_bytes in all). resident_bytes: size of the resident memory (0 = none).
 * Entries that do not validate become STK_GATHER_EMPTY with STK_ERR_INTERNAL in statuses[i]. */
stk_status stk_gpu_plan_make(stk_gpu_plan *plan, const uint8_t *batch, uint64_t n_bytes, uint64_t resident_bytes,
                             uint32_t n, const stk_gpu_output *output, int32_t *statuses, stk_error *error);

/* True when an entry of a gathered batch is sound in itself: for those that are kept in resident memory, whose tables
 * nobody looks at later. */
bool stk_gpu_plan_entry_ok(const uint8_t *batch, uint64_t n_bytes, const stk_gather_entry *entry);

/* What was planned: one block to copy to the device (images, items, axis tables made on the host), and where its
 * parts lie in it. */
typedef struct stk_gpu_plan_view {
    const uint8_t *block;
    uint64_t block_bytes; /* to be copied */
    uint64_t images_at, items_at, others_at;
    uint64_t axes_at;    /* int32 tables; the device writes the rest of them, and behind them: */
    uint64_t strips_at;  /* the list of the largest group's strips */
    uint64_t room_bytes; /* of the whole, in device memory */
    const stk_gpu_plan_group *groups;
    uint32_t n_groups;
    uint64_t scratch_bytes; /* the largest group's */
} stk_gpu_plan_view;
stk_gpu_plan_view stk_gpu_plan_get(const stk_gpu_plan *plan);

#endif
