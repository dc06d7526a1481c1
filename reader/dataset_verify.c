/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_verify: structure first (the storage's own check), then every payload, in blocks of records that threads
 * take in turn. Findings of a block are kept until all blocks before it are done, so that they are reported in
 * record order, by the calling thread. */
#include <stoker/verify.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stoker/cpu.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/fail.h"
#include "common/hash.h"
#include "reader/dataset_internal.h"
#include "reader/loader_team.h"
#include "reader/sample_array.h"
#include "reader/sample_render.h"

enum {
    BLOCK_RECORDS = 256,
    BLOCKS_AHEAD = 256,        /* blocks that may be done before an earlier one is */
    STRETCH_BYTES = 2 << 20,   /* small records are read together */
    PROGRESS_MS = 100
};

typedef struct finding {
    struct finding *next;
    uint64_t record, offset;
    uint32_t file;
    bool dead;
    char reason[600];
} finding;

typedef struct block {
    bool done;
    finding *first, **last;
    uint64_t n_bytes;
    uint64_t n_unread; /* records without a row */
} block;

typedef struct verifier {
    const char *path; /* as the caller gave it */
    stk_dataset *dataset;
    const stk_verify_options *options;
    stk_verify_report *report;
    uint64_t n_blocks;
    bool broken;       /* something was found before the records were looked at */
    uint64_t n_unread; /* records whose row lies where the index is damaged */
    stk_workbench **benches; /* [n_threads] */
    stk_buffer *stretches;   /* [n_threads] */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under lock: */
    uint64_t next, reported; /* blocks: to be taken, to be reported */
    block ring[BLOCKS_AHEAD];
    bool stop;
    stk_status failed; /* a thread ran out of memory */
    stk_error error;
} verifier;

void stk_verify_options_init(stk_verify_options *options)
{
    *options = (stk_verify_options){.struct_size = sizeof *options};
}

/* ---- One record. */

/* Bytes of a file read in stretches: where they are from. */
typedef struct stretch {
    stk_buffer *buffer;
    stk_file file;
    uint32_t number;
    uint64_t offset, file_bytes;
    bool open;
} stretch;

static stk_status stretch_get(stk_storage *storage, stretch *s, const stk_row *row, const uint8_t **data,
                              stk_error *error)
{
    if (!s->open || s->number != row->file) {
        s->open = false;
        STK_TRY(storage->ops->file(storage, row->file, &s->file, &s->file_bytes, error));
        s->open = true;
        s->number = row->file;
        s->buffer->n_bytes = 0;
    }
    if (!stk_range_inside(row->offset, row->n_bytes, s->file_bytes))
        return stk_fail(error, STK_ERR_CORRUPT, "reaches beyond the end of %s", s->file.path);
    bool inside = row->offset >= s->offset && row->offset - s->offset <= s->buffer->n_bytes &&
                  row->n_bytes <= s->buffer->n_bytes - (row->offset - s->offset);
    if (!inside) {
        uint64_t want = row->n_bytes > STRETCH_BYTES ? row->n_bytes : STRETCH_BYTES,
                 rest = s->file_bytes - row->offset;
        if (want > rest) want = rest;
        s->buffer->n_bytes = 0;
        s->offset = row->offset;
        STK_TRY(stk_buffer_reserve(s->buffer, (size_t)want, error));
        STK_TRY(stk_file_read_at(&s->file, s->buffer->data, (size_t)want, row->offset, error));
        s->buffer->n_bytes = (size_t)want;
    }
    *data = s->buffer->data + (row->offset - s->offset);
    return STK_OK;
}

static stk_status fetch(stk_storage *storage, stretch *s, uint64_t i, const stk_row *row, const uint8_t **data,
                        stk_error *error)
{
    if (row->offset != UINT64_MAX) return stretch_get(storage, s, row, data, error);
    if (storage->ops->fetch == NULL || row->n_bytes > SIZE_MAX / 2)
        return stk_fail(error, STK_ERR_CORRUPT, "has no place");
    s->buffer->n_bytes = 0;
    s->open = false;
    STK_TRY(stk_buffer_reserve(s->buffer, (size_t)row->n_bytes, error));
    *data = s->buffer->data;
    return storage->ops->fetch(storage, i, row, s->buffer->data, error);
}

static stk_status render_whole(const stk_dataset *d, stk_workbench *bench, const stk_row *row, const uint8_t *data,
                               stk_error *error)
{
    stk_render_job job;
    STK_TRY(stk_job_from_row(d, row, data, &job, error));
    size_t n_bytes;
    if (!stk_mul_size(row->width, row->channels, &job.out_stride) ||
        !stk_mul_size(job.out_stride, row->height, &n_bytes) || row->width == 0 || row->height == 0 ||
        (uint64_t)row->width * row->height > d->options.max_pixels)
        return stk_fail(error, STK_ERR_LIMIT, "is %ux%u pixels, above the limit", row->width, row->height);
    job.box = (stk_box){.width = (int32_t)row->width, .height = (int32_t)row->height};
    job.full_width = job.out_width = row->width;
    job.full_height = job.out_height = row->height;
    job.out_channels = row->channels;
    bench->pixels.n_bytes = 0;
    STK_TRY(stk_buffer_resize(&bench->pixels, n_bytes, error));
    job.out = bench->pixels.data;
    return stk_job_run(bench->codec, &job, d->accepted_damage, error);
}

static stk_status check_deep(const stk_dataset *d, stk_workbench *bench, stk_row *row, const uint8_t *data,
                             stk_error *error)
{
    STK_TRY(stk_row_resolve(bench->codec, data, row, error));
    if (row->encoding == STK_ENCODING_ARRAY) {
        stk_array array;
        return stk_array_of_row(row, data, &array, error);
    }
    if (row->encoding == STK_ENCODING_TILES || row->encoding == STK_ENCODING_RAW)
        return render_whole(d, bench, row, data, error);
    stk_damage_report damage = {0};
    STK_TRY(
        stk_codec_check(bench->codec, (stk_encoding)row->encoding, data, (size_t)row->n_bytes, &damage, error));
    if ((damage.kinds & ~d->accepted_damage) == 0) return STK_OK;
    return stk_fail(error, STK_ERR_DAMAGED, "damaged: %s", damage.text);
}

static stk_status check_record(verifier *v, uint32_t thread, stretch *s, uint64_t i, stk_row *row,
                               stk_error *error)
{
    stk_storage *storage = v->dataset->storage;
    const uint8_t *data = NULL;
    if (storage->ops->check_record != NULL) STK_TRY(storage->ops->check_record(storage, i, error));
    if ((row->encoding & STK_ENCODING_DEAD) != 0)
        return stk_fail(error, STK_ERR_DAMAGED, "is dead: its bytes were lost and could not be rebuilt");
    STK_TRY(fetch(storage, s, i, row, &data, error));
    if (row->has_xxh3 && stk_hash64(data, (size_t)row->n_bytes) != row->xxh3)
        return stk_fail(error, STK_ERR_CHECKSUM, "the payload does not match its checksum");
    return v->options->deep ? check_deep(v->dataset, v->benches[thread], row, data, error) : STK_OK;
}

/* ---- Threads. */

static bool add_finding(block *b, uint64_t record, const stk_row *row, bool dead, const char *reason)
{
    finding *f = calloc(1, sizeof *f);
    if (f == NULL) return false;
    f->record = record;
    f->offset = row->offset;
    f->file = row->file;
    f->dead = dead;
    size_t n = strnlen(reason, sizeof f->reason - 1);
    memcpy(f->reason, reason, n);
    *b->last = f;
    b->last = &f->next;
    return true;
}

/* A record that is known to be lost, and whose header says so too. */
static bool is_dead(const stk_row *row, stk_status status)
{
    return status == STK_ERR_DAMAGED && (row->encoding & STK_ENCODING_DEAD) != 0;
}

static void check_block(verifier *v, uint32_t thread, stretch *s, uint64_t number, block *b, bool *memory)
{
    uint64_t end = (number + 1) * BLOCK_RECORDS, n = v->dataset->storage->n_rows;
    b->first = NULL;
    b->last = &b->first;
    b->n_bytes = b->n_unread = 0;
    stk_storage *storage = v->dataset->storage;
    for (uint64_t i = number * BLOCK_RECORDS; i < end && i < n; i++) {
        stk_row row = {.offset = UINT64_MAX};
        stk_error error;
        stk_status status = storage->ops->row(storage, i, &row, &error);
        if (status != STK_OK && status != STK_ERR_MEMORY && v->broken) {
            b->n_unread++; /* the damaged place is named already, once for all the records in it */
            continue;
        }
        if (status == STK_OK) status = check_record(v, thread, s, i, &row, &error);
        if (status == STK_OK)
            b->n_bytes += row.n_bytes;
        else if (status == STK_ERR_MEMORY || !add_finding(b, i, &row, is_dead(&row, status), error.text))
            *memory = false;
    }
}

static void verify_body(void *user, uint32_t thread)
{
    verifier *v = user;
    stretch s = {.buffer = &v->stretches[thread]};
    pthread_mutex_lock(&v->lock);
    while (!v->stop && v->next < v->n_blocks) {
        if (v->next >= v->reported + BLOCKS_AHEAD) {
            pthread_cond_wait(&v->changed, &v->lock);
            continue;
        }
        uint64_t number = v->next++;
        pthread_mutex_unlock(&v->lock);
        block *b = &v->ring[number % BLOCKS_AHEAD];
        bool memory = true;
        check_block(v, thread, &s, number, b, &memory);
        pthread_mutex_lock(&v->lock);
        b->done = true;
        if (!memory) {
            v->failed = stk_fail_memory(&v->error, "verifying");
            v->stop = true;
        }
        pthread_cond_broadcast(&v->changed);
    }
    pthread_mutex_unlock(&v->lock);
}

/* ---- The calling thread. */

static void report(verifier *v, uint64_t record, uint64_t offset, uint32_t file, bool dead, const char *reason)
{
    char path[4096] = "";
    stk_storage *storage = v->dataset->storage;
    stk_value value;
    stk_file opened = STK_FILE_CLOSED;
    uint64_t n_bytes;
    if (dead) v->report->dead++;
    else v->report->bad++;
    if (v->options->issue == NULL) return;
    if (record < storage->n_rows && v->dataset->path_column != UINT32_MAX &&
        storage->ops->value(storage, v->dataset->path_column, record, path, sizeof path - 1, &value, NULL) ==
            STK_OK)
        path[value.is_null ? 0 : value.n_bytes] = '\0';
    else
        path[0] = '\0';
    if (storage->ops->file(storage, file, &opened, &n_bytes, NULL) != STK_OK) opened.path = v->path;
    stk_verify_issue issue = {
        .record = record, .offset = offset, .file = opened.path, .path = path, .reason = reason};
    v->options->issue(v->options->user, &issue);
}

static void report_structure(void *user, const stk_storage_issue *issue)
{
    report(user, issue->record, issue->offset, issue->file, false, issue->reason);
}

static void free_findings(finding *f)
{
    while (f != NULL) {
        finding *next = f->next;
        free(f);
        f = next;
    }
}

static bool tell_progress(verifier *v, uint64_t blocks)
{
    if (v->options->progress == NULL) return true;
    uint64_t n = v->dataset->storage->n_rows, done = blocks * BLOCK_RECORDS;
    return v->options->progress(v->options->user, done < n ? done : n, n, v->report->bytes);
}

/* Waits for the block, telling progress meanwhile. Lock held; false when the caller cancelled or a thread
 * failed. */
static bool wait_block(verifier *v, uint64_t number)
{
    block *b = &v->ring[number % BLOCKS_AHEAD];
    while (!b->done && !v->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PROGRESS_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&v->changed, &v->lock, &until);
        pthread_mutex_unlock(&v->lock);
        bool go_on = tell_progress(v, number);
        pthread_mutex_lock(&v->lock);
        if (!go_on) {
            v->failed = stk_fail(&v->error, STK_ERR_CANCELLED, "verifying was cancelled");
            v->stop = true;
        }
    }
    return b->done;
}

