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
    const stk_dataset *dataset;
    const stk_export_options *options;
    stk_hdf5_writer_options o;
    const uint8_t **sets;
    size_t *set_bytes;
    stk_cell *cells;
    stk_buffer *rooms; /* one a column */
    stk_buffer payload;
    stk_hdf5_writer *writer;
    stk_array array; /* of record 0, when the records are arrays */
    bool differs;    /* one of them is not like it */
} job;

/* Sets the images' size when all are raw and agree. */
static stk_status find_size(job *j, stk_error *error)
{
    uint64_t n = stk_dataset_len(j->dataset);
    stk_row first, row;
    STK_TRY(stk_dataset_row(j->dataset, 0, &first, error));
    bool same = first.encoding == STK_ENCODING_RAW && first.orientation <= 1;
    for (uint64_t i = 1; i < n && same; i++) {
        STK_TRY(stk_dataset_row(j->dataset, i, &row, error));
        same = row.encoding == first.encoding && row.width == first.width && row.height == first.height &&
               row.channels == first.channels && row.orientation <= 1;
    }
    if (!same) return STK_OK;
    j->o.width = first.width;
    j->o.height = first.height;
    j->o.channels = first.channels;
    return STK_OK;
}

/* Arrays, as far as the rows tell: then record 0 says of what type and shape; a record that is not like it shows when its
 * turn comes. */
static stk_status find_array(job *j, stk_error *error)
{
    uint64_t n = stk_dataset_len(j->dataset);
    stk_row first, row;
    STK_TRY(stk_dataset_row(j->dataset, 0, &first, error));
    bool same = first.encoding == STK_ENCODING_ARRAY;
    for (uint64_t i = 1; i < n && same; i++) {
        STK_TRY(stk_dataset_row(j->dataset, i, &row, error));
        same = row.encoding == first.encoding && row.n_bytes == first.n_bytes;
    }
    if (!same) return STK_OK;
    STK_TRY(stk_dataset_array(j->dataset, 0, &j->payload, &j->array, error));
    if (stk_hdf5_takes_array(&j->array)) j->o.array = &j->array;
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
    for (uint32_t t = 0; t < s->n_table_sets && j->o.width == 0; t++)
        STK_TRY(s->ops->tables(j->dataset->storage, t, &j->sets[t], &j->set_bytes[t], error));
    j->o.columns = s->columns;
    j->o.n_columns = s->n_columns;
    j->o.table_sets = j->sets;
    j->o.table_set_bytes = j->set_bytes;
    j->o.n_table_sets = j->o.width == 0 ? s->n_table_sets : 0;
    j->o.max_records = s->n_rows;
    j->o.chunk_images = j->options->chunk_images;
    j->o.filter = j->options->hdf5_filter;
    j->o.n_threads = j->options->n_threads;
    return STK_OK;
}

static stk_status add_record(job *j, uint64_t i, stk_error *error)
{
    const stk_storage *s = j->dataset->storage;
    stk_row row;
    STK_TRY(stk_dataset_image_row(j->dataset, i, &row, error));
    STK_TRY(stk_dataset_payload(j->dataset, i, &j->payload, error));
    if (j->o.array != NULL) {
        stk_array array;
        STK_TRY(stk_array_view(j->payload.data, j->payload.n_bytes, &array, error));
        j->differs = !stk_array_same(&array, &j->array);
        if (j->differs) return STK_ERR_CANCELLED;
    }
    for (uint32_t c = 0; c < s->n_columns; c++) {
        stk_value v;
        STK_TRY(stk_export_value(j->dataset, c, i, &j->rooms[c], &v, error));
        j->cells[c] = (stk_cell){v.is_null, v.data, v.n_items};
    }
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
    return stk_hdf5_writer_add(j->writer, &record, error);
}

static stk_status write_all(job *j, const char *path, stk_error *error)
{
    const stk_storage *s = j->dataset->storage;
    char id[33];
    STK_TRY(prepare(j, error));
    STK_TRY(stk_hdf5_writer_open(path, &j->o, &j->writer, error));
    for (uint64_t i = 0; i < s->n_rows; i++) {
        STK_TRY(add_record(j, i, error));
        STK_TRY(stk_export_step(j->dataset, j->options, i, error));
    }
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

stk_status stk_export_hdf5(const stk_dataset *dataset, const char *path, const stk_export_options *options,
                           stk_error *error)
{
    job j = {.dataset = dataset, .options = options};
    stk_status status = write_all(&j, path, error);
    bool differs = j.differs;
    close_job(&j);
    if (!differs) return status;
    /* Arrays of as many bytes, but another shape or type: each with its own header, then. */
    j = (job){.dataset = dataset, .options = options, .differs = true};
    status = write_all(&j, path, error);
    close_job(&j);
    return status;
}

#else

stk_status stk_export_hdf5(const stk_dataset *dataset, const char *path, const stk_export_options *options,
                           stk_error *error)
{
    (void)dataset, (void)options;
    return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: this build has no HDF5", path);
}

#endif
