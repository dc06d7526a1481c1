/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a gathered batch: what the plan accepts, the back end must be able to run without leaving its memory.
 * The first byte chooses the output; entries follow. Sizes are kept small so that a run is quick. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/gather.h>
#include <stoker/types.h>

#include "gpu_upload/backend.h"
#include "gpu_upload/device_memory.h"
#include "gpu_upload/gpu_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MOST_ENTRIES = 2, MOST_SIDE = 64, MOST_BYTES = 1 << 15, SCRATCH = 1 << 22 };

/* Runs a plan's groups as the uploader does, each part in a block of exactly its size and slack. */
static void run(const stk_gpu_plan_view *v, const uint8_t *batch, uint64_t n_bytes, const stk_gpu_output *o, uint32_t n)
{
    const stk_gpu_backend *k = &stk_gpu_dummy_backend;
    uint8_t *bytes = calloc(1, (size_t)n_bytes + STK_GPU_SLACK), *plan = calloc(1, (size_t)v->room_bytes + STK_GPU_SLACK);
    uint8_t *scratch = calloc(1, (size_t)v->scratch_bytes + STK_GPU_SLACK), *out = calloc(1, (size_t)o->image_bytes * n);
    int32_t *status = calloc(n, sizeof *status);
    if (bytes == NULL || plan == NULL || scratch == NULL || out == NULL || status == NULL) abort();
    memcpy(bytes, batch, (size_t)n_bytes);
    memcpy(plan, v->block, (size_t)v->block_bytes);
    for (uint32_t i = 0; i < v->n_groups; i++) {
        const stk_gpu_plan_group *g = &v->groups[i];
        stk_gpu_group group = {.bytes = bytes, .bytes_size = n_bytes, .n_images = g->n_images, .n_views = 1, .scratch = scratch, .out = out,
                               .status = status, .output = *o};
        group.images = (const stk_gpu_image *)(void *)(plan + v->images_at) + g->first_image;
        group.decode_items = (const stk_gpu_item *)(void *)(plan + v->items_at) + g->first_item;
        group.n_decode_items = g->n_items;
        group.axes = (int32_t *)(void *)(plan + v->axes_at);
        if (k->run(NULL, &group, NULL, NULL) != STK_OK) abort();
    }
    free(bytes);
    free(plan);
    free(scratch);
    free(out);
    free(status);
}

/* Crops that would take long are made small; everything else stays as the fuzzer has it. */
static void tame(uint8_t *batch, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        stk_gather_entry e;
        memcpy(&e, batch + i * sizeof e, sizeof e);
        if (e.width > 512) e.width %= 512;
        if (e.height > 512) e.height %= 512;
        if (e.crop_width > 512) e.crop_width %= 512;
        if (e.crop_height > 512) e.crop_height %= 512;
        if (e.full_width > 4096) e.full_width %= 4096;
        if (e.full_height > 4096) e.full_height %= 4096;
        memcpy(batch + i * sizeof e, &e, sizeof e);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    stk_gpu_plan *plan = NULL;
    int32_t statuses[MOST_ENTRIES];
    if (n_bytes < 2 + sizeof(stk_gather_entry) || n_bytes > MOST_BYTES) return 0;
    stk_gpu_output o = {.width = 1u + data[0] % MOST_SIDE, .height = 1u + data[1] % MOST_SIDE, .channels = data[0] & 64 ? 1 : 3,
                        .dtype = STK_DTYPE_U8, .layout = data[0] >> 7, .bgr = data[1] >> 7};
    o.image_bytes = (uint64_t)o.width * o.height * o.channels;
    n_bytes -= 2;
    uint32_t n = n_bytes >= 2 * sizeof(stk_gather_entry) && (data[1] & 64) ? 2 : 1;
    uint8_t *batch = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    if (batch == NULL) return 0;
    memcpy(batch, data + 2, n_bytes);
    tame(batch, n);
    if (stk_gpu_plan_open(SCRATCH, 1, &plan, NULL) != STK_OK) abort();
    if (stk_gpu_plan_make(plan, batch, n_bytes, 0, n, &o, statuses, NULL) == STK_OK) {
        stk_gpu_plan_view v = stk_gpu_plan_get(plan);
        if (v.scratch_bytes <= (uint64_t)SCRATCH * 16) run(&v, batch, n_bytes, &o, n);
    }
    stk_gpu_plan_close(&plan);
    free(batch);
    return 0;
}
