/* SPDX-License-Identifier: Apache-2.0
 *
 * The uploader: a pump thread takes batches from the loader, queues their copies and kernels, and lines them up; next()
 * hands the first one out and makes the caller's stream wait for it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fail.h"
#include "gpu_upload/choose.h"
#include "gpu_upload/uploader_internal.h"

enum { PUMP_POLL_MS = 50, DEFAULT_AHEAD = 3, DEFAULT_STREAMS = 2, LOOKED_AT = 256, EXTRA_SLOTS = 2 };

void stk_uploader_options_init(stk_uploader_options *o)
{
    *o = (stk_uploader_options){.struct_size = sizeof *o, .resident = STK_RESIDENT_OFF,
                                .scratch_bytes = (uint64_t)1 << 30};
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- The pump. */

/* Waits for room in the line; false when stopped. */
static bool wait_for_room(stk_uploader *u)
{
    pthread_mutex_lock(&u->lock);
    while (!u->stop && u->tail - u->head >= u->n_ahead) pthread_cond_wait(&u->room, &u->lock);
    bool go_on = !u->stop;
    pthread_mutex_unlock(&u->lock);
    return go_on;
}

/* What the ticket of a batch that is taken now must still match. With loader_lock held: a generation that was read before
 * would be another one's when the loader has been moved in between, and its first batch would be dropped. */
static uint64_t generation_of(stk_uploader *u)
{
    pthread_mutex_lock(&u->lock);
    uint64_t generation = u->generation;
    pthread_mutex_unlock(&u->lock);
    return generation;
}

static void line_up(stk_uploader *u, const stk_upload_ticket *ticket, uint64_t generation)
{
    pthread_mutex_lock(&u->lock);
    bool keep = !u->stop && generation == u->generation;
    if (keep) {
        u->tickets[u->tail % STK_UPLOAD_MAX_AHEAD] = *ticket;
        memcpy(u->queued_state, ticket->state, sizeof u->queued_state);
        u->tail++;
        pthread_cond_broadcast(&u->ready);
    }
    pthread_mutex_unlock(&u->lock);
    if (!keep && ticket->job != NULL) stk_job_put(ticket->job);
}

static void count_upload(stk_uploader *u, const stk_job *job)
{
    pthread_mutex_lock(&u->lock);
    u->stats.batches++;
    u->stats.uploaded_bytes += job->uploaded;
    pthread_mutex_unlock(&u->lock);
}

/* Looks at what the device said of a batch's bits, when it has said it. */
static stk_status look_at_bits(stk_uploader *u, stk_job *job, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    bool done = false;
    STK_TRY(k->event_done(u->share->device, job->done, &done, error));
    if (!done || job->counted) return STK_OK;
    job->counted = true;
    float up = 0, run = 0;
    if (k->event_ms(u->share->device, job->copy_begun, job->copied, &up, NULL) == STK_OK) {
        u->stats.upload_ms += (double)up;
        u->timed_bytes += job->uploaded;
    }
    if (k->event_ms(u->share->device, job->run_begun, job->done, &run, NULL) == STK_OK) u->stats.decode_ms += (double)run;
    stk_status status = STK_OK;
    for (uint32_t i = 0; i < job->batch.n; i++) {
        if (!stk_job_note_bits(job, i)) continue; /* entries that were bad before have nothing to decode */
        if (i % job->n_views == 0) u->stats.bad_on_device++; /* a sample's views are bad together */
        if (u->loader_options.on_bad != STK_ON_BAD_ERROR || status != STK_OK) continue;
        status = stk_fail(error, STK_ERR_IMAGE, "record %llu: a segment whose bits are invalid",
                          (unsigned long long)job->ids[i]);
    }
    return status;
}

/* A job's pinned staging is read and written by the device until its work is done. What its bits turned out to be is
 * told now where next() could not yet. */
