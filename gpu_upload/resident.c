/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that stay in device memory: tiles and raw ones, in order until the budget is used up. They are gathered once,
 * as whole images, by a loader like any other; its batches' bytes go to the device as they are, and their entries stay
 * here (stk_loader_options.gather_resident). From then on a batch costs the host geometry alone. */
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "gpu_upload/uploader_internal.h"

enum { RECORD_ALIGN = 64, LOAD_BATCH = 64 };

static uint64_t aligned(uint64_t n) { return (n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN; }

/* What a record takes, a little too much: tables and a listing of segments go with it. */
static uint64_t estimate(const stk_record_info *r)
{
    uint64_t segments = r->encoding == STK_ENCODING_TILES ? ((uint64_t)r->width / 32 + 2) * (r->height / 8 + 2) : 0;
    uint64_t tables = r->encoding == STK_ENCODING_TILES ? sizeof(stk_gather_tables) : 0;
    return aligned(r->n_bytes + tables + segments * (sizeof(uint32_t) + sizeof(uint16_t)));
}

/* The records that fit, by number; *total is what they take. */
static stk_status choose(stk_uploader *u, uint64_t budget, uint64_t *numbers, uint64_t *n_chosen, uint64_t *total,
                         stk_error *error)
{
    uint64_t n = stk_dataset_len(u->dataset);
    *n_chosen = *total = 0;
    for (uint64_t i = 0; i < n; i++) {
        stk_record_info r;
        STK_TRY(stk_dataset_record(u->dataset, i, &r, error));
        if (r.encoding != STK_ENCODING_TILES && r.encoding != STK_ENCODING_RAW) continue;
        uint64_t bytes = estimate(&r);
        if (bytes > budget - *total) continue;
        numbers[(*n_chosen)++] = i;
        *total += bytes;
    }
    return STK_OK;
}

/* Entries of a batch whose bytes now begin at `at`, for later. */
static void keep_entries(stk_uploader *u, const stk_batch *b, uint64_t header, uint64_t at)
{
    for (uint32_t i = 0; i < b->n_valid; i++) {
        stk_gather_entry e;
        memcpy(&e, (const uint8_t *)b->data + (size_t)i * sizeof e, sizeof e);
        /* A bad record is the loader's to report, when its turn comes. */
        if (b->statuses[i] != STK_OK || !stk_gpu_plan_entry_ok(b->data, b->data_bytes, &e)) continue;
        e.data = e.data - header + at;
        e.segments = e.kind == STK_GATHER_TILES ? e.segments - header + at : 0;
        u->resident.entries[b->ids[i]] = e;
        u->resident.n_records++;
    }
}

static stk_status load_batch(stk_uploader *u, const stk_batch *b, void *event, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    uint64_t header = (uint64_t)b->n * sizeof(stk_gather_entry), at = u->resident.n_bytes, n_bytes = b->data_bytes - header;
    if (b->data_bytes <= header || aligned(n_bytes) > u->resident.memory.capacity - at) return STK_OK; /* streamed, then */
    STK_TRY(k->copy_in(u->share->device, (uint8_t *)u->resident.memory.memory + at, (const uint8_t *)b->data + header,
                       (size_t)n_bytes, u->copy_stream, error));
    STK_TRY(k->event_record(u->share->device, event, u->copy_stream, error));
    keep_entries(u, b, header, at);
    u->resident.n_bytes = at + aligned(n_bytes);
    return k->event_sync(u->share->device, event, error);
}

/* Whole images, as stored: a resize of all of them to one pixel asks for just that. */
static void load_options(const stk_uploader *u, const uint64_t *numbers, uint64_t n, stk_loader_options *o)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, STK_TRANSFORM_RESIZE);
    o->transform.out_width = o->transform.out_height = 1;
    o->batch_size = n < LOAD_BATCH ? (uint32_t)n : LOAD_BATCH;
    o->n_threads = u->loader_options.n_threads;
    o->order = STK_ORDER_SEQUENTIAL;
    o->on_bad = STK_ON_BAD_SKIP;
    o->indices = numbers;
    o->n_indices = n;
    o->gather = true;
    o->allocator = stk_upload_allocator(u);
}

static stk_status load_all(stk_uploader *u, const uint64_t *numbers, uint64_t n, stk_error *error)
{
    stk_loader *loader = NULL;
    stk_loader_options o;
    void *event = NULL;
    load_options(u, numbers, n, &o);
    STK_TRY(stk_loader_open(u->dataset, &o, &loader, error));
    stk_status status = u->share->backend->event_open(u->share->device, &event, error);
    while (status == STK_OK) {
        stk_batch *b = NULL;
        status = stk_loader_next(loader, -1, &b, error);
        if (status == STK_OK) status = load_batch(u, b, event, error);
        stk_batch_release(b);
    }
    if (event != NULL) u->share->backend->event_close(u->share->device, event);
    stk_loader_close(&loader);
    return status == STK_END ? STK_OK : status;
}

stk_status stk_resident_load(stk_uploader *u, stk_error *error)
{
    uint64_t n = stk_dataset_len(u->dataset), budget = u->options.resident_bytes, total = 0, chosen = 0;
    bool automatic = u->options.resident == STK_RESIDENT_AUTO;
    if (u->options.resident == STK_RESIDENT_OFF || !u->gather) return STK_OK;
    if (budget == 0) budget = automatic ? u->share->info.free_bytes / 4 : u->share->info.free_bytes / 2;
    if (automatic && stk_dataset_bytes(u->dataset) > budget) return STK_OK;
    u->resident.entries = calloc((size_t)(n + 1), sizeof *u->resident.entries);
    uint64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    stk_status status = STK_OK;
    if (u->resident.entries == NULL || numbers == NULL) status = stk_fail_memory(error, "resident records");
    if (status == STK_OK) status = choose(u, budget, numbers, &chosen, &total, error);
    u->resident.memory.exact = true;
    if (status == STK_OK && chosen > 0) status = stk_gpu_block_fit(u->share, &u->resident.memory, (size_t)total, error);
    if (status == STK_ERR_MEMORY && automatic) { /* nobody asked for it: somebody else took the memory meanwhile */
        stk_gpu_share_log(u->share, "the records find no room in GPU memory after all: they are streamed");
        status = STK_OK;
        chosen = 0;
    }
    if (status == STK_OK && chosen > 0) status = load_all(u, numbers, chosen, error);
    stk_gpu_share_trim(u->share); /* the slots that they came in are larger than any to come */
    free(numbers);
    return status;
}

void stk_resident_free(stk_uploader *u)
{
    stk_gpu_block_free(u->share, &u->resident.memory);
    free(u->resident.entries);
    u->resident.entries = NULL;
}
