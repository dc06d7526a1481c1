/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"
#include "format/hdf5/hdf5_heap.h"
#include "format/hdf5/hdf5_storage_internal.h"

enum { CHUNK_CACHE = 256 << 20, ID_SAMPLE = 64 << 10 };

static const char *const CORE_NAMES[H5_CORE_COUNT] = {"xxh3",     "offset",      "length",   "width", "height",
                                                      "encoding", "orientation", "channels", "tables"};

bool stk_h5_is_core_name(const char *name)
{
    for (int i = 0; i < H5_CORE_COUNT; i++)
        if (strcmp(name, CORE_NAMES[i]) == 0) return true;
    return strcmp(name, "images") == 0 || strcmp(name, "data") == 0 || strcmp(name, "labels") == 0 ||
           strncmp(name, "tables_", 7) == 0;
}

static void close_storage(stk_storage *self)
{
    h5_storage *s = (h5_storage *)self;
    stk_h5_close_columns(s);
    for (int i = 0; i < H5_CORE_COUNT; i++) stk_h5_series_close(&s->core[i]);
    stk_h5_series_close(&s->labels);
    stk_h5_series_close(&s->references);
    stk_h5_array_close(&s->images);
    for (uint32_t i = 0; s->class_names != NULL && i < s->base.n_classes; i++) free(s->class_names[i]);
    for (uint32_t i = 0; s->table_sets != NULL && i < s->base.n_table_sets; i++) free(s->table_sets[i].bytes);
    free(s->class_names);
    free(s->table_sets);
    free(s->metadata);
    free(s->contents);
    stk_h5_child_close(&s->child);
    stk_file_close(&s->file);
    free(s->path);
    free(s);
}

static stk_status core_value(h5_storage *s, int which, uint64_t i, uint64_t *out, stk_error *error)
{
    int64_t value = 0;
    STK_TRY(stk_h5_series_i64(s->core[which], i, &value, error));
    *out = (uint64_t)value;
    return STK_OK;
}

/* A row of our own blob layout; everything that comes from the file is checked. */
static stk_status blob_row(h5_storage *s, uint64_t i, stk_row *row, stk_error *error)
{
    uint64_t v[H5_CORE_COUNT] = {0};
    const stk_h5_dataset *data = stk_h5_datasets(s->plan) + s->selection.images;
    for (int c = 0; c < H5_CORE_COUNT; c++) STK_TRY(core_value(s, c, i, &v[c], error));
    if (!stk_range_inside(v[H5_OFFSET], v[H5_LENGTH], data->dims[0]) || v[H5_ORIENTATION] < 1 || v[H5_ORIENTATION] > 8 ||
        v[H5_CHANNELS] > 3 || v[H5_WIDTH] > UINT32_MAX || v[H5_HEIGHT] > UINT32_MAX ||
        v[H5_TABLES] > s->base.n_table_sets || v[H5_ENCODING] > UINT8_MAX)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: record %llu: its row is out of bounds", s->path,
                        (unsigned long long)i);
    row->xxh3 = v[H5_XXH3];
    row->has_xxh3 = 1;
    row->offset = data->address + v[H5_OFFSET];
    row->n_bytes = v[H5_LENGTH];
    row->width = (uint32_t)v[H5_WIDTH];
    row->height = (uint32_t)v[H5_HEIGHT];
    row->encoding = (uint8_t)v[H5_ENCODING];
    row->orientation = (uint8_t)v[H5_ORIENTATION];
    row->channels = (uint8_t)v[H5_CHANNELS];
    row->tables = (uint32_t)v[H5_TABLES];
    return STK_OK;
}

static stk_status pixel_row(h5_storage *s, uint64_t i, stk_row *row, stk_error *error)
{
    const stk_h5_selection *k = &s->selection;
    row->width = k->width;
    row->height = k->height;
    row->channels = (uint8_t)k->channels;
    row->encoding = STK_ENCODING_RAW;
    row->n_bytes = (uint64_t)k->width * k->height * k->channels;
    row->offset = s->plain ? stk_h5_array_row_address(s->images, i) : UINT64_MAX;
    if (k->kind != STK_H5_OWN_UNIFORM) return STK_OK;
    row->has_xxh3 = 1;
    return core_value(s, H5_XXH3, i, &row->xxh3, error);
}

/* Encoded images of foreign files: what they are is found by whoever decodes them (width 0). */
static stk_status reference_row(h5_storage *s, uint64_t i, stk_row *row, stk_error *error)
{
    row->encoding = STK_ENCODING_UNKNOWN;
    if (s->references == NULL) { /* opaque: fixed size */
        row->n_bytes = stk_h5_array_row_bytes(s->images);
        row->offset = stk_h5_array_row_address(s->images, i);
        return STK_OK;
    }
    const uint8_t *element;
    STK_TRY(stk_h5_series_row(s->references, i, &element, error));
    stk_h5_reference r = stk_h5_reference_parse(element);
    row->n_bytes = r.n_bytes;
    if (r.n_bytes == 0) {
        row->offset = 0;
        return STK_OK;
    }
    return stk_h5_heap_find(&s->file, s->file_bytes, r, &row->offset, error);
}