static stk_status wait_for_last_use(stk_uploader *u, stk_job *job, uint64_t generation, stk_error *error)
{
    if (job == u->copying) {
        stk_upload_release_source(u, job);
        u->copying = NULL;
    }
    if (!job->was_used) return STK_OK;
    STK_TRY(u->share->backend->event_sync(u->share->device, job->done, error));
    /* The consumer's work with it is waited for here, not by our streams: a stream that stands still for somebody else's
     * can hold up others that share its hardware queue. There are jobs enough that this seldom waits. */
    if (job->was_consumed) STK_TRY(u->share->backend->event_sync(u->share->device, job->consumed, error));
    job->was_consumed = false;
    stk_upload_ticket late = {.status = STK_OK};
    pthread_mutex_lock(&u->lock);
    late.status = look_at_bits(u, job, &late.error);
    memcpy(late.state, u->queued_state, sizeof late.state);
    pthread_mutex_unlock(&u->lock);
    if (late.status != STK_OK) line_up(u, &late, generation);
    return STK_OK;
}

static void upload(stk_uploader *u, stk_batch *source, uint64_t generation, stk_upload_ticket *ticket)
{
    stk_job *job = NULL;
    stk_status status = stk_job_get(u->pool, &job, &ticket->error);
    if (status == STK_OK) status = wait_for_last_use(u, job, generation, &ticket->error);
    if (status == STK_OK) status = stk_upload_batch(u, source, job, &ticket->error);
    else if (job == NULL || job->source != source) stk_batch_release(source);
    /* The copy of the batch before has had the time of this one's planning: waiting for it costs little. */
    if (u->copying != NULL) stk_upload_release_source(u, u->copying);
    u->copying = status == STK_OK ? job : NULL;
    if (job != NULL) {
        if (status != STK_OK) stk_upload_release_source(u, job);
        if (status == STK_OK) {
            count_upload(u, job);
        } else {
            stk_job_put(job);
            job = NULL;
        }
    }
    ticket->job = job;
    ticket->status = status;
}

static void *pump(void *argument)
{
    stk_uploader *u = argument;
    while (wait_for_room(u)) {
        stk_upload_ticket ticket = {.status = STK_OK};
        stk_batch *source = NULL;
        pthread_mutex_lock(&u->loader_lock);
        uint64_t generation = generation_of(u);
        ticket.status = stk_loader_next(u->loader, PUMP_POLL_MS, &source, &ticket.error);
        if (ticket.status != STK_AGAIN && stk_loader_state(u->loader, ticket.state, NULL) != STK_OK)
            ticket.state[0] = '\0';
        pthread_mutex_unlock(&u->loader_lock);
        if (ticket.status == STK_AGAIN) continue;
        if (ticket.status == STK_OK) upload(u, source, generation, &ticket);
        line_up(u, &ticket, generation);
    }
    if (u->copying != NULL) stk_upload_release_source(u, u->copying);
    return NULL;
}

/* ---- Opening. */

stk_status stk_upload_table(stk_uploader *u, const void *table, size_t n_bytes, stk_gpu_block *block, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    stk_gpu_block staging = {.pinned = true};
    void *event = NULL;
    STK_TRY(stk_gpu_block_fit(u->share, block, n_bytes, error));
    STK_TRY(stk_gpu_block_fit(u->share, &staging, n_bytes, error));
    memcpy(staging.memory, table, n_bytes);
    stk_status status = k->event_open(u->share->device, &event, error);
    if (status == STK_OK) status = k->copy_in(u->share->device, block->memory, staging.memory, n_bytes, u->copy_stream, error);
    if (status == STK_OK) status = k->event_record(u->share->device, event, u->copy_stream, error);
    if (status == STK_OK) status = k->event_sync(u->share->device, event, error);
    if (event != NULL) k->event_close(u->share->device, event);
    stk_gpu_block_free(u->share, &staging);
    return status;
}

/* The float tables, once: those that the loader's own batches are made with. */
static stk_status upload_norm(stk_uploader *u, stk_error *error)
{
    if (u->loader_options.dtype == STK_DTYPE_U8 || !u->gather) return STK_OK;
    const size_t size = u->loader_options.dtype == STK_DTYPE_F32 ? 4 : 2;
    uint8_t table[3 * 256 * 4];
    stk_loader_norm_table(&u->loader_options, table);
    return stk_upload_table(u, table, 3 * 256 * size, &u->norm, error);
}

