/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"

enum {
    STEP = 1 << 20,          /* bytes moved at a time */
    MAX_ROWS = 64 << 10,     /* of strings, likewise */
    ALWAYS_PADDED = 128,     /* strings at most this wide are stored fixed-length ... */
    MAX_PADDED_WASTE = 4     /* ... wider ones when padding no more than quadruples them */
};

static bool is_text(const stk_hdf5_column *c)
{
    return c->column.type == STK_TYPE_STRING || c->column.type == STK_TYPE_BYTES;
}

static bool is_variable(const stk_hdf5_column *c)
{
    return is_text(c) || c->column.n_items == 0;
}

stk_status stk_hdf5_column_init(stk_hdf5_column *c, const stk_column *column, const char *path, stk_error *error)
{
    *c = (stk_hdf5_column){.column = *column};
    stk_spool_init(&c->values, path);
    stk_spool_init(&c->ends, path);
    stk_spool_init(&c->nulls, path);
    c->column.name = NULL;
    if (strlen(column->name) > sizeof c->arrays[0].name - 16)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%.40s...': name too long for HDF5", column->name);
    c->column.name = strdup(column->name);
    return c->column.name != NULL ? STK_OK : stk_fail_memory(error, "a column");
}

void stk_hdf5_column_free(stk_hdf5_column *c)
{
    if (c->column.name == NULL) return; /* never initialised: its spools' descriptors would be somebody's 0 */
    stk_spool_free(&c->values);
    stk_spool_free(&c->ends);
    stk_spool_free(&c->nulls);
    free((char *)c->column.name);
    *c = (stk_hdf5_column){0};
}

static stk_status add_null_fixed(stk_hdf5_column *c, stk_error *error)
{
    static const uint8_t zeros[64];
    size_t left = stk_type_size(c->column.type) * c->column.n_items;
    while (left > 0) {
        size_t n = left < sizeof zeros ? left : sizeof zeros;
        STK_TRY(stk_spool_append(&c->values, zeros, n, error));
        left -= n;
    }
    return STK_OK;
}

stk_status stk_hdf5_column_add(stk_hdf5_column *c, const stk_cell *cell, stk_error *error)
{
    uint8_t null = cell->is_null;
    size_t element = is_text(c) ? 1 : stk_type_size(c->column.type);
    size_t n = 0;
    if (!null && !stk_mul_size(cell->n_items, element, &n)) return stk_fail_memory(error, "a value");
    if (!is_variable(c)) {
        if (null) {
            STK_TRY(add_null_fixed(c, error));
        } else if (cell->n_items != c->column.n_items) {
            return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': %zu items where %u belong", c->column.name,
                            cell->n_items, c->column.n_items);
        } else {
            STK_TRY(stk_spool_append(&c->values, cell->data, n, error));
        }
    } else {
        STK_TRY(stk_spool_append(&c->values, cell->data, n, error));
        if (n > c->widest) c->widest = n;
        uint64_t end = stk_spool_bytes(&c->values) / element;
        STK_TRY(stk_spool_append(&c->ends, &end, sizeof end, error));
    }
    if (c->column.nullable) STK_TRY(stk_spool_append(&c->nulls, &null, 1, error));
    c->n_rows++;
    return STK_OK;
}

static stk_hdf5_array *new_array(stk_hdf5_column *c, const char *suffix)
{
    stk_hdf5_array *a = &c->arrays[c->n_arrays++];
    *a = (stk_hdf5_array){.type = STK_TYPE_U8, .n = c->n_rows, .n_items = 1};
    snprintf(a->name, sizeof a->name, "%s%s", c->column.name, suffix);
    return a;
}

void stk_hdf5_column_plan(stk_hdf5_column *c)
{
    c->n_arrays = 0;
    uint64_t total = stk_spool_bytes(&c->values);
    stk_hdf5_array *values = new_array(c, "");
    values->type = c->column.type;
    if (!is_variable(c)) {
        values->n_items = c->column.n_items;
    } else {
        /* Fixed-length strings are what h5py users index fastest, and need no heap; one very long string must
         * not blow the file up, though. */
        c->padded = is_text(c) && (c->widest <= ALWAYS_PADDED || c->widest * c->n_rows <= total * MAX_PADDED_WASTE);
        if (c->padded) {
            values->width = c->widest > 0 ? (uint32_t)c->widest : 1;
        } else {
            values->width = 1; /* text as single characters */
            values->n = is_text(c) ? total : total / stk_type_size(values->type);
            new_array(c, "_end")->type = STK_TYPE_U64;
        }
    }
    if (c->column.nullable) new_array(c, "_null")->type = STK_TYPE_BOOL;
}

