/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/worker.h"

#include <string.h>

#include "common/clock.h"
#include "common/fail.h"
#include "common/rng.h"
#include "reader/sample_render.h"

enum {
    SUBSTITUTE_TRIES = 16,
    TIMED_EACH_NS = 4000,   /* samples that take longer are timed one by one; of shorter ones one a chunk */
    SLOW_READ_NS = 2000000, /* a read that waited for a device */
    PREFETCH_AHEAD = 2
};

#define NOT_AHEAD UINT64_MAX

/* A sample on its way into its entries. */
typedef struct sample {
    uint32_t number;   /* in the batch */
    uint64_t sequence; /* among this rank's, as read-ahead counts; NOT_AHEAD for one out of turn */
    stk_pick pick;
    stk_row row;
} sample;

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    /* Only the owning thread writes: a plain add without a locked instruction. */
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + n, memory_order_relaxed);
}

/* ---- Columns. */

static void write_null(const stk_column_plan *column, uint8_t *out)
{
    memset(out, 0, column->n_bytes);
    size_t size = stk_type_size(column->type);
    for (size_t at = 0; at < column->n_bytes; at += size) {
        static const uint8_t nan16[2] = {0x00, 0x7e}, nan32[4] = {0, 0, 0xc0, 0x7f},
                             nan64[8] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
        if (column->type == STK_TYPE_F16) memcpy(out + at, nan16, sizeof nan16);
        if (column->type == STK_TYPE_F32) memcpy(out + at, nan32, sizeof nan32);
        if (column->type == STK_TYPE_F64) memcpy(out + at, nan64, sizeof nan64);
    }
}

static stk_status write_columns(const stk_pipeline *p, stk_slot *slot, const sample *s, stk_error *error)
{
    for (uint32_t c = 0; c < p->n_columns; c++) {
        const stk_column_plan *column = &p->columns[c];
        uint8_t *first = (uint8_t *)slot->columns[c] + (size_t)s->number * p->n_views * column->n_bytes;
        stk_value value;
        STK_TRY(
            stk_dataset_value(p->env.dataset, column->column, s->pick.id, first, column->n_bytes, &value, error));
        if (value.is_null) write_null(column, first);
        for (uint32_t v = 1; v < p->n_views; v++) memcpy(first + v * column->n_bytes, first, column->n_bytes);
    }
    return STK_OK;
}

/* ---- One sample. */

static uint8_t *region_of(const stk_pipeline *p, const stk_slot *slot, uint32_t entry, size_t *n_bytes)
{
    uint8_t *data = slot->batch.data;
    if (p->work->packed) {
        *n_bytes = slot->capacity;
        return data;
    }
    if (p->work->fixed) {
        *n_bytes = slot->batch.sample_bytes;
        return data + (size_t)entry * *n_bytes;
    }
    *n_bytes = (size_t)(slot->offsets[entry + 1] - slot->offsets[entry]);
    return data + slot->offsets[entry];
}

/* Runs all views of one sample on one reading of its payload. */
static stk_status run_views(stk_pipeline *p, stk_worker *w, stk_slot *slot, const sample *s, const uint8_t *data,
                            stk_error *error)
{
    stk_work_item item = {
        .epoch = slot->batch.epoch,
        .id = s->pick.id,
        .occurrence = s->pick.occurrence,
        .row = &s->row,
        .data = data,
        .width = slot->batch.width,
        .height = slot->batch.height,
        .cursor = &slot->cursor,
    };
    for (uint32_t v = 0; v < p->n_views; v++) {
        size_t n_bytes;
        item.view = p->first_view + v;
        item.entry = s->number * p->n_views + v;
        uint8_t *region = region_of(p, slot, item.entry, &n_bytes);
        STK_TRY(p->work->run(&p->env, w->bench, &item, region, n_bytes, error));
    }
    return STK_OK;
}

static void time_sample(stk_pipeline *p, stk_worker *w, uint64_t start, uint64_t read, uint64_t end)
{
    add(&w->read_ns, read - start);
    add(&w->decode_ns, end - read);
    if (p->readahead != NULL && read - start > SLOW_READ_NS) stk_readahead_slow(p->readahead);
}

static void begin_range(const stk_pipeline *p, const char *name)
{
    if (p->ranges.push != NULL) p->ranges.push(name);
}

static void end_range(const stk_pipeline *p)
{
    if (p->ranges.push != NULL) p->ranges.pop();
}

/* The sample's payload: read ahead, or read now. With *haul set the bytes are to be given back to it. */
static stk_status get_payload(stk_pipeline *p, stk_worker *w, const sample *s, const uint8_t **data,
                              stk_haul **haul, stk_error *error)
{
    const stk_payload_source *source = p->env.dataset->payload;
    *haul = NULL;
    if (p->readahead != NULL && s->sequence != NOT_AHEAD) {
        *data = stk_readahead_take(p->readahead, s->sequence, &s->row, haul);
        if (*data != NULL) return stk_payload_accept(source, s->pick.id, &s->row, *data, error);
    }
    return stk_payload_get(source, &w->bench->payload, s->pick.id, &s->row, data, error);
}

