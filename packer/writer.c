/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_writer: samples wait in a batch (writer_batch.h); full batches go through the packer's pipeline, as a folder's
 * files do. */
#include <stoker/writer.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/cache_use.h"
#include "packer/output.h"
#include "packer/pack_job.h"
#include "packer/pack_options.h"
#include "packer/pack_pipeline.h"
#include "packer/recipe_text.h"
#include "packer/report.h"
#include "packer/settle.h"
#include "packer/shared_tables.h"
#include "packer/table.h"
#include "packer/writer_batch.h"
#include "packer/writer_check.h"

/* Of samples that wait: enough for many threads, little enough to stay in the page cache. */
enum { BATCH_ITEMS = 1024 };
#define BATCH_BYTES ((uint64_t)64 << 20)

struct stk_writer {
    stk_pack_options options;
    stk_writer_options own; /* pointers into what follows */
    stk_column *columns;    /* "path", then the caller's; names owned by names */
    stk_cell *cells;
    stk_buffer names, metadata, recipe_text, table_blob;
    char *more_metadata;
    stk_job job;
    stk_report report;
    bool report_open;
    stk_writer_batch *batch;
    stk_output *output; /* NULL until the first batch is full */
    stk_cache_use cache;
    stk_tile_tables *tables;
    stk_uniform size; /* HDF5 */
    bool hdf5;
    uint64_t n_items;
    stk_status failed; /* what ended it */
    bool finished;
    const stk_sources *list; /* of the batch in the pipeline */
};

void stk_writer_options_init(stk_writer_options *options)
{
    *options = (stk_writer_options){.struct_size = sizeof *options};
}

/* ---- Opening. */

static stk_status copy_columns(stk_writer *w, const stk_writer_options *o, stk_error *error)
{
    w->columns = calloc((size_t)o->n_columns + 1, sizeof *w->columns);
    w->cells = calloc((size_t)o->n_columns + 1, sizeof *w->cells);
    if (w->columns == NULL || w->cells == NULL) return stk_fail_memory(error, "the columns");
    for (uint32_t c = 0; c < o->n_columns; c++)
        STK_TRY(stk_buffer_append(&w->names, o->columns[c].name, strlen(o->columns[c].name) + 1, error));
    const char *name = (const char *)w->names.data;
    w->columns[0] = (stk_column){.name = "path", .type = STK_TYPE_BYTES, .n_items = 1};
    for (uint32_t c = 0; c < o->n_columns; c++, name += strlen(name) + 1) {
        w->columns[c + 1] = o->columns[c];
        w->columns[c + 1].name = name;
        if (stk_type_size(o->columns[c].type) == 0) w->columns[c + 1].n_items = 1;
    }
    w->own = (stk_writer_options){.columns = w->columns + 1,
                                  .n_columns = o->n_columns,
                                  .class_names = o->class_names,
                                  .n_classes = o->n_classes};
    return STK_OK;
}

/* The metadata of a pack, and the caller's members behind it. */
static stk_status make_metadata(stk_writer *w, stk_error *error)
{
    const stk_sources *list;
    w->metadata.n_bytes = 0;
    STK_TRY(stk_writer_batch_sources(w->batch, &list, error));
    STK_TRY(stk_metadata_text(list, &w->options, 0, &w->metadata, error));
    if (w->more_metadata == NULL) return STK_OK;
    return stk_writer_join_metadata(w->more_metadata, &w->metadata, error);
}

static stk_status open_all(stk_writer *w, const char *dst, const stk_writer_options *o, stk_error *error)
{
    uint64_t id = 0;
    bool found;
    const stk_sources *list;
    STK_TRY(stk_pack_options_read(o->pack, &w->options, error));
    STK_TRY(stk_writer_check_options(o, &w->options, error));
    w->options.manifest = w->options.root = NULL;
    w->options.resume = false;
    STK_TRY(stk_report_open(&w->options, &w->report, error));
    w->report_open = true;
    STK_TRY(stk_hdf5_wanted(dst, &w->options, &w->hdf5, error));
    STK_TRY(copy_columns(w, o, error));
    if (o->metadata != NULL && (w->more_metadata = strdup(o->metadata)) == NULL)
        return stk_fail_memory(error, "the metadata");
    STK_TRY(stk_job_lock(dst, w->options.force, &w->job, error));
    STK_TRY(stk_writer_batch_open(w->job.dst, &w->own, &w->batch, error));
    STK_TRY(make_metadata(w, error)); /* for its complaints; made anew when the output is opened */
    STK_TRY(stk_writer_batch_sources(w->batch, &list, error));
    STK_TRY(stk_job_id(list, &w->options, w->job.folder, &id, error));
    STK_TRY(stk_job_begin(&w->job, id, false, &found, error));
    STK_TRY(stk_recipe_text(&w->options, &w->recipe_text, error));
    STK_TRY(stk_report_open_file(&w->report, w->job.report, error));
    STK_TRY(stk_cache_use_open(w->options.cache, (const char *)w->recipe_text.data, &w->cache, error));
    stk_report_phase(&w->report, "pack");
    return STK_OK;
}