static void report_blocks(verifier *v)
{
    uint64_t told = stk_now_ns();
    for (uint64_t number = 0; number < v->n_blocks; number++) {
        pthread_mutex_lock(&v->lock);
        bool done = wait_block(v, number);
        block b = v->ring[number % BLOCKS_AHEAD];
        pthread_mutex_unlock(&v->lock);
        if (!done) return;
        v->report->bytes += b.n_bytes;
        v->n_unread += b.n_unread;
        for (finding *f = b.first; f != NULL; f = f->next)
            report(v, f->record, f->offset, f->file, f->dead, f->reason);
        bool go_on = true;
        if (stk_now_ns() - told > PROGRESS_MS * 1000000ull) {
            go_on = tell_progress(v, number + 1);
            told = stk_now_ns();
        }
        free_findings(b.first);
        pthread_mutex_lock(&v->lock);
        v->ring[number % BLOCKS_AHEAD] = (block){0};
        v->reported = number + 1;
        if (!go_on) {
            v->failed = stk_fail(&v->error, STK_ERR_CANCELLED, "verifying was cancelled");
            v->stop = true;
        }
        pthread_cond_broadcast(&v->changed);
        pthread_mutex_unlock(&v->lock);
    }
}

static stk_status check_payloads(verifier *v, uint32_t n_threads, stk_error *error)
{
    stk_status status = STK_OK;
    v->n_blocks = (v->dataset->storage->n_rows + BLOCK_RECORDS - 1) / BLOCK_RECORDS;
    v->benches = calloc(n_threads, sizeof *v->benches);
    v->stretches = calloc(n_threads, sizeof *v->stretches);
    if (v->benches == NULL || v->stretches == NULL) {
        status = stk_fail_memory(error, "verifying");
        goto cleanup;
    }
    for (uint32_t t = 0; t < n_threads; t++)
        STK_GOTO(stk_workbench_open(v->dataset->payload, v->dataset->options.max_pixels, &v->benches[t], error));
    stk_loader_team *team;
    STK_GOTO(stk_loader_team_start(n_threads, verify_body, v, &team, error));
    report_blocks(v);
    stk_loader_team_join(&team);
    for (int i = 0; i < BLOCKS_AHEAD; i++) free_findings(v->ring[i].first);
    status = v->failed;
    if (status != STK_OK && error != NULL) *error = v->error;
cleanup:
    for (uint32_t t = 0; v->benches != NULL && t < n_threads; t++) stk_workbench_close(&v->benches[t]);
    for (uint32_t t = 0; v->stretches != NULL && t < n_threads; t++) stk_buffer_free(&v->stretches[t]);
    free(v->benches);
    free(v->stretches);
    return status;
}