static void note_doing(stk_worker *w, const sample *s, stk_doing doing)
{
    atomic_store_explicit(&w->doing, (s->pick.id + 1) * 4 + doing, memory_order_relaxed);
}

/* Reads and runs a sample whose row is known. */
static stk_status do_sample(stk_pipeline *p, stk_worker *w, stk_slot *slot, sample *s, bool timed,
                            stk_error *error)
{
    const uint8_t *data = NULL;
    stk_haul *haul = NULL;
    if (p->work->picks) return p->n_columns > 0 ? write_columns(p, slot, s, error) : STK_OK;
    bool resident = stk_work_resident(&p->env, s->pick.id);
    note_doing(w, s, STK_DOING_READ);
    uint64_t start = timed ? stk_now_ns() : 0, read = 0;
    begin_range(p, "stoker read");
    stk_status status = resident ? STK_OK : get_payload(p, w, s, &data, &haul, error);
    end_range(p);
    note_doing(w, s, STK_DOING_DECODE);
    if (timed) read = stk_now_ns();
    if (status == STK_OK && !resident) {
        add(&w->bytes_read, s->row.n_bytes);
        status = stk_row_resolve(w->bench->codec, data, &s->row, error);
    }
    if (status == STK_OK) {
        begin_range(p, p->work->range != NULL ? p->work->range : p->work->name);
        status = run_views(p, w, slot, s, data, error);
        end_range(p);
    }
    if (haul != NULL) stk_readahead_done(p->readahead, haul);
    if (status == STK_OK && p->n_columns > 0) status = write_columns(p, slot, s, error);
    if (timed) time_sample(p, w, start, read, stk_now_ns());
    return status;
}

static void write_entries(const stk_pipeline *p, stk_slot *slot, const sample *s, int64_t label, stk_status status)
{
    for (uint32_t v = 0; v < p->n_views; v++) {
        size_t e = (size_t)s->number * p->n_views + v;
        slot->ids[e] = s->pick.id;
        slot->occurrences[e] = s->pick.occurrence;
        slot->labels[e] = label;
        slot->statuses[e] = (int32_t)status;
    }
}

/* ---- Bad samples. */

static void zero_sample(const stk_pipeline *p, stk_slot *slot, uint32_t number, stk_status status)
{
    for (uint32_t v = 0; v < p->n_views; v++) {
        size_t n_bytes;
        uint32_t entry = number * p->n_views + v;
        uint8_t *region = region_of(p, slot, entry, &n_bytes);
        if (p->work->packed) p->work->blank(region, entry, status);
        else memset(region, 0, n_bytes);
    }
    for (uint32_t c = 0; c < p->n_columns; c++) {
        size_t n_bytes = p->columns[c].n_bytes * p->n_views;
        memset((uint8_t *)slot->columns[c] + number * n_bytes, 0, n_bytes);
    }
}

/* Another sample of the epoch, the same one on every run: its choice depends on the bad one alone. Views are not
 * part of the key, so that all views of an entry show the same image. */
static bool substitute(stk_pipeline *p, stk_worker *w, stk_slot *slot, sample *s)
{
    const stk_pick bad = s->pick;
    for (uint32_t t = 0; t < SUBSTITUTE_TRIES; t++) {
        stk_rng rng = stk_rng_for(p->env.rule.seed, slot->batch.epoch, bad.id, bad.occurrence, t,
                                  STK_PURPOSE_SUBSTITUTE);
        s->sequence = NOT_AHEAD;
        s->pick = stk_sampler_at(p->sampler, &w->view, stk_rng_below(&rng, p->schedule.length));
        if (s->pick.id == bad.id || stk_dataset_row(p->env.dataset, s->pick.id, &s->row, NULL) != STK_OK) continue;
        if (do_sample(p, w, slot, s, false, NULL) != STK_OK) continue;
        write_entries(p, slot, s, s->row.label, STK_OK);
        return true;
    }
    s->pick = bad;
    return false;
}

static void handle_bad(stk_pipeline *p, stk_worker *w, stk_slot *slot, sample *s, int64_t label, stk_status status,
                       stk_error *error)
{
    add(&w->bad_samples, 1);
    error->status = status;
    stk_dataset_name_record(p->env.dataset, s->pick.id, error);
    write_entries(p, slot, s, label, status);
    switch (p->on_bad) {
    case STK_ON_BAD_ERROR: stk_pipeline_fail(p, slot, s->number, error); return;
    case STK_ON_BAD_SKIP:
        zero_sample(p, slot, s->number, status);
        stk_pipeline_log(p, "%s; left out of epoch %llu", error->text, (unsigned long long)slot->batch.epoch);
        return;
    case STK_ON_BAD_SUBSTITUTE: break;
    }
    if (substitute(p, w, slot, s)) {
        add(&w->substituted, 1);
        stk_pipeline_log(p, "%s; record %llu takes its place in epoch %llu", error->text,
                         (unsigned long long)s->pick.id, (unsigned long long)slot->batch.epoch);
        return;
    }
    stk_fail_prefix(error, "no good sample was found to take the place of: ");
    stk_pipeline_fail(p, slot, s->number, error);
}

