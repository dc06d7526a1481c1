/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/pipeline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/checked.h"
#include "common/clock.h"
#include "common/fail.h"
#include "reader/batch_mix.h"

enum { CHUNK_NS = 25000 }; /* work a claim: long against the lock, short against a batch */

stk_status stk_pipeline_init(stk_pipeline *p, stk_error *error)
{
    p->tickets = calloc(p->n_ahead, sizeof *p->tickets);
    if (p->tickets == NULL) return stk_fail_memory(error, "the loader");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->log_lock, NULL);
    pthread_cond_init(&p->work_cond, NULL);
    pthread_cond_init(&p->ready_cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
    p->has_lock = true;
    return STK_OK;
}

void stk_pipeline_log(stk_pipeline *p, const char *format, ...)
{
    if (p->log == NULL) return;
    char line[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pthread_mutex_lock(&p->log_lock);
    p->log(p->log_user, line);
    pthread_mutex_unlock(&p->log_lock);
}

/* ---- Opening a batch. */

/* The first record of a batch decides its images' size when the transform does not; a record whose row
 * cannot be read is passed over, its turn to fail comes later. */
static void first_size(const stk_pipeline *p, stk_sampler_view *view, const stk_share *share, uint32_t *width,
                       uint32_t *height)
{
    for (uint32_t j = 0; j < share->n; j++) {
        stk_row row;
        stk_pick pick = stk_sampler_at(p->sampler, view, (share->first + j) % p->schedule.length);
        if (stk_dataset_image_row(p->env.dataset, pick.id, &row, NULL) != STK_OK || row.width == 0) continue;
        *width = row.width;
        *height = row.height;
        return;
    }
    *width = *height = 1;
}

/* Packed work: the table of entries at the slot's start. */
static uint64_t table_bytes(const stk_pipeline *p, const stk_share *share)
{
    return ((uint64_t)share->n * p->n_views * p->work->entry_bytes + 63) & ~(uint64_t)63;
}

/* Where each entry starts when entries differ in size. A sample whose size cannot be told gets none; running it
 * will report why. */
static size_t lay_out_entries(const stk_pipeline *p, stk_sampler_view *view, const stk_share *share,
                              uint64_t epoch, uint32_t width, uint32_t height, uint64_t *offsets)
{
    uint64_t at = p->work->packed ? table_bytes(p, share) : 0;
    if (p->work->packed && p->env.all_resident) return (size_t)at; /* the table is all there is */
    for (uint32_t j = 0; j < share->n; j++) {
        stk_row row;
        stk_pick pick = stk_sampler_at(p->sampler, view, (share->first + j) % p->schedule.length);
        stk_status status = stk_dataset_row(p->env.dataset, pick.id, &row, NULL);
        for (uint32_t v = 0; v < p->n_views; v++) {
            stk_work_item item = {.epoch = epoch, .id = pick.id, .occurrence = pick.occurrence,
                                  .view = p->first_view + v, .row = &row, .width = width, .height = height};
            size_t n_bytes = 0;
            if (status != STK_OK || p->work->size(&p->env, &item, &n_bytes, NULL) != STK_OK) n_bytes = 0;
            if (offsets != NULL) offsets[(size_t)j * p->n_views + v] = at;
            if (!stk_add_u64(at, (n_bytes + 63) & ~(uint64_t)63, &at)) return SIZE_MAX;
        }
    }
    if (offsets != NULL) offsets[(size_t)share->n * p->n_views] = at;
    return (size_t)at;
}

static void fill_batch(const stk_pipeline *p, stk_slot *slot, const stk_ticket *ticket, const stk_share *share,
                       uint32_t width, uint32_t height, size_t sample_bytes)
{
    stk_batch *b = &slot->batch;
    b->epoch = ticket->start.epoch;
    b->index = ticket->start.cursor / ((uint64_t)p->schedule.batch_size * p->schedule.world);
    b->n = share->n * p->n_views;
    b->n_valid = share->n_valid * p->n_views;
    b->width = width;
    b->height = height;
    b->channels = p->env.channels;
    b->dtype = p->env.dtype;
    b->layout = p->env.layout;
    if (p->env.arrays) {
        b->width = b->height = 0;
        slot->array = p->env.array;
        b->array = &slot->array;
    }
    b->sample_bytes = sample_bytes;
    b->offsets = slot->offsets;
    slot->share = *share;
    slot->bad_sample = UINT32_MAX;
    b->data_bytes = sample_bytes * b->n;
    if (p->work->packed) {
        b->offsets = NULL;
        atomic_store_explicit(&slot->cursor, table_bytes(p, share), memory_order_relaxed);
    }
    atomic_store_explicit(&slot->pending, share->n, memory_order_relaxed);
}

static stk_status take_slot(stk_pipeline *p, const stk_ticket *ticket, const stk_share *share, stk_slot **out,
                            bool *surplus, stk_error *error)
{
    uint32_t width = p->env.width, height = p->env.height;
    size_t sample_bytes = 0, n_bytes = 0;
    stk_sampler_view view;
    bool look = width == 0 || !p->work->fixed;
    if (look) stk_sampler_begin(p->sampler, ticket->start.epoch, &view);
    if (width == 0) first_size(p, &view, share, &width, &height);
    bool fits = true;
    if (p->work->picks)
        n_bytes = 1; /* a slot has some memory */
    else if (p->work->fixed)
        fits = stk_work_fixed_bytes(&p->env, width, height, &sample_bytes) &&
               stk_mul_size(sample_bytes, (size_t)share->n * p->n_views, &n_bytes);
    else
        n_bytes = lay_out_entries(p, &view, share, ticket->start.epoch, width, height, NULL);
    if (!fits || n_bytes > SIZE_MAX / 2)
        return p->env.arrays ? stk_fail(error, STK_ERR_ARGUMENT, "a batch of %u arrays of %zu bytes is too large",
                                        share->n, sample_bytes)
                             : stk_fail(error, STK_ERR_ARGUMENT, "a batch of %u images of %ux%u is too large", share->n,
                                        width, height);
    STK_TRY(stk_slot_get(p->pool, n_bytes, out, surplus, error));
    if (!p->work->fixed) lay_out_entries(p, &view, share, ticket->start.epoch, width, height, (*out)->offsets);
    fill_batch(p, *out, ticket, share, width, height, sample_bytes);
    return STK_OK;
}

/* Counted here; said once, by claim, when the lock is free again. */
static void count_surplus(stk_pipeline *p)
{
    if (p->surplus_slots++ == 0) p->warn_surplus = true;
}

static stk_place epoch_start(uint64_t epoch) { return (stk_place){.epoch = epoch, .cursor = 0}; }

/* Opens the batch at next_open. Called with the lock held and opening false. With slots to spare this is quick,
 * and the lock stays; where rows must be read it is released meanwhile. */
static void open_next_batch(stk_pipeline *p)
{
    stk_share share;
    stk_place start = p->next_open;
    if (!stk_schedule_share(&p->schedule, start.cursor, &share)) {
        start = epoch_start(start.epoch + 1);
        (void)stk_schedule_share(&p->schedule, 0, &share); /* an epoch without a batch is refused on opening */
    }
    stk_ticket made = {.start = start, .after = {.epoch = start.epoch, .cursor = share.next}};
    made.last = stk_schedule_steps(&p->schedule, share.next) == 0;
    uint64_t generation = p->generation;
    bool surplus = false, slow = p->env.width == 0 || !p->work->fixed;

    p->opening = true;
    if (slow) pthread_mutex_unlock(&p->lock);
    made.status = take_slot(p, &made, &share, &made.slot, &surplus, &made.error);
    if (slow) pthread_mutex_lock(&p->lock);
    p->opening = false;

    if (generation != p->generation || p->stop) {
        if (made.slot != NULL) stk_slot_put(made.slot);
        return;
    }
    made.ready = made.slot == NULL;
    if (surplus) count_surplus(p);
    if (made.slot != NULL) {
        made.slot->serial = p->tail;
        made.slot->generation = generation;
        made.slot->sequence = p->opened;
    }
    p->tickets[p->tail % p->n_ahead] = made;
    p->tail++;
    p->opened += share.n;
    p->next_open = made.last ? epoch_start(start.epoch + 1) : made.after;
    p->open = made.slot;
    p->open_next = 0;
    if (made.ready && p->tail - 1 == p->head) pthread_cond_signal(&p->ready_cond);
    if (made.ready && p->readahead != NULL)
        stk_readahead_advance(p->readahead, share.n); /* nobody will claim them */
}

/* ---- Workers. */

static uint32_t chunk_size(const stk_worker *w)
{
    if (w->ns_per_sample <= 0) return 1;
    double n = CHUNK_NS / w->ns_per_sample;
    return n < 1 ? 1 : n > STK_CHUNK_MAX ? STK_CHUNK_MAX : (uint32_t)n;
}

static void wait_for_work(stk_pipeline *p, stk_worker *w)
{
    uint64_t before = stk_now_ns();
    p->idle++;
    pthread_cond_wait(&p->work_cond, &p->lock);
    p->idle--;
    atomic_fetch_add_explicit(&w->wait_ns, stk_now_ns() - before, memory_order_relaxed);
}

bool stk_pipeline_claim(stk_pipeline *p, stk_worker *w, stk_chunk *out)
{
    uint32_t want = chunk_size(w);
    bool got = false, warn;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->open != NULL) {
            uint32_t left = p->open->share.n - p->open_next;
            *out = (stk_chunk){.slot = p->open, .first = p->open_next, .n = want < left ? want : left};
            p->open_next += out->n;
            if (out->n == left) p->open = NULL;
            got = true;
            break;
        }
        if (!p->opening && p->tail - p->head < p->n_ahead) {
            open_next_batch(p);
            if (p->idle > 0) pthread_cond_broadcast(&p->work_cond);
        } else {
            wait_for_work(p, w);
        }
    }
    warn = p->warn_surplus;
    p->warn_surplus = false;
    pthread_mutex_unlock(&p->lock);
    if (warn)
        stk_pipeline_log(p,
                         "the program holds all of the loader's batches; more memory is taken so as not to wait. "
                         "Release batches sooner, or ignore this if they are kept on purpose.");
    if (got && p->readahead != NULL) stk_readahead_advance(p->readahead, out->n);
    return got;
}

