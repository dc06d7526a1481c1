/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/export.h"

#include <stdlib.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "reader/dataset_internal.h"
#include "stoker_features.h"

#if STOKER_HAVE_HDF5
#include "common/hash.h"
#include "format/array_layout.h"
#include "format/hdf5/hdf5_writer.h"

typedef struct job {
    stk_export_run *run;
    const stk_dataset *dataset;
    stk_hdf5_writer_options o;
    const uint8_t **sets;
    size_t *set_bytes;
    stk_cell *cells;
    stk_buffer *rooms; /* one a column */
    stk_buffer payload;
    stk_hdf5_writer *writer;
    stk_array array; /* of the first record, when the records are arrays */
    bool differs;    /* one of them is not like it */
} job;

/* Row i, unless it is left out: a record that is dead, or of which the index tells nothing, has no say in how the others
 * are stored. *counts says which. */
static stk_status look_at(job *j, uint64_t i, stk_row *row, bool *counts, stk_error *error)
{
    bool skip = j->run->options->on_bad == STK_EXPORT_BAD_SKIP;
    stk_status status = stk_dataset_row(j->dataset, i, row, error);
    *counts = !skip || (status == STK_OK && (row->encoding & STK_ENCODING_DEAD) == 0);
    return skip && status != STK_ERR_MEMORY ? STK_OK : status;
}

/* Sets the images' size when all are raw and agree. */
static stk_status find_size(job *j, stk_error *error)
{
    stk_row first = {0}, row;
    bool same = true, counts, any = false;
    for (uint64_t i = 0; i < stk_dataset_len(j->dataset) && same; i++) {
        STK_TRY(look_at(j, i, &row, &counts, error));
        if (!counts) continue;
        if (!any) first = row;
        any = true;
        same = row.encoding == STK_ENCODING_RAW && row.width == first.width && row.height == first.height &&
               row.channels == first.channels && row.orientation <= 1;
    }
    if (!same || !any) return STK_OK;
    j->o.width = first.width;
    j->o.height = first.height;
    j->o.channels = first.channels;
    return STK_OK;
}

/* Arrays, as far as the rows tell: then the first that can be read says of what type and shape; a record that is not like it
 * shows when its turn comes. */
static stk_status find_array(job *j, stk_error *error)
{
    uint64_t n = stk_dataset_len(j->dataset), first_bytes = 0, i;
    stk_row row;
    bool same = true, counts, any = false;
    for (i = 0; i < n && same; i++) {
        STK_TRY(look_at(j, i, &row, &counts, error));
        if (!counts) continue;
        if (!any) first_bytes = row.n_bytes;
        any = true;
        same = row.encoding == STK_ENCODING_ARRAY && row.n_bytes == first_bytes;
    }
    if (!same || !any) return STK_OK;
    stk_status status = STK_ERR_CORRUPT;
    for (i = 0; i < n && status != STK_OK; i++) {
        status = stk_dataset_array(j->dataset, i, &j->payload, &j->array, error);
        if (status == STK_ERR_MEMORY || j->run->options->on_bad != STK_EXPORT_BAD_SKIP) break;
    }
    if (status == STK_OK && stk_hdf5_takes_array(&j->array)) j->o.array = &j->array;
    /* When none can be read each will say so in its turn. */
    return j->run->options->on_bad == STK_EXPORT_BAD_SKIP && status != STK_ERR_MEMORY ? STK_OK : status;
}

/* A table set that is lost with its shard stands empty where records are left out; read_record leaves out its own. */
static stk_status read_set(job *j, uint32_t t, stk_error *error)
{
    const stk_storage *s = j->dataset->storage;
    stk_status status = s->ops->tables(j->dataset->storage, t, &j->sets[t], &j->set_bytes[t], error);
    if (status == STK_OK || status == STK_ERR_MEMORY || j->run->options->on_bad != STK_EXPORT_BAD_SKIP) return status;
    j->sets[t] = NULL;
    j->set_bytes[t] = 0;
    return STK_OK;
}

