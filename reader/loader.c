/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls: set-up, and a thin layer over the pipeline. */
#include <stoker/loader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <stoker/cpu.h>
#include <stoker/gather.h>

#include "common/fail.h"
#include "reader/batch_mix.h"
#include "reader/loader_internal.h"
#include "reader/loader_options.h"
#include "reader/loader_state.h"
#include "reader/loader_team.h"
#include "reader/pipeline.h"
#include "reader/worker.h"

struct stk_loader {
    stk_pipeline pipeline;
    stk_sampler *sampler;
    stk_loader_team *team;
    stk_readahead *readahead;
    stk_worker *workers;
    uint32_t n_workers;
    _Atomic uint32_t n_running; /* threads that the system really gave */
    stk_column_plan *columns;
    size_t *column_bytes;
    uint64_t seed;
    pid_t pid;
};

/* ---- Opening. */

/* What pages are measured by: bytes on disk, or, where chunks are decoded whole, bytes in memory. */
static uint64_t bytes_to_page(const stk_dataset *dataset)
{
    stk_row row;
    if (dataset->storage->chunk_rows <= 1 || stk_dataset_row(dataset, 0, &row, NULL) != STK_OK)
        return stk_dataset_bytes(dataset);
    return row.n_bytes * stk_dataset_len(dataset);
}

static stk_status open_sampler(stk_loader *l, const stk_dataset *dataset, const stk_loader_options *o,
                               stk_error *error)
{
    stk_sampler_options so = {
        .order = o->order,
        .seed = o->seed,
        .n_records = stk_dataset_len(dataset),
        .total_bytes = bytes_to_page(dataset),
        .indices = o->indices,
        .n_indices = o->n_indices,
        .weights = o->weights,
        .n_draws = o->n_draws,
        .repeats = o->repeats,
        .page_window = o->page_window,
        .chunk_rows = dataset->storage->chunk_rows,
    };
    STK_TRY(stk_sampler_open(&so, &l->sampler, error));
    stk_schedule *s = &l->pipeline.schedule;
    *s = (stk_schedule){.length = stk_sampler_length(l->sampler),
                        .batch_size = o->batch_size,
                        .rank = o->rank,
                        .world = o->world,
                        .last = o->last};
    if (o->batch_size > s->length)
        return stk_fail(error, STK_ERR_ARGUMENT, "batch_size %u is above the %llu samples of an epoch",
                        o->batch_size, (unsigned long long)s->length);
    if (stk_schedule_steps(s, 0) == 0)
        return stk_fail(
            error, STK_ERR_ARGUMENT,
            "last=drop leaves no batch: %u ranks of batch_size %u need %llu samples, the epoch has %llu", o->world,
            o->batch_size, (unsigned long long)o->world * o->batch_size, (unsigned long long)s->length);
    return STK_OK;
}

static bool all_resident(const stk_dataset *dataset, const stk_gather_entry *entries)
{
    uint64_t n = stk_dataset_len(dataset);
    for (uint64_t i = 0; entries != NULL && i < n; i++)
        if (entries[i].kind == STK_GATHER_EMPTY) return false;
    return entries != NULL;
}

static stk_status fill_env(stk_work_env *env, const stk_loader_options *o, stk_error *error)
{
    if (env->arrays) {
        env->width = env->height = 1; /* known: no record is looked at before its turn */
        return stk_geometry_rule_init(&env->rule, &o->transform, o->seed, error);
    }
    env->dtype = o->dtype;
    env->layout = o->layout;
    env->resident = o->gather_resident;
    env->all_resident = o->gather && all_resident(env->dataset, o->gather_resident);
    env->channels = o->transform.mode == STK_MODE_L ? 1 : 3;
    STK_TRY(stk_geometry_rule_init(&env->rule, &o->transform, o->seed, error));
    STK_TRY(stk_augment_rule_init(&env->augment, &o->transform, error));
    STK_TRY(stk_mix_check(&o->transform.mix, error));
    env->rule.transform.steps = NULL; /* the caller's array need not outlive this call */
    if (env->augment.erases)
        stk_erase_rule_init(&env->erase, &env->augment.steps[env->augment.n_steps - 1], o->dtype, o->layout,
                            env->channels, o->mean, o->std);
    STK_TRY(stk_family_choose(&env->family, error));
    bool natural = o->transform.kind == STK_TRANSFORM_NONE;
    env->width = natural ? 0 : o->transform.out_width;
    env->height = natural ? 0 : o->transform.out_height;
    stk_norm_table_fill(&env->norm, o->dtype, env->channels, o->mean, o->std, o->norm_v2);
    return STK_OK;
}