static stk_status copy_spool(const stk_spool *spool, const stk_file *file, uint64_t address, stk_buffer *step,
                             stk_error *error)
{
    STK_TRY(stk_buffer_reserve(step, STEP, error));
    uint64_t total = stk_spool_bytes(spool);
    for (uint64_t at = 0; at < total; at += STEP) {
        size_t n = total - at < STEP ? (size_t)(total - at) : STEP;
        STK_TRY(stk_spool_read(spool, at, step->data, n, error));
        STK_TRY(stk_file_write_at(file, step->data, n, address + at, error));
    }
    return STK_OK;
}

/* Strings padded to one width, many rows a read: spools of many rows lie in files. */
static stk_status copy_padded(stk_hdf5_column *c, const stk_file *file, stk_buffer *step, stk_error *error)
{
    size_t width = c->arrays[0].width, rows = STEP / width + 1;
    uint64_t begin = 0, *ends = NULL;
    stk_buffer text = {0}, end_bytes = {0};
    stk_status status;
    if (rows > MAX_ROWS) rows = MAX_ROWS;
    STK_GOTO(stk_buffer_reserve(step, rows * width, error));
    STK_GOTO(stk_buffer_reserve(&text, rows * width, error));
    STK_GOTO(stk_buffer_reserve(&end_bytes, rows * sizeof *ends, error));
    ends = (uint64_t *)(void *)end_bytes.data;
    for (uint64_t row = 0; row < c->n_rows; row += rows) {
        size_t n = c->n_rows - row < rows ? (size_t)(c->n_rows - row) : rows;
        STK_GOTO(stk_spool_read(&c->ends, row * sizeof *ends, ends, n * sizeof *ends, error));
        STK_GOTO(stk_spool_read(&c->values, begin, text.data, (size_t)(ends[n - 1] - begin), error));
        memset(step->data, 0, n * width);
        uint64_t from = begin;
        for (size_t i = 0; i < n; i++) {
            memcpy(step->data + i * width, text.data + (from - begin), (size_t)(ends[i] - from));
            from = ends[i];
        }
        begin = from;
        STK_GOTO(stk_file_write_at(file, step->data, n * width, c->arrays[0].address + row * width, error));
    }
cleanup:
    stk_buffer_free(&text);
    stk_buffer_free(&end_bytes);
    return status;
}

stk_status stk_hdf5_column_write(stk_hdf5_column *c, const stk_file *file, stk_error *error)
{
    stk_buffer step = {0};
    stk_status status;
    uint32_t next = 1;
    if (c->padded) STK_GOTO(copy_padded(c, file, &step, error));
    else STK_GOTO(copy_spool(&c->values, file, c->arrays[0].address, &step, error));
    if (is_variable(c) && !c->padded) STK_GOTO(copy_spool(&c->ends, file, c->arrays[next++].address, &step, error));
    if (c->column.nullable) STK_GOTO(copy_spool(&c->nulls, file, c->arrays[next].address, &step, error));
cleanup:
    stk_buffer_free(&step);
    return status;
}

static stk_status hash_spool(const stk_spool *spool, stk_hasher *hasher, stk_error *error)
{
    stk_buffer step = {0};
    stk_status status = stk_buffer_reserve(&step, STEP, error);
    uint64_t total = stk_spool_bytes(spool);
    for (uint64_t at = 0; at < total && status == STK_OK; at += STEP) {
        size_t n = total - at < STEP ? (size_t)(total - at) : STEP;
        status = stk_spool_read(spool, at, step.data, n, error);
        if (status == STK_OK) stk_hasher_add(hasher, step.data, n);
    }
    stk_buffer_free(&step);
    return status;
}

stk_status stk_hdf5_column_hash(stk_hdf5_column *c, stk_hasher *hasher, stk_error *error)
{
    stk_hasher_add(hasher, c->column.name, strlen(c->column.name) + 1);
    STK_TRY(hash_spool(&c->values, hasher, error));
    STK_TRY(hash_spool(&c->ends, hasher, error));
    return hash_spool(&c->nulls, hasher, error);
}