static stk_status prepare(job *j, stk_error *error)
{
    const stk_storage *s = j->dataset->storage;
    j->cells = calloc((size_t)s->n_columns + 1, sizeof *j->cells);
    j->rooms = calloc((size_t)s->n_columns + 1, sizeof *j->rooms);
    j->sets = calloc((size_t)s->n_table_sets + 1, sizeof *j->sets);
    j->set_bytes = calloc((size_t)s->n_table_sets + 1, sizeof *j->set_bytes);
    if (j->cells == NULL || j->rooms == NULL || j->sets == NULL || j->set_bytes == NULL)
        return stk_fail_memory(error, "an export");
    STK_TRY(find_size(j, error));
    if (!j->differs) STK_TRY(find_array(j, error));
    for (uint32_t t = 0; t < s->n_table_sets && j->o.width == 0; t++) STK_TRY(read_set(j, t, error));
    j->o.columns = s->columns;
    j->o.n_columns = s->n_columns;
    j->o.table_sets = j->sets;
    j->o.table_set_bytes = j->set_bytes;
    j->o.n_table_sets = j->o.width == 0 ? s->n_table_sets : 0;
    j->o.max_records = s->n_rows;
    j->o.chunk_images = j->run->options->chunk_images;
    j->o.filter = j->run->options->hdf5_filter;
    j->o.n_threads = j->run->options->n_threads;
    return STK_OK;
}

/* Payload, row and cells of record i into the job. */
static stk_status read_record(job *j, uint64_t i, stk_row *row, stk_error *error)
{
    STK_TRY(stk_dataset_image_row(j->dataset, i, row, error));
    STK_TRY(stk_dataset_payload(j->dataset, i, &j->payload, error));
    if (row->tables > 0 && row->tables <= j->o.n_table_sets && j->sets[row->tables - 1] == NULL)
        return stk_fail(error, STK_ERR_CORRUPT, "its shared tables are lost");
    if (j->o.array != NULL) {
        stk_array array;
        STK_TRY(stk_array_view(j->payload.data, j->payload.n_bytes, &array, error));
        j->differs = !stk_array_same(&array, &j->array);
        if (j->differs) return STK_ERR_CANCELLED;
    }
    for (uint32_t c = 0; c < j->dataset->storage->n_columns; c++) {
        stk_value v;
        STK_TRY(stk_export_value(j->dataset, c, i, &j->rooms[c], &v, error));
        j->cells[c] = (stk_cell){v.is_null, v.data, v.n_items};
    }
    return STK_OK;
}

static stk_status add_record(job *j, uint64_t i, stk_error *error)
{
    stk_row row;
    stk_error bad = {0};
    stk_status status = read_record(j, i, &row, &bad);
    if (status != STK_OK) return stk_export_bad_record(j->run, i, status, &bad, error);
    stk_record record = {.payload = j->payload.data,
                         .n_bytes = j->payload.n_bytes,
                         /* The checksum of a bare array is without the header that stands before it here. */
                         .xxh3 = row.has_xxh3 && row.array == NULL ? row.xxh3
                                                                   : stk_hash64(j->payload.data, j->payload.n_bytes),
                         .label = row.label,
                         .width = row.width,
                         .height = row.height,
                         .tables = row.tables,
                         .encoding = (stk_encoding)row.encoding,
                         .orientation = row.orientation,
                         .channels = row.channels,
                         .cells = j->cells};
    j->run->records++;
    return stk_hdf5_writer_add(j->writer, &record, error);
}

static stk_status write_all(job *j, const char *path, stk_error *error)
{
    const stk_storage *s = j->dataset->storage;
    char id[33];
    j->run->records = j->run->skipped = 0;
    STK_TRY(prepare(j, error));
    STK_TRY(stk_hdf5_writer_open(path, &j->o, &j->writer, error));
    for (uint64_t i = 0; i < s->n_rows; i++) {
        STK_TRY(add_record(j, i, error));
        STK_TRY(stk_export_step(j->run, i, error));
    }
    if (j->run->records == 0) return STK_OK; /* which the caller says */
    return stk_hdf5_writer_finish(j->writer, stk_dataset_metadata(j->dataset), s->class_names, s->n_classes, id, error);
}

static void close_job(job *j)
{
    stk_hdf5_writer_close(&j->writer);
    for (uint32_t c = 0; j->rooms != NULL && c < j->dataset->storage->n_columns; c++) stk_buffer_free(&j->rooms[c]);
    stk_buffer_free(&j->payload);
    free(j->rooms);
    free(j->cells);
    free((void *)j->sets);
    free(j->set_bytes);
}

stk_status stk_export_hdf5(stk_export_run *run, const char *path, stk_error *error)
{
    job j = {.run = run, .dataset = run->dataset};
    stk_status status = write_all(&j, path, error);
    bool differs = j.differs;
    close_job(&j);
    if (!differs) return status;
    /* Arrays of as many bytes, but another shape or type: each with its own header, then. */
    j = (job){.run = run, .dataset = run->dataset, .differs = true};
    status = write_all(&j, path, error);
    close_job(&j);
    return status;
}

#else

stk_status stk_export_hdf5(stk_export_run *run, const char *path, stk_error *error)
{
    (void)run;
    return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: this build has no HDF5", path);
}

#endif