/* Takes n samples off what a slot waits for; true for the one that takes the last. */
static bool count_down(stk_slot *slot, uint32_t n)
{
    return atomic_fetch_sub_explicit(&slot->pending, n, memory_order_acq_rel) == n;
}

/* By the thread that did the last sample; the others are at the next batch meanwhile. */
static void mix(stk_pipeline *p, stk_worker *w, stk_slot *slot)
{
    stk_error error;
    const bool has_pixels = p->work == &stk_work_pixels;
    if (slot->bad_sample == UINT32_MAX &&
        stk_mix_slot(&p->env, slot, p->n_views, has_pixels, &w->bench->scratch, &error) != STK_OK)
        stk_pipeline_fail(p, slot, 0, &error);
}

void stk_pipeline_finish(stk_pipeline *p, stk_worker *w, const stk_chunk *chunk)
{
    stk_slot *slot = chunk->slot;
    if (!count_down(slot, chunk->n)) return;
    if (p->mixes) mix(p, w, slot);
    if (p->work->packed)
        slot->batch.data_bytes = (size_t)atomic_load_explicit(&slot->cursor, memory_order_relaxed);
    else if (!p->work->fixed) slot->batch.data_bytes = (size_t)slot->offsets[slot->batch.n];
    pthread_mutex_lock(&p->lock);
    bool dropped = slot->generation != p->generation;
    if (!dropped) {
        stk_ticket *ticket = &p->tickets[slot->serial % p->n_ahead];
        ticket->ready = true;
        if (slot->bad_sample != UINT32_MAX) {
            ticket->status = slot->error.status;
            ticket->error = slot->error;
        }
        if (slot->serial == p->head) pthread_cond_signal(&p->ready_cond);
    }
    pthread_mutex_unlock(&p->lock);
    if (dropped) stk_slot_put(slot);
}