stk_status stk_writer_open(const char *dst, const stk_writer_options *options, stk_writer **out, stk_error *error)
{
    if (out == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (dst == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "no output was named");
    stk_writer_options defaults;
    stk_writer_options_init(&defaults);
    if (options == NULL) options = &defaults;
    if (options->struct_size != sizeof *options)
        return stk_fail(error, STK_ERR_ARGUMENT, "options were not filled by stk_writer_options_init of this version");
    stk_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return stk_fail_memory(error, "the writer");
    w->job.lock_fd = -1;
    stk_status status = open_all(w, dst, options, error);
    if (status != STK_OK) {
        stk_writer_close(&w);
        return status;
    }
    w->own.class_names = NULL; /* the caller's; the batch has copies */
    *out = w;
    return STK_OK;
}

/* ---- Encoding a batch. */

static stk_status take_product(void *user, const stk_source *source, const stk_product *made, stk_error *error)
{
    stk_writer *w = user;
    char path[PATH_MAX * 2];
    stk_product product = *made;
    size_t n = stk_source_path(w->list, source, path, sizeof path);
    if (n >= sizeof path) n = sizeof path - 1;
    /* What a folder's scan passes over was given here by somebody who wants it. */
    if (product.fate == STK_FATE_IGNORED) {
        stk_product_leave_out(&product, STK_ERR_IMAGE, "skipped", "not-an-image", "the content is no image");
        product.bad = true;
    }
    STK_TRY(stk_settle_policy(&w->options, path, &product, error));
    if (product.fate == STK_FATE_RECORD) {
        stk_record record = product.record;
        w->cells[0] = (stk_cell){.data = path, .n_items = n};
        if (w->list->table != NULL) stk_table_cells(w->list->table, source->position, w->cells + 1);
        record.cells = w->cells;
        STK_TRY(stk_output_add(w->output, &record, error));
    }
    STK_TRY(stk_cache_note(&w->cache, &product, error));
    return stk_report_add(&w->report, path, &product, error);
}

static bool tick(void *user)
{
    stk_writer *w = user;
    return stk_report_tick(&w->report, false);
}

static stk_pipeline make_pipeline(stk_writer *w, stk_recipe *recipe)
{
    *recipe = (stk_recipe){.options = &w->options,
                           .tables = w->tables,
                           .channels = (uint8_t)w->size.channels,
                           .cache = &w->cache};
    return (stk_pipeline){.sources = w->list,
                          .recipe = recipe,
                          .end = w->list->n,
                          .n_threads = w->options.n_threads,
                          .take = take_product,
                          .tick = tick,
                          .user = w};
}

/* Huffman tables and, for HDF5, the images' size come from the first batch. */
static stk_status open_output(stk_writer *w, stk_error *error)
{
    stk_recipe recipe;
    stk_pipeline pipeline = make_pipeline(w, &recipe);
    if (w->hdf5) {
        STK_TRY(stk_uniform_find(&pipeline, &w->options, &w->size, error));
        if (w->size.found) w->options.encode = STK_ENCODE_RAW;
    }
    STK_TRY(make_metadata(w, error));
    STK_TRY(stk_writer_batch_sources(w->batch, &w->list, error));
    STK_TRY(stk_shared_tables_train(w->list, &w->options, &w->table_blob, error));
    stk_cache_use_tables(&w->cache, w->table_blob.data, w->table_blob.n_bytes);
    if (w->table_blob.n_bytes > 0)
        STK_TRY(stk_tile_tables_open(w->table_blob.data, w->table_blob.n_bytes, &w->tables, error));
    stk_hdf5_sink_options hdf5 = {.max_records = w->list->n,
                                  .size = w->size,
                                  .chunk_images = w->options.chunk_images,
                                  .filter = w->options.hdf5_filter,
                                  .n_threads = w->options.n_threads,
                                  .class_names = (const char *const *)w->list->class_names,
                                  .n_classes = w->list->n_classes};
    stk_output_options options = {.hdf5 = w->hdf5 ? &hdf5 : NULL,
                                  .path = w->job.data,
                                  .folder = w->job.folder,
                                  .shard_bytes = w->options.shard_bytes,
                                  .columns = w->columns,
                                  .n_columns = w->own.n_columns + 1,
                                  .tables = w->table_blob.n_bytes > 0 ? w->table_blob.data : NULL,
                                  .n_table_bytes = w->table_blob.n_bytes,
                                  .metadata = (const char *)w->metadata.data};
    return stk_output_open(&options, &w->output, error);
}

static stk_status flush(stk_writer *w, stk_error *error)
{
    stk_recipe recipe;
    STK_TRY(stk_writer_batch_sources(w->batch, &w->list, error));
    if (w->output == NULL) STK_TRY(open_output(w, error));
    w->report.files_total = w->n_items;
    stk_pipeline pipeline = make_pipeline(w, &recipe);
    STK_TRY(stk_pipeline_run(&pipeline, error));
    return stk_writer_batch_empty(w->batch, error);
}

/* The first batch must hold all that the shared tables are made of; an HDF5 file is written in one go. */
static bool is_full(const stk_writer *w)
{
    uint64_t n = stk_writer_batch_len(w->batch);
    if (w->hdf5) return false;
    if (w->output == NULL) {
        uint64_t small = stk_writer_batch_small(w->batch, STK_TABLES_SMALL_FILE);
        if (!stk_shared_tables_decided(&w->options, n, small)) return false;
    }
    return n >= BATCH_ITEMS || stk_writer_batch_bytes(w->batch) >= BATCH_BYTES;
}

/* ---- Using. */

static stk_status check_life(const stk_writer *w, stk_error *error)
{
    if (w->finished) return stk_fail(error, STK_ERR_STATE, "%s: this writer has finished", w->job.dst);
    if (w->failed == STK_OK) return STK_OK;
    return stk_fail(error, STK_ERR_STATE, "%s: an earlier error (%s) ended this writer; nothing was written", w->job.dst,
                    stk_status_name(w->failed));
}

stk_status stk_writer_add(stk_writer *w, const stk_item *item, stk_error *error)
{
    STK_TRY(check_life(w, error));
    STK_TRY(stk_writer_check_item(&w->own, item, error));
    stk_status status = stk_writer_batch_add(w->batch, item, w->n_items, error);
    if (status == STK_OK) w->n_items++;
    if (status == STK_OK && is_full(w)) status = flush(w, error);
    w->failed = status;
    return status;
}

uint64_t stk_writer_len(const stk_writer *w) { return w->n_items; }

static stk_status finish(stk_writer *w, char *id, uint64_t *n_bytes, stk_error *error)
{
    if (stk_writer_batch_len(w->batch) > 0 || w->output == NULL) STK_TRY(flush(w, error));
    const stk_pack_report *c = &w->report.counts;
    if (c->records == 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "%s: not one record to write: of %llu samples %llu were left out",
                        w->job.dst, (unsigned long long)w->n_items, (unsigned long long)c->skipped);
    stk_report_phase(&w->report, "write");
    if (!stk_report_tick(&w->report, true)) return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
    STK_TRY(stk_output_finish(w->output, id, n_bytes, error));
    stk_cache_use_flush(&w->cache);
    if (w->cache.failed)
        STK_TRY(stk_report_note(&w->report, w->options.cache, "ignored", "cache", w->cache.why.text, error));
    STK_TRY(stk_report_finish(&w->report, error));
    return stk_job_commit(&w->job, w->options.force, error);
}

stk_status stk_writer_finish(stk_writer *w, stk_pack_report *report, stk_error *error)
{
    char id[40] = "";
    uint64_t n_bytes = 0;
    if (report != NULL) *report = (stk_pack_report){0};
    STK_TRY(check_life(w, error));
    stk_status status = finish(w, id, &n_bytes, error);
    w->failed = status;
    w->finished = status == STK_OK;
    if (report == NULL) return status;
    *report = w->report.counts;
    report->seconds = stk_report_seconds(&w->report);
    report->bytes = n_bytes;
    memcpy(report->dataset_id, id, sizeof report->dataset_id);
    return status;
}

void stk_writer_close(stk_writer **writer)
{
    if (writer == NULL || *writer == NULL) return;
    stk_writer *w = *writer;
    stk_output_close(&w->output);
    if (w->report_open) stk_report_close(&w->report);
    stk_job_close(&w->job);
    stk_cache_use_flush(&w->cache);
    stk_cache_use_close(&w->cache);
    stk_tile_tables_close(&w->tables);
    stk_writer_batch_close(&w->batch);
    stk_buffer_free(&w->names);
    stk_buffer_free(&w->metadata);
    stk_buffer_free(&w->recipe_text);
    stk_buffer_free(&w->table_blob);
    free(w->more_metadata);
    free(w->columns);
    free(w->cells);
    free(w);
    *writer = NULL;
}