/* The loader's slots in pinned memory. Called by worker threads. */
static stk_status acquire_pinned(void *user, size_t n_bytes, void **data, void **handle, stk_error *error)
{
    stk_gpu_share *s = user;
    *handle = NULL;
    STK_TRY(stk_gpu_pinned_get(s, n_bytes, data, error));
    stk_gpu_share_keep(s);
    return STK_OK;
}

static void release_pinned(void *user, void *data, void *handle)
{
    stk_gpu_share *s = user;
    (void)handle;
    stk_gpu_pinned_put(s, data);
    stk_gpu_share_drop(s);
}

stk_slot_allocator stk_upload_allocator(const stk_uploader *u)
{
    return (stk_slot_allocator){.user = u->share, .acquire = acquire_pinned, .release = release_pinned};
}

static stk_status size_columns(stk_uploader *u, stk_error *error)
{
    const stk_loader_options *o = &u->loader_options;
    u->column_sizes = calloc((size_t)o->n_columns + 1, sizeof *u->column_sizes);
    if (u->column_sizes == NULL) return stk_fail_memory(error, "columns");
    for (uint32_t c = 0; c < o->n_columns; c++) {
        stk_column column;
        STK_TRY(stk_dataset_column(u->dataset, o->columns[c], &column, error));
        u->column_sizes[c] = stk_type_size(column.type) * column.n_items;
    }
    return STK_OK;
}

/* A gathered batch takes as much as its records, which differ; what the loader asks of a slot is an upper bound of
 * that. Made too small at first, slots would be made again one by one in the middle of training. */
static size_t expected_slot(const stk_uploader *u)
{
    const stk_loader_options *o = &u->loader_options;
    const uint64_t n = stk_dataset_len(u->dataset), step = n / LOOKED_AT + 1;
    const double least = (double)o->transform.out_width * o->transform.out_height * 3;
    double sum = 0, squares = 0, count = 0;
    for (uint64_t i = 0; i < n; i += step) {
        stk_record_info r;
        if (stk_dataset_record(u->dataset, i, &r, NULL) != STK_OK) continue;
        double bytes = (double)r.n_bytes * 1.125 + (double)sizeof(stk_gather_tables);
        if (bytes < least) bytes = least;
        sum += bytes;
        squares += bytes * bytes;
        count += 1;
    }
    if (count == 0) return 0;
    const double mean = sum / count, variance = squares / count - mean * mean, batch = o->batch_size;
    const double expected = batch * mean + 4 * sqrt(batch * (variance > 0 ? variance : 0));
    return expected < (double)(SIZE_MAX / 4) ? (size_t)expected : 0;
}

/* Takes the slots' memory from the driver before training begins: each takes it 20-60 ms, in which other threads' calls
 * wait too. */
static stk_status take_slots(stk_uploader *u, stk_error *error)
{
    enum { MOST = 16 };
    void *slots[MOST] = {0};
    const size_t n_bytes = !u->gather || u->resident.n_records > 0 ? 0 : expected_slot(u);
    const uint32_t ahead = u->loader_options.n_ahead, n = (ahead == 0 ? DEFAULT_AHEAD : ahead) + EXTRA_SLOTS;
    stk_status status = STK_OK;
    if (n_bytes == 0) return STK_OK;
    stk_gpu_pinned_expect(u->share, n_bytes + n_bytes / 4);
    for (uint32_t i = 0; i < n && i < MOST && status == STK_OK; i++)
        status = stk_gpu_pinned_get(u->share, n_bytes, &slots[i], error);
    for (uint32_t i = 0; i < MOST; i++)
        if (slots[i] != NULL) stk_gpu_pinned_put(u->share, slots[i]);
    return status;
}

static stk_status open_loader(stk_uploader *u, stk_error *error)
{
    stk_loader_options o = u->loader_options;
    o.gather = u->gather;
    o.gather_resident = u->resident.entries;
    o.gather_picks = u->direct.on;
    o.allocator = stk_upload_allocator(u);
    o.log = stk_gpu_share_log;
    o.log_user = u->share;
    o.ranges = (stk_ranges){.push = u->share->backend->range_push, .pop = u->share->backend->range_pop};
    return stk_loader_open(u->dataset, &o, &u->loader, error);
}

