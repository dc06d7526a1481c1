/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_pack: list the sources, make records of them in many threads, write them in order, put the output in
 * place. */
#include <stoker/pack.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/append.h"
#include "packer/cache_use.h"
#include "packer/pack_job.h"
#include "packer/output.h"
#include "packer/pack_options.h"
#include "packer/pack_source.h"
#include "packer/pack_pipeline.h"
#include "packer/previous.h"
#include "packer/recipe_text.h"
#include "packer/report.h"
#include "packer/resume.h"
#include "packer/settle.h"
#include "packer/shared_tables.h"
#include "packer/source_log.h"
#include "packer/table.h"

/* Everything of one call. */
typedef struct pack {
    stk_pack_options options;
    stk_pack_source source;
    stk_sources sources;
    stk_job job;
    stk_report report;
    stk_text_file log;
    stk_output *output;
    stk_previous previous;
    stk_append append; /* with options.append: what the output is added to */
    stk_cache_use cache;
    stk_tile_tables *tables;
    stk_buffer table_blob, metadata, recipe_text;
    stk_column *columns; /* "path", then the manifest's */
    stk_cell *cells;
    uint32_t n_columns;
    uint64_t first, end; /* positions of this part */
    uint64_t whole;      /* identity of what it is a part of, whatever the kind of output */
    char id[40];
    uint64_t n_bytes;
    int64_t trusted_ns; /* source_log.h */
    bool killed_run;    /* the job's folder holds what a killed run of it left */
    stk_resume resume;
    uint64_t n_resumed; /* positions that were taken over */
    stk_permutation shuffle;
    stk_recipe recipe;
    bool hdf5;        /* the output is an HDF5 file */
    stk_uniform size; /* of its images, when they are raw and of one size */
    bool again;       /* they are not: `size` was corrected, and all begins anew */
} pack;

/* What an attempt that ended so hands to the next. */
typedef struct lesson {
    bool learnt;
    stk_uniform size;
    double started;
    uint64_t n_told; /* issues that the caller has heard of */
} lesson;

static stk_status make_columns(pack *p, stk_error *error)
{
    uint32_t n = p->sources.table != NULL ? p->sources.table->n_columns : 0;
    p->columns = calloc(n + 1, sizeof *p->columns);
    p->cells = calloc(n + 1, sizeof *p->cells);
    if (p->columns == NULL || p->cells == NULL) return stk_fail_memory(error, "the columns");
    p->columns[0] = (stk_column){.name = "path", .type = STK_TYPE_BYTES, .n_items = 1};
    for (uint32_t c = 0; c < n; c++)
        p->columns[c + 1] = p->sources.table->columns[c].column;
    p->n_columns = n + 1;
    return STK_OK;
}

/* Part K of N: positions of the whole order, as even as can be. */
static void choose_part(pack *p)
{
    uint64_t n = p->sources.n, parts = p->options.n_parts, k = p->options.part;
    p->first = 0;
    p->end = n;
    if (parts <= 1) return;
    uint64_t each = n / parts, rest = n % parts;
    p->first = (k - 1) * each + (k - 1 < rest ? k - 1 : rest);
    p->end = p->first + each + (k - 1 < rest ? 1 : 0);
}

/* The shared tables: those of the previous output where they would come out the same, else new ones. */
static stk_status find_tables(pack *p, stk_error *error)
{
    const uint8_t *old = NULL;
    size_t n_old = 0;
    bool list_order = !p->options.shuffle && p->options.n_parts <= 1;
    if (list_order)
        STK_TRY(stk_previous_tables(&p->previous, &p->sources, STK_TABLES_LOOK_AT, &old, &n_old, error));
    if (n_old > 0)
        STK_TRY(stk_buffer_append(&p->table_blob, old, n_old, error));
    else
        STK_TRY(stk_shared_tables_train(&p->sources, &p->options, &p->table_blob, error));
    STK_TRY(stk_previous_compare_tables(&p->previous, p->table_blob.data, p->table_blob.n_bytes, error));
    stk_cache_use_tables(&p->cache, p->table_blob.data, p->table_blob.n_bytes);
    if (p->table_blob.n_bytes == 0) return STK_OK;
    return stk_tile_tables_open(p->table_blob.data, p->table_blob.n_bytes, &p->tables, error);
}

