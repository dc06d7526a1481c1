/* SPDX-License-Identifier: Apache-2.0
 *
 * A manifest's columns in memory, typed: what goes into the shard beside the images. */
#ifndef STK_PACKER_TABLE_H
#define STK_PACKER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>
#include <stoker/status.h>

#include "format/shard_writer.h"

typedef struct stk_table_column {
    stk_column column; /* name owned here */
    stk_buffer data;   /* elements (or text) of all rows, one after the other */
    uint64_t *ends;    /* variable length: end of row i in data, in bytes; else NULL */
    uint64_t ends_capacity;
    uint8_t *nulls; /* one byte a row */
    uint64_t nulls_capacity;
    uint64_t n_rows;
} stk_table_column;

typedef struct stk_table {
    stk_table_column *columns;
    uint32_t n_columns;
    uint64_t n_rows;
} stk_table;

stk_status stk_table_open(uint32_t n_columns, stk_table **out, stk_error *error);
void stk_table_free(stk_table *table);

/* Sets name (copied) and type of an empty column. */
stk_status stk_table_column_init(stk_table_column *column, const char *name, stk_type type, uint32_t n_items,
                                 stk_error *error);
/* Appends a row's value: n_bytes of elements or text. A null takes no data (fixed sizes: zeros). */
stk_status stk_table_column_add(stk_table_column *column, const void *data, size_t n_bytes, bool is_null,
                                stk_error *error);
/* Strings: decides whether they are stored once each, which pays when few differ. */
stk_status stk_table_column_decide_dictionary(stk_table_column *column, stk_error *error);

/* Row's values, one cell a column; they point into the table. */
void stk_table_cells(const stk_table *table, uint64_t row, stk_cell *cells);

#endif