static stk_status start_pump(stk_uploader *u, stk_error *error)
{
    int rc = pthread_create(&u->pump, NULL, pump, u);
    if (rc != 0) return stk_fail(error, STK_ERR_THREAD, "the upload thread could not be started");
    u->pump_started = true;
    return STK_OK;
}

static void init_locks(stk_uploader *u)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&u->loader_lock, NULL);
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->ready, &monotonic);
    pthread_cond_init(&u->room, NULL);
    pthread_condattr_destroy(&monotonic);
}

static stk_status open_all(stk_uploader *u, stk_error *error)
{
    const stk_gpu_backend *k;
    STK_TRY(size_columns(u, error));
    const stk_gpu_log log = {.write = u->loader_options.log, .user = u->loader_options.log_user};
    STK_TRY(stk_gpu_share_open(u->options.backend, u->options.device, log, &u->share, error));
    k = u->share->backend;
    STK_TRY(stk_job_pool_open(u->share, u->n_ahead + 2 + u->n_lanes, &u->pool, error));
    STK_TRY(k->stream_open(u->share->device, &u->copy_stream, error));
    for (uint32_t i = 0; i < u->n_lanes; i++) STK_TRY(k->stream_open_beside(u->share->device, &u->lanes[i].stream, error));
    STK_TRY(stk_gpu_plan_open(u->options.scratch_bytes / u->n_lanes, u->loader_options.n_views, &u->plan, error));
    STK_TRY(stk_resident_load(u, error));
    STK_TRY(upload_norm(u, error));
    STK_TRY(stk_upload_steps_open(u, error));
    if (u->measures && u->resident.n_records == 0) stk_choose_by_measuring(u);
    else if (u->measures) snprintf(u->decode_text, sizeof u->decode_text, "gpu: records are resident there");
    STK_TRY(stk_direct_open(u->share, &u->loader_options, u->resident.entries, stk_dataset_len(u->dataset),
                            u->resident.memory.memory, u->copy_stream, &u->direct, error));
    STK_TRY(take_slots(u, error));
    STK_TRY(open_loader(u, error));
    STK_TRY(stk_loader_state(u->loader, u->state, error));
    return start_pump(u, error);
}

stk_status stk_uploader_open(const stk_dataset *dataset, const stk_loader_options *loader_options,
                             const stk_uploader_options *options, stk_uploader **out, stk_error *error)
{
    *out = NULL;
    stk_uploader_options defaults;
    stk_uploader_options_init(&defaults);
    if (options == NULL) options = &defaults;
    if (options->struct_size != sizeof *options || loader_options == NULL ||
        loader_options->struct_size != sizeof *loader_options)
        return stk_fail(error, STK_ERR_ARGUMENT, "options were not filled by their _init function of this version");
    stk_uploader *u = calloc(1, sizeof *u);
    if (u == NULL) return stk_fail_memory(error, "the uploader");
    init_locks(u);
    u->pid = getpid();
    u->dataset = dataset;
    u->loader_options = *loader_options;
    u->options = *options;
    u->n_ahead = options->n_ahead == 0 ? DEFAULT_AHEAD : options->n_ahead;
    if (u->n_ahead > STK_UPLOAD_MAX_AHEAD / 2) u->n_ahead = STK_UPLOAD_MAX_AHEAD / 2; /* room for late errors */
    u->n_lanes = options->n_streams == 0 ? DEFAULT_STREAMS : options->n_streams;
    if (u->n_lanes > STK_UPLOAD_MAX_STREAMS) u->n_lanes = STK_UPLOAD_MAX_STREAMS;
    stk_choose_by_records(u);
    stk_status status = open_all(u, error);
    if (status != STK_OK) stk_uploader_close(&u);
    *out = u;
    return status;
}

/* ---- Closing. */