/* A folder that has grown, say, was to be packed again with --force; appended, what was there already is there twice. */
static stk_status note_twice(pack *p, stk_error *error)
{
    uint64_t n;
    char text[200];
    STK_TRY(stk_append_count_known(&p->append, &p->sources, &n, error));
    if (n == 0) return STK_OK;
    snprintf(text, sizeof text, "%llu of %llu paths are in it already, and stand there twice from now on",
             (unsigned long long)n, (unsigned long long)p->sources.n);
    return stk_report_note(&p->report, p->source.dst, "kept", "twice", text, error);
}

static stk_status note_sources(pack *p, stk_error *error)
{
    const char *list = p->source.manifest != NULL ? p->source.manifest : p->source.root;
    const stk_sources *s = &p->sources;
    if (s->label_note != NULL) STK_TRY(stk_report_note(&p->report, list, "ignored", "label", s->label_note, error));
    if (s->image_note != NULL) STK_TRY(stk_report_note(&p->report, list, "ignored", "images", s->image_note, error));
    if (s->member_note != NULL) STK_TRY(stk_report_note(&p->report, list, "ignored", "members", s->member_note, error));
    return STK_OK;
}

static stk_status open_output(pack *p, stk_error *error)
{
    STK_TRY(make_columns(p, error));
    STK_TRY(stk_metadata_text(&p->sources, &p->options, p->whole, &p->metadata, error));
    if (p->options.append)
        STK_TRY(stk_append_check(&p->append, (const char *)p->metadata.data, (const char *)p->recipe_text.data,
                                 p->columns, p->n_columns, error));
    STK_TRY(stk_text_file_open(p->killed_run ? p->job.next_sources : p->job.sources, &p->log, error));
    STK_TRY(stk_source_log_begin(&p->log, (const char *)p->recipe_text.data, error));
    STK_TRY(stk_report_open_file(&p->report, p->job.report, error));
    STK_TRY(note_sources(p, error));
    if (p->options.append) STK_TRY(note_twice(p, error));
    stk_hdf5_sink_options hdf5 = {
        .max_records = p->end - p->first,
        .size = p->size,
        .chunk_images = p->options.chunk_images,
        .filter = p->options.hdf5_filter,
        .n_threads = p->options.n_threads,
        .class_names = (const char *const *)p->sources.class_names,
        .n_classes = p->sources.n_classes,
    };
    stk_output_options options = {
        .hdf5 = p->hdf5 ? &hdf5 : NULL,
        .path = p->job.data,
        .folder = p->job.folder,
        .shard_bytes = p->options.shard_bytes,
        .columns = p->columns,
        .n_columns = p->n_columns,
        .tables = p->table_blob.n_bytes > 0 ? p->table_blob.data : NULL,
        .n_table_bytes = p->table_blob.n_bytes,
        .metadata = (const char *)p->metadata.data,
    };
    if (p->options.append) stk_append_output(&p->append, &options);
    return stk_output_open(&options, &p->output, error);
}

static stk_status note_product(pack *p, const char *path, const stk_product *product, uint64_t record,
                               stk_error *error)
{
    STK_TRY(stk_report_add(&p->report, path, product, error));
    return stk_source_log_add(&p->log, path, product, record, p->trusted_ns, error);
}

static void fill_cells(pack *p, const stk_source *source, const char *path, size_t n_path)
{
    p->cells[0] = (stk_cell){.data = path, .n_items = n_path};
    if (p->sources.table != NULL) stk_table_cells(p->sources.table, source->position, p->cells + 1);
}

