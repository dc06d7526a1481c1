/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/sample_array.h"

#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/array_layout.h"

stk_status stk_array_of_row(const stk_row *row, const uint8_t *data, stk_array *out, stk_error *error)
{
    if (row->encoding != STK_ENCODING_ARRAY)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "is an image, not an array");
    if (row->array == NULL) return stk_array_view(data, (size_t)row->n_bytes, out, error);
    *out = *row->array;
    out->data = data;
    if (row->n_bytes == out->n_bytes) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "an array of %llu bytes, where %zu belong",
                    (unsigned long long)row->n_bytes, out->n_bytes);
}

size_t stk_array_bare_head(const stk_row *row)
{
    return row->array == NULL ? 0 : stk_array_head_bytes(row->array->n_dims);
}

static stk_status copy_array(const stk_dataset *d, stk_workbench *bench, uint64_t i, const stk_row *row,
                             stk_buffer *buffer, stk_array *out, stk_error *error)
{
    const uint8_t *data;
    stk_payload_begin_round(&bench->payload);
    if (row->encoding != STK_ENCODING_ARRAY)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "is an image, not an array");
    STK_TRY(stk_payload_get(d->payload, &bench->payload, i, row, &data, error));
    STK_TRY(stk_array_of_row(row, data, out, error));
    STK_TRY(stk_buffer_resize(buffer, out->n_bytes, error));
    if (out->n_bytes > 0) memcpy(buffer->data, out->data, out->n_bytes);
    out->data = buffer->data;
    return STK_OK;
}

stk_status stk_dataset_array(const stk_dataset *d, uint64_t i, stk_buffer *buffer, stk_array *out, stk_error *error)
{
    stk_row row;
    stk_workbench *bench;
    buffer->n_bytes = 0;
    *out = (stk_array){0};
    STK_TRY(stk_dataset_row(d, i, &row, error));
    STK_TRY(stk_dataset_take_bench(d, &bench, error));
    stk_status status = copy_array(d, bench, i, &row, buffer, out, error);
    stk_dataset_give_bench(d, bench);
    if (status != STK_OK) stk_dataset_name_record(d, i, error);
    return status;
}