/* Jobs that nobody saw: what they queued must be over before they are written again. */
static void drop_tickets(stk_uploader *u)
{
    for (; u->head != u->tail; u->head++) {
        stk_job *job = u->tickets[u->head % STK_UPLOAD_MAX_AHEAD].job;
        if (job == NULL) continue;
        (void)u->share->backend->event_sync(u->share->device, job->done, NULL);
        stk_job_put(job);
    }
}

static void stop_pump(stk_uploader *u)
{
    pthread_mutex_lock(&u->lock);
    u->stop = true;
    pthread_cond_broadcast(&u->room);
    pthread_cond_broadcast(&u->ready);
    pthread_mutex_unlock(&u->lock);
    if (u->pump_started) pthread_join(u->pump, NULL);
}

void stk_uploader_close(stk_uploader **uploader)
{
    if (uploader == NULL || *uploader == NULL) return;
    stk_uploader *u = *uploader;
    *uploader = NULL;
    if (u->pid != getpid()) return; /* a forked child has neither the threads nor the device */
    stop_pump(u);
    stk_loader_close(&u->loader);
    if (u->share != NULL) {
        const stk_gpu_backend *k = u->share->backend;
        stk_gpu_share_mute(u->share);
        /* Closing a stream waits for what is queued on it. */
        if (u->copy_stream != NULL) k->stream_close(u->share->device, u->copy_stream);
        for (uint32_t i = 0; i < u->n_lanes; i++)
            if (u->lanes[i].stream != NULL) k->stream_close(u->share->device, u->lanes[i].stream);
        drop_tickets(u);
        for (uint32_t i = 0; i < u->n_lanes; i++) {
            stk_gpu_block_free(u->share, &u->lanes[i].scratch);
            stk_gpu_block_free(u->share, &u->lanes[i].pictures);
        }
        stk_gpu_block_free(u->share, &u->norm);
        stk_direct_close(u->share, &u->direct);
        stk_resident_free(u);
    }
    stk_upload_steps_close(u);
    stk_gpu_plan_close(&u->plan);
    stk_job_pool_close(&u->pool);
    stk_gpu_share_drop(u->share);
    pthread_cond_destroy(&u->ready);
    pthread_cond_destroy(&u->room);
    pthread_mutex_destroy(&u->lock);
    pthread_mutex_destroy(&u->loader_lock);
    free(u->column_sizes);
    free(u);
}

/* ---- The consumer's side. */

static bool wait_ready(stk_uploader *u, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    while (u->head == u->tail) {
        if (timeout_ms == 0) return false;
        if (timeout_ms < 0) pthread_cond_wait(&u->ready, &u->lock);
        else if (pthread_cond_timedwait(&u->ready, &u->lock, &until) != 0) return u->head != u->tail;
    }
    return true;
}

stk_status stk_uploader_next(stk_uploader *u, void *stream, int timeout_ms, stk_device_batch **out, stk_error *error)
{
    *out = NULL;
    if (u->pid != getpid())
        return stk_fail(error, STK_ERR_STATE, "this uploader was opened before fork(); open one in the child");
    uint64_t begun = now_ns();
    u->share->backend->range_push("stoker wait");
    pthread_mutex_lock(&u->lock);
    bool got = wait_ready(u, timeout_ms);
    u->share->backend->range_pop();
    u->stats.consumer_wait_ns += now_ns() - begun;
    if (!got) {
        pthread_mutex_unlock(&u->lock);
        return STK_AGAIN;
    }
    stk_upload_ticket ticket = u->tickets[u->head % STK_UPLOAD_MAX_AHEAD];
    u->head++;
    memcpy(u->state, ticket.state, sizeof u->state);
    pthread_cond_signal(&u->room);
    stk_status status = ticket.status;
    if (status == STK_OK) status = look_at_bits(u, ticket.job, &ticket.error);
    pthread_mutex_unlock(&u->lock);
    if (status == STK_OK)
        status = u->share->backend->event_wait(u->share->device, ticket.job->done, stream, &ticket.error);
    if (status == STK_OK) {
        *out = &ticket.job->batch;
        return STK_OK;
    }
    if (ticket.job != NULL) stk_job_put(ticket.job);
    if (error != NULL && status != STK_END) *error = ticket.error;
    return status;
}

