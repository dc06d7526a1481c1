/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays: a record's elements as they are, behind one another; all of one type and shape. */
#include <string.h>

#include "common/fail.h"
#include "format/array_layout.h"
#include "reader/sample_array.h"
#include "reader/work.h"

enum { LOOKED_AT = 64, TEXT = 200 };

static stk_status arrays_size(const stk_work_env *env, const stk_work_item *item, size_t *n_bytes, stk_error *error)
{
    (void)item, (void)error;
    *n_bytes = env->array.n_bytes;
    return STK_OK;
}

static stk_status arrays_run(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item, uint8_t *region,
                             size_t n_bytes, stk_error *error)
{
    stk_array array;
    char is[TEXT], others[TEXT];
    (void)bench;
    if (item->row->encoding != STK_ENCODING_ARRAY)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "is an image, but record %llu, the first one, is an array; load them apart, each with a "
                        "selection of its own",
                        (unsigned long long)env->array_id);
    STK_TRY(stk_array_of_row(item->row, item->data, &array, error));
    if (!stk_array_same(&array, &env->array))
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "is %s, but record %llu, the first one, is %s; arrays of a batch must have one type and shape",
                        stk_array_text(&array, is, sizeof is), (unsigned long long)env->array_id,
                        stk_array_text(&env->array, others, sizeof others));
    if (n_bytes > 0) memcpy(region, array.data, n_bytes);
    return STK_OK;
}

const stk_work stk_work_arrays = {.name = "arrays", .fixed = true, .size = arrays_size, .run = arrays_run};

/* Type and shape of record i; the elements are not kept. */
static stk_status look_at(const stk_dataset *d, uint64_t i, const stk_row *row, stk_array *out, stk_error *error)
{
    if (row->array != NULL) {
        *out = *row->array;
        return STK_OK;
    }
    stk_buffer buffer = {0};
    stk_status status = stk_dataset_array(d, i, &buffer, out, error);
    stk_buffer_free(&buffer);
    out->data = NULL;
    return status;
}

stk_status stk_work_find_array(const stk_dataset *d, const uint64_t *ids, uint64_t n_ids, stk_array *out, uint64_t *id,
                               bool *found, stk_error *error)
{
    uint64_t n = ids != NULL ? n_ids : stk_dataset_len(d);
    stk_status first = STK_OK;
    *found = false;
    for (uint64_t k = 0; k < n && k < LOOKED_AT; k++) {
        stk_row row;
        *id = ids != NULL ? ids[k] : k;
        if (stk_dataset_row(d, *id, &row, NULL) != STK_OK) continue; /* its turn to fail comes later */
        if (row.encoding != STK_ENCODING_ARRAY && first == STK_OK) return STK_OK;
        if (row.encoding != STK_ENCODING_ARRAY) continue;
        stk_status status = look_at(d, *id, &row, out, first == STK_OK ? error : NULL);
        *found = status == STK_OK;
        if (*found) return STK_OK;
        if (first == STK_OK) first = status;
    }
    return first;
}
