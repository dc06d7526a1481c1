/* SPDX-License-Identifier: Apache-2.0 */
#include "format/index_builder.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/utf8.h"
#include "format/dictionary.h"
#include "format/spool.h"

typedef struct builder_column {
    stk_column column; /* name is ours */
    stk_column_storage storage;
    uint32_t row_bytes;
    uint8_t *values; /* STK_BLOCK_ROWS * row_bytes */
    uint8_t *nulls;  /* one bit a row; NULL when not nullable */
    stk_dictionary dictionary;
} builder_column;

struct stk_index_builder {
    uint64_t n_rows;
    stk_core_row *core; /* the rows of the open block */
    builder_column *columns;
    uint32_t n_columns;
    stk_spool index, strings;
    stk_buffer unit;
    stk_buffer column_table;
};

static uint32_t rows_in_block(const stk_index_builder *b)
{
    return (uint32_t)(b->n_rows & (STK_BLOCK_ROWS - 1));
}

static stk_status open_column(builder_column *c, const stk_column *column, stk_error *error)
{
    if (column->name == NULL || column->name[0] == '\0' ||
        !stk_utf8_valid(column->name, strlen(column->name)))
        return stk_fail(error, STK_ERR_ARGUMENT, "a column's name must be UTF-8 and not empty");
    STK_TRY(stk_column_check(column, error));
    c->column = *column;
    if (stk_type_size(column->type) == 0) c->column.n_items = 1;
    c->column.name = strdup(column->name);
    c->storage = stk_column_storage_of(column);
    c->row_bytes = stk_column_row_bytes(column);
    c->values = calloc(STK_BLOCK_ROWS, c->row_bytes);
    if (column->nullable) c->nulls = calloc(STK_BLOCK_ROWS / 8, 1);
    if (c->column.name == NULL || c->values == NULL || (column->nullable && c->nulls == NULL))
        return stk_fail_memory(error, "a column");
    return STK_OK;
}

static stk_status open_columns(stk_index_builder *b, const stk_column *columns, uint32_t n, stk_error *error)
{
    if (n > STK_MAX_COLUMNS)
        return stk_fail(error, STK_ERR_LIMIT, "%u columns; at most %d", n, STK_MAX_COLUMNS);
    b->columns = calloc(n > 0 ? n : 1, sizeof *b->columns);
    if (b->columns == NULL) return stk_fail_memory(error, "columns");
    b->n_columns = n;
    for (uint32_t i = 0; i < n; i++) {
        STK_TRY(open_column(&b->columns[i], &columns[i], error));
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(columns[i].name, columns[j].name) == 0)
                return stk_fail(error, STK_ERR_ARGUMENT, "two columns are called '%s'", columns[i].name);
        }
    }
    return STK_OK;
}

stk_status stk_index_builder_open(const char *path, const stk_column *columns, uint32_t n_columns,
                                  stk_index_builder **out, stk_error *error)
{
    *out = NULL;
    stk_index_builder *b = calloc(1, sizeof *b);
    if (b == NULL) return stk_fail_memory(error, "an index");
    stk_spool_init(&b->index, path);
    stk_spool_init(&b->strings, path);
    stk_status status = STK_OK;
    b->core = calloc(STK_BLOCK_ROWS, sizeof *b->core);
    if (b->core == NULL) {
        status = stk_fail_memory(error, "an index");
        goto cleanup;
    }
    STK_GOTO(open_columns(b, columns, n_columns, error));
    *out = b;
    b = NULL;
cleanup:
    stk_index_builder_close(&b);
    return status;
}

static stk_status check_elements(const stk_column *column, const stk_cell *cell, stk_error *error)
{
    size_t size = stk_type_size(column->type);
    if (column->n_items > 0 && cell->n_items != column->n_items)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': %zu elements instead of %u", column->name,
                        cell->n_items, column->n_items);
    if (cell->n_items > UINT32_MAX / size)
        return stk_fail(error, STK_ERR_LIMIT, "column '%s': a value of 4 GiB or more", column->name);
    const uint8_t *bytes = cell->data;
    for (size_t i = 0; column->type == STK_TYPE_BOOL && i < cell->n_items; i++) {
        if (bytes[i] > 1)
            return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': a bool is 0 or 1, not %u", column->name,
                            bytes[i]);
    }
    return STK_OK;
}