/* ---- Chunks. */

static void look_up(const stk_pipeline *p, stk_worker *w, const stk_chunk *chunk, sample *samples)
{
    if (!w->has_view || w->view.epoch != chunk->slot->batch.epoch) {
        stk_sampler_begin(p->sampler, chunk->slot->batch.epoch, &w->view);
        w->has_view = true;
    }
    uint64_t place = (chunk->slot->share.first + chunk->first) % p->schedule.length;
    for (uint32_t k = 0; k < chunk->n; k++) {
        samples[k].number = chunk->first + k;
        samples[k].sequence = chunk->slot->sequence + chunk->first + k;
        samples[k].pick = stk_sampler_at(p->sampler, &w->view, place);
        if (++place == p->schedule.length) place = 0;
    }
}

static void run_chunk(stk_pipeline *p, stk_worker *w, const stk_chunk *chunk)
{
    sample samples[STK_CHUNK_MAX];
    stk_error errors, *error = &errors;
    stk_storage *storage = p->env.dataset->storage;
    uint64_t row_failed = 0; /* bit k: look it up again, for the error's text */
    look_up(p, w, chunk, samples);
    for (uint32_t k = 0; k < chunk->n; k++)
        if (storage->ops->row(storage, samples[k].pick.id, &samples[k].row, NULL) != STK_OK)
            row_failed |= (uint64_t)1 << k;

    bool each = w->ns_per_sample > TIMED_EACH_NS;
    uint32_t timed = chunk->n / 2; /* the first one also pays for what is done once a round */
    for (uint32_t k = 0; k < chunk->n; k++) {
        sample *s = &samples[k];
        bool failed = row_failed >> k & 1;
        if (k + PREFETCH_AHEAD < chunk->n && !(row_failed >> (k + PREFETCH_AHEAD) & 1) &&
            !p->work->picks && !stk_work_resident(&p->env, samples[k + PREFETCH_AHEAD].pick.id))
            stk_payload_prefetch(p->env.dataset->payload, samples[k + PREFETCH_AHEAD].pick.id,
                                 &samples[k + PREFETCH_AHEAD].row);
        stk_status status = failed ? stk_dataset_row(p->env.dataset, s->pick.id, &s->row, error) : STK_OK;
        int64_t label = status == STK_OK ? s->row.label : -1;
        if (status == STK_OK) status = do_sample(p, w, chunk->slot, s, each || k == timed, error);
        if (status == STK_OK)
            write_entries(p, chunk->slot, s, label, STK_OK);
        else
            handle_bad(p, w, chunk->slot, s, label, status, error);
    }
}

/* Of cheap samples only one of a chunk was timed; its split between reading and decoding stands for the
 * others. */
static void account(stk_worker *w, const stk_chunk *chunk, uint64_t elapsed, uint64_t read_before,
                    uint64_t decode_before)
{
    uint64_t read = atomic_load_explicit(&w->read_ns, memory_order_relaxed) - read_before;
    uint64_t decode = atomic_load_explicit(&w->decode_ns, memory_order_relaxed) - decode_before;
    if (w->ns_per_sample <= TIMED_EACH_NS && read + decode > 0 && elapsed > read + decode) {
        uint64_t rest = elapsed - read - decode;
        uint64_t rest_read = (uint64_t)((double)rest * (double)read / (double)(read + decode));
        add(&w->read_ns, rest_read);
        add(&w->decode_ns, rest - rest_read);
    }
    double now = (double)elapsed / chunk->n;
    w->ns_per_sample = w->ns_per_sample <= 0 ? now : w->ns_per_sample * 0.9 + now * 0.1;
    add(&w->samples, chunk->n);
}

void stk_worker_loop(stk_pipeline *p, stk_worker *w)
{
    stk_chunk chunk;
    while (stk_pipeline_claim(p, w, &chunk)) {
        uint64_t start = stk_now_ns();
        uint64_t read = atomic_load_explicit(&w->read_ns, memory_order_relaxed);
        uint64_t decode = atomic_load_explicit(&w->decode_ns, memory_order_relaxed);
        stk_payload_begin_round(&w->bench->payload);
        run_chunk(p, w, &chunk);
        atomic_store_explicit(&w->doing, 0, memory_order_relaxed);
        account(w, &chunk, stk_now_ns() - start, read, decode);
        stk_pipeline_finish(p, w, &chunk);
    }
}
