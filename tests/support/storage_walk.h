/* SPDX-License-Identifier: Apache-2.0
 *
 * Touches everything a storage offers and hashes what it gives: walks with one digest saw the same. */
#ifndef STK_TESTS_STORAGE_WALK_H
#define STK_TESTS_STORAGE_WALK_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/hash.h"
#include "format/storage.h"

typedef struct walk_result {
    uint64_t n_errors;   /* rows, values, sets, payloads that gave an error */
    uint64_t digest;     /* of all that gave none, in order; errors leave it */
    uint64_t n_findings; /* of check */
    stk_error first;     /* text of the first error */
} walk_result;

static inline void walk_mix(walk_result *r, const void *data, size_t n)
{
    r->digest = r->digest * 0x9e3779b97f4a7c15u + stk_hash64(data, n);
}

static inline bool walk_ok(walk_result *r, stk_status status, const stk_error *error)
{
    if (status == STK_OK) return true;
    if (r->n_errors++ == 0) r->first = *error;
    return false;
}

static inline void walk_row(stk_storage *s, uint64_t i, walk_result *r)
{
    stk_row row;
    stk_file file;
    uint64_t file_bytes;
    stk_error error;
    if (!walk_ok(r, s->ops->row(s, i, &row, &error), &error)) return;
    /* Field by field: what pads a struct is not data. */
    uint64_t fields[] = {row.offset,   row.n_bytes,     row.xxh3,     (uint64_t)row.label,
                         row.width,    row.height,      row.file,     row.tables,
                         row.encoding, row.orientation, row.channels, row.has_xxh3};
    walk_mix(r, fields, sizeof fields);
    if (!walk_ok(r, s->ops->file(s, row.file, &file, &file_bytes, &error), &error)) return;
    if (row.offset > file_bytes || row.n_bytes > file_bytes - row.offset) abort(); /* the storage's promise */
    uint8_t *payload = malloc((size_t)row.n_bytes + 1);
    if (payload == NULL) abort();
    if (walk_ok(r, stk_file_read_at(&file, payload, (size_t)row.n_bytes, row.offset, &error), &error)) {
        stk_status status = stk_hash64(payload, (size_t)row.n_bytes) == row.xxh3 ? STK_OK : STK_ERR_CHECKSUM;
        strcpy(error.text, "payload checksum");
        walk_ok(r, status, &error);
    }
    free(payload);
    if (s->ops->check_record != NULL) walk_ok(r, s->ops->check_record(s, i, &error), &error);
}

static inline void walk_value(stk_storage *s, uint32_t column, uint64_t i, walk_result *r)
{
    uint8_t small[64], *large = NULL;
    stk_value value;
    stk_error error;
    stk_status status = s->ops->value(s, column, i, small, sizeof small, &value, &error);
    if (status == STK_ERR_LIMIT) {
        large = malloc(value.n_bytes);
        if (large == NULL) abort();
        status = s->ops->value(s, column, i, large, value.n_bytes, &value, &error);
    }
    if (walk_ok(r, status, &error)) {
        walk_mix(r, value.is_null ? "null" : value.data, value.is_null ? 4 : value.n_bytes);
        walk_mix(r, &value.n_items, sizeof value.n_items);
    }
    free(large);
}

static inline void walk_head(const stk_storage *s, walk_result *r)
{
    uint64_t fields[] = {s->n_rows,    s->total_bytes, s->n_files,     s->n_columns,
                         s->n_classes, s->has_labels,  s->n_table_sets};
    walk_mix(r, fields, sizeof fields);
    walk_mix(r, s->id, strlen(s->id));
    walk_mix(r, s->metadata, strlen(s->metadata));
    for (uint32_t i = 0; i < s->n_classes; i++)
        walk_mix(r, s->class_names[i], strlen(s->class_names[i]));
    for (uint32_t i = 0; i < s->n_columns; i++) {
        const stk_column *c = &s->columns[i];
        uint64_t kind[] = {c->type, c->n_items, c->nullable, c->dictionary};
        walk_mix(r, c->name, strlen(c->name));
        walk_mix(r, kind, sizeof kind);
    }
}

static inline void walk_count_(void *user, const stk_storage_issue *issue)
{
    (void)issue;
    ++*(uint64_t *)user;
}

/* At most max_rows rows. */
static inline walk_result storage_walk(stk_storage *s, uint64_t max_rows)
{
    walk_result r = {0};
    stk_error error;
    uint64_t n = s->n_rows < max_rows ? s->n_rows : max_rows;
    walk_head(s, &r);
    for (uint32_t t = 0; t < s->n_table_sets && t < 64; t++) {
        const uint8_t *blob;
        size_t n_bytes;
        if (walk_ok(&r, s->ops->tables(s, t, &blob, &n_bytes, &error), &error)) walk_mix(&r, blob, n_bytes);
    }
    for (uint64_t i = 0; i < n; i++) {
        walk_row(s, i, &r);
        for (uint32_t c = 0; c < s->n_columns; c++)
            walk_value(s, c, i, &r);
    }
    if (s->ops->check != NULL) walk_ok(&r, s->ops->check(s, walk_count_, &r.n_findings, &error), &error);
    return r;
}

#endif