void stk_device_batch_release(stk_device_batch *batch, void *stream)
{
    if (batch == NULL) return;
    stk_job *job = (stk_job *)batch;
    stk_gpu_share *s = job->pool->share;
    job->was_consumed = s->backend->event_record(s->device, job->consumed, stream, NULL) == STK_OK;
    stk_job_put(job);
}

stk_status stk_device_batch_read(const stk_device_batch *batch, const void *device_memory, void *host_memory,
                                 size_t n_bytes, stk_error *error)
{
    stk_job *job = (stk_job *)(uintptr_t)batch;
    const stk_gpu_backend *k = job->pool->share->backend;
    stk_gpu_device *device = job->pool->share->device;
    void *stream = NULL;
    STK_TRY(k->event_sync(device, job->done, error));
    for (uint32_t i = 0; i < batch->n; i++) (void)stk_job_note_bits(job, i);
    STK_TRY(k->stream_open(device, &stream, error));
    stk_status status = k->copy_out(device, host_memory, device_memory, n_bytes, stream, error);
    k->stream_close(device, stream);
    return status;
}

uint64_t stk_uploader_len(const stk_uploader *u)
{
    return stk_loader_len(u->loader);
}

/* The loader moves; everything prepared is dropped. */
static void forget_prepared(stk_uploader *u)
{
    pthread_mutex_lock(&u->lock);
    u->generation++;
    drop_tickets(u);
    if (stk_loader_state(u->loader, u->state, NULL) != STK_OK) u->state[0] = '\0';
    pthread_cond_broadcast(&u->room);
    pthread_mutex_unlock(&u->lock);
}

stk_status stk_uploader_set_epoch(stk_uploader *u, uint64_t epoch, stk_error *error)
{
    pthread_mutex_lock(&u->loader_lock);
    stk_status status = stk_loader_set_epoch(u->loader, epoch, error);
    if (status == STK_OK) forget_prepared(u);
    pthread_mutex_unlock(&u->loader_lock);
    return status;
}

stk_status stk_uploader_restore(stk_uploader *u, const char *text, stk_error *error)
{
    pthread_mutex_lock(&u->loader_lock);
    stk_status status = stk_loader_restore(u->loader, text, error);
    if (status == STK_OK) forget_prepared(u);
    pthread_mutex_unlock(&u->loader_lock);
    return status;
}

stk_status stk_uploader_state(const stk_uploader *uploader, char *text, stk_error *error)
{
    stk_uploader *u = (stk_uploader *)(uintptr_t)uploader; /* const for the caller; the lock is not */
    if (u->pid != getpid())
        return stk_fail(error, STK_ERR_STATE, "this uploader was opened before fork(); open one in the child");
    pthread_mutex_lock(&u->lock);
    memcpy(text, u->state, STK_STATE_BYTES);
    pthread_mutex_unlock(&u->lock);
    return text[0] != '\0' ? STK_OK : stk_fail(error, STK_ERR_STATE, "no state is known");
}

void stk_uploader_get_stats(stk_uploader *u, stk_uploader_stats *out)
{
    pthread_mutex_lock(&u->lock);
    *out = u->stats;
    out->upload_gb_per_s = out->upload_ms > 0 ? (double)u->timed_bytes / out->upload_ms * 1e-6 : 0;
    pthread_mutex_unlock(&u->lock);
    stk_loader_get_stats(u->loader, &out->loader);
    out->resident_records = u->resident.n_records;
    out->resident_bytes = u->resident.n_bytes;
    pthread_mutex_lock(&u->share->lock);
    out->device_bytes = u->share->device_bytes;
    out->pinned_bytes = u->share->pinned_bytes;
    out->pageable_bytes = u->share->pageable_bytes;
    pthread_mutex_unlock(&u->share->lock);
    out->fast_kernel = u->share->info.fast_kernel;
    memcpy(out->device_name, u->share->info.name, sizeof out->device_name);
    memcpy(out->decode, u->decode_text, sizeof out->decode);
}