static stk_status get_row(stk_storage *self, uint64_t i, stk_row *row, stk_error *error)
{
    h5_storage *s = (h5_storage *)self;
    *row = (stk_row){.label = -1, .orientation = 1};
    if (s->labels != NULL) STK_TRY(stk_h5_series_i64(s->labels, i, &row->label, error));
    switch (s->selection.kind) {
    case STK_H5_OWN_BLOB: return blob_row(s, i, row, error);
    case STK_H5_BLOBS: return reference_row(s, i, row, error);
    case STK_H5_ARRAYS:
        row->encoding = STK_ENCODING_ARRAY;
        row->offset = s->plain ? stk_h5_array_row_address(s->images, i) : UINT64_MAX;
        row->n_bytes = s->array.n_bytes;
        row->array = &s->array;
        if (s->core[H5_XXH3] == NULL) return STK_OK;
        row->has_xxh3 = 1;
        return core_value(s, H5_XXH3, i, &row->xxh3, error);
    default: return pixel_row(s, i, row, error);
    }
}

static stk_status get_file(stk_storage *self, uint32_t file, stk_file *out, uint64_t *n_bytes, stk_error *error)
{
    h5_storage *s = (h5_storage *)self;
    if (file != 0) return stk_fail(error, STK_ERR_ARGUMENT, "%s: there is one file only", s->path);
    *out = s->file;
    *n_bytes = s->file_bytes;
    return STK_OK;
}

static stk_status get_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes, stk_error *error)
{
    h5_storage *s = (h5_storage *)self;
    if (set >= s->base.n_table_sets) return stk_fail(error, STK_ERR_CORRUPT, "%s: no table set %u", s->path, set);
    *blob = s->table_sets[set].bytes;
    *n_bytes = s->table_sets[set].n_bytes;
    return STK_OK;
}

static const stk_storage_ops HDF5_OPS = {.name = "hdf5",
                                         .close = close_storage,
                                         .row = get_row,
                                         .file = get_file,
                                         .fetch = stk_h5_fetch,
                                         .value = stk_h5_column_value,
                                         .tables = get_tables};

static stk_status open_series(h5_storage *s, uint32_t dataset, stk_h5_series **out, stk_error *error)
{
    return stk_h5_series_open(s->plan, dataset, &s->file, s->child, out, error);
}

static stk_status open_core(h5_storage *s, stk_error *error)
{
    int n = s->selection.kind == STK_H5_OWN_BLOB ? H5_CORE_COUNT : s->selection.kind == STK_H5_OWN_UNIFORM || s->selection.own_arrays ? 1 : 0;
    for (int c = 0; c < n; c++) {
        uint32_t number = stk_h5_find(s->plan, CORE_NAMES[c]);
        const stk_h5_dataset *d = stk_h5_datasets(s->plan) + number;
        if (number == STK_H5_NONE || d->rank != 1 || d->dims[0] != s->selection.n_rows || d->class_ != STK_H5_INTEGER)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: written by stoker, but '%s' is missing or misshapen", s->path,
                            CORE_NAMES[c]);
        STK_TRY(open_series(s, number, &s->core[c], error));
    }
    return STK_OK;
}

static stk_status open_tables(h5_storage *s, stk_error *error)
{
    uint32_t n = 0, number;
    char name[32];
    if (s->selection.kind != STK_H5_OWN_BLOB) return STK_OK;
    for (;; n++) {
        snprintf(name, sizeof name, "tables_%u", n);
        if (stk_h5_find(s->plan, name) == STK_H5_NONE) break;
    }
    s->table_sets = calloc(n + 1, sizeof *s->table_sets);
    if (s->table_sets == NULL) return stk_fail_memory(error, "table sets");
    for (; s->base.n_table_sets < n; s->base.n_table_sets++) {
        h5_table_set *t = &s->table_sets[s->base.n_table_sets];
        snprintf(name, sizeof name, "tables_%u", s->base.n_table_sets);
        number = stk_h5_find(s->plan, name);
        const stk_h5_dataset *d = stk_h5_datasets(s->plan) + number;
        if (d->rank != 1 || d->element_bytes != 1 || d->dims[0] > (16 << 20))
            return stk_fail(error, STK_ERR_CORRUPT, "%s: '%s' is misshapen", s->path, name);
        t->n_bytes = (size_t)d->dims[0];
        t->bytes = malloc(t->n_bytes + 1);
        if (t->bytes == NULL) return stk_fail_memory(error, "a table set");
        stk_h5_array *array = NULL;
        stk_status status = stk_h5_array_open(s->plan, number, &s->file, s->child, 0, &array, error);
        if (status == STK_OK) status = stk_h5_array_read(array, 0, t->n_bytes, t->bytes, error);
        stk_h5_array_close(&array);
        if (status != STK_OK) return status;
    }
    return STK_OK;
}

