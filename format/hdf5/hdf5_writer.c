/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_writer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/hash.h"
#include "format/array_layout.h"
#include "format/hdf5/hdf5_columns.h"
#include "format/hdf5/hdf5_compress.h"
#include "format/hdf5/hdf5_meta.h"

enum {
    WRITE_STEP = 1 << 20,       /* payload bytes gathered before a pwrite: what a core's cache holds */
    DIRECT_BYTES = 256 << 10,   /* records from here on are written from where they lie */
    DEFAULT_CHUNK = 1 << 20,    /* bytes of a chunk when none is asked for */
    COPY_STEP = 1 << 20
};

/* The core columns of a record, in this order in `core`. */
enum { CORE_LABEL, CORE_XXH3, CORE_OFFSET, CORE_LENGTH, CORE_WIDTH, CORE_HEIGHT, CORE_ENCODING, CORE_ORIENTATION,
       CORE_CHANNELS, CORE_TABLES, CORE_COUNT };
static const stk_column CORE_COLUMNS[CORE_COUNT] = {
    {"labels", STK_TYPE_I64, 1, false, false},     {"xxh3", STK_TYPE_U64, 1, false, false},
    {"offset", STK_TYPE_U64, 1, false, false},     {"length", STK_TYPE_U64, 1, false, false},
    {"width", STK_TYPE_U32, 1, false, false},      {"height", STK_TYPE_U32, 1, false, false},
    {"encoding", STK_TYPE_U8, 1, false, false},    {"orientation", STK_TYPE_U8, 1, false, false},
    {"channels", STK_TYPE_U8, 1, false, false},    {"tables", STK_TYPE_U32, 1, false, false}};
enum { UNIFORM_CORE = CORE_OFFSET }; /* uniform files need labels and xxh3 only */

struct stk_hdf5_writer {
    char path[PATH_MAX], meta_path[PATH_MAX];
    stk_file file; /* payload; closed when libhdf5 writes the chunks */
    stk_hdf5_shape shape;
    stk_array array; /* shape.array, when records are arrays */
    uint64_t max_records;
    stk_hdf5_chunked *chunked;
    stk_compress_pool *pool;
    uint64_t next_chunk; /* the next one to come out of the pool */
    stk_buffer pending;  /* payload bytes not yet written, or the chunk being filled */
    uint64_t written;    /* payload bytes in the file */
    stk_hdf5_column core[CORE_COUNT];
    uint32_t n_core;
    stk_hdf5_column *columns;
    uint32_t n_columns;
    stk_hdf5_column *tables; /* shared table sets as uint8 arrays "tables_K" */
    uint32_t n_tables;
    bool finished;
};

static stk_status parse_filter(stk_hdf5_shape *shape, const char *filter, stk_error *error)
{
    shape->deflate_level = -1;
    if (filter == NULL || strcmp(filter, "none") == 0) return STK_OK;
    if (strcmp(filter, "gzip") == 0) {
        shape->deflate_level = 4; /* h5py's default */
    } else if (strncmp(filter, "gzip:", 5) == 0 && filter[5] >= '1' && filter[5] <= '9' && filter[6] == '\0') {
        shape->deflate_level = filter[5] - '0';
    } else if (strcmp(filter, "lzf") == 0) {
        shape->lzf = true;
    } else {
        return stk_fail(error, STK_ERR_ARGUMENT, "--hdf5-filter %s: use none, gzip, gzip:1 to gzip:9 or lzf", filter);
    }
    if (!shape->uniform)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--hdf5-filter %s: only for images of one size stored raw, as stoker pack --resize exact=WxH --encode raw makes them",
                        filter);
    return STK_OK;
}

static stk_status set_shape(stk_hdf5_writer *w, const stk_hdf5_writer_options *o, stk_error *error)
{
    stk_hdf5_shape *s = &w->shape;
    s->uniform = o->width > 0;
    s->width = o->width;
    s->height = o->height;
    s->channels = o->channels;
    if (o->array != NULL) {
        w->array = *o->array;
        w->array.data = NULL;
        s->array = &w->array;
    }
    w->max_records = o->max_records > 0 ? o->max_records : 1;
    if (s->uniform) {
        uint64_t image = (uint64_t)s->width * s->height * s->channels;
        uint64_t fit = DEFAULT_CHUNK / image;
        s->chunk_images = o->chunk_images > 0 ? o->chunk_images : fit > 0 ? (uint32_t)fit : 1;
        /* HDF5 takes no chunk that is larger than the data set can become. */
        if (s->chunk_images > w->max_records) s->chunk_images = (uint32_t)w->max_records;
        /* HDF5 1.x limits a chunk to 4 GiB - 1. */
        if (image > UINT32_MAX / s->chunk_images)
            return stk_fail(error, STK_ERR_ARGUMENT, "--chunk-images %u: a chunk would be over 4 GiB", s->chunk_images);
    } else if (o->chunk_images > 0) {
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--chunk-images %u: only for images of one size stored raw, as stoker pack --resize exact=WxH --encode raw makes them",
                        o->chunk_images);
    }
    STK_TRY(parse_filter(s, o->filter, error));
    s->head_bytes = stk_hdf5_head_bytes(s, w->max_records);
    return STK_OK;
}

