/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"

stk_status stk_table_open(uint32_t n_columns, stk_table **out, stk_error *error)
{
    *out = NULL;
    stk_table *table = calloc(1, sizeof *table);
    if (table == NULL) return stk_fail_memory(error, "the manifest's columns");
    table->columns = calloc(n_columns > 0 ? n_columns : 1, sizeof *table->columns);
    if (table->columns == NULL) {
        free(table);
        return stk_fail_memory(error, "the manifest's columns");
    }
    table->n_columns = n_columns;
    *out = table;
    return STK_OK;
}

void stk_table_free(stk_table *table)
{
    if (table == NULL) return;
    for (uint32_t c = 0; c < table->n_columns; c++) {
        stk_table_column *column = &table->columns[c];
        free((char *)(uintptr_t)column->column.name);
        stk_buffer_free(&column->data);
        free(column->ends);
        free(column->nulls);
    }
    free(table->columns);
    free(table);
}

stk_status stk_table_column_init(stk_table_column *column, const char *name, stk_type type, uint32_t n_items,
                                 stk_error *error)
{
    char *copy = strdup(name);
    if (copy == NULL) return stk_fail_memory(error, "a column's name");
    *column = (stk_table_column){.column = {.name = copy, .type = type, .n_items = n_items}};
    return STK_OK;
}

static bool is_variable(const stk_table_column *column)
{
    return stk_type_size(column->column.type) == 0 || column->column.n_items == 0;
}

static stk_status grow(void **array, uint64_t *capacity, uint64_t n, size_t size, stk_error *error)
{
    if (n < *capacity) return STK_OK;
    uint64_t want = *capacity + *capacity / 2 + 64;
    size_t bytes;
    if (!stk_mul_size((size_t)want, size, &bytes)) return stk_fail_memory(error, "the manifest's columns");
    void *grown = realloc(*array, bytes);
    if (grown == NULL) return stk_fail_memory(error, "the manifest's columns");
    *array = grown;
    *capacity = want;
    return STK_OK;
}

stk_status stk_table_column_add(stk_table_column *column, const void *data, size_t n_bytes, bool is_null,
                                stk_error *error)
{
    void *nulls = column->nulls, *ends = column->ends;
    STK_TRY(grow(&nulls, &column->nulls_capacity, column->n_rows, 1, error));
    column->nulls = nulls;
    if (is_variable(column)) {
        STK_TRY(grow(&ends, &column->ends_capacity, column->n_rows, sizeof *column->ends, error));
        column->ends = ends;
        if (!is_null) STK_TRY(stk_buffer_append(&column->data, data, n_bytes, error));
        column->ends[column->n_rows] = column->data.n_bytes;
    } else {
        size_t size = stk_type_size(column->column.type) * column->column.n_items;
        size_t at = column->data.n_bytes;
        STK_TRY(stk_buffer_resize(&column->data, at + size, error));
        if (is_null)
            memset(column->data.data + at, 0, size);
        else
            memcpy(column->data.data + at, data, size);
    }
    column->nulls[column->n_rows++] = is_null;
    if (is_null) column->column.nullable = true;
    return STK_OK;
}

void stk_table_cells(const stk_table *table, uint64_t row, stk_cell *cells)
{
    for (uint32_t c = 0; c < table->n_columns; c++) {
        const stk_table_column *column = &table->columns[c];
        size_t size = stk_type_size(column->column.type);
        size_t begin = 0, end = 0;
        if (is_variable(column)) {
            begin = row == 0 ? 0 : (size_t)column->ends[row - 1];
            end = (size_t)column->ends[row];
        } else {
            begin = (size_t)row * size * column->column.n_items;
            end = begin + size * column->column.n_items;
        }
        cells[c] = (stk_cell){.is_null = column->nulls[row] != 0,
                              .data = column->data.data + begin,
                              .n_items = size == 0 ? end - begin : (end - begin) / size};
    }
}

/* Counts different strings in a hash set of at most this many; more are not worth a dictionary. */
enum { MAX_DICTIONARY = 65536 };

static stk_status count_different(const stk_table_column *column, uint64_t limit, uint64_t *n,
                                  stk_error *error)
{
    size_t slots = 64;
    while (slots < 2 * limit + 2)
        slots *= 2;
    uint64_t *set = calloc(slots, sizeof *set);
    if (set == NULL) return stk_fail_memory(error, "counting a column's values");
    *n = 0;
    for (uint64_t row = 0; row < column->n_rows && *n <= limit; row++) {
        uint64_t begin = row == 0 ? 0 : column->ends[row - 1];
        /* A 64-bit hash stands for the string: the count only steers how strings are stored. */
        uint64_t hash = stk_hash64(column->data.data + begin, (size_t)(column->ends[row] - begin)) | 1;
        size_t slot = (size_t)(hash >> 1) & (slots - 1);
        while (set[slot] != 0 && set[slot] != hash)
            slot = (slot + 1) & (slots - 1);
        if (set[slot] == 0) (*n)++;
        set[slot] = hash;
    }
    free(set);
    return STK_OK;
}

stk_status stk_table_column_decide_dictionary(stk_table_column *column, stk_error *error)
{
    if (column->column.type != STK_TYPE_STRING || column->n_rows == 0) return STK_OK;
    uint64_t limit = column->n_rows / 4 < MAX_DICTIONARY ? column->n_rows / 4 : MAX_DICTIONARY;
    if (limit == 0) return STK_OK;
    uint64_t n = 0;
    STK_TRY(count_different(column, limit, &n, error));
    column->column.dictionary = n <= limit;
    return STK_OK;
}
