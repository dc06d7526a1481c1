/* SPDX-License-Identifier: Apache-2.0
 *
 * All of a shard but its payloads, read once from front to back in bounded memory. */
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "format/shard_internal.h"

/* After so many bad values the file is beyond naming each. */
enum { PIECE_BYTES = 1 << 20, MAX_BAD_VALUES = 1000 };

typedef struct checker {
    stk_shard *shard;
    stk_storage_issue_fn fn;
    void *user;
    stk_hasher *hasher; /* of the data set id */
    stk_buffer bytes;
    uint64_t next_payload;  /* where the next record's payload must lie */
    uint64_t payload_bytes; /* so far */
    stk_error found;        /* text of the finding at hand */
} checker;

static void report(checker *c, uint64_t record, uint64_t offset)
{
    stk_storage_issue issue = {.record = record, .offset = offset, .reason = c->found.text};
    c->fn(c->user, &issue);
}

/* A failure of the disk ends the check; damage is a finding, and the check goes on. */
static bool is_finding(stk_status status)
{
    return status == STK_ERR_CORRUPT || status == STK_ERR_CHECKSUM || status == STK_ERR_VERSION;
}

static stk_status read_piece(checker *c, uint64_t at, size_t n_bytes, stk_error *error)
{
    STK_TRY(stk_buffer_resize(&c->bytes, n_bytes, error));
    STK_TRY(stk_file_read_at(&c->shard->file, c->bytes.data, n_bytes, at, error));
    stk_hasher_add(c->hasher, c->bytes.data, n_bytes);
    return STK_OK;
}

static stk_status check_tables(checker *c, stk_error *error)
{
    stk_shard *s = c->shard;
    if (s->header.n_table_sets == 0) return STK_OK;
    STK_TRY(read_piece(c, sizeof s->header, s->header.n_table_sets * sizeof(stk_table_entry), error));
    for (uint32_t i = 0; i < s->header.n_table_sets; i++) {
        const uint8_t *blob;
        size_t n_bytes;
        stk_status status = s->head.ops->tables(&s->head, i, &blob, &n_bytes, &c->found);
        if (is_finding(status))
            report(c, UINT64_MAX, sizeof s->header);
        else if (status != STK_OK)
            return stk_fail(error, status, "%s", c->found.text);
    }
    return STK_OK;
}

/* Records lie one after the other without gaps; nothing can hide between them. */
static void check_places(checker *c, uint64_t first_row, uint64_t n_rows)
{
    stk_shard *s = c->shard;
    for (uint64_t i = 0; i < n_rows; i++) {
        stk_core_row row;
        memcpy(&row, c->bytes.data + sizeof(stk_unit_header) + i * sizeof row, sizeof row);
        const char *fault = stk_core_row_fault(&row, &s->header, s->index.trailer.index_offset);
        if (fault == NULL && row.offset != c->next_payload)
            fault = "a place that is not right after the one before";
        if (fault != NULL) {
            stk_fail(&c->found, STK_ERR_CORRUPT, "%s: record %llu: the index gives %s", s->path,
                     (unsigned long long)(first_row + i), fault);
            report(c, first_row + i, row.offset);
        }
        c->next_payload = stk_align_record(row.offset + row.n_bytes) + sizeof(stk_record_header);
        c->payload_bytes += row.n_bytes;
    }
}

static void check_references(checker *c, uint32_t column, uint64_t first_row, uint64_t n_rows, uint64_t at)
{
    for (uint64_t i = 0; i < n_rows; i++) {
        if (stk_index_slot_ok(&c->shard->index, column, c->bytes.data, i)) continue;
        stk_fail(&c->found, STK_ERR_CORRUPT, "%s: column '%s' of record %llu points outside its section",
                 c->shard->path, c->shard->head.columns[column].name, (unsigned long long)(first_row + i));
        report(c, first_row + i, at);
    }
}

static stk_status check_unit(checker *c, uint32_t unit, uint64_t block, stk_error *error)
{
    stk_index_reader *index = &c->shard->index;
    uint64_t n_bytes, at = stk_index_unit_place(index, unit, block, &n_bytes);
    uint64_t first = block * STK_BLOCK_ROWS, n_rows = stk_index_block_rows(index, block);
    STK_TRY(read_piece(c, at, (size_t)n_bytes, error));
    if (stk_index_check_unit(index, unit, block, c->bytes.data, n_bytes, &c->found) != STK_OK)
        report(c, UINT64_MAX, at);
    else if (unit == 0)
        check_places(c, first, n_rows);
    else
        check_references(c, unit - 1, first, n_rows, at);
    return STK_OK;
}