static stk_status take_product(void *user, const stk_source *source, const stk_product *product,
                               stk_error *error)
{
    pack *p = user;
    char path[PATH_MAX * 2];
    size_t n = stk_source_path(&p->sources, source, path, sizeof path);
    if (n >= sizeof path) n = sizeof path - 1;
    uint64_t number = stk_output_records(p->output);
    STK_TRY(stk_settle_policy(&p->options, path, product, error));
    if (product->fate == STK_FATE_RECORD) {
        stk_record record = product->record;
        if (p->size.found && !stk_uniform_holds(&p->size, &record)) {
            p->again = true;
            return stk_fail(error, STK_ERR_CANCELLED, "%s: differs from the images before in size or channels", path);
        }
        fill_cells(p, source, path, n);
        record.cells = p->cells;
        STK_TRY(stk_output_add(p->output, &record, error));
    }
    STK_TRY(stk_cache_note(&p->cache, product, error));
    return note_product(p, path, product, number, error);
}

static bool tick(void *user)
{
    pack *p = user;
    return stk_report_tick(&p->report, false);
}

static bool tick_scan(void *user, uint64_t n_files)
{
    pack *p = user;
    stk_report_found(&p->report, n_files);
    return stk_report_tick(&p->report, false);
}

static stk_pipeline make_pipeline(pack *p)
{
    stk_permutation_init(&p->shuffle, p->sources.n, p->options.shuffle_seed, 0);
    /* When all were grey so far, one in colour must show, not be made grey. */
    uint8_t channels = p->size.channels == 3 ? 3 : 0;
    p->recipe = (stk_recipe){.options = &p->options,
                             .tables = p->tables,
                             .channels = channels,
                             .previous = &p->previous,
                             .cache = &p->cache};
    return (stk_pipeline){
        .sources = &p->sources,
        .recipe = &p->recipe,
        .shuffle = p->options.shuffle ? &p->shuffle : NULL,
        .first = p->first,
        .end = p->end,
        .n_threads = p->options.n_threads,
        .take = take_product,
        .tick = tick,
        .user = p,
    };
}

/* Takes over what line i of the killed run's list tells; *taken false where that ends. */
static stk_status take_over(pack *p, const stk_pipeline *pipeline, uint64_t i, stk_buffer *scratch,
                            bool *taken, stk_error *error)
{
    char path[PATH_MAX];
    stk_product product;
    stk_source source;
    *taken = stk_resume_product(&p->resume, i, scratch, &product);
    if (!*taken) return STK_OK;
    stk_source_at(&p->sources, pipeline->shuffle, p->first + i, &source);
    size_t n = stk_source_path(&p->sources, &source, path, sizeof path);
    uint64_t number = stk_output_records(p->output);
    if (product.fate == STK_FATE_RECORD) {
        fill_cells(p, &source, path, n);
        STK_TRY(stk_output_adopt(p->output, source.label, p->cells, taken, error));
        product.resumed = *taken;
    }
    return *taken ? note_product(p, path, &product, number, error) : STK_OK;
}

/* Goes through the killed run's list as far as it holds. Only when that is done the new list takes the place
 * of the old one: a run that is killed here as well loses nothing. */
static stk_status go_on(pack *p, const stk_pipeline *pipeline, stk_error *error)
{
    stk_report_phase(&p->report, "check");
    STK_TRY(stk_resume_read(p->job.sources, (const char *)p->recipe_text.data, &p->resume, error));
    STK_TRY(stk_resume_check(&p->resume, pipeline, error));
    stk_output_resume(p->output, p->resume.n_records);
    stk_buffer scratch = {0};
    stk_status status = STK_OK;
    bool taken = true;
    for (uint64_t i = 0; i < p->resume.n_lines && taken; i++) {
        if (!tick(p)) {
            status = stk_fail(error, STK_ERR_CANCELLED, "cancelled");
            goto cleanup;
        }
        STK_GOTO(take_over(p, pipeline, i, &scratch, &taken, error));
        if (taken) p->n_resumed++;
    }
    STK_GOTO(stk_text_file_write(&p->log, error));
    if (rename(p->job.next_sources, p->job.sources) != 0)
        status = stk_fail_errno(error, errno, "%s: cannot be put in place", p->job.next_sources);
cleanup:
    stk_buffer_free(&scratch);
    return status;
}

