/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/direct.h"

#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

/* One size, one number of channels, nothing turned, nothing missing. */
static bool alike(const stk_gather_entry *entries, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const stk_gather_entry *e = &entries[i];
        if (e->kind != STK_GATHER_RAW || e->orientation != 1 || e->width != entries[0].width ||
            e->height != entries[0].height || e->channels != entries[0].channels)
            return false;
    }
    return n > 0;
}

/* Output pixels are pixels of the record, or beside it. */
static bool without_resampling(const stk_transform *t, const stk_gather_entry *e)
{
    const uint64_t pad = t->pad;
    switch (t->kind) {
    case STK_TRANSFORM_NONE: return true;
    case STK_TRANSFORM_RESIZE: return t->out_width == e->width && t->out_height == e->height;
    case STK_TRANSFORM_PAD_CROP: return e->width + 2 * pad >= t->out_width && e->height + 2 * pad >= t->out_height;
    default: return false;
    }
}

static void fill_common(const stk_loader_options *o, const stk_gather_entry *e, const uint8_t *memory, stk_gpu_direct *d)
{
    const stk_transform *t = &o->transform;
    *d = (stk_gpu_direct){.resident = memory,
                          .n_views = o->n_views,
                          .first_view = o->first_view,
                          .seed = o->seed,
                          .width = e->width,
                          .height = e->height,
                          .channels = e->channels,
                          .moves = t->kind == STK_TRANSFORM_PAD_CROP,
                          .pad = t->kind == STK_TRANSFORM_PAD_CROP ? t->pad : 0,
                          .flip_probability = t->flip_probability};
    memcpy(d->fill, t->fill, sizeof d->fill);
}

static stk_status upload_places(stk_gpu_share *s, const stk_gather_entry *entries, uint64_t n, void *stream,
                                stk_gpu_block *places, stk_error *error)
{
    const stk_gpu_backend *k = s->backend;
    stk_gpu_block staging = {.pinned = true, .exact = true};
    size_t n_bytes;
    void *event = NULL;
    if (!stk_mul_size(n, sizeof(uint64_t), &n_bytes)) return stk_fail_memory(error, "the records' places");
    stk_status status = stk_gpu_block_fit(s, &staging, n_bytes, error);
    if (status == STK_OK) status = stk_gpu_block_fit(s, places, n_bytes, error);
    if (status == STK_OK) status = k->event_open(s->device, &event, error);
    if (status == STK_OK) {
        uint64_t *at = staging.memory;
        for (uint64_t i = 0; i < n; i++) at[i] = entries[i].data;
        status = k->copy_in(s->device, places->memory, staging.memory, n_bytes, stream, error);
    }
    if (status == STK_OK) status = k->event_record(s->device, event, stream, error);
    if (status == STK_OK) status = k->event_sync(s->device, event, error);
    if (event != NULL) k->event_close(s->device, event);
    stk_gpu_block_free(s, &staging);
    return status;
}

stk_status stk_direct_open(stk_gpu_share *s, const stk_loader_options *o, const stk_gather_entry *entries,
                           uint64_t n_records, const uint8_t *memory, void *stream, stk_direct_set *set, stk_error *error)
{
    if (entries == NULL || !alike(entries, n_records) || !without_resampling(&o->transform, &entries[0])) return STK_OK;
    if (o->transform.mode == STK_MODE_L && entries[0].channels != 1) return STK_OK; /* the loader says why not */
    fill_common(o, &entries[0], memory, &set->common);
    set->places.exact = true;
    STK_TRY(upload_places(s, entries, n_records, stream, &set->places, error));
    set->common.places = set->places.memory;
    set->on = true;
    return STK_OK;
}

void stk_direct_close(stk_gpu_share *s, stk_direct_set *set)
{
    stk_gpu_block_free(s, &set->places);
    set->on = false;
}
