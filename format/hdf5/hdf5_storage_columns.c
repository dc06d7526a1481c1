/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of an HDF5 storage: every data set with one row an image that is nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"
#include "format/hdf5/hdf5_heap.h"
#include "format/hdf5/hdf5_storage_internal.h"

bool stk_h5_type_of(const stk_h5_dataset *d, stk_type *out)
{
    static const stk_type ints[2][4] = {{STK_TYPE_U8, STK_TYPE_U16, STK_TYPE_U32, STK_TYPE_U64},
                                        {STK_TYPE_I8, STK_TYPE_I16, STK_TYPE_I32, STK_TYPE_I64}};
    static const stk_type floats[4] = {0, STK_TYPE_F16, STK_TYPE_F32, STK_TYPE_F64};
    uint32_t n = d->element_bytes;
    int size = n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : -1;
    switch (d->class_) {
    case STK_H5_BOOL: *out = STK_TYPE_BOOL; return true;
    case STK_H5_TEXT: *out = d->utf8 ? STK_TYPE_STRING : STK_TYPE_BYTES; return true;
    case STK_H5_VLEN_TEXT: *out = STK_TYPE_STRING; return true;
    case STK_H5_INTEGER:
        if (size >= 0) *out = ints[d->is_signed != 0][size];
        return size >= 0;
    case STK_H5_FLOAT:
        if (size > 0) *out = floats[size];
        return size > 0;
    default: return false;
    }
}