static size_t chunk_bytes(const stk_hdf5_shape *s)
{
    return (size_t)s->chunk_images * s->width * s->height * s->channels;
}

static bool filtered(const stk_hdf5_writer *w)
{
    return w->shape.deflate_level >= 0 || w->shape.lzf;
}

/* A user's column "width" must not take the place of our own; it is stored as "column_width" and read back under
 * its name. */
static bool is_reserved(const char *name)
{
    for (int i = 0; i < CORE_COUNT; i++)
        if (strcmp(name, CORE_COLUMNS[i].name) == 0) return true;
    return strcmp(name, "images") == 0 || strcmp(name, "data") == 0 || strncmp(name, "tables_", 7) == 0;
}

static stk_status init_columns(stk_hdf5_writer *w, const stk_hdf5_writer_options *o, stk_error *error)
{
    w->n_core = w->shape.uniform || w->shape.array != NULL ? UNIFORM_CORE : CORE_COUNT;
    for (uint32_t i = 0; i < w->n_core; i++)
        STK_TRY(stk_hdf5_column_init(&w->core[i], &CORE_COLUMNS[i], w->path, error));
    w->columns = calloc(o->n_columns + 1, sizeof *w->columns);
    w->tables = calloc(o->n_table_sets + 1, sizeof *w->tables);
    if (w->columns == NULL || w->tables == NULL) return stk_fail_memory(error, "columns");
    for (; w->n_columns < o->n_columns; w->n_columns++) {
        stk_column column = o->columns[w->n_columns];
        char renamed[sizeof w->core[0].arrays[0].name];
        if (is_reserved(column.name)) {
            snprintf(renamed, sizeof renamed, "column_%.*s", (int)sizeof renamed - 16, column.name);
            column.name = renamed;
        }
        STK_TRY(stk_hdf5_column_init(&w->columns[w->n_columns], &column, w->path, error));
    }
    for (; w->n_tables < o->n_table_sets; w->n_tables++) {
        char name[32];
        snprintf(name, sizeof name, "tables_%u", w->n_tables);
        stk_column column = {name, STK_TYPE_U8, 0, false, false};
        stk_hdf5_column *t = &w->tables[w->n_tables];
        STK_TRY(stk_hdf5_column_init(t, &column, w->path, error));
        stk_cell cell = {false, o->table_sets[w->n_tables], o->table_set_bytes[w->n_tables]};
        STK_TRY(stk_hdf5_column_add(t, &cell, error));
    }
    return STK_OK;
}

static stk_status open_output(stk_hdf5_writer *w, const stk_hdf5_writer_options *o, stk_error *error)
{
    if (!filtered(w)) return stk_file_create(w->path, &w->file, error);
    STK_TRY(stk_hdf5_chunked_open(w->path, &w->shape, w->max_records, &w->chunked, error));
    return stk_compress_pool_open(w->shape.lzf ? -1 : w->shape.deflate_level, chunk_bytes(&w->shape),
                                  o->n_threads > 0 ? o->n_threads : 1, &w->pool, error);
}

stk_status stk_hdf5_writer_open(const char *path, const stk_hdf5_writer_options *options, stk_hdf5_writer **out,
                                stk_error *error)
{
    stk_hdf5_writer *w = calloc(1, sizeof *w);
    *out = NULL;
    if (w == NULL) return stk_fail_memory(error, "an HDF5 writer");
    stk_status status;
    w->file = STK_FILE_CLOSED;
    int n = snprintf(w->path, sizeof w->path, "%s", path);
    int m = snprintf(w->meta_path, sizeof w->meta_path, "%s.meta", path);
    if (n < 0 || m < 0 || (size_t)m >= sizeof w->meta_path) {
        status = stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", path);
        w->finished = true; /* nothing to remove */
        goto cleanup;
    }
    w->finished = true; /* until the file is ours, a failure must not remove somebody else's */
    STK_GOTO(set_shape(w, options, error));
    STK_GOTO(open_output(w, options, error));
    w->finished = false;
    STK_GOTO(init_columns(w, options, error));
cleanup:
    if (status != STK_OK) stk_hdf5_writer_close(&w);
    *out = w;
    return status;
}