static stk_status run_pipeline(pack *p, stk_error *error)
{
    stk_pipeline pipeline = make_pipeline(p);
    if (p->killed_run) STK_TRY(go_on(p, &pipeline, error));
    pipeline.first += p->n_resumed;
    stk_report_phase(&p->report, "pack");
    return stk_pipeline_run(&pipeline, error);
}

static stk_status refuse_empty(const pack *p, stk_error *error)
{
    const stk_pack_report *c = &p->report.counts;
    if (c->records > 0 || p->options.n_parts > 1) return STK_OK;
    return stk_fail(error, STK_ERR_NOT_FOUND,
                    "%s: no images found: of %llu files %llu were left out, %llu ignored", p->source.root,
                    (unsigned long long)c->files, (unsigned long long)c->skipped,
                    (unsigned long long)c->ignored);
}

static stk_status finish(pack *p, stk_error *error)
{
    STK_TRY(refuse_empty(p, error));
    stk_report_phase(&p->report, "write");
    if (!stk_report_tick(&p->report, true)) return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
    STK_TRY(stk_output_finish(p->output, p->id, &p->n_bytes, error));
    STK_TRY(stk_source_log_end(&p->log, p->id, p->report.counts.files, error));
    stk_cache_use_flush(&p->cache);
    if (p->cache.failed)
        STK_TRY(stk_report_note(&p->report, p->options.cache, "ignored", "cache", p->cache.why.text, error));
    STK_TRY(stk_report_finish(&p->report, error));
    p->report.counts.ignored += p->sources.n_special; /* never on the list, so not in the report's sums */
    if (p->options.append) return stk_append_commit(&p->append, &p->job, p->id, error);
    return stk_job_commit(&p->job, p->options.force, error);
}

/* HDF5 wants to know the images' size first. Such a file is written in one go: what a killed run left is of
 * no use. */
static stk_status prepare_hdf5(pack *p, const lesson *before, stk_error *error)
{
    if (!p->hdf5) return STK_OK;
    stk_pipeline pipeline = make_pipeline(p);
    p->options.resume = false;
    stk_report_phase(&p->report, "check");
    if (before->learnt)
        p->size = before->size;
    else
        STK_TRY(stk_uniform_guess(&pipeline, &p->options, &p->size, error));
    if (p->size.found) p->options.encode = STK_ENCODE_RAW;
    return STK_OK;
}

/* Nobody else writes to DST from here on; with append, what it holds is read. */
static stk_status lock_place(pack *p, const char *dst, stk_error *error)
{
    if (!p->options.append) return stk_job_lock(dst, p->options.force, &p->job, error);
    if (p->hdf5) return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: --append adds to a folder of shards, not to HDF5", dst);
    STK_TRY(stk_job_lock_present(dst, true, &p->job, error));
    return stk_append_open(&p->job, &p->options, &p->append, error);
}

static stk_status prepare(pack *p, const char *src, const char *dst, const lesson *before, stk_error *error)
{
    STK_TRY(stk_hdf5_wanted(dst, &p->options, &p->hdf5, error));
    STK_TRY(stk_pack_source_find(src, dst, &p->options, &p->source, error));
    STK_TRY(stk_pack_source_check_options(&p->source, &p->options, error));
    STK_TRY(lock_place(p, dst, error));
    if (!stk_report_tick(&p->report, true)) return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
    stk_scan_watch watch = {.seen = tick_scan, .user = p};
    STK_TRY(stk_pack_source_list(&p->source, &p->options, watch, &p->sources, error));
    stk_report_found(&p->report, 0);
    choose_part(p);
    p->report.files_total = p->end - p->first;
    STK_TRY(prepare_hdf5(p, before, error));
    uint64_t id = 0;
    stk_pack_options whole = p->options;
    whole.part = whole.n_parts = 0;
    STK_TRY(stk_job_id(&p->sources, &whole, false, &p->whole, error));
    STK_TRY(stk_job_id(&p->sources, &p->options, p->job.folder, &id, error));
    STK_TRY(stk_job_begin(&p->job, id, p->options.resume, &p->killed_run, error));
    if (p->options.append) {
        STK_TRY(stk_append_begin(&p->append, id, p->options.force, p->job.dst, error));
        STK_TRY(stk_append_classes(&p->append, &p->sources, error));
    }
    STK_TRY(stk_recipe_text(&p->options, &p->recipe_text, error));
    if (p->options.resume && !p->options.append)
        STK_TRY(stk_previous_open(p->job.dst, (const char *)p->recipe_text.data, &p->options, &p->previous,
                                  error));
    STK_TRY(stk_cache_use_open(p->options.cache, (const char *)p->recipe_text.data, &p->cache, error));
    return find_tables(p, error);
}

