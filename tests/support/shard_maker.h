/* SPDX-License-Identifier: Apache-2.0
 *
 * Small shards with every kind of column and known content, for tests of the format. */
#ifndef STK_TESTS_SHARD_MAKER_H
#define STK_TESTS_SHARD_MAKER_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "format/shard_writer.h"
#include "support/check.h"

enum { MAKER_COLUMNS = 18 };

/* One column of each type and storage. */
static const stk_column maker_columns[MAKER_COLUMNS] = {
    {.name = "path", .type = STK_TYPE_BYTES, .n_items = 1},
    {.name = "flag", .type = STK_TYPE_BOOL, .n_items = 1, .nullable = true},
    {.name = "i8", .type = STK_TYPE_I8, .n_items = 1},
    {.name = "u8", .type = STK_TYPE_U8, .n_items = 1, .nullable = true},
    {.name = "i16", .type = STK_TYPE_I16, .n_items = 1},
    {.name = "u16", .type = STK_TYPE_U16, .n_items = 1},
    {.name = "i32", .type = STK_TYPE_I32, .n_items = 1},
    {.name = "u32", .type = STK_TYPE_U32, .n_items = 1},
    {.name = "i64", .type = STK_TYPE_I64, .n_items = 1, .nullable = true},
    {.name = "u64", .type = STK_TYPE_U64, .n_items = 1},
    {.name = "f16", .type = STK_TYPE_F16, .n_items = 1},
    {.name = "f32x3", .type = STK_TYPE_F32, .n_items = 3},
    {.name = "f64", .type = STK_TYPE_F64, .n_items = 1},
    {.name = "wide", .type = STK_TYPE_F32, .n_items = 20}, /* 80 bytes: lies in the strings section */
    {.name = "boxes", .type = STK_TYPE_I32, .n_items = 0, .nullable = true},
    {.name = "caption", .type = STK_TYPE_STRING, .n_items = 1, .nullable = true},
    {.name = "brand", .type = STK_TYPE_STRING, .n_items = 1, .nullable = true, .dictionary = true},
    {.name = "bools", .type = STK_TYPE_BOOL, .n_items = 0},
};

/* What record i of the test shards holds in a column. */
typedef struct maker_value {
    stk_cell cell;
    union {
        uint8_t bytes[256];
        int32_t i32[64];
        float f32[64];
        uint64_t u64;
    } data;
} maker_value;

static inline void maker_text(maker_value *v, const char *format, unsigned long long i)
{
    int n = snprintf((char *)v->data.bytes, sizeof v->data.bytes, format, i);
    v->cell.n_items = (size_t)n;
}

static inline void maker_fill(maker_value *v, uint32_t column, uint64_t i)
{
    const stk_column *c = &maker_columns[column];
    memset(v, 0, sizeof *v);
    v->cell.data = v->data.bytes;
    v->cell.n_items = c->n_items;
    v->cell.is_null = c->nullable && (i + column) % 5 == 3;
    switch (c->type) {
    case STK_TYPE_STRING:
        if (c->dictionary)
            maker_text(v, i % 7 == 0 ? "" : "brand %llu", i % 7);
        else
            maker_text(v, i % 9 == 0 ? "" : "caption of \xe4\xb8\xad %llu", i);
        break;
    case STK_TYPE_BYTES: maker_text(v, "class/\xff\xfe image %llu.jpg", i); break;
    case STK_TYPE_BOOL:
        if (c->n_items == 0) v->cell.n_items = i % 11;
        for (size_t k = 0; k < v->cell.n_items; k++)
            v->data.bytes[k] = (uint8_t)((i >> k) & 1);
        break;
    case STK_TYPE_F32:
        for (uint32_t k = 0; k < c->n_items; k++)
            v->data.f32[k] = (float)(i * 31 + k) * 0.25f;
        break;
    case STK_TYPE_I32:
        if (c->n_items == 0) v->cell.n_items = 4 * (i % 4);
        for (size_t k = 0; k < 64; k++)
            v->data.i32[k] = (int32_t)(i * 7 + k) - 1000;
        break;
    default: v->data.u64 = (i + 1) * 0x9e3779b97f4a7c15u; break;
    }
}

static inline size_t maker_payload(uint64_t i, uint8_t *out, size_t capacity)
{
    size_t n = (size_t)(i * 37 % capacity);
    for (size_t k = 0; k < n; k++)
        out[k] = (uint8_t)(i * 13 + k * 7);
    return n;
}

/* Adds records first .. first + n - 1 of the pattern. */
static inline void maker_add(stk_shard_writer *writer, uint32_t n_columns, uint64_t first, uint64_t n)
{
    static maker_value values[MAKER_COLUMNS];
    static uint8_t payload[300];
    stk_error error;
    for (uint64_t i = first; i < first + n; i++) {
        stk_cell cells[MAKER_COLUMNS];
        for (uint32_t c = 0; c < n_columns; c++) {
            maker_fill(&values[c], c, i);
            cells[c] = values[c].cell;
        }
        size_t n_bytes = maker_payload(i, payload, sizeof payload);
        stk_record record = {.payload = payload,
                             .n_bytes = n_bytes,
                             .xxh3 = stk_hash64(payload, n_bytes),
                             .label = (int64_t)(i % 3),
                             .width = (uint32_t)i + 1,
                             .height = 2,
                             .tables = i % 4 == 2 ? 1 : 0,
                             .encoding = STK_ENCODING_JPEG,
                             .orientation = (uint8_t)(i % 8 + 1),
                             .channels = 3,
                             .cells = cells};
        CHECK_OK(stk_shard_writer_add(writer, &record, NULL, &error));
    }
}

static const char maker_metadata[] = "{\"classes\":[\"cat\",\"dog\",\"\\udcc3(\"],\"encoding\":{\"jpeg\":1}}";

/* A writer for the pattern's first n_columns columns, with two table sets. NULL (and a failed check) on
 * failure. */
static inline stk_shard_writer *maker_open(const char *path, uint32_t n_columns, uint64_t first_record)
{
    static const uint8_t set0[100] = {1, 2, 3}, set1[] = "second set";
    const uint8_t *const sets[2] = {set0, set1};
    const size_t set_bytes[2] = {sizeof set0, sizeof set1};
    stk_shard_writer_options options = {.columns = maker_columns,
                                        .n_columns = n_columns,
                                        .table_sets = sets,
                                        .table_set_bytes = set_bytes,
                                        .n_table_sets = 2,
                                        .first_record = first_record};
    stk_shard_writer *writer = NULL;
    stk_error error;
    CHECK_OK(stk_shard_writer_open(path, &options, &writer, &error));
    return writer;
}

/* A whole shard of n records of the pattern, beginning with number first_record. */
static inline void maker_shard(const char *path, uint32_t n_columns, uint64_t first_record, uint64_t n,
                               char id[33])
{
    stk_error error;
    unlink(path);
    stk_shard_writer *writer = maker_open(path, n_columns, first_record);
    if (writer == NULL) return;
    maker_add(writer, n_columns, first_record, n);
    CHECK_OK(stk_shard_writer_finish(writer, maker_metadata, id, &error));
    stk_shard_writer_close(&writer);
}

#endif
