/* SPDX-License-Identifier: Apache-2.0
 *
 * One batch onto the device: two copies (the gathered bytes; plan, labels and columns), then the kernels. */
#include <string.h>

#include <stoker/gather.h>

#include "common/fail.h"
#include "gpu_upload/uploader_internal.h"

enum { ALIGN = 256 };

static uint64_t align(uint64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static uint64_t element_bytes(stk_dtype dtype)
{
    return dtype == STK_DTYPE_U8 ? 1 : dtype == STK_DTYPE_F32 ? 4 : 2;
}

/* Where labels, columns and statuses lie in `extras`, and how much of it is copied in. */
typedef struct extras {
    uint64_t labels, columns, picks, statuses, copied, n_bytes;
} extras;

static extras lay_out_extras(const stk_uploader *u, const stk_batch *b)
{
    extras x = {0};
    uint64_t at = align((uint64_t)b->n * sizeof(int64_t));
    x.columns = at;
    for (uint32_t c = 0; c < b->n_columns; c++) at += align(u->column_sizes[c] * b->n);
    x.picks = at;
    if (u->direct.on) at += align((uint64_t)b->n * (sizeof(uint64_t) + sizeof(uint32_t)));
    x.copied = at;
    x.statuses = at;
    x.n_bytes = at + align((uint64_t)b->n * sizeof(int32_t));
    return x;
}

static void fill_batch(stk_uploader *u, const stk_batch *b, stk_job *job)
{
    stk_device_batch *d = &job->batch;
    memcpy(job->ids, b->ids, b->n * sizeof *job->ids);
    memcpy(job->labels, b->labels, b->n * sizeof *job->labels);
    memcpy(job->statuses, b->statuses, b->n * sizeof *job->statuses);
    *d = (stk_device_batch){.epoch = b->epoch, .index = b->index, .n = b->n, .n_valid = b->n_valid, .height = b->height,
                            .width = b->width, .channels = b->channels, .dtype = u->loader_options.dtype,
                            .layout = u->loader_options.layout, .n_columns = b->n_columns, .ids = job->ids,
                            .host_labels = job->labels, .statuses = job->statuses, .columns = job->columns,
                            .device = u->share->info.number};
    job->n_views = u->loader_options.n_views;
    if (b->labels2 != NULL) {
        memcpy(job->labels2, b->labels2, b->n * sizeof *job->labels2);
        memcpy(job->shares, b->shares, b->n * sizeof *job->shares);
        for (uint32_t i = 0; i < b->n / job->n_views; i++) job->partners[i] = b->mixings[i].partner;
        d->host_labels2 = job->labels2;
        d->host_shares = job->shares;
    }
    if (b->array == NULL) return;
    job->array = *b->array;
    d->array = &job->array;
}

/* Labels and columns into the staging behind the plan; device addresses into the batch. */
static void stage_extras(const stk_uploader *u, const stk_batch *b, stk_job *job, const extras *x, uint8_t *staging)
{
    uint8_t *device = job->extras.memory;
    memcpy(staging + x->labels, b->labels, b->n * sizeof(int64_t));
    job->batch.labels = (const int64_t *)(void *)(device + x->labels);
    uint64_t at = x->columns;
    for (uint32_t c = 0; c < b->n_columns; c++) {
        memcpy(staging + at, b->columns[c], u->column_sizes[c] * b->n);
        job->columns[c] = device + at;
        at += align(u->column_sizes[c] * b->n);
    }
}

static stk_status copy(stk_uploader *u, stk_job *job, void *to, const void *from, size_t n_bytes, stk_error *error)
{
    if (n_bytes == 0) return STK_OK;
    const stk_gpu_backend *k = u->share->backend;
    job->uploaded += n_bytes;
    k->range_push("stoker copy");
    stk_status status = k->copy_in(u->share->device, to, from, n_bytes, u->copy_stream, error);
    k->range_pop();
    return status;
}

static stk_status begin_copies(stk_uploader *u, stk_job *job, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    job->uploaded = 0;
    return k->event_record(u->share->device, job->copy_begun, u->copy_stream, error);
}

static stk_status end_copies(stk_uploader *u, stk_job *job, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    STK_TRY(k->event_record(u->share->device, job->copied, u->copy_stream, error));
    return k->event_wait(u->share->device, job->copied, job->lane->stream, error);
}

/* What the stages make: the tensor, or pictures that the transform's steps go on with. */
typedef struct target {
    stk_gpu_output output;
    uint8_t *out;
} target;

static target target_of(const stk_uploader *u, const stk_job *job, const stk_gpu_output *output)
{
    return (target){.output = stk_upload_steps_picture(u, output),
                    .out = u->steps.drawer != NULL ? job->lane->pictures.memory : job->out.memory};
}

static void fill_group(const stk_uploader *u, const stk_job *job, const stk_gpu_plan_view *v, const stk_gpu_plan_group *g,
                       const stk_batch *b, const target *to, int32_t *statuses, stk_gpu_group *out)
{
    uint8_t *plan = job->plan.memory;
    *out = (stk_gpu_group){.bytes = job->bytes.memory,
                           .resident = u->resident.memory.memory,
                           .bytes_size = b->data_bytes,
                           .resident_size = u->resident.n_bytes,
                           .images = (const stk_gpu_image *)(void *)(plan + v->images_at) + g->first_image,
                           .n_images = g->n_images,
                           .axes = (int32_t *)(void *)(plan + v->axes_at),
                           .scratch = job->lane->scratch.memory,
                           .norm = u->norm.memory,
                           .out = to->out,
                           .status = statuses,
                           .output = to->output};
    out->decode_items = (const stk_gpu_item *)(void *)(plan + v->items_at) + g->first_item;
    out->n_decode_items = g->n_items;
    out->n_views = u->loader_options.n_views;
    out->others = (const uint32_t *)(void *)(plan + v->others_at) + g->first_other;
    out->n_others = g->n_others;
    memcpy(out->rows, g->rows, sizeof out->rows);
    out->strips = (stk_gpu_strip *)(void *)(plan + v->strips_at);
    memcpy(out->n_strips, g->n_strips, sizeof out->n_strips);
    out->widest_line = g->widest_line;
}

/* Where kernels say of bad bits, which are rare: pinned memory can be written by the device, right where it is looked at
 * later. Pageable memory cannot: there it is device memory, which comes back behind the kernels. */
static stk_status begin_statuses(stk_uploader *u, stk_job *job, const extras *x, int32_t *staged, uint32_t n,
                                 int32_t **statuses, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    *statuses = staged;
    memset(staged, 0, n * sizeof *staged);
    if (!stk_gpu_host_pageable(job->staging.memory)) return STK_OK;
    *statuses = (int32_t *)(void *)((uint8_t *)job->extras.memory + x->statuses);
    return k->clear(u->share->device, *statuses, n * sizeof **statuses, job->lane->stream, error);
}

static stk_status end_statuses(stk_uploader *u, stk_job *job, const int32_t *statuses, int32_t *staged, uint32_t n,
                               stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    job->device_statuses = staged;
    if (statuses == staged) return STK_OK;
    return k->copy_out(u->share->device, staged, statuses, n * sizeof *staged, job->lane->stream, error);
}

static stk_status run_groups(stk_uploader *u, const stk_job *job, const stk_gpu_plan_view *v, const stk_batch *b,
                             const target *to, int32_t *statuses, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    for (uint32_t i = 0; i < v->n_groups; i++) {
        stk_gpu_group group;
        fill_group(u, job, v, &v->groups[i], b, to, statuses, &group);
        k->range_push("stoker decode");
        stk_status status = k->run(u->share->device, &group, job->lane->stream, error);
        k->range_pop();
        STK_TRY(status);
    }
    return STK_OK;
}

static stk_gpu_output output_of(const stk_uploader *u, const stk_batch *b)
{
    stk_gpu_output o = {.width = b->width, .height = b->height, .channels = b->channels, .dtype = u->loader_options.dtype,
                        .layout = u->loader_options.layout, .bgr = u->loader_options.transform.color == STK_COLOR_BGR};
    o.image_bytes = (uint64_t)b->width * b->height * b->channels * element_bytes(u->loader_options.dtype);
    return o;
}

/* A lane's batches share its memory: when it must grow, what runs now is waited for. */
static stk_status fit_lane(stk_uploader *u, stk_upload_lane *lane, stk_gpu_block *block, uint64_t n_bytes, stk_job *job,
                           stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    if (n_bytes <= block->capacity && block->memory != NULL) return STK_OK;
    STK_TRY(k->event_record(u->share->device, job->done, lane->stream, error));
    STK_TRY(k->event_sync(u->share->device, job->done, error));
    return stk_gpu_block_fit(u->share, block, (size_t)n_bytes, error);
}

/* Device memory for the tensor, and for steps what they are planned to need. */
static stk_status fit_output(stk_uploader *u, const stk_batch *b, stk_job *job, const stk_gpu_output *output, stk_error *error)
{
    STK_TRY(stk_gpu_block_fit(u->share, &job->out, (size_t)(output->image_bytes * b->n), error));
    if (u->steps.drawer == NULL) return STK_OK;
    STK_TRY(stk_gpu_block_fit(u->share, &job->steps, stk_upload_steps_bytes(u), error));
    return fit_lane(u, job->lane, &job->lane->pictures, stk_steps_plan_room(&u->steps.plan).n_bytes, job, error);
}

/* Where in the staging memory the parts of a batch lie, one behind the other. */
typedef struct staged {
    uint8_t *plan, *steps, *extras;
    uint64_t plan_bytes, steps_bytes;
} staged;

static stk_status stage(stk_uploader *u, const stk_batch *b, stk_job *job, const stk_gpu_plan_view *v, const extras *x,
                        staged *s, stk_error *error)
{
    s->plan_bytes = v != NULL ? v->block_bytes : 0;
    s->steps_bytes = stk_upload_steps_bytes(u);
    const uint64_t steps_at = align(s->plan_bytes), extras_at = steps_at + align(s->steps_bytes);
    STK_TRY(stk_gpu_block_fit(u->share, &job->staging, (size_t)(extras_at + x->n_bytes), error));
    s->plan = job->staging.memory;
    s->steps = s->plan + steps_at;
    s->extras = s->plan + extras_at;
    if (v != NULL) memcpy(s->plan, v->block, (size_t)s->plan_bytes);
    if (s->steps_bytes > 0) memcpy(s->steps, u->steps.plan.block.data, (size_t)s->steps_bytes);
    stage_extras(u, b, job, x, s->extras);
    return STK_OK;
}

static stk_status copy_staged(stk_uploader *u, stk_job *job, const staged *s, const extras *x, stk_error *error)
{
    STK_TRY(copy(u, job, job->plan.memory, s->plan, (size_t)s->plan_bytes, error));
    STK_TRY(copy(u, job, job->steps.memory, s->steps, (size_t)s->steps_bytes, error));
    return copy(u, job, job->extras.memory, s->extras, (size_t)x->copied, error);
}

static stk_status upload_gathered(stk_uploader *u, const stk_batch *b, stk_job *job, const extras *x, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    const stk_gpu_output output = output_of(u, b);
    const stk_gpu_output picture = stk_upload_steps_picture(u, &output);
    staged s;
    k->range_push("stoker plan");
    stk_status status = stk_gpu_plan_make(u->plan, b->data, b->data_bytes, u->resident.n_bytes, b->n, &picture,
                                          job->statuses, error);
    k->range_pop();
    if (status != STK_OK) return status;
    STK_TRY(stk_upload_steps_plan(u, b, job, &output, error));
    stk_gpu_plan_view v = stk_gpu_plan_get(u->plan);
    STK_TRY(stk_gpu_block_fit(u->share, &job->bytes, b->data_bytes, error));
    STK_TRY(stk_gpu_block_fit(u->share, &job->plan, (size_t)v.room_bytes, error));
    STK_TRY(fit_output(u, b, job, &output, error));
    STK_TRY(fit_lane(u, job->lane, &job->lane->scratch, v.scratch_bytes, job, error));
    STK_TRY(stage(u, b, job, &v, x, &s, error));
    STK_TRY(begin_copies(u, job, error));
    STK_TRY(copy(u, job, job->bytes.memory, b->data, b->data_bytes, error));
    STK_TRY(copy_staged(u, job, &s, x, error));
    STK_TRY(end_copies(u, job, error));
    STK_TRY(k->event_record(u->share->device, job->run_begun, job->lane->stream, error));
    int32_t *said = (int32_t *)(void *)(s.extras + x->statuses), *statuses;
    const target to = target_of(u, job, &output);
    STK_TRY(begin_statuses(u, job, x, said, b->n, &statuses, error));
    STK_TRY(run_groups(u, job, &v, b, &to, statuses, error));
    STK_TRY(stk_upload_steps_run(u, job, (const stk_gpu_image *)(void *)((uint8_t *)job->plan.memory + v.images_at), error));
    return end_statuses(u, job, statuses, said, b->n, error);
}

/* Batches that need no plan: which samples they are made of goes behind labels and columns. */
static stk_status upload_direct(stk_uploader *u, const stk_batch *b, stk_job *job, const extras *x, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    const stk_gpu_output output = output_of(u, b);
    staged s;
    STK_TRY(stk_upload_steps_plan(u, b, job, &output, error));
    STK_TRY(fit_output(u, b, job, &output, error));
    STK_TRY(stage(u, b, job, NULL, x, &s, error));
    const uint8_t *device = job->extras.memory;
    uint64_t *ids = (uint64_t *)(void *)(s.extras + x->picks);
    for (uint32_t i = 0; i < b->n; i++) ids[i] = b->statuses[i] == STK_OK ? b->ids[i] : STK_HD_NO_SAMPLE;
    memcpy(ids + b->n, b->occurrences, b->n * sizeof *b->occurrences);
    STK_TRY(begin_copies(u, job, error));
    STK_TRY(copy_staged(u, job, &s, x, error));
    STK_TRY(end_copies(u, job, error));
    const target to = target_of(u, job, &output);
    stk_gpu_direct d = u->direct.common;
    d.ids = (const uint64_t *)(const void *)(device + x->picks);
    d.occurrences = (const uint32_t *)(const void *)(d.ids + b->n);
    d.n = b->n;
    d.epoch = b->epoch;
    d.norm = u->norm.memory;
    d.out = to.out;
    d.output = to.output;
    job->device_statuses = NULL;
    STK_TRY(k->event_record(u->share->device, job->run_begun, job->lane->stream, error));
    k->range_push("stoker decode");
    stk_status status = k->run_direct(u->share->device, &d, job->lane->stream, error);
    k->range_pop();
    STK_TRY(status);
    return stk_upload_steps_run(u, job, NULL, error);
}

/* decode=cpu: the loader's finished tensor travels as it is. */
static stk_status upload_finished(stk_uploader *u, const stk_batch *b, stk_job *job, const extras *x, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    STK_TRY(stk_gpu_block_fit(u->share, &job->out, b->sample_bytes * b->n, error));
    STK_TRY(stk_gpu_block_fit(u->share, &job->staging, (size_t)x->n_bytes, error));
    stage_extras(u, b, job, x, job->staging.memory);
    STK_TRY(begin_copies(u, job, error));
    STK_TRY(copy(u, job, job->out.memory, b->data, b->sample_bytes * b->n, error));
    STK_TRY(copy(u, job, job->extras.memory, job->staging.memory, (size_t)x->copied, error));
    STK_TRY(end_copies(u, job, error));
    job->device_statuses = NULL;
    return k->event_record(u->share->device, job->run_begun, job->lane->stream, error);
}

/* Two batches at once fill the device when the consumer waits for them. Beside a consumer that is busy they would only
 * take more of its device at a time, so then they go one after the other. */
static void choose_lane(stk_uploader *u, stk_job *job)
{
    pthread_mutex_lock(&u->lock);
    const bool hungry = u->head == u->tail;
    pthread_mutex_unlock(&u->lock);
    u->next_lane = hungry ? (u->next_lane + 1) % u->n_lanes : 0;
    job->lane = &u->lanes[u->next_lane];
}

stk_status stk_upload_batch(stk_uploader *u, stk_batch *source, stk_job *job, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    extras x = lay_out_extras(u, source);
    job->source = source;
    choose_lane(u, job);
    job->counted = false;
    STK_TRY(stk_job_fit(job, source->n, source->n_columns, error));
    fill_batch(u, source, job);
    STK_TRY(stk_gpu_block_fit(u->share, &job->extras, (size_t)x.n_bytes, error));
    k->range_push("stoker upload");
    stk_status status = u->direct.on ? upload_direct(u, source, job, &x, error)
                        : u->gather  ? upload_gathered(u, source, job, &x, error)
                                     : upload_finished(u, source, job, &x, error);
    k->range_pop();
    STK_TRY(status);
    job->batch.data = job->out.memory;
    job->was_used = true;
    return k->event_record(u->share->device, job->done, job->lane->stream, error);
}

void stk_upload_release_source(stk_uploader *u, stk_job *job)
{
    if (job->source == NULL) return;
    /* A failed wait means a lost device: its copies will not read the memory any more. */
    (void)u->share->backend->event_sync(u->share->device, job->copied, NULL);
    stk_batch_release(job->source);
    job->source = NULL;
}