static stk_status check_cell(const builder_column *c, const stk_cell *cell, stk_error *error)
{
    const stk_column *column = &c->column;
    if (cell->is_null) {
        if (column->nullable) return STK_OK;
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': null in a column that is not nullable",
                        column->name);
    }
    if (cell->data == NULL && cell->n_items > 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': a value without data", column->name);
    if (stk_type_size(column->type) > 0) return check_elements(column, cell, error);
    if (cell->n_items > UINT32_MAX)
        return stk_fail(error, STK_ERR_LIMIT, "column '%s': a value of 4 GiB or more", column->name);
    if (column->type == STK_TYPE_STRING && !stk_utf8_valid(cell->data, cell->n_items))
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': a string that is not UTF-8 (use type bytes)",
                        column->name);
    return STK_OK;
}

stk_status stk_index_builder_check(const stk_index_builder *b, const stk_cell *cells, stk_error *error)
{
    for (uint32_t i = 0; i < b->n_columns; i++)
        STK_TRY(check_cell(&b->columns[i], &cells[i], error));
    return STK_OK;
}

static stk_status set_external(stk_index_builder *b, const stk_cell *cell, size_t n_bytes, uint8_t *slot,
                               stk_error *error)
{
    stk_external_ref ref = {.offset = stk_spool_bytes(&b->strings),
                            .n_bytes = (uint32_t)n_bytes,
                            .check = (uint32_t)stk_hash64(cell->data, n_bytes)};
    STK_TRY(stk_spool_append(&b->strings, cell->data, n_bytes, error));
    memcpy(slot, &ref, sizeof ref);
    return STK_OK;
}

static stk_status set_cell(stk_index_builder *b, builder_column *c, uint32_t row, const stk_cell *cell,
                           stk_error *error)
{
    uint8_t *slot = c->values + (size_t)row * c->row_bytes;
    memset(slot, 0, c->row_bytes);
    if (cell->is_null) {
        c->nulls[row / 8] = (uint8_t)(c->nulls[row / 8] | 1u << row % 8);
        return STK_OK;
    }
    size_t size = stk_type_size(c->column.type);
    size_t n_bytes = cell->n_items * (size > 0 ? size : 1);
    uint32_t code = 0;
    switch (c->storage) {
    case STK_STORE_INLINE: memcpy(slot, cell->data, c->row_bytes); return STK_OK;
    case STK_STORE_EXTERNAL: return set_external(b, cell, n_bytes, slot, error);
    case STK_STORE_DICTIONARY: break;
    }
    stk_status status = stk_dictionary_code(&c->dictionary, cell->data, n_bytes, &code, error);
    if (status == STK_ERR_LIMIT) stk_fail_prefix(error, "column '%s': ", c->column.name);
    stk_store32(slot, code);
    return status;
}

/* Appends one unit: header, values, null mask, checksum. */
static stk_status put_unit(stk_index_builder *b, uint32_t number, uint64_t first_row, const void *values,
                           size_t value_bytes, const uint8_t *nulls, size_t null_bytes, stk_error *error)
{
    static const uint8_t zeros[8];
    stk_unit_header header = {.unit = number, .first_row = first_row};
    memcpy(header.magic, stk_unit_magic, sizeof header.magic);
    b->unit.n_bytes = 0;
    STK_TRY(stk_buffer_append(&b->unit, &header, sizeof header, error));
    STK_TRY(stk_buffer_append(&b->unit, values, value_bytes, error));
    STK_TRY(stk_buffer_append(&b->unit, zeros, (size_t)(stk_align8(value_bytes) - value_bytes), error));
    STK_TRY(stk_buffer_append(&b->unit, nulls, null_bytes, error));
    STK_TRY(stk_buffer_append(&b->unit, zeros, (size_t)(stk_align8(null_bytes) - null_bytes), error));
    uint64_t check = stk_hash64(b->unit.data, b->unit.n_bytes);
    STK_TRY(stk_buffer_append(&b->unit, &check, sizeof check, error));
    return stk_spool_append(&b->index, b->unit.data, b->unit.n_bytes, error);
}

static stk_status put_block(stk_index_builder *b, uint32_t n_rows, stk_error *error)
{
    uint64_t first = b->n_rows - n_rows;
    STK_TRY(put_unit(b, 0, first, b->core, n_rows * sizeof *b->core, NULL, 0, error));
    for (uint32_t i = 0; i < b->n_columns; i++) {
        builder_column *c = &b->columns[i];
        size_t null_bytes = c->nulls != NULL ? (n_rows + 7) / 8 : 0;
        STK_TRY(
            put_unit(b, i + 1, first, c->values, (size_t)n_rows * c->row_bytes, c->nulls, null_bytes, error));
        if (c->nulls != NULL) memset(c->nulls, 0, STK_BLOCK_ROWS / 8);
    }
    return STK_OK;
}

