/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "py_shim.h"

static uint64_t id_at(const uint64_t *ids, uint64_t i)
{
    return ids != NULL ? ids[i] : i;
}

stk_status stk_py_labels(const stk_dataset *dataset, const uint64_t *ids, uint64_t n, int64_t *labels,
                         stk_error *error)
{
    for (uint64_t i = 0; i < n; i++) {
        stk_record_info info;
        stk_status status = stk_dataset_record(dataset, id_at(ids, i), &info, error);
        if (status != STK_OK) {
            return status;
        }
        labels[i] = info.label;
    }
    return STK_OK;
}

stk_status stk_py_sizes(const stk_dataset *dataset, const uint64_t *ids, uint64_t n, uint32_t *sizes,
                        stk_error *error)
{
    for (uint64_t i = 0; i < n; i++) {
        stk_record_info info;
        stk_status status = stk_dataset_record(dataset, id_at(ids, i), &info, error);
        if (status != STK_OK) {
            return status;
        }
        sizes[2 * i] = info.height;
        sizes[2 * i + 1] = info.width;
    }
    return STK_OK;
}

stk_status stk_py_fixed_column(const stk_dataset *dataset, uint32_t column, const uint64_t *ids, uint64_t n,
                               size_t row_bytes, void *values, uint8_t *nulls, stk_error *error)
{
    uint8_t *row = values;
    for (uint64_t i = 0; i < n; i++, row += row_bytes) {
        stk_value value;
        stk_status status = stk_dataset_value(dataset, column, id_at(ids, i), row, row_bytes, &value, error);
        if (status != STK_OK) {
            return status;
        }
        nulls[i] = value.is_null ? 1 : 0;
        if (value.is_null) {
            memset(row, 0, row_bytes);
        }
    }
    return STK_OK;
}

/* Makes room for at least `more` bytes behind those used. */
static stk_status grow(stk_buffer *buffer, size_t more, stk_error *error)
{
    size_t need = buffer->n_bytes + more;
    if (need < more || need > SIZE_MAX / 2) {
        need = 0;
    }
    size_t capacity = 2 * need;
    uint8_t *data = need != 0 ? realloc(buffer->data, capacity) : NULL;
    if (data == NULL) {
        if (error != NULL) {
            error->status = STK_ERR_MEMORY;
            strcpy(error->text, "not enough memory for the column's values; read fewer rows at a time");
        }
        return STK_ERR_MEMORY;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return STK_OK;
}

/* Appends one row's bytes to *values. */
static stk_status append_row(const stk_dataset *dataset, uint32_t column, uint64_t id, stk_buffer *values,
                             bool *is_null, stk_error *error)
{
    for (;;) {
        stk_value value = {0};
        size_t room = values->capacity - values->n_bytes;
        uint8_t *end = room != 0 ? values->data + values->n_bytes : NULL;
        stk_status status = stk_dataset_value(dataset, column, id, end, room, &value, error);
        if (status == STK_OK) {
            *is_null = value.is_null;
            values->n_bytes += value.is_null ? 0 : value.n_bytes;
            return STK_OK;
        }
        if (status != STK_ERR_LIMIT || value.n_bytes <= room) {
            return status;
        }
        status = grow(values, value.n_bytes, error);
        if (status != STK_OK) {
            return status;
        }
    }
}

stk_status stk_py_variable_column(const stk_dataset *dataset, uint32_t column, const uint64_t *ids, uint64_t n,
                                  uint64_t *offsets, uint8_t *nulls, stk_buffer *values, stk_error *error)
{
    values->n_bytes = 0;
    offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool is_null = false;
        stk_status status = append_row(dataset, column, id_at(ids, i), values, &is_null, error);
        if (status != STK_OK) {
            return status;
        }
        nulls[i] = is_null ? 1 : 0;
        offsets[i + 1] = values->n_bytes;
    }
    return STK_OK;
}

stk_status stk_py_crops(const stk_dataset *dataset, const stk_loader_options *options, uint64_t epoch,
                        const uint64_t *ids, const uint32_t *occurrences, uint32_t n, uint32_t n_views, stk_crop *crops,
                        stk_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t view = options->first_view + i % n_views;
        stk_status status = stk_loader_crop(dataset, options, epoch, ids[i], occurrences[i], view, &crops[i], error);
        if (status != STK_OK) {
            return status;
        }
    }
    return STK_OK;
}
