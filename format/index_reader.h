/* SPDX-License-Identifier: Apache-2.0
 *
 * Index, columns and strings of an open shard. A unit (4,096 rows of one kind) is read and checked when first
 * touched and stays in memory: at most 48 bytes a record for the core rows, at most 64 a record and column
 * that is used. It is read with pread, not mapped: a file that shrinks or a disk that fails gives a status,
 * never a SIGBUS. Loading takes no lock: of threads that load the same unit at once one wins, so a fork in
 * the middle leaves the child nothing to wait for. */
#ifndef STK_FORMAT_INDEX_READER_H
#define STK_FORMAT_INDEX_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stoker/columns.h>

#include "common/file.h"
#include "format/layout.h"
#include "format/slab.h"

typedef struct stk_reader_column {
    stk_column_storage storage;
    uint32_t row_bytes;
    stk_column_entry entry;
    _Atomic(uint8_t *) dictionary; /* loaded and checked at first touch */
} stk_reader_column;

typedef struct stk_index_reader {
    const stk_file *file; /* the caller's */
    stk_shard_trailer trailer;
    uint64_t n_blocks;
    uint64_t block_bytes; /* of a full block, all units */
    uint8_t *table;       /* the column table as read; names point into it */
    stk_column *columns;
    stk_reader_column *details;
    stk_slab memory;           /* of the units */
    _Atomic(uint8_t *) *units; /* [(n_columns + 1) * n_blocks], by unit then block; NULL = not touched yet */
} stk_index_reader;

/* Reads and checks the column table; the trailer has been checked. */
stk_status stk_index_reader_open(stk_index_reader *reader, const stk_file *file,
                                 const stk_shard_trailer *trailer, stk_error *error);
void stk_index_reader_close(stk_index_reader *reader);

/* The unit's slow path: reads, checks, publishes. */
stk_status stk_index_load(stk_index_reader *reader, uint32_t unit, uint64_t block, const uint8_t **out,
                          stk_error *error);

/* Values of unit `unit` (0 = core rows, c + 1 = column c) in a block, from memory when touched before. */
static inline stk_status stk_index_unit(stk_index_reader *reader, uint32_t unit, uint64_t block,
                                        const uint8_t **out, stk_error *error)
{
    uint8_t *bytes =
        atomic_load_explicit(&reader->units[unit * reader->n_blocks + block], memory_order_acquire);
    if (__builtin_expect(bytes == NULL, 0)) return stk_index_load(reader, unit, block, out, error);
    *out = bytes;
    return STK_OK;
}

/* As stk_storage_ops.value. */
stk_status stk_index_value(stk_index_reader *reader, uint32_t column, uint64_t row, void *buffer,
                           size_t capacity, stk_value *out, stk_error *error);

/* Whether what row i of a checked unit of column `column` holds points into its section (always true for
 * values that lie in the row itself). */
bool stk_index_slot_ok(const stk_index_reader *reader, uint32_t column, const uint8_t *unit, uint64_t i);

/* Rows in a block, and the place of a unit in the file. */
uint64_t stk_index_block_rows(const stk_index_reader *reader, uint64_t block);
uint64_t stk_index_unit_place(const stk_index_reader *reader, uint32_t unit, uint64_t block,
                              uint64_t *n_bytes);

/* Whether a unit's bytes are what they should be (magic, place, checksum). */
stk_status stk_index_check_unit(const stk_index_reader *reader, uint32_t unit, uint64_t block,
                                const uint8_t *bytes, uint64_t n_bytes, stk_error *error);

#endif