stk_status stk_index_builder_add(stk_index_builder *b, const stk_core_row *row, const stk_cell *cells,
                                 stk_error *error)
{
    uint32_t r = rows_in_block(b);
    b->core[r] = *row;
    for (uint32_t i = 0; i < b->n_columns; i++)
        STK_TRY(set_cell(b, &b->columns[i], r, &cells[i], error));
    b->n_rows++;
    return r + 1 == STK_BLOCK_ROWS ? put_block(b, STK_BLOCK_ROWS, error) : STK_OK;
}

/* Puts the dictionary into the strings section and describes it in the column's entry. */
static stk_status finish_dictionary(stk_index_builder *b, builder_column *c, stk_column_entry *entry,
                                    stk_error *error)
{
    stk_dictionary *d = &c->dictionary;
    stk_buffer *whole = &b->unit;
    whole->n_bytes = 0;
    STK_TRY(stk_buffer_append(whole, d->ends.data, d->ends.n_bytes, error));
    STK_TRY(stk_buffer_append(whole, d->bytes.data, d->bytes.n_bytes, error));
    entry->dictionary_offset = stk_spool_bytes(&b->strings);
    entry->dictionary_bytes = whole->n_bytes;
    entry->dictionary_entries = d->n_entries;
    entry->dictionary_xxh3 = stk_hash64(whole->data, whole->n_bytes);
    return stk_spool_append(&b->strings, whole->data, whole->n_bytes, error);
}

static stk_status finish_column(stk_index_builder *b, builder_column *c, stk_error *error)
{
    static const char zeros[8];
    size_t name_bytes = strlen(c->column.name);
    size_t used = sizeof(stk_column_entry) + name_bytes, padded = (size_t)stk_align8(used + 1);
    stk_column_entry entry = {.entry_bytes = (uint32_t)padded,
                              .name_bytes = (uint32_t)name_bytes,
                              .type = (uint8_t)c->column.type,
                              .storage = (uint8_t)c->storage,
                              .n_items = c->column.n_items};
    if (c->column.nullable) entry.flags |= STK_COLUMN_NULLABLE;
    if (c->column.dictionary) entry.flags |= STK_COLUMN_DICTIONARY;
    if (c->storage == STK_STORE_DICTIONARY) STK_TRY(finish_dictionary(b, c, &entry, error));
    STK_TRY(stk_buffer_append(&b->column_table, &entry, sizeof entry, error));
    STK_TRY(stk_buffer_append(&b->column_table, c->column.name, name_bytes, error));
    return stk_buffer_append(&b->column_table, zeros, padded - used, error);
}

stk_status stk_index_builder_finish(stk_index_builder *b, stk_index_sections *out, stk_error *error)
{
    if (rows_in_block(b) > 0) STK_TRY(put_block(b, rows_in_block(b), error));
    STK_TRY(stk_buffer_reserve(&b->column_table, 64, error));
    for (uint32_t i = 0; i < b->n_columns; i++)
        STK_TRY(finish_column(b, &b->columns[i], error));
    if (b->column_table.n_bytes > STK_MAX_COLUMN_TABLE)
        return stk_fail(error, STK_ERR_LIMIT, "the columns' names take more than %d bytes",
                        STK_MAX_COLUMN_TABLE);
    *out = (stk_index_sections){.index_bytes = stk_spool_bytes(&b->index),
                                .strings_bytes = stk_spool_bytes(&b->strings),
                                .column_table = b->column_table,
                                .n_columns = b->n_columns};
    return STK_OK;
}

stk_status stk_index_builder_copy(stk_index_builder *b, const stk_file *file, uint64_t offset,
                                  stk_hasher *hasher, stk_error *error)
{
    STK_TRY(stk_spool_copy(&b->index, file, offset, hasher, error));
    return stk_spool_copy(&b->strings, file, offset + stk_spool_bytes(&b->index), hasher, error);
}

void stk_index_builder_close(stk_index_builder **builder)
{
    stk_index_builder *b = *builder;
    if (b == NULL) return;
    for (uint32_t i = 0; b->columns != NULL && i < b->n_columns; i++) {
        free((char *)(uintptr_t)b->columns[i].column.name);
        free(b->columns[i].values);
        free(b->columns[i].nulls);
        stk_dictionary_free(&b->columns[i].dictionary);
    }
    free(b->columns);
    free(b->core);
    stk_spool_free(&b->index);
    stk_spool_free(&b->strings);
    stk_buffer_free(&b->unit);
    stk_buffer_free(&b->column_table);
    free(b);
    *builder = NULL;
}