/* One line for all of them: thousands that differ in a number would hide the one that names the damage. */
static void report_unread(verifier *v)
{
    char text[400];
    unsigned long long n = v->n_unread;
    bool folder = strcmp(v->dataset->storage->ops->name, "stk-folder") == 0;
    if (n == 0) return;
    if (folder)
        snprintf(text, sizeof text,
                 "%llu records cannot be found without what is damaged or lost; where no good copy is left, 'stoker export "
                 "--on-bad skip DST OUT' takes out all others, and 'stoker export --salvage SHARD OUT.tar' the whole ones of "
                 "a shard that is damaged, with their labels", n);
    else
        snprintf(text, sizeof text,
                 "%llu records cannot be found without what is damaged, though they may be whole; where no good copy is left, "
                 "'stoker export --salvage FILE OUT.tar' takes out those that are, with their labels", n);
    report(v, UINT64_MAX, 0, UINT32_MAX, false, text); /* of the data set, not of its first file */
}

static stk_status verify_open(verifier *v, stk_error *error)
{
    stk_storage *storage = v->dataset->storage;
    v->report->records = storage->n_rows;
    if (storage->ops->check != NULL) STK_TRY(storage->ops->check(storage, report_structure, v, error));
    v->broken = v->report->bad > 0;
    uint32_t n = v->options->n_threads != 0 ? v->options->n_threads : (uint32_t)stk_cpu_usable_threads();
    STK_TRY(check_payloads(v, n, error));
    report_unread(v);
    if (v->report->bad == 0) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM, "%llu of %llu records or other parts are damaged",
                    (unsigned long long)v->report->bad, (unsigned long long)storage->n_rows);
}

stk_status stk_verify(const char *path, const stk_verify_options *options, stk_verify_report *report_out,
                      stk_error *error)
{
    stk_verify_options defaults;
    stk_verify_report unused;
    stk_verify_options_init(&defaults);
    if (options == NULL) options = &defaults;
    if (options->struct_size != sizeof *options)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "options were not filled by stk_verify_options_init of this version");
    verifier *v = calloc(1, sizeof *v);
    if (v == NULL) return stk_fail_memory(error, "verifying");
    v->path = path;
    v->options = options;
    v->report = report_out != NULL ? report_out : &unused;
    *v->report = (stk_verify_report){0};
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->changed, NULL);
    uint64_t start = stk_now_ns();
    stk_status status = stk_dataset_open(path, NULL, &v->dataset, error);
    if (status == STK_OK) status = verify_open(v, error);
    stk_dataset_close(&v->dataset);
    v->report->seconds = (double)(stk_now_ns() - start) * 1e-9;
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    free(v);
    return status;
}
