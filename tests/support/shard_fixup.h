/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes every checksum of a shard in memory fit what is there, so that tests and fuzzers reach the checks
 * behind the checksums. Bytes that make no sense are left as they are. */
#ifndef STK_TESTS_SHARD_FIXUP_H
#define STK_TESTS_SHARD_FIXUP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/checked.h"
#include "common/hash.h"
#include "format/layout.h"

static inline void fixup_store(uint8_t *data, size_t at, size_t covered_from)
{
    stk_store64(data + at, stk_hash64(data + covered_from, at - covered_from));
}

static inline void fixup_records(uint8_t *data, size_t n)
{
    for (size_t at = 0; at + sizeof(stk_record_header) <= n; at += STK_RECORD_ALIGN) {
        stk_record_header h;
        memcpy(&h, data + at, sizeof h);
        if (memcmp(h.magic, stk_record_magic, 4) != 0) continue;
        if (stk_range_inside(at + sizeof h, h.n_bytes, n))
            h.payload_xxh3 = stk_hash64(data + at + sizeof h, (size_t)h.n_bytes);
        stk_record_header_seal(&h);
        memcpy(data + at, &h, sizeof h);
    }
}

static inline void fixup_tables(uint8_t *data, size_t n, stk_shard_header *h)
{
    uint64_t bytes = (uint64_t)h->n_table_sets * sizeof(stk_table_entry);
    if (!stk_range_inside(sizeof *h, bytes, n)) return;
    for (uint32_t i = 0; i < h->n_table_sets; i++) {
        stk_table_entry e;
        uint8_t *p = data + sizeof *h + i * sizeof e;
        memcpy(&e, p, sizeof e);
        if (stk_range_inside(e.offset, e.n_bytes, n)) e.xxh3 = stk_hash64(data + e.offset, (size_t)e.n_bytes);
        memcpy(p, &e, sizeof e);
    }
    h->tables_xxh3 = stk_hash64(data + sizeof *h, (size_t)bytes);
}

/* Dictionaries and units, walking the column table. */
static inline void fixup_columns(uint8_t *data, const stk_shard_trailer *t)
{
    uint64_t unit_at = t->index_offset, rows = t->n_records < STK_BLOCK_ROWS ? t->n_records : STK_BLOCK_ROWS;
    uint64_t at = t->columns_offset, end = at + t->columns_bytes,
             index_end = t->index_offset + t->index_bytes;
    uint32_t row_bytes = sizeof(stk_core_row);
    bool nullable = false;
    for (uint32_t c = 0;; c++) {
        uint64_t bytes = stk_unit_bytes(rows, row_bytes, nullable);
        /* Only the first block: the tests' shards are small. */
        if (rows > 0 && stk_range_inside(unit_at, bytes, index_end))
            fixup_store(data, (size_t)(unit_at + bytes - 8), (size_t)unit_at);
        unit_at += bytes;
        stk_column_entry e;
        if (c >= t->n_columns || !stk_range_inside(at, sizeof e, end)) return;
        memcpy(&e, data + at, sizeof e);
        if (e.entry_bytes < sizeof e) return;
        if (e.storage == STK_STORE_DICTIONARY &&
            stk_range_inside(e.dictionary_offset, e.dictionary_bytes, t->strings_bytes))
            e.dictionary_xxh3 =
                stk_hash64(data + t->strings_offset + e.dictionary_offset, (size_t)e.dictionary_bytes);
        memcpy(data + at, &e, sizeof e);
        const stk_column column = {.type = (stk_type)e.type,
                                   .n_items = e.n_items,
                                   .dictionary = (e.flags & STK_COLUMN_DICTIONARY) != 0};
        row_bytes = stk_column_row_bytes(&column);
        nullable = (e.flags & STK_COLUMN_NULLABLE) != 0;
        at += e.entry_bytes;
    }
}

static inline void fixup_trailer(uint8_t *data, size_t n, const stk_shard_header *h)
{
    stk_shard_trailer t;
    memcpy(&t, data + n - sizeof t, sizeof t);
    t.file_bytes = n;
    t.header_xxh3 = h->xxh3;
    if (stk_range_inside(t.columns_offset, t.columns_bytes, n) &&
        stk_range_inside(t.index_offset, t.index_bytes, n) &&
        stk_range_inside(t.strings_offset, t.strings_bytes, n)) {
        fixup_columns(data, &t);
        t.columns_xxh3 = stk_hash64(data + t.columns_offset, (size_t)t.columns_bytes);
    }
    if (stk_range_inside(t.metadata_offset, t.metadata_bytes, n))
        t.metadata_xxh3 = stk_hash64(data + t.metadata_offset, (size_t)t.metadata_bytes);
    stk_trailer_seal(&t);
    memcpy(data + n - sizeof t, &t, sizeof t);
}

static inline void shard_fixup(uint8_t *data, size_t n)
{
    stk_shard_header h;
    if (n < sizeof h + sizeof(stk_shard_trailer)) return;
    fixup_records(data, n);
    memcpy(&h, data, sizeof h);
    fixup_tables(data, n, &h);
    stk_header_seal(&h);
    memcpy(data, &h, sizeof h);
    fixup_trailer(data, n, &h);
}

#endif