void stk_pipeline_fail(stk_pipeline *p, stk_slot *slot, uint32_t sample, const stk_error *error)
{
    pthread_mutex_lock(&p->lock);
    if (sample < slot->bad_sample) {
        slot->bad_sample = sample;
        slot->error = *error;
    }
    pthread_mutex_unlock(&p->lock);
}

void stk_pipeline_stop(stk_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work_cond);
    pthread_mutex_unlock(&p->lock);
}

/* ---- The consumer. */

/* Waits until the ticket at head is ready; false when time is up. Lock held. */
static bool wait_ready(stk_pipeline *p, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ms > 0) {
        until.tv_sec += timeout_ms / 1000;
        until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
    }
    uint64_t before = stk_now_ns();
    bool ready;
    while (!(ready = p->head < p->tail && p->tickets[p->head % p->n_ahead].ready) && timeout_ms != 0) {
        if (timeout_ms < 0)
            pthread_cond_wait(&p->ready_cond, &p->lock);
        else if (pthread_cond_timedwait(&p->ready_cond, &p->lock, &until) == ETIMEDOUT)
            timeout_ms = 0; /* look once more, then give up */
    }
    p->consumer_wait_ns += stk_now_ns() - before;
    return ready;
}

stk_status stk_pipeline_next(stk_pipeline *p, int timeout_ms, stk_batch **out, stk_error *error)
{
    pthread_mutex_lock(&p->lock);
    if (p->end_pending) {
        p->end_pending = false;
        p->next_out = epoch_start(p->next_out.epoch + 1);
        pthread_mutex_unlock(&p->lock);
        return STK_END;
    }
    bool ready = p->head < p->tail && p->tickets[p->head % p->n_ahead].ready;
    if (!ready && !wait_ready(p, timeout_ms)) {
        pthread_mutex_unlock(&p->lock);
        return STK_AGAIN;
    }
    stk_ticket *ticket = &p->tickets[p->head % p->n_ahead];
    stk_slot *slot = ticket->slot;
    stk_status status = ticket->status;
    p->next_out = ticket->after;
    p->end_pending = ticket->last;
    p->head++;
    if (status == STK_OK) p->batches++;
    if (status != STK_OK && error != NULL) *error = ticket->error;
    if (p->idle > 0) pthread_cond_signal(&p->work_cond);
    pthread_mutex_unlock(&p->lock);
    if (status != STK_OK) {
        if (slot != NULL) stk_slot_put(slot);
        return status;
    }
    stk_slot_hand_out(slot);
    *out = &slot->batch;
    return STK_OK;
}