static stk_status check_index(checker *c, stk_error *error)
{
    stk_index_reader *index = &c->shard->index;
    c->next_payload = c->shard->header.records_offset + sizeof(stk_record_header);
    for (uint64_t block = 0; block < index->n_blocks; block++) {
        for (uint32_t unit = 0; unit <= index->trailer.n_columns; unit++)
            STK_TRY(check_unit(c, unit, block, error));
    }
    return STK_OK;
}

/* Strings, column table and metadata: the rest up to the trailer. */
static stk_status hash_rest(checker *c, stk_error *error)
{
    const stk_shard_trailer *t = &c->shard->index.trailer;
    uint64_t at = t->strings_offset, end = t->metadata_offset + t->metadata_bytes;
    while (at < end) {
        size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        STK_TRY(read_piece(c, at, n, error));
        at += n;
    }
    return STK_OK;
}

/* When the id does not fit, which value is it? */
static stk_status find_bad_values(checker *c, stk_error *error)
{
    stk_storage *head = &c->shard->head;
    stk_value value;
    uint32_t n_bad = 0;
    for (uint32_t column = 0; column < head->n_columns; column++) {
        for (uint64_t i = 0; i < head->n_rows; i++) {
            stk_status status =
                head->ops->value(head, column, i, c->bytes.data, c->bytes.capacity, &value, &c->found);
            if (status == STK_ERR_LIMIT) {
                STK_TRY(stk_buffer_reserve(&c->bytes, value.n_bytes, error));
                status =
                    head->ops->value(head, column, i, c->bytes.data, c->bytes.capacity, &value, &c->found);
            }
            if (is_finding(status)) {
                report(c, i, c->shard->index.trailer.strings_offset);
                if (++n_bad == MAX_BAD_VALUES) return STK_OK;
            } else if (status != STK_OK)
                return stk_fail(error, status, "%s", c->found.text);
        }
    }
    return STK_OK;
}

static stk_status check_id(checker *c, stk_error *error)
{
    const stk_shard_trailer *t = &c->shard->index.trailer;
    uint8_t id[16];
    stk_id_from_hash(stk_hasher_result128(c->hasher), id);
    if (memcmp(id, t->id, sizeof id) != 0) {
        stk_fail(&c->found, STK_ERR_CORRUPT, "%s: the data set id does not fit the content", c->shard->path);
        report(c, UINT64_MAX, t->file_bytes - sizeof *t);
        return find_bad_values(c, error);
    }
    if (c->payload_bytes != t->payload_bytes) {
        stk_fail(&c->found, STK_ERR_CORRUPT, "%s: the trailer's sum of payload bytes is wrong",
                 c->shard->path);
        report(c, UINT64_MAX, t->file_bytes - sizeof *t);
    }
    return STK_OK;
}

stk_status stk_shard_check(stk_storage *self, stk_storage_issue_fn fn, void *user, stk_error *error)
{
    checker c = {.shard = (stk_shard *)self, .fn = fn, .user = user, .hasher = stk_hasher_open()};
    if (c.hasher == NULL) return stk_fail_memory(error, "a checksum");
    stk_status status;
    STK_GOTO(stk_buffer_reserve(&c.bytes, PIECE_BYTES, error));
    STK_GOTO(check_tables(&c, error));
    STK_GOTO(check_index(&c, error));
    STK_GOTO(hash_rest(&c, error));
    STK_GOTO(check_id(&c, error));
cleanup:
    stk_buffer_free(&c.bytes);
    stk_hasher_close(&c.hasher);
    return status;
}

stk_status stk_shard_check_record(stk_storage *self, uint64_t i, stk_error *error)
{
    stk_shard *s = (stk_shard *)self;
    stk_row row;
    stk_record_header h;
    STK_TRY(stk_shard_row(self, i, &row, error));
    STK_TRY(stk_file_read_at(&s->file, &h, sizeof h, row.offset - sizeof h, error));
    if (stk_record_header_ok(&h) && h.number == s->header.first_record + i && h.label == row.label &&
        h.n_bytes == row.n_bytes && h.payload_xxh3 == row.xxh3 && h.width == row.width &&
        h.height == row.height && h.tables == row.tables && h.encoding == row.encoding &&
        h.orientation == row.orientation && h.channels == row.channels)
        return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "%s: the header of record %llu at byte %llu is damaged", s->path,
                    (unsigned long long)i, (unsigned long long)(row.offset - sizeof h));
}