static stk_status describe_array(h5_storage *s, stk_error *error)
{
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + s->selection.images;
    if (!stk_h5_type_of(d, &s->array.type) || stk_type_size(s->array.type) == 0)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: '%s' has a number type that stoker does not know", s->path,
                        d->name);
    s->array.n_dims = d->rank - 1;
    memcpy(s->array.shape, d->dims + 1, s->array.n_dims * sizeof *d->dims);
    s->array.n_bytes = stk_h5_array_row_bytes(s->images);
    return STK_OK;
}

static stk_status open_payload(h5_storage *s, stk_error *error)
{
    const stk_h5_selection *k = &s->selection;
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + k->images;
    if (k->kind == STK_H5_OWN_BLOB) {
        if (d->layout != STK_H5_CONTIGUOUS || d->rank != 1 || d->element_bytes != 1 || d->address == STK_H5_NO_ADDRESS)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: 'data' does not have the shape that stoker writes", s->path);
        return STK_OK;
    }
    if (k->kind == STK_H5_BLOBS && d->class_ == STK_H5_VLEN) return open_series(s, k->images, &s->references, error);
    STK_TRY(stk_h5_array_open(s->plan, k->images, &s->file, s->child, CHUNK_CACHE, &s->images, error));
    bool swapped = k->kind == STK_H5_ARRAYS && d->big_endian && d->element_bytes > 1;
    s->plain = k->kind != STK_H5_PIXELS_NCHW && !k->convert && !swapped;
    return k->kind == STK_H5_ARRAYS ? describe_array(s, error) : STK_OK;
}

/* The names are those of "labels"; numbers of another data set mean something else. */
static stk_status copy_classes(h5_storage *s, stk_error *error)
{
    bool theirs = !s->plan->own || s->selection.labels == stk_h5_find(s->plan, "labels");
    uint32_t n = theirs ? s->plan->n_classes : 0, width = s->plan->class_width;
    s->class_names = calloc((size_t)n + 1, sizeof *s->class_names);
    if (s->class_names == NULL) return stk_fail_memory(error, "class names");
    for (; s->base.n_classes < n; s->base.n_classes++) {
        const char *name = stk_h5_text(s->plan) + s->plan->class_offset + (size_t)s->base.n_classes * width;
        s->class_names[s->base.n_classes] = strndup(name, width);
        if (s->class_names[s->base.n_classes] == NULL) return stk_fail_memory(error, "class names");
    }
    s->base.class_names = (const char *const *)s->class_names;
    return STK_OK;
}

static stk_status set_metadata(h5_storage *s, stk_error *error)
{
    if (s->plan->own && s->plan->metadata_bytes > 0) {
        s->metadata = strndup(stk_h5_text(s->plan) + s->plan->metadata_offset, (size_t)s->plan->metadata_bytes);
        if (s->metadata == NULL) return stk_fail_memory(error, "metadata");
    } else {
        stk_buffer text = {0};
        stk_status status = stk_h5_describe(s->plan, &s->selection, &text, error);
        if (status != STK_OK) {
            stk_buffer_free(&text);
            return status;
        }
        s->metadata = (char *)text.data; /* aligned_alloc memory: free() takes it */
        text = (stk_buffer){0};
        status = stk_h5_describe_lines(s->plan, &s->selection, &text, error);
        s->contents = (char *)text.data;
        if (status != STK_OK) return status;
        s->base.contents = s->contents;
    }
    s->base.metadata = s->metadata;
    return STK_OK;
}

/* Foreign files have no content identity, and hashing all of them at open would read them whole: structure, size
 * and both ends stand for the content. */
static stk_status set_id(h5_storage *s, stk_error *error)
{
    if (s->plan->own && strlen(s->plan->id) == 32) {
        memcpy(s->base.id, s->plan->id, 33);
        return STK_OK;
    }
    stk_hasher *hasher = stk_hasher_open();
    stk_buffer ends = {0};
    stk_status status = hasher == NULL ? stk_fail_memory(error, "a checksum") : STK_OK;
    if (status != STK_OK) return status;
    size_t n = s->file_bytes < ID_SAMPLE ? (size_t)s->file_bytes : ID_SAMPLE;
    STK_GOTO(stk_buffer_resize(&ends, n, error));
    STK_GOTO(stk_file_read_at(&s->file, ends.data, n, 0, error));
    stk_hasher_add(hasher, ends.data, n);
    STK_GOTO(stk_file_read_at(&s->file, ends.data, n, s->file_bytes - n, error));
    stk_hasher_add(hasher, ends.data, n);
    stk_hasher_add(hasher, &s->file_bytes, sizeof s->file_bytes);
    stk_hasher_add(hasher, stk_h5_datasets(s->plan), s->plan->n_datasets * sizeof(stk_h5_dataset));
    stk_hasher_add(hasher, &s->selection.images, sizeof s->selection.images);
    stk_hash128_text(stk_hasher_result128(hasher), s->base.id);
cleanup:
    stk_buffer_free(&ends);
    stk_hasher_close(&hasher);
    return status;
}