static void pack_free(pack *p)
{
    stk_output_close(&p->output);
    stk_text_file_close(&p->log);
    stk_report_close(&p->report);
    stk_job_close(&p->job);
    stk_cache_use_flush(&p->cache); /* of a run that failed: what it has made will be wanted again */
    stk_cache_use_close(&p->cache);
    stk_resume_free(&p->resume);
    stk_previous_close(&p->previous);
    stk_append_close(&p->append);
    stk_tile_tables_close(&p->tables);
    stk_sources_free(&p->sources);
    stk_pack_source_free(&p->source);
    stk_buffer_free(&p->table_blob);
    stk_buffer_free(&p->metadata);
    stk_buffer_free(&p->recipe_text);
    free(p->columns);
    free(p->cells);
}

/* A run that was cancelled, or lost a disk, can go on where it was. What failed otherwise would fail again,
 * and a full disk wants its space back. */
static void keep_for_later(pack *p, stk_status status)
{
    if (!p->options.resume || p->output == NULL || p->job.lock_fd < 0) return;
    if (status != STK_ERR_CANCELLED && status != STK_ERR_IO) return;
    if (p->job.published || access(p->job.data, F_OK) != 0) return;
    p->job.keep = stk_output_keep(p->output, NULL) == STK_OK && stk_text_file_write(&p->log, NULL) == STK_OK;
}

static void fill_report(pack *p, stk_pack_report *report)
{
    *report = p->report.counts;
    report->seconds = stk_report_seconds(&p->report);
    report->bytes = p->n_bytes;
    memcpy(report->dataset_id, p->id, sizeof report->dataset_id);
}

/* File systems keep times in ticks of up to two seconds. */
#define RACY_NS ((int64_t)2000000000)

static int64_t real_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* *again: nothing stays of this attempt, but what it learnt will make the next one succeed. */
static stk_status pack_once(const char *src, const char *dst, const stk_pack_options *options, lesson *learning,
                            bool *again, stk_pack_report *report, stk_error *error)
{
    pack p = {.job = {.lock_fd = -1}, .log = {.file = STK_FILE_CLOSED}};
    stk_status status = STK_OK;
    STK_TRY(stk_pack_options_read(options, &p.options, error));
    STK_TRY(stk_report_open(&p.options, &p.report, error));
    if (learning->learnt) stk_report_goes_on(&p.report, learning->started, learning->n_told);
    p.trusted_ns = real_time_ns() - RACY_NS;
    STK_GOTO(prepare(&p, src, dst, learning, error));
    STK_GOTO(open_output(&p, error));
    STK_GOTO(run_pipeline(&p, error));
    STK_GOTO(finish(&p, error));
cleanup:
    *again = p.again && status == STK_ERR_CANCELLED && stk_report_tick(&p.report, true);
    if (*again) *learning = (lesson){true, p.size, p.report.started, p.report.n_issues};
    else if (p.again && status == STK_ERR_CANCELLED) (void)stk_fail(error, status, "cancelled");
    keep_for_later(&p, status);
    if (report != NULL) fill_report(&p, report);
    pack_free(&p);
    return status;
}

stk_status stk_pack(const char *src, const char *dst, const stk_pack_options *options,
                    stk_pack_report *report, stk_error *error)
{
    lesson learning = {0};
    bool again = false;
    stk_status status;
    if (report != NULL) *report = (stk_pack_report){0};
    if (dst == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "no output was named");
    /* Twice at most: to three channels, and to images of no common size. */
    do
        status = pack_once(src, dst, options, &learning, &again, report, error);
    while (again);
    return status;
}
