/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that stay in device memory: uploaded once at opening, tiles and raw ones only, in order until the budget is
 * used up. */
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "gpu_upload/uploader_internal.h"

enum { RECORD_ALIGN = 64, STEP = 32 << 20 };

static bool can_stay(const stk_record_info *r)
{
    return r->encoding == STK_ENCODING_TILES || r->encoding == STK_ENCODING_RAW;
}

static uint64_t aligned(uint64_t n) { return (n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN; }

/* Chooses the records and their places; *total is what they take. */
static stk_status choose(stk_uploader *u, uint64_t budget, uint64_t *total, bool *all, stk_error *error)
{
    uint64_t n = stk_dataset_len(u->dataset), at = 0;
    *all = true;
    for (uint64_t i = 0; i < n; i++) {
        stk_record_info r;
        STK_TRY(stk_dataset_record(u->dataset, i, &r, error));
        u->resident.places[i] = UINT64_MAX;
        if (!can_stay(&r)) continue;
        if (aligned(r.n_bytes) > budget - at) {
            *all = false;
            continue;
        }
        u->resident.places[i] = at;
        u->resident.n_records++;
        at += aligned(r.n_bytes);
    }
    *total = at;
    return STK_OK;
}

static stk_status flush(stk_uploader *u, const stk_gpu_block *staging, uint64_t at, size_t n_bytes, void *event,
                        stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    if (n_bytes == 0) return STK_OK;
    STK_TRY(k->copy_in(u->share->device, (uint8_t *)u->resident.memory.memory + at, staging->memory, n_bytes,
                       u->copy_stream, error));
    STK_TRY(k->event_record(u->share->device, event, u->copy_stream, error));
    return k->event_sync(u->share->device, event, error);
}

/* Records go through a pinned step; one larger than it gets a step of its size. */
static stk_status upload_all(stk_uploader *u, stk_gpu_block *staging, void *event, stk_error *error)
{
    uint64_t n = stk_dataset_len(u->dataset), first = 0;
    size_t used = 0;
    stk_buffer payload = {0};
    stk_status status = stk_gpu_block_fit(u->share, staging, STEP, error);
    for (uint64_t i = 0; i < n && status == STK_OK; i++) {
        if (u->resident.places[i] == UINT64_MAX) continue;
        status = stk_dataset_payload(u->dataset, i, &payload, error);
        if (status == STK_ERR_CHECKSUM) { /* a bad record is the loader's to report, when its turn comes */
            u->resident.places[i] = UINT64_MAX;
            status = STK_OK;
            continue;
        }
        if (status != STK_OK) break;
        size_t room = (size_t)aligned(payload.n_bytes);
        if (used > 0 && used + room > staging->capacity) {
            status = flush(u, staging, first, used, event, error);
            used = 0;
        }
        if (status == STK_OK) status = stk_gpu_block_fit(u->share, staging, room, error);
        if (status != STK_OK) break;
        if (used == 0) first = u->resident.places[i];
        memcpy((uint8_t *)staging->memory + (u->resident.places[i] - first), payload.data, payload.n_bytes);
        used = (size_t)(u->resident.places[i] - first) + room;
    }
    if (status == STK_OK) status = flush(u, staging, first, used, event, error);
    stk_buffer_free(&payload);
    return status;
}

stk_status stk_resident_load(stk_uploader *u, stk_error *error)
{
    uint64_t n = stk_dataset_len(u->dataset), budget = u->options.resident_bytes, total = 0;
    bool all = false, automatic = u->options.resident == STK_RESIDENT_AUTO;
    if (u->options.resident == STK_RESIDENT_OFF || !u->gather) return STK_OK;
    if (budget == 0) budget = automatic ? u->share->info.free_bytes / 4 : u->share->info.free_bytes / 2;
    if (automatic && stk_dataset_bytes(u->dataset) > budget) return STK_OK;
    u->resident.places = malloc((size_t)(n + 1) * sizeof *u->resident.places);
    if (u->resident.places == NULL) return stk_fail_memory(error, "places of resident records");
    STK_TRY(choose(u, budget, &total, &all, error));
    if (total == 0) return STK_OK;
    STK_TRY(stk_gpu_block_fit(u->share, &u->resident.memory, (size_t)total, error));
    u->resident.n_bytes = total;
    stk_gpu_block staging = {.pinned = true};
    void *event = NULL;
    stk_status status = u->share->backend->event_open(u->share->device, &event, error);
    if (status == STK_OK) status = upload_all(u, &staging, event, error);
    if (event != NULL) u->share->backend->event_close(u->share->device, event);
    stk_gpu_block_free(u->share, &staging);
    return status;
}

void stk_resident_free(stk_uploader *u)
{
    stk_gpu_block_free(u->share, &u->resident.memory);
    free(u->resident.places);
    u->resident.places = NULL;
}