void stk_hdf5_writer_close(stk_hdf5_writer **writer)
{
    stk_hdf5_writer *w = *writer;
    if (w == NULL) return;
    stk_compress_pool_close(&w->pool);
    stk_hdf5_chunked_close(&w->chunked);
    stk_file_close(&w->file);
    if (!w->finished) {
        unlink(w->path);
        unlink(w->meta_path);
    }
    for (uint32_t i = 0; i < CORE_COUNT; i++) stk_hdf5_column_free(&w->core[i]);
    for (uint32_t i = 0; i < w->n_columns; i++) stk_hdf5_column_free(&w->columns[i]);
    for (uint32_t i = 0; i < w->n_tables; i++) stk_hdf5_column_free(&w->tables[i]);
    free(w->columns);
    free(w->tables);
    stk_buffer_free(&w->pending);
    free(w);
    *writer = NULL;
}

static stk_status flush_payload(stk_hdf5_writer *w, stk_error *error)
{
    STK_TRY(stk_file_write_at(&w->file, w->pending.data, w->pending.n_bytes, w->shape.head_bytes + w->written, error));
    w->written += w->pending.n_bytes;
    w->pending.n_bytes = 0;
    return STK_OK;
}

/* Takes the oldest compressed chunk out of the pool and hands it to libhdf5. */
static stk_status drain_one(stk_hdf5_writer *w, stk_error *error)
{
    const uint8_t *data;
    size_t n;
    uint32_t mask;
    STK_TRY(stk_compress_pool_take(w->pool, &data, &n, &mask, error));
    w->written += n;
    uint64_t rows = (w->next_chunk + 1) * w->shape.chunk_images;
    if (rows > w->shape.n_records) rows = w->shape.n_records; /* the last chunk, only partly used */
    return stk_hdf5_chunked_add(w->chunked, w->next_chunk++, rows, mask, data, n, error);
}

static stk_status submit_chunk(stk_hdf5_writer *w, stk_error *error)
{
    if (stk_compress_pool_full(w->pool)) STK_TRY(drain_one(w, error));
    STK_TRY(stk_compress_pool_put(w->pool, w->pending.data, error));
    w->pending.n_bytes = 0;
    return STK_OK;
}

static stk_status add_payload(stk_hdf5_writer *w, const stk_record *record, stk_error *error)
{
    if (filtered(w)) {
        STK_TRY(stk_buffer_append(&w->pending, record->payload, record->n_bytes, error));
        return w->pending.n_bytes == chunk_bytes(&w->shape) ? submit_chunk(w, error) : STK_OK;
    }
    if (w->pending.n_bytes + record->n_bytes > WRITE_STEP || record->n_bytes >= DIRECT_BYTES)
        STK_TRY(flush_payload(w, error));
    if (record->n_bytes < DIRECT_BYTES)
        return stk_buffer_append(&w->pending, record->payload, record->n_bytes, error);
    STK_TRY(stk_file_write_at(&w->file, record->payload, record->n_bytes, w->shape.head_bytes + w->written, error));
    w->written += record->n_bytes;
    return STK_OK;
}

static stk_status check_record(const stk_hdf5_writer *w, const stk_record *r, stk_error *error)
{
    if (w->shape.n_records >= w->max_records)
        return stk_fail(error, STK_ERR_INTERNAL, "%s: more records than announced", w->path);
    if (!w->shape.uniform) return STK_OK;
    if (r->encoding != STK_ENCODING_RAW || r->width != w->shape.width || r->height != w->shape.height ||
        r->channels != w->shape.channels)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "an image is %ux%u, the file holds %ux%u: add --resize exact=%ux%u, or write a .stk",
                        r->width, r->height, w->shape.width, w->shape.height, w->shape.width, w->shape.height);
    return STK_OK;
}

/* The elements alone, without the header that a record of a shard begins with. */
static stk_status strip_array(const stk_hdf5_writer *w, stk_record *r, stk_error *error)
{
    stk_array array;
    char is[200], others[200];
    if (r->encoding != STK_ENCODING_ARRAY)
        return stk_fail(error, STK_ERR_ARGUMENT, "an image among arrays: write a .stk");
    STK_TRY(stk_array_view(r->payload, r->n_bytes, &array, error));
    if (!stk_array_same(&array, &w->array))
        return stk_fail(error, STK_ERR_ARGUMENT, "an array is %s, the file holds %s: write a .stk",
                        stk_array_text(&array, is, sizeof is), stk_array_text(&w->array, others, sizeof others));
    r->payload = array.data;
    r->n_bytes = array.n_bytes;
    r->xxh3 = stk_hash64(r->payload, r->n_bytes);
    return STK_OK;
}

