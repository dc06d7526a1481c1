/* SPDX-License-Identifier: Apache-2.0
 *
 * Index, strings and column table of a shard while it is written: rows are collected into blocks of 4,096 and
 * put away as checked units. Memory is bounded: one block, the dictionaries, and two spools. */
#ifndef STK_FORMAT_INDEX_BUILDER_H
#define STK_FORMAT_INDEX_BUILDER_H

#include <stdint.h>

#include "common/file.h"
#include "common/hash.h"
#include "format/layout.h"
#include "format/shard_writer.h"

typedef struct stk_index_builder stk_index_builder;

/* columns are copied and checked (types, unique UTF-8 names). path (kept by the caller) says where spool
 * files may lie. */
stk_status stk_index_builder_open(const char *path, const stk_column *columns, uint32_t n_columns,
                                  stk_index_builder **out, stk_error *error);

/* Whether the cells (one a column) fit their columns; nothing changes. */
stk_status stk_index_builder_check(const stk_index_builder *builder, const stk_cell *cells, stk_error *error);
/* Adds one row; the cells have been checked. */
stk_status stk_index_builder_add(stk_index_builder *builder, const stk_core_row *row, const stk_cell *cells,
                                 stk_error *error);

typedef struct stk_index_sections {
    uint64_t index_bytes, strings_bytes;
    stk_buffer column_table; /* belongs to the builder */
    uint32_t n_columns;
} stk_index_sections;

/* Closes the last block and the dictionaries. No more rows after it. */
stk_status stk_index_builder_finish(stk_index_builder *builder, stk_index_sections *out, stk_error *error);
/* Writes index and strings to the file at offset, and into the hasher. */
stk_status stk_index_builder_copy(stk_index_builder *builder, const stk_file *file, uint64_t offset,
                                  stk_hasher *hasher, stk_error *error);
void stk_index_builder_close(stk_index_builder **builder);

#endif