static uint32_t find_suffixed(const stk_h5_plan *plan, const char *name, const char *suffix)
{
    char full[STK_H5_NAME + 16];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    return stk_h5_find(plan, full);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* "score_null" beside "score", "boxes_end" beside "boxes": parts of another column. */
static bool is_part(const stk_h5_plan *plan, const char *name)
{
    char base[STK_H5_NAME];
    const char *const suffixes[] = {"_null", "_end"};
    for (int k = 0; k < 2; k++) {
        if (!ends_in(name, suffixes[k])) continue;
        snprintf(base, sizeof base, "%.*s", (int)(strlen(name) - strlen(suffixes[k])), name);
        if (stk_h5_find(plan, base) != STK_H5_NONE) return true;
    }
    return false;
}

static bool is_column(const h5_storage *s, uint32_t number)
{
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + number;
    stk_type type;
    if (number == s->selection.images || number == s->selection.labels || !stk_h5_type_of(d, &type)) return false;
    if (d->layout == STK_H5_ELSEWHERE || d->rank < 1 || d->rank > 2) return false;
    if (s->plan->own && (stk_h5_is_core_name(d->name) || is_part(s->plan, d->name))) return false;
    if (s->plan->own && find_suffixed(s->plan, d->name, "_end") != STK_H5_NONE) return true;
    if (d->rank == 2 && (d->dims[1] == 0 || d->dims[1] > UINT32_MAX || d->class_ == STK_H5_TEXT ||
                         d->class_ == STK_H5_VLEN_TEXT))
        return false;
    return d->dims[0] == s->selection.n_rows;
}

static stk_status open_column(h5_storage *s, uint32_t number, stk_error *error)
{
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + number;
    stk_column *c = &s->columns[s->n_sources];
    h5_column *source = &s->sources[s->n_sources];
    uint32_t ends = STK_H5_NONE, nulls = STK_H5_NONE;
    if (s->plan->own) {
        ends = find_suffixed(s->plan, d->name, "_end");
        nulls = find_suffixed(s->plan, d->name, "_null");
    }
    *c = (stk_column){.name = d->name, .n_items = d->rank == 2 ? (uint32_t)d->dims[1] : 1, .nullable = nulls != STK_H5_NONE};
    if (s->plan->own && strncmp(d->name, "column_", 7) == 0 && stk_h5_is_core_name(d->name + 7)) c->name = d->name + 7;
    stk_h5_type_of(d, &c->type);
    s->n_sources++;
    if (ends != STK_H5_NONE) {
        c->n_items = 0;
        STK_TRY(stk_h5_array_open(s->plan, number, &s->file, s->child, 0, &source->loose, error));
        STK_TRY(stk_h5_series_open(s->plan, ends, &s->file, s->child, &source->ends, error));
        if (stk_h5_series_dataset(source->ends)->dims[0] != s->selection.n_rows)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: '%s_end' has the wrong length", s->path, d->name);
    } else {
        STK_TRY(stk_h5_series_open(s->plan, number, &s->file, s->child, &source->values, error));
    }
    if (nulls != STK_H5_NONE) STK_TRY(stk_h5_series_open(s->plan, nulls, &s->file, s->child, &source->nulls, error));
    if (source->nulls != NULL && stk_h5_series_dataset(source->nulls)->dims[0] != s->selection.n_rows)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: '%s_null' has the wrong length", s->path, d->name);
    return STK_OK;
}

stk_status stk_h5_open_columns(h5_storage *s, stk_error *error)
{
    s->columns = calloc((size_t)s->plan->n_datasets + 1, sizeof *s->columns);
    s->sources = calloc((size_t)s->plan->n_datasets + 1, sizeof *s->sources);
    if (s->columns == NULL || s->sources == NULL) return stk_fail_memory(error, "columns");
    for (uint32_t i = 0; i < s->plan->n_datasets; i++) {
        if (!is_column(s, i)) continue;
        /* A foreign column that cannot be read (an unknown filter) is left out; the images are what counts. */
        uint32_t before = s->n_sources;
        stk_status status = open_column(s, i, error);
        if (status == STK_ERR_UNSUPPORTED && !s->plan->own) s->n_sources = before;
        else if (status != STK_OK) return status;
    }
    s->base.columns = s->columns;
    s->base.n_columns = s->n_sources;
    return STK_OK;
}

void stk_h5_close_columns(h5_storage *s)
{
    for (uint32_t i = 0; s->sources != NULL && i < s->n_sources; i++) {
        stk_h5_series_close(&s->sources[i].values);
        stk_h5_series_close(&s->sources[i].ends);
        stk_h5_series_close(&s->sources[i].nulls);
        stk_h5_array_close(&s->sources[i].loose);
    }
    free(s->columns);
    free(s->sources);
}

static stk_status give(const void *data, size_t n_bytes, size_t n_items, void *buffer, size_t capacity, stk_value *out,
                       stk_error *error)
{
    out->n_bytes = n_bytes;
    out->n_items = n_items;
    if (n_bytes > capacity) return stk_fail(error, STK_ERR_LIMIT, "the value has %zu bytes", n_bytes);
    if (n_bytes > 0) memcpy(buffer, data, n_bytes);
    out->data = buffer;
    return STK_OK;
}

static stk_status loose_value(h5_column *c, uint64_t i, void *buffer, size_t capacity, stk_value *out, stk_error *error)
{
    int64_t begin = 0, end = 0;
    if (i > 0) STK_TRY(stk_h5_series_i64(c->ends, i - 1, &begin, error));
    STK_TRY(stk_h5_series_i64(c->ends, i, &end, error));
    size_t width = stk_h5_array_row_bytes(c->loose);
    if (begin < 0 || end < begin || (uint64_t)(end - begin) > SIZE_MAX / width)
        return stk_fail(error, STK_ERR_CORRUPT, "row %llu: its bounds are inverted", (unsigned long long)i);
    out->n_items = (size_t)(end - begin);
    out->n_bytes = out->n_items * width;
    if (out->n_bytes > capacity) return stk_fail(error, STK_ERR_LIMIT, "the value has %zu bytes", out->n_bytes);
    out->data = buffer;
    return stk_h5_array_read(c->loose, (uint64_t)begin, out->n_items, buffer, error);
}

static stk_status heap_value(h5_storage *s, const uint8_t *element, void *buffer, size_t capacity, stk_value *out,
                             stk_error *error)
{
    stk_h5_reference r = stk_h5_reference_parse(element);
    uint64_t offset = 0;
    out->n_bytes = out->n_items = r.n_bytes;
    out->data = buffer;
    if (r.n_bytes == 0) return STK_OK;
    if (r.n_bytes > capacity) return stk_fail(error, STK_ERR_LIMIT, "the value has %u bytes", r.n_bytes);
    STK_TRY(stk_h5_heap_find(&s->file, s->file_bytes, r, &offset, error));
    return stk_file_read_at(&s->file, buffer, r.n_bytes, offset, error);
}

stk_status stk_h5_column_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                               stk_value *out, stk_error *error)
{
    h5_storage *s = (h5_storage *)self;
    h5_column *c = &s->sources[column];
    *out = (stk_value){0};
    int64_t null = 0;
    if (c->nulls != NULL) STK_TRY(stk_h5_series_i64(c->nulls, i, &null, error));
    if (null != 0) {
        out->is_null = true;
        return STK_OK;
    }
    if (c->loose != NULL) return loose_value(c, i, buffer, capacity, out, error);
    const uint8_t *row;
    STK_TRY(stk_h5_series_row(c->values, i, &row, error));
    const stk_h5_dataset *d = stk_h5_series_dataset(c->values);
    if (d->class_ == STK_H5_VLEN_TEXT) return heap_value(s, row, buffer, capacity, out, error);
    if (d->class_ == STK_H5_TEXT) {
        size_t n = strnlen((const char *)row, d->element_bytes);
        return give(row, n, n, buffer, capacity, out, error);
    }
    size_t n_items = s->columns[column].n_items;
    STK_TRY(give(row, n_items * d->element_bytes, n_items, buffer, capacity, out, error));
    stk_h5_to_little(d, buffer, out->n_bytes);
    return STK_OK;
}