stk_status stk_hdf5_writer_add(stk_hdf5_writer *w, const stk_record *record, stk_error *error)
{
    stk_record bare = *record, *r = &bare;
    STK_TRY(check_record(w, r, error));
    if (w->shape.array != NULL) STK_TRY(strip_array(w, r, error));
    uint64_t offset = w->written + w->pending.n_bytes, length = r->n_bytes;
    uint8_t encoding = (uint8_t)r->encoding;
    const stk_cell core[CORE_COUNT] = {
        {false, &r->label, 1},  {false, &r->xxh3, 1},        {false, &offset, 1},   {false, &length, 1},
        {false, &r->width, 1},  {false, &r->height, 1},      {false, &encoding, 1}, {false, &r->orientation, 1},
        {false, &r->channels, 1}, {false, &r->tables, 1}};
    STK_TRY(add_payload(w, r, error));
    for (uint32_t i = 0; i < w->n_core; i++) STK_TRY(stk_hdf5_column_add(&w->core[i], &core[i], error));
    for (uint32_t i = 0; i < w->n_columns; i++) STK_TRY(stk_hdf5_column_add(&w->columns[i], &r->cells[i], error));
    w->shape.n_records++;
    return STK_OK;
}

uint64_t stk_hdf5_writer_bytes(const stk_hdf5_writer *w)
{
    return w->shape.head_bytes + w->written + w->pending.n_bytes;
}

/* The content identity: everything that a reader can see, and nothing of how it lies on disk. */
static stk_status make_id(stk_hdf5_writer *w, const char *metadata, char *id, stk_error *error)
{
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "a checksum");
    stk_status status = STK_OK;
    for (uint32_t i = 0; i < w->n_core; i++)
        if (i != CORE_OFFSET) STK_GOTO(stk_hdf5_column_hash(&w->core[i], hasher, error));
    for (uint32_t i = 0; i < w->n_columns; i++) STK_GOTO(stk_hdf5_column_hash(&w->columns[i], hasher, error));
    for (uint32_t i = 0; i < w->n_tables; i++) STK_GOTO(stk_hdf5_column_hash(&w->tables[i], hasher, error));
    for (uint32_t d = 0; w->shape.array != NULL && d < w->array.n_dims; d++)
        stk_hasher_add(hasher, &w->array.shape[d], sizeof w->array.shape[d]);
    if (w->shape.array != NULL) stk_hasher_add(hasher, &w->array.type, sizeof w->array.type);
    stk_hasher_add(hasher, metadata, strlen(metadata));
    stk_hash128_text(stk_hasher_result128(hasher), id);
cleanup:
    stk_hasher_close(&hasher);
    return status;
}

/* All columns of the file, in the order of their data sets. */
static stk_hdf5_column *column_at(stk_hdf5_writer *w, uint32_t i)
{
    if (i < w->n_core) return &w->core[i];
    i -= w->n_core;
    if (i < w->n_columns) return &w->columns[i];
    return &w->tables[i - w->n_columns];
}

static uint32_t column_count(const stk_hdf5_writer *w)
{
    return w->n_core + w->n_columns + w->n_tables;
}

static stk_status collect_arrays(stk_hdf5_writer *w, stk_hdf5_array **out, size_t *n_out, stk_error *error)
{
    stk_hdf5_array *arrays = calloc((size_t)column_count(w) * 3, sizeof *arrays);
    *out = arrays;
    *n_out = 0;
    if (arrays == NULL) return stk_fail_memory(error, "columns");
    for (uint32_t i = 0; i < column_count(w); i++) {
        stk_hdf5_column *c = column_at(w, i);
        stk_hdf5_column_plan(c);
        for (uint32_t k = 0; k < c->n_arrays; k++) arrays[(*n_out)++] = c->arrays[k];
    }
    return STK_OK;
}

static stk_status write_arrays(stk_hdf5_writer *w, const stk_hdf5_array *arrays, const stk_file *file,
                               stk_error *error)
{
    size_t n = 0;
    for (uint32_t i = 0; i < column_count(w); i++) {
        stk_hdf5_column *c = column_at(w, i);
        for (uint32_t k = 0; k < c->n_arrays; k++) c->arrays[k] = arrays[n++];
        STK_TRY(stk_hdf5_column_write(c, file, error));
    }
    return STK_OK;
}