void stk_loader_norm_table(const stk_loader_options *o, void *table)
{
    stk_norm_table norm;
    stk_norm_table_fill(&norm, o->dtype, 3, o->mean, o->std, o->norm_v2);
    if (o->dtype == STK_DTYPE_F32) memcpy(table, norm.f32, sizeof norm.f32);
    else memcpy(table, norm.f16, sizeof norm.f16);
}

static stk_status plan_columns(stk_loader *l, const stk_dataset *dataset, const stk_loader_options *o,
                               stk_error *error)
{
    l->columns = calloc((size_t)o->n_columns + 1, sizeof *l->columns);
    l->column_bytes = calloc((size_t)o->n_columns + 1, sizeof *l->column_bytes);
    if (l->columns == NULL || l->column_bytes == NULL) return stk_fail_memory(error, "the loader's columns");
    for (uint32_t c = 0; c < o->n_columns; c++) {
        stk_column column;
        STK_TRY(stk_dataset_column(dataset, o->columns[c], &column, error));
        l->column_bytes[c] = stk_type_size(column.type) * column.n_items;
        l->columns[c] =
            (stk_column_plan){.column = o->columns[c], .type = column.type, .n_bytes = l->column_bytes[c]};
    }
    l->pipeline.columns = l->columns;
    l->pipeline.n_columns = o->n_columns;
    return STK_OK;
}

/* Batches in the making must hold work for all threads, with small batches too. */
static uint32_t choose_ahead(const stk_loader_options *o, uint32_t n_threads)
{
    if (o->n_ahead != 0) return o->n_ahead;
    uint32_t busy = (2 * n_threads + o->batch_size - 1) / o->batch_size + 1;
    return busy > 3 ? busy : 3;
}

static stk_status open_pipeline(stk_loader *l, const stk_dataset *dataset, const stk_loader_options *o,
                                const stk_work *work, stk_error *error)
{
    stk_pipeline *p = &l->pipeline;
    p->work = work;
    p->sampler = l->sampler;
    p->n_views = o->n_views;
    p->first_view = o->first_view;
    p->on_bad = o->on_bad;
    p->log = o->log;
    p->log_user = o->log_user;
    p->ranges = o->ranges;
    p->n_ahead = choose_ahead(o, l->n_workers);
    STK_TRY(fill_env(&p->env, o, error));
    p->mixes = o->transform.mix.mixup_alpha > 0 || o->transform.mix.cutmix_alpha > 0;
    STK_TRY(plan_columns(l, dataset, o, error));
    /* Beyond those ahead, one in the consumer's hands and one that it is about to let go. */
    stk_slot_shape shape = {.n_entries = o->batch_size * o->n_views,
                            .base = p->n_ahead + 2,
                            .n_ahead = p->n_ahead,
                            .n_columns = o->n_columns,
                            .column_bytes = l->column_bytes,
                            .with_offsets = !work->fixed,
                            .with_mix = p->mixes};
    STK_TRY(stk_slot_pool_open(&shape, &o->allocator, &p->pool, error));
    return stk_pipeline_init(p, error);
}

static stk_status open_workers(stk_loader *l, const stk_dataset *dataset, stk_error *error)
{
    l->workers = aligned_alloc(_Alignof(stk_worker), l->n_workers * sizeof *l->workers);
    if (l->workers == NULL) return stk_fail_memory(error, "the loader's threads");
    for (uint32_t t = 0; t < l->n_workers; t++) l->workers[t] = (stk_worker){0};
    for (uint32_t t = 0; t < l->n_workers; t++)
        STK_TRY(stk_workbench_open(dataset->payload, dataset->options.max_pixels, &l->workers[t].bench, error));
    return STK_OK;
}

static void team_body(void *user, uint32_t thread)
{
    stk_loader *l = user;
    atomic_fetch_add_explicit(&l->n_running, 1, memory_order_relaxed);
    stk_worker_loop(&l->pipeline, &l->workers[thread]);
}