/* Lock held. What is ready goes back to the pool; what is in the making is counted down by the unclaimed samples
 * and put back by whoever finishes it. */
static void drop_prepared(stk_pipeline *p)
{
    p->generation++;
    p->opened = 0;
    stk_slot *open = p->open;
    uint32_t unclaimed = open != NULL ? open->share.n - p->open_next : 0;
    p->open = NULL;
    for (; p->head < p->tail; p->head++) {
        stk_ticket *ticket = &p->tickets[p->head % p->n_ahead];
        if (ticket->ready && ticket->slot != NULL) stk_slot_put(ticket->slot);
    }
    if (open != NULL && count_down(open, unclaimed)) stk_slot_put(open);
}

static bool same_place(stk_place a, stk_place b) { return a.epoch == b.epoch && a.cursor == b.cursor; }

void stk_pipeline_seek(stk_pipeline *p, stk_place place)
{
    stk_place start = place;
    bool at_end = stk_schedule_steps(&p->schedule, place.cursor) == 0;
    if (at_end) start = epoch_start(place.epoch + 1);
    pthread_mutex_lock(&p->lock);
    stk_place upcoming = p->head < p->tail ? p->tickets[p->head % p->n_ahead].start : p->next_open;
    if (!same_place(upcoming, start)) {
        drop_prepared(p);
        p->next_open = start;
        if (p->readahead != NULL) stk_readahead_seek(p->readahead, start.epoch, start.cursor);
        pthread_cond_broadcast(&p->work_cond);
    }
    p->next_out = place;
    p->end_pending = at_end;
    pthread_mutex_unlock(&p->lock);
}

void stk_pipeline_destroy(stk_pipeline *p)
{
    if (p->has_lock) {
        pthread_mutex_lock(&p->lock);
        /* No thread is left to finish the batches in the making. */
        for (; p->head < p->tail; p->head++) {
            stk_ticket *ticket = &p->tickets[p->head % p->n_ahead];
            if (ticket->slot != NULL) stk_slot_put(ticket->slot);
        }
        pthread_mutex_unlock(&p->lock);
        pthread_mutex_destroy(&p->lock);
        pthread_mutex_destroy(&p->log_lock);
        pthread_cond_destroy(&p->work_cond);
        pthread_cond_destroy(&p->ready_cond);
    }
    stk_slot_pool_close(&p->pool);
    free(p->tickets);
    p->tickets = NULL;
    p->has_lock = false;
}