static stk_status copy_range(const stk_file *from, const stk_file *to, uint64_t begin, uint64_t end, stk_error *error)
{
    stk_buffer step = {0};
    stk_status status = stk_buffer_reserve(&step, COPY_STEP, error);
    for (uint64_t at = begin; at < end && status == STK_OK; at += COPY_STEP) {
        size_t n = end - at < COPY_STEP ? (size_t)(end - at) : COPY_STEP;
        status = stk_file_read_at(from, step.data, n, at, error);
        if (status == STK_OK) status = stk_file_write_at(to, step.data, n, at, error);
    }
    stk_buffer_free(&step);
    return status;
}

/* What libhdf5 wrote lies below head_bytes and behind the payload's reserved place. */
static stk_status join_structure(stk_hdf5_writer *w, uint64_t payload_end, stk_error *error)
{
    stk_file meta = STK_FILE_CLOSED;
    stk_status status;
    uint64_t size = 0;
    STK_GOTO(stk_file_open_read(w->meta_path, &meta, error));
    STK_GOTO(stk_file_size(&meta, &size, error));
    STK_GOTO(copy_range(&meta, &w->file, 0, w->shape.head_bytes < size ? w->shape.head_bytes : size, error));
    if (size > payload_end) STK_GOTO(copy_range(&meta, &w->file, payload_end, size, error));
    if (ftruncate(w->file.fd, (off_t)size) != 0) status = stk_fail(error, STK_ERR_IO, "%s: cannot set its size", w->path);
cleanup:
    stk_file_close(&meta);
    unlink(w->meta_path);
    return status;
}

static stk_status finish_plain(stk_hdf5_writer *w, stk_hdf5_array *arrays, size_t n_arrays, stk_error *error)
{
    STK_TRY(flush_payload(w, error));
    w->shape.payload_bytes = w->written;
    uint64_t reserved = w->written;
    if (w->shape.uniform) {
        if (w->shape.chunk_images > w->shape.n_records) w->shape.chunk_images = (uint32_t)w->shape.n_records;
        uint64_t chunk = chunk_bytes(&w->shape);
        reserved = (w->written + chunk - 1) / chunk * chunk; /* the last chunk is stored whole */
    }
    unlink(w->meta_path);
    STK_TRY(stk_hdf5_meta_write(w->meta_path, &w->shape, arrays, n_arrays, error));
    STK_TRY(join_structure(w, w->shape.head_bytes + reserved, error));
    STK_TRY(write_arrays(w, arrays, &w->file, error));
    STK_TRY(stk_file_sync(&w->file, error));
    return stk_file_close_checked(&w->file, error);
}

static stk_status finish_filtered(stk_hdf5_writer *w, stk_hdf5_array *arrays, size_t n_arrays, stk_error *error)
{
    if (w->pending.n_bytes > 0) {
        STK_TRY(stk_buffer_reserve(&w->pending, chunk_bytes(&w->shape), error));
        memset(w->pending.data + w->pending.n_bytes, 0, chunk_bytes(&w->shape) - w->pending.n_bytes);
        STK_TRY(submit_chunk(w, error));
    }
    while (!stk_compress_pool_empty(w->pool)) STK_TRY(drain_one(w, error));
    STK_TRY(stk_hdf5_chunked_finish(w->chunked, &w->shape, arrays, n_arrays, error));
    stk_hdf5_chunked_close(&w->chunked);
    stk_file file;
    STK_TRY(stk_file_open_update(w->path, &file, error));
    stk_status status;
    STK_GOTO(write_arrays(w, arrays, &file, error));
    STK_GOTO(stk_file_sync(&file, error));
    STK_GOTO(stk_file_close_checked(&file, error));
cleanup:
    stk_file_close(&file);
    return status;
}

stk_status stk_hdf5_writer_finish(stk_hdf5_writer *w, const char *metadata, const char *const *class_names,
                                  uint32_t n_classes, char *id, stk_error *error)
{
    if (w->shape.n_records == 0) return stk_fail(error, STK_ERR_ARGUMENT, "%s: no records", w->path);
    stk_hdf5_array *arrays = NULL;
    size_t n_arrays = 0;
    stk_status status;
    STK_GOTO(make_id(w, metadata, id, error));
    w->shape.metadata = metadata;
    w->shape.id = id;
    w->shape.class_names = class_names;
    w->shape.n_classes = n_classes;
    STK_GOTO(collect_arrays(w, &arrays, &n_arrays, error));
    STK_GOTO(filtered(w) ? finish_filtered(w, arrays, n_arrays, error) : finish_plain(w, arrays, n_arrays, error));
    w->finished = true;
cleanup:
    free(arrays);
    return status;
}