static stk_status open_all(stk_loader *l, const stk_dataset *dataset, const stk_loader_options *o,
                           const stk_work *work, stk_error *error)
{
    l->pid = getpid();
    l->seed = o->seed;
    int usable = o->n_threads != 0 ? (int)o->n_threads : stk_cpu_usable_threads() - 1;
    l->n_workers = usable > 1 ? (uint32_t)usable : 1;
    STK_TRY(open_sampler(l, dataset, o, error));
    STK_TRY(open_pipeline(l, dataset, o, work, error));
    STK_TRY(open_workers(l, dataset, error));
    stk_payload_mirror(dataset->payload);
    stk_readahead_options ro = {.dataset = dataset,
                                .sampler = l->sampler,
                                .schedule = l->pipeline.schedule,
                                .page_order = o->order == STK_ORDER_PAGE,
                                .page_window = o->page_window,
                                .budget_bytes = o->read_ahead_bytes,
                                .env = &l->pipeline.env};
    /* Nothing is read of records that the consumer has. */
    if (!work->picks && !l->pipeline.env.all_resident) STK_TRY(stk_readahead_open(&ro, &l->readahead, error));
    l->pipeline.readahead = l->readahead;
    if (dataset->storage->slow != NULL && (o->order == STK_ORDER_SHUFFLE || o->order == STK_ORDER_WEIGHTED))
        stk_pipeline_log(&l->pipeline, "%s", dataset->storage->slow);
    return stk_loader_team_start(l->n_workers, team_body, l, &l->team, error);
}

/* Arrays take the place of pixels, and of gathering them, where the records are arrays. */
static stk_status choose_arrays(stk_work_env *env, const stk_dataset *dataset, const stk_loader_options *o,
                                const stk_work **work, stk_error *error)
{
    env->dataset = dataset;
    if (*work != &stk_work_pixels && *work != &stk_work_gather) return STK_OK;
    STK_TRY(stk_work_find_array(dataset, o->indices, o->n_indices, &env->array, &env->array_id, &env->arrays, error));
    if (!env->arrays) return STK_OK;
    *work = &stk_work_arrays;
    return stk_loader_options_check_arrays(o, &env->array, error);
}

stk_status stk_loader_open_work(const stk_dataset *dataset, const stk_loader_options *options,
                                const stk_work *work, stk_loader **out, stk_error *error)
{
    if (out == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (dataset == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "dataset is NULL");
    stk_loader_options defaults;
    stk_loader_options_init(&defaults);
    if (options == NULL) options = &defaults;
    STK_TRY(stk_loader_options_check(dataset, options, error));
    stk_loader *l = calloc(1, sizeof *l);
    if (l == NULL) return stk_fail_memory(error, "the loader");
    stk_status status = choose_arrays(&l->pipeline.env, dataset, options, &work, error);
    if (status == STK_OK) status = open_all(l, dataset, options, work, error);
    if (status != STK_OK) {
        l->pid = getpid();
        stk_loader_close(&l);
        return status;
    }
    *out = l;
    return STK_OK;
}

stk_status stk_loader_open(const stk_dataset *dataset, const stk_loader_options *options, stk_loader **out,
                           stk_error *error)
{
    bool known = options != NULL && options->struct_size == sizeof *options;
    const stk_work *work = known && options->gather_picks ? &stk_work_picks
                           : known && options->gather     ? &stk_work_gather
                                                          : &stk_work_pixels;
    return stk_loader_open_work(dataset, options, work, out, error);
}

void stk_loader_close(stk_loader **loader)
{
    if (loader == NULL || *loader == NULL) return;
    stk_loader *l = *loader;
    *loader = NULL;
    /* A child after fork() has none of the threads and maybe a locked lock: what it inherited is left alone. */
    if (l->pid != getpid()) return;
    if (l->team != NULL) stk_pipeline_stop(&l->pipeline);
    stk_loader_team_join(&l->team);
    stk_readahead_close(&l->readahead);
    stk_pipeline_destroy(&l->pipeline);
    for (uint32_t t = 0; l->workers != NULL && t < l->n_workers; t++) stk_workbench_close(&l->workers[t].bench);
    free(l->workers);
    free(l->columns);
    free(l->column_bytes);
    stk_sampler_close(&l->sampler);
    free(l);
}

/* ---- Using. */

static stk_status check_process(const stk_loader *l, stk_error *error)
{
    if (l->pid == getpid()) return STK_OK;
    return stk_fail(
        error, STK_ERR_STATE,
        "this loader was opened before fork(): its threads do not exist in the child process; open a loader "
        "of its own there");
}

/* Where the threads are when a batch takes too long: a disk that has stalled shows as threads that read. */
static void say_what_is_done(const stk_loader *l, int timeout_ms, stk_error *error)
{
    uint32_t n[2] = {0, 0};
    uint64_t record = UINT64_MAX;
    for (uint32_t t = 0; t < l->n_workers; t++) {
        uint64_t doing = atomic_load_explicit(&l->workers[t].doing, memory_order_relaxed);
        if (doing == 0) continue;
        n[doing % 4]++;
        if (record == UINT64_MAX || doing % 4 == STK_DOING_READ) record = doing / 4 - 1;
    }
    (void)stk_fail(error, STK_AGAIN, "no batch within %.1f s: of %u threads %u read and %u decode", timeout_ms / 1e3,
                   l->n_workers, n[STK_DOING_READ], n[STK_DOING_DECODE]);
    if (record == UINT64_MAX) return;
    stk_error place = {0};
    stk_dataset_name_record(l->pipeline.env.dataset, record, &place);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, "; one is at %.500s", place.text);
    used = strlen(error->text);
    if (used > 2 && strcmp(error->text + used - 2, ": ") == 0) error->text[used - 2] = '\0';
}

