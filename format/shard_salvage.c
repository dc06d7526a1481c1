/* SPDX-License-Identifier: Apache-2.0
 *
 * A shard without its end, by scanning. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"
#include "format/shard_reader.h"
#include "format/table_sets.h"

enum { SCAN_BYTES = 1 << 20 };

typedef struct salvaged {
    stk_storage head;
    char *path;
    stk_file file;
    stk_shard_header header;
    stk_buffer rows;    /* stk_core_row */
    stk_buffer numbers; /* uint64 */
    stk_table_sets tables;
    /* While scanning: file bytes [window_start, window_start + window.n_bytes). */
    stk_buffer window;
    uint64_t window_start;
    stk_hasher *hasher;
    char metadata[96];
} salvaged;

static void salvaged_close(stk_storage *self)
{
    salvaged *s = (salvaged *)self;
    stk_table_sets_close(&s->tables);
    stk_hasher_close(&s->hasher);
    stk_buffer_free(&s->window);
    stk_buffer_free(&s->rows);
    stk_buffer_free(&s->numbers);
    stk_file_close(&s->file);
    free(s->path);
    free(s);
}

static stk_status salvaged_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error)
{
    (void)error;
    stk_core_row row;
    memcpy(&row, ((salvaged *)self)->rows.data + i * sizeof row, sizeof row);
    *out = stk_row_from_core(&row);
    return STK_OK;
}

static stk_status salvaged_file(stk_storage *self, uint32_t number, stk_file *out, uint64_t *n_bytes,
                                stk_error *error)
{
    salvaged *s = (salvaged *)self;
    if (number != 0) return stk_fail(error, STK_ERR_ARGUMENT, "%s: is one file, not %u", s->path, number);
    *out = s->file;
    *n_bytes = self->total_bytes;
    return STK_OK;
}

static stk_status salvaged_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer,
                                 size_t capacity, stk_value *out, stk_error *error)
{
    salvaged *s = (salvaged *)self;
    *out = (stk_value){.n_items = 1, .n_bytes = sizeof(uint64_t), .data = buffer};
    if (column != 0 || i >= self->n_rows)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: no column %u or no record %llu", s->path, column,
                        (unsigned long long)i);
    if (capacity < out->n_bytes)
        return stk_fail(error, STK_ERR_LIMIT, "the value has %zu bytes, the buffer %zu", out->n_bytes,
                        capacity);
    memcpy(buffer, s->numbers.data + i * sizeof(uint64_t), sizeof(uint64_t));
    return STK_OK;
}

static stk_status salvaged_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                                  stk_error *error)
{
    salvaged *s = (salvaged *)self;
    return stk_table_sets_get(&s->tables, &s->file, &s->header, set, blob, n_bytes, error);
}

static const stk_storage_ops salvaged_ops = {.name = "stk",
                                             .close = salvaged_close,
                                             .row = salvaged_row,
                                             .file = salvaged_file,
                                             .value = salvaged_value,
                                             .tables = salvaged_tables};

/* n_bytes at `at` (inside the file), through the window. */
static stk_status peek(salvaged *s, uint64_t at, size_t n_bytes, const uint8_t **out, stk_error *error)
{
    bool inside = at >= s->window_start && stk_range_inside(at - s->window_start, n_bytes, s->window.n_bytes);
    if (!inside) {
        uint64_t left = s->head.total_bytes - at;
        STK_TRY(stk_buffer_resize(&s->window, left < SCAN_BYTES ? (size_t)left : SCAN_BYTES, error));
        s->window_start = at;
        stk_status status = stk_file_read_at(&s->file, s->window.data, s->window.n_bytes, at, error);
        if (status != STK_OK) {
            s->window.n_bytes = 0;
            return status;
        }
    }
    *out = s->window.data + (at - s->window_start);
    return STK_OK;
}

static stk_status hash_payload(salvaged *s, uint64_t at, uint64_t n_bytes, uint64_t *hash, stk_error *error)
{
    stk_hasher_reset(s->hasher);
    while (n_bytes > 0) {
        const uint8_t *data;
        size_t n = n_bytes < SCAN_BYTES ? (size_t)n_bytes : SCAN_BYTES;
        STK_TRY(peek(s, at, n, &data, error));
        stk_hasher_add(s->hasher, data, n);
        at += n;
        n_bytes -= n;
    }
    *hash = stk_hasher_result64(s->hasher);
    return STK_OK;
}