static const char *things(const h5_storage *s)
{
    return s->selection.kind == STK_H5_ARRAYS ? "arrays" : "images";
}

static void set_road(h5_storage *s)
{
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + s->selection.images;
    s->base.road = NULL; /* plain bytes: the reader's own mmap or pread */
    if (d->layout == STK_H5_COMPACT) s->base.road = "memory: it lies in the file's header";
    if (s->images != NULL && !s->plain && d->layout == STK_H5_CONTIGUOUS)
        s->base.road = s->selection.kind == STK_H5_ARRAYS ? "pread, bytes swapped" : "pread, converted";
    if (d->layout != STK_H5_CHUNKED || (d->n_filters == 0 && stk_h5_array_row_address(s->images, 0) != STK_H5_NO_ADDRESS))
        return;
    const char *how = stk_h5_child_serves(s->child) ? "H5Dread_chunk in a process of its own, one at a time"
                                                    : "pread of chunks";
    snprintf(s->road, sizeof s->road, "%s, decoded in parallel (%llu %s a chunk, %.60s)", how,
             (unsigned long long)d->chunk[0], things(s), d->n_filters > 0 ? d->filter_names : "no filter");
    s->base.road = s->road;
}

/* Names the pattern that makes people wait: a whole chunk decoded for one image of it. */
static void set_slow(h5_storage *s)
{
    if (s->images == NULL) return;
    uint64_t rows = stk_h5_array_chunk_rows(s->images);
    s->base.chunk_rows = rows;
    if (rows <= 1 || stk_h5_array_fits_cache(s->images)) return;
    snprintf(s->slow, sizeof s->slow,
             "each chunk holds %llu %s, so random order decodes up to %llu %s for one; use page order "
             "(--order page), or repack once: stoker pack %.200s DST.stk",
             (unsigned long long)rows, things(s), (unsigned long long)rows, things(s), s->path);
    s->base.slow = s->slow;
}

static void tell_choice(h5_storage *s)
{
    const stk_h5_selection *k = &s->selection;
    if (k->label_note[0] != '\0') s->base.label_note = k->label_note;
    if (k->image_note[0] != '\0') s->base.image_note = k->image_note;
    for (uint32_t c = 0; k->text_labels != STK_H5_NONE && c < s->n_sources; c++)
        if (strcmp(s->columns[c].name, stk_h5_datasets(s->plan)[k->text_labels].name) == 0) s->base.text_labels = c + 1;
}

stk_status stk_hdf5_storage_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                                 stk_error *error)
{
    *out = NULL;
    h5_storage *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "an HDF5 data set");
    stk_dataset_options none = {0};
    if (options == NULL) options = &none;
    stk_status status;
    s->base.ops = &HDF5_OPS;
    s->file = STK_FILE_CLOSED;
    s->range_min = options->range_min;
    s->range_max = options->range_max;
    s->path = strdup(path);
    if (s->path == NULL) {
        status = stk_fail_memory(error, "a path");
        goto cleanup;
    }
    STK_GOTO(stk_file_open_read(s->path, &s->file, error));
    STK_GOTO(stk_file_size(&s->file, &s->file_bytes, error));
    STK_GOTO(stk_h5_child_open(s->path, s->file_bytes, &s->child, &s->plan, error));
    STK_GOTO(stk_h5_select(s->plan, options, s->path, &s->selection, error));
    STK_GOTO(open_core(s, error));
    STK_GOTO(open_tables(s, error));
    STK_GOTO(open_payload(s, error));
    if (s->selection.labels != STK_H5_NONE) STK_GOTO(open_series(s, s->selection.labels, &s->labels, error));
    STK_GOTO(copy_classes(s, error));
    STK_GOTO(stk_h5_open_columns(s, error));
    STK_GOTO(set_metadata(s, error));
    STK_GOTO(set_id(s, error));
    s->base.n_rows = s->selection.n_rows;
    s->base.total_bytes = s->file_bytes;
    s->base.n_files = 1;
    s->base.has_labels = s->labels != NULL;
    tell_choice(s);
    set_road(s);
    set_slow(s);
    *out = &s->base;
cleanup:
    if (status != STK_OK) close_storage(&s->base);
    return status;
}
