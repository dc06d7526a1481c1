/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/writer_check.h"

#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/json.h"
#include "common/utf8.h"
#include "format/array_layout.h"

static bool is_type(stk_type type)
{
    return type == STK_TYPE_STRING || type == STK_TYPE_BYTES || stk_type_size(type) > 0;
}

static stk_status check_columns(const stk_writer_options *o, stk_error *error)
{
    for (uint32_t c = 0; c < o->n_columns; c++) {
        const stk_column *column = &o->columns[c];
        if (column->name == NULL || column->name[0] == '\0' ||
            !stk_utf8_valid(column->name, strlen(column->name)))
            return stk_fail(error, STK_ERR_ARGUMENT, "column %u: a name in UTF-8 is needed", c);
        if (!is_type(column->type))
            return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': %d is no type", column->name, (int)column->type);
        if (strcmp(column->name, "path") == 0)
            return stk_fail(error, STK_ERR_ARGUMENT, "column 'path': the name is taken by the samples' paths");
        for (uint32_t other = 0; other < c; other++)
            if (strcmp(column->name, o->columns[other].name) == 0)
                return stk_fail(error, STK_ERR_ARGUMENT, "two columns are called '%s'", column->name);
    }
    return STK_OK;
}

stk_status stk_writer_check_options(const stk_writer_options *o, const stk_pack_options *pack, stk_error *error)
{
    if (pack->n_parts > 0 || pack->shuffle || pack->append || pack->on_bad == STK_BAD_QUARANTINE)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "a writer takes samples in their order: part, shuffle, append and quarantine are for packing a "
                        "folder");
    for (uint32_t i = 0; i < o->n_classes; i++)
        if (o->class_names[i] == NULL || o->class_names[i][0] == '\0')
            return stk_fail(error, STK_ERR_ARGUMENT, "class %u has no name", i);
    return check_columns(o, error);
}

static stk_status check_pixels(const stk_item *item, stk_error *error)
{
    size_t n = 0;
    bool fits = item->width > 0 && item->height > 0 && (item->channels == 1 || item->channels == 3) &&
                stk_mul_size(item->width, item->height, &n) && stk_mul_size(n, item->channels, &n);
    if (fits && n == item->n_bytes) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT,
                    "pixels of %u x %u x %u in %zu bytes: height x width x 1 or 3 channels are needed", item->height,
                    item->width, item->channels, item->n_bytes);
}

static stk_status check_array(const stk_item *item, stk_error *error)
{
    size_t n = stk_type_size(item->dtype);
    if (n == 0 || item->n_dims > STK_ARRAY_MAX_DIMS)
        return stk_fail(error, STK_ERR_ARGUMENT, "an array needs a type of numbers and at most %d dimensions",
                        STK_ARRAY_MAX_DIMS);
    for (uint32_t d = 0; d < item->n_dims; d++)
        if (item->shape[d] > SIZE_MAX || !stk_mul_size(n, (size_t)item->shape[d], &n))
            return stk_fail(error, STK_ERR_ARGUMENT, "an array is too large");
    if (n == item->n_bytes) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "an array of %zu bytes, whose type and shape need %zu", item->n_bytes, n);
}

static stk_status check_value(const stk_column *column, const stk_value *v, stk_error *error)
{
    if (v->is_null) {
        if (column->nullable) return STK_OK;
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': no value, and the column is not nullable",
                        column->name);
    }
    if (v->data == NULL && v->n_items > 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': data is NULL", column->name);
    size_t size = stk_type_size(column->type), n;
    if (!stk_mul_size(v->n_items, size > 0 ? size : 1, &n))
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': too many elements", column->name);
    if (size > 0 && column->n_items > 0 && v->n_items != column->n_items)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': %zu elements, where every row has %u", column->name,
                        v->n_items, column->n_items);
    if (column->type == STK_TYPE_STRING && !stk_utf8_valid(v->data, v->n_items))
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': text that is not UTF-8", column->name);
    return STK_OK;
}

stk_status stk_writer_check_item(const stk_writer_options *o, const stk_item *item, stk_error *error)
{
    if (item == NULL || (item->data == NULL && item->n_bytes > 0))
        return stk_fail(error, STK_ERR_ARGUMENT, "the sample's data is NULL");
    switch (item->kind) {
    case STK_ITEM_FILE: break;
    case STK_ITEM_PIXELS: STK_TRY(check_pixels(item, error)); break;
    case STK_ITEM_ARRAY: STK_TRY(check_array(item, error)); break;
    default: return stk_fail(error, STK_ERR_ARGUMENT, "%d is no kind of sample", (int)item->kind);
    }
    if (item->path != NULL && item->path[0] == '\0')
        return stk_fail(error, STK_ERR_ARGUMENT, "the sample's path is empty; leave it out for its number");
    if (item->label < -1 || (o->n_classes > 0 && item->label >= (int64_t)o->n_classes))
        return stk_fail(error, STK_ERR_ARGUMENT, "label %lld: labels are 0 ... %lld, or -1 for none",
                        (long long)item->label, o->n_classes > 0 ? (long long)o->n_classes - 1 : (long long)INT64_MAX);
    for (uint32_t c = 0; c < o->n_columns; c++)
        STK_TRY(check_value(&o->columns[c], &item->values[c], error));
    return STK_OK;
}

static stk_status check_members(const stk_json *more, const stk_json *have, stk_error *error)
{
    void *position = NULL;
    const char *key;
    const stk_json *value;
    if (stk_json_kind_of(more) != STK_JSON_OBJECT)
        return stk_fail(error, STK_ERR_ARGUMENT, "metadata: a JSON object is needed");
    while (stk_json_next(more, &position, &key, &value))
        if (stk_json_get(have, key) != NULL)
            return stk_fail(error, STK_ERR_ARGUMENT, "metadata: '%s' is a member of its own already", key);
    return STK_OK;
}

stk_status stk_writer_join_metadata(const char *text, stk_buffer *metadata, stk_error *error)
{
    stk_json *more = NULL, *have = NULL;
    stk_buffer printed = {0};
    stk_status status = STK_OK;
    STK_GOTO(stk_json_parse(text, strlen(text), &more, error));
    STK_GOTO(stk_json_parse((const char *)metadata->data, strlen((const char *)metadata->data), &have, error));
    STK_GOTO(check_members(more, have, error));
    if (stk_json_len(more) == 0) goto cleanup;
    STK_GOTO(stk_json_print(more, &printed, error));
    STK_GOTO(stk_buffer_append(&printed, "", 1, error));
    /* "{...}" and "{more}" become "{...,more}". */
    metadata->n_bytes = strlen((const char *)metadata->data) - 1;
    STK_GOTO(stk_buffer_append(metadata, ",", 1, error));
    STK_GOTO(stk_buffer_append(metadata, printed.data + 1, printed.n_bytes - 1, error));
cleanup:
    stk_buffer_free(&printed);
    stk_json_close(&more);
    stk_json_close(&have);
    return status;
}