/* A whole record at `at`: its row is kept and *at moved behind it; else *at moves one step. */
static stk_status try_record(salvaged *s, uint64_t *at, uint64_t *least_number, stk_error *error)
{
    const uint8_t *bytes;
    uint64_t here = *at, end = s->head.total_bytes, hash;
    stk_record_header h;
    STK_TRY(peek(s, here, sizeof h, &bytes, error));
    memcpy(&h, bytes, sizeof h);
    *at = here + STK_RECORD_ALIGN;
    if (!stk_record_header_ok(&h)) return STK_OK;
    stk_core_row row = stk_record_header_row(&h, here + sizeof h);
    /* Numbers rise: a shard within a payload (an image cannot hold one, an array may) is not taken apart. */
    if (h.number < *least_number || stk_core_row_fault(&row, &s->header, end) != NULL) return STK_OK;
    STK_TRY(hash_payload(s, row.offset, row.n_bytes, &hash, error));
    if (hash != row.xxh3) return STK_OK;
    STK_TRY(stk_buffer_append(&s->rows, &row, sizeof row, error));
    STK_TRY(stk_buffer_append(&s->numbers, &h.number, sizeof h.number, error));
    if (h.label != -1) s->head.has_labels = true;
    *least_number = h.number == UINT64_MAX ? h.number : h.number + 1;
    *at = stk_align_record(row.offset + row.n_bytes);
    return STK_OK;
}

static stk_status scan(salvaged *s, stk_error *error)
{
    uint64_t at = s->header.records_offset, least_number = 0;
    while (stk_range_inside(at, sizeof(stk_record_header), s->head.total_bytes))
        STK_TRY(try_record(s, &at, &least_number, error));
    if (s->rows.n_bytes == 0)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: nothing to salvage: no whole record was found", s->path);
    return STK_OK;
}

/* A header that is damaged too costs the shared tables, nothing else. */
static stk_status read_header(salvaged *s, stk_error *error)
{
    uint64_t n;
    STK_TRY(stk_file_size(&s->file, &n, error));
    s->head.total_bytes = n;
    stk_status status = STK_ERR_CORRUPT;
    if (n >= sizeof s->header) {
        STK_TRY(stk_file_read_at(&s->file, &s->header, sizeof s->header, 0, error));
        status = stk_header_check(&s->header, s->path, error);
    }
    if (status == STK_ERR_VERSION) return status;
    if (status != STK_OK) s->header = (stk_shard_header){.n_table_sets = UINT32_MAX};
    return STK_OK;
}

/* How many records the shard had, by its end where that is whole; 0: not known. */
static uint64_t count_by_trailer(const salvaged *s)
{
    stk_shard_trailer t;
    if (s->head.total_bytes < sizeof t) return 0;
    if (stk_file_read_at(&s->file, &t, sizeof t, s->head.total_bytes - sizeof t, NULL) != STK_OK) return 0;
    bool whole = memcmp(t.magic, stk_shard_end_magic, STK_MAGIC_BYTES) == 0 &&
                 t.xxh3 == stk_hash64(&t, offsetof(stk_shard_trailer, xxh3));
    return whole ? t.n_records : 0;
}

/* "missing": records that were in the shard and are not found; "end": whether those behind the last one found are among
 * them, or nobody knows of them. */
static void count_missing(salvaged *s)
{
    uint64_t n = s->head.n_rows, all = count_by_trailer(s), first, last, missing;
    memcpy(&first, s->numbers.data, sizeof first);
    memcpy(&last, s->numbers.data + (n - 1) * sizeof last, sizeof last);
    if (s->header.n_table_sets != UINT32_MAX && s->header.first_record <= first) first = s->header.first_record;
    missing = all >= n ? all - n : last - first + 1 - n;
    snprintf(s->metadata, sizeof s->metadata, "{\"salvaged\":true,\"missing\":%llu,\"end\":%s}",
             (unsigned long long)missing, all >= n ? "true" : "false");
    s->head.metadata = s->metadata;
}

static void fill_head(salvaged *s)
{
    static const stk_column column = {.name = "record", .type = STK_TYPE_U64, .n_items = 1};
    stk_storage *head = &s->head;
    head->ops = &salvaged_ops;
    head->n_rows = s->rows.n_bytes / sizeof(stk_core_row);
    head->n_files = 1;
    head->n_columns = 1;
    head->columns = &column;
    count_missing(s);
    /* Without a header no set can be found; records that name one are then refused at their turn. */
    if (s->header.n_table_sets == UINT32_MAX) s->header.n_table_sets = 0;
    head->n_table_sets = s->header.n_table_sets;
    stk_hash128_text(stk_hash128_of(s->rows.data, s->rows.n_bytes), head->id);
}

stk_status stk_shard_salvage(const char *path, stk_storage **out, stk_error *error)
{
    *out = NULL;
    salvaged *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a shard");
    s->file = STK_FILE_CLOSED;
    stk_status status = STK_OK;
    s->path = strdup(path);
    s->hasher = stk_hasher_open();
    if (s->path == NULL || s->hasher == NULL) {
        status = stk_fail_memory(error, "a shard");
        goto cleanup;
    }
    STK_GOTO(stk_file_open_read(s->path, &s->file, error));
    STK_GOTO(read_header(s, error));
    STK_GOTO(scan(s, error));
    fill_head(s);
    *out = &s->head;
    s = NULL;
cleanup:
    if (s != NULL) salvaged_close(&s->head);
    return status;
}