stk_status stk_loader_next(stk_loader *l, int timeout_ms, stk_batch **out, stk_error *error)
{
    *out = NULL;
    STK_TRY(check_process(l, error));
    stk_status status = stk_pipeline_next(&l->pipeline, timeout_ms, out, error);
    if (status == STK_AGAIN && timeout_ms > 0 && error != NULL) say_what_is_done(l, timeout_ms, error);
    return status;
}

uint64_t stk_loader_len(const stk_loader *l) { return stk_schedule_steps(&l->pipeline.schedule, 0); }

stk_status stk_loader_set_epoch(stk_loader *l, uint64_t epoch, stk_error *error)
{
    STK_TRY(check_process(l, error));
    if (epoch > UINT64_MAX / 2) return stk_fail(error, STK_ERR_ARGUMENT, "epoch is out of range");
    stk_pipeline_seek(&l->pipeline, (stk_place){.epoch = epoch});
    return STK_OK;
}

static stk_state_identity identity_of(const stk_loader *l)
{
    return (stk_state_identity){
        .dataset_id = stk_dataset_id(l->pipeline.env.dataset),
        .order = stk_sampler_order_name(l->sampler),
        .order_version = stk_sampler_order_version(l->sampler),
        .seed = l->seed,
        .selection = stk_sampler_selection(l->sampler),
        .length = l->pipeline.schedule.length,
    };
}

stk_status stk_loader_state(const stk_loader *loader, char *text, stk_error *error)
{
    stk_loader *l = (stk_loader *)(uintptr_t)loader; /* const for the caller; the lock is not */
    STK_TRY(check_process(l, error));
    pthread_mutex_lock(&l->pipeline.lock);
    stk_place place = l->pipeline.next_out;
    pthread_mutex_unlock(&l->pipeline.lock);
    stk_state_identity identity = identity_of(l);
    return stk_state_write(&identity, place, text, error);
}

stk_status stk_loader_restore(stk_loader *l, const char *text, stk_error *error)
{
    STK_TRY(check_process(l, error));
    if (text == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "the state is NULL");
    stk_place place;
    stk_state_identity identity = identity_of(l);
    STK_TRY(stk_state_read(&identity, text, &place, error));
    stk_pipeline_seek(&l->pipeline, place);
    return STK_OK;
}

void stk_loader_get_stats(const stk_loader *loader, stk_loader_stats *out)
{
    stk_loader *l = (stk_loader *)(uintptr_t)loader;
    *out = (stk_loader_stats){.n_threads = atomic_load_explicit(&l->n_running, memory_order_relaxed),
                              .decoder = l->pipeline.env.arrays
                                             ? "none: arrays are copied as they are"
                                             : "cpu: batches are asked for as pixels in host memory"};
    if (l->pid != getpid()) return;
    for (uint32_t t = 0; t < l->n_workers; t++) {
        const stk_worker *w = &l->workers[t];
        out->samples += atomic_load_explicit(&w->samples, memory_order_relaxed);
        out->bad_samples += atomic_load_explicit(&w->bad_samples, memory_order_relaxed);
        out->substituted += atomic_load_explicit(&w->substituted, memory_order_relaxed);
        out->bytes_read += atomic_load_explicit(&w->bytes_read, memory_order_relaxed);
        out->read_ns += atomic_load_explicit(&w->read_ns, memory_order_relaxed);
        out->decode_ns += atomic_load_explicit(&w->decode_ns, memory_order_relaxed);
        out->worker_wait_ns += atomic_load_explicit(&w->wait_ns, memory_order_relaxed);
    }
    pthread_mutex_lock(&l->pipeline.lock);
    out->batches = l->pipeline.batches;
    out->consumer_wait_ns = l->pipeline.consumer_wait_ns;
    out->surplus_slots = l->pipeline.surplus_slots;
    pthread_mutex_unlock(&l->pipeline.lock);
    out->slots = stk_slot_count(l->pipeline.pool);
}
