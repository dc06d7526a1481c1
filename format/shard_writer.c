/* SPDX-License-Identifier: Apache-2.0 */
#include "format/shard_writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/json.h"
#include "format/index_builder.h"
#include "format/layout.h"
#include "format/shard_writer_internal.h"

uint64_t stk_shard_writer_bytes(const stk_shard_writer *w)
{
    return w->written + w->gather.n_bytes;
}

stk_status stk_shard_writer_flush(stk_shard_writer *w, stk_error *error)
{
    STK_TRY(stk_file_write_at(&w->file, w->gather.data, w->gather.n_bytes, w->written, error));
    w->written += w->gather.n_bytes;
    w->gather.n_bytes = 0;
    return STK_OK;
}

static stk_status put(stk_shard_writer *w, const void *data, size_t n_bytes, stk_error *error)
{
    if (n_bytes >= STK_DIRECT_BYTES) {
        STK_TRY(stk_shard_writer_flush(w, error));
        STK_TRY(stk_file_write_at(&w->file, data, n_bytes, w->written, error));
        w->written += n_bytes;
        return STK_OK;
    }
    if (w->gather.n_bytes + n_bytes > STK_GATHER_BYTES) STK_TRY(stk_shard_writer_flush(w, error));
    return stk_buffer_append(&w->gather, data, n_bytes, error);
}

static stk_status pad_record(stk_shard_writer *w, stk_error *error)
{
    static const uint8_t zeros[STK_RECORD_ALIGN];
    uint64_t at = stk_shard_writer_bytes(w);
    return put(w, zeros, (size_t)(stk_align_record(at) - at), error);
}

/* Table sets lie in front, so that a shard without its end still has them. */
static stk_status plan_table_sets(stk_shard_writer *w, const stk_shard_writer_options *options,
                                  stk_error *error)
{
    uint64_t at = sizeof w->header + (uint64_t)options->n_table_sets * sizeof(stk_table_entry);
    if (options->n_table_sets > STK_MAX_TABLE_SETS)
        return stk_fail(error, STK_ERR_LIMIT, "at most %d table sets fit into a shard", STK_MAX_TABLE_SETS);
    STK_TRY(stk_buffer_reserve(&w->directory, 1, error));
    for (uint32_t i = 0; i < options->n_table_sets; i++) {
        size_t n_bytes = options->table_set_bytes[i];
        if (n_bytes == 0 || n_bytes > STK_MAX_TABLE_SET_BYTES)
            return stk_fail(error, STK_ERR_LIMIT, "table set %u has %zu bytes; 1 to %d are possible", i,
                            n_bytes, STK_MAX_TABLE_SET_BYTES);
        at = stk_align_record(at);
        stk_table_entry entry = {
            .offset = at, .n_bytes = n_bytes, .xxh3 = stk_hash64(options->table_sets[i], n_bytes)};
        STK_TRY(stk_buffer_append(&w->directory, &entry, sizeof entry, error));
        at += n_bytes;
    }
    w->header.n_table_sets = options->n_table_sets;
    w->header.tables_xxh3 = stk_hash64(w->directory.data, w->directory.n_bytes);
    w->header.records_offset = stk_align_record(at);
    return STK_OK;
}

stk_status stk_shard_writer_plan_head(stk_shard_writer *w, const stk_shard_writer_options *options,
                                      stk_error *error)
{
    memcpy(w->header.magic, stk_shard_magic, STK_MAGIC_BYTES);
    w->header.major = STK_SHARD_MAJOR;
    w->header.minor = STK_SHARD_MINOR;
    w->header.header_bytes = sizeof w->header;
    w->header.first_record = options->first_record;
    STK_TRY(plan_table_sets(w, options, error));
    stk_header_seal(&w->header);
    return STK_OK;
}

static stk_status write_head(stk_shard_writer *w, const stk_shard_writer_options *options, stk_error *error)
{
    STK_TRY(stk_shard_writer_plan_head(w, options, error));
    STK_TRY(put(w, &w->header, sizeof w->header, error));
    STK_TRY(put(w, w->directory.data, w->directory.n_bytes, error));
    for (uint32_t i = 0; i < options->n_table_sets; i++) {
        STK_TRY(pad_record(w, error));
        STK_TRY(put(w, options->table_sets[i], options->table_set_bytes[i], error));
    }
    return pad_record(w, error);
}

stk_status stk_shard_writer_alloc(const char *path, const stk_shard_writer_options *options,
                                  stk_shard_writer **out, stk_error *error)
{
    *out = NULL;
    stk_shard_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return stk_fail_memory(error, "a shard writer");
    w->file = STK_FILE_CLOSED;
    stk_status status = STK_OK;
    w->path = strdup(path);
    if (w->path == NULL) {
        status = stk_fail_memory(error, "a shard writer");
        goto cleanup;
    }
    STK_GOTO(stk_buffer_reserve(&w->gather, STK_GATHER_BYTES, error));
    STK_GOTO(stk_index_builder_open(w->path, options->columns, options->n_columns, &w->index, error));
    *out = w;
    w = NULL;
cleanup:
    stk_shard_writer_close(&w);
    return status;
}

stk_status stk_shard_writer_open(const char *path, const stk_shard_writer_options *options,
                                 stk_shard_writer **out, stk_error *error)
{
    *out = NULL;
    stk_shard_writer *w = NULL;
    stk_status status = STK_OK;
    STK_GOTO(stk_shard_writer_alloc(path, options, &w, error));
    STK_GOTO(stk_file_create(w->path, &w->file, error));
    STK_GOTO(write_head(w, options, error));
    *out = w;
    w = NULL;
cleanup:
    stk_shard_writer_close(&w);
    return status;
}

stk_status stk_shard_writer_check(const stk_shard_writer *w, const stk_record *r, stk_error *error)
{
    unsigned long long n = (unsigned long long)w->n_records;
    if (w->finished || w->failed)
        return stk_fail(error, STK_ERR_STATE, "%s: %s; no record can be added", w->path,
                        w->finished ? "is finished already" : "an earlier write failed");
    if (r->encoding <= STK_ENCODING_UNKNOWN || r->encoding > UINT8_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: record %llu has no encoding", w->path, n);
    if (r->orientation < 1 || r->orientation > 8)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: record %llu: orientation %u is not 1..8", w->path, n,
                        r->orientation);
    if (r->tables > w->header.n_table_sets)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: record %llu names table set %u of %u", w->path, n,
                        r->tables, w->header.n_table_sets);
    if (r->encoding == STK_ENCODING_RAW &&
        (r->channels == 0 || r->n_bytes / r->channels != (uint64_t)r->width * r->height ||
         r->n_bytes % r->channels != 0))
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "%s: record %llu: raw pixels need width x height x channels bytes", w->path, n);
    return STK_OK;
}

static stk_status put_record(stk_shard_writer *w, const stk_record *r, stk_error *error)
{
    stk_record_header header = {.encoding = (uint8_t)r->encoding,
                                .orientation = r->orientation,
                                .channels = r->channels,
                                .number = w->header.first_record + w->n_records,
                                .label = r->label,
                                .n_bytes = r->n_bytes,
                                .payload_xxh3 = r->xxh3,
                                .width = r->width,
                                .height = r->height,
                                .tables = r->tables};
    memcpy(header.magic, stk_record_magic, sizeof header.magic);
    stk_record_header_seal(&header);
    STK_TRY(put(w, &header, sizeof header, error));
    STK_TRY(put(w, r->payload, r->n_bytes, error));
    return pad_record(w, error);
}

stk_status stk_shard_writer_count(stk_shard_writer *w, const stk_core_row *row, const stk_cell *cells,
                                  stk_error *error)
{
    STK_TRY(stk_index_builder_add(w->index, row, cells, error));
    w->n_records++;
    w->payload_bytes += row->n_bytes;
    if (row->label != -1) w->has_labels = true;
    return STK_OK;
}

stk_status stk_shard_writer_add(stk_shard_writer *w, const stk_record *r, uint64_t *offset, stk_error *error)
{
    STK_TRY(stk_shard_writer_check(w, r, error));
    STK_TRY(stk_index_builder_check(w->index, r->cells, error));
    STK_TRY(stk_shard_writer_end_adoption(w, error));
    uint64_t payload = stk_shard_writer_bytes(w) + sizeof(stk_record_header);
    stk_core_row row = {.offset = payload,
                        .n_bytes = r->n_bytes,
                        .xxh3 = r->xxh3,
                        .label = r->label,
                        .width = r->width,
                        .height = r->height,
                        .tables = r->tables,
                        .encoding = (uint8_t)r->encoding,
                        .orientation = r->orientation,
                        .channels = r->channels};
    stk_status status;
    STK_GOTO(put_record(w, r, error));
    STK_GOTO(stk_shard_writer_count(w, &row, r->cells, error));
    if (offset != NULL) *offset = payload;
cleanup:
    if (status != STK_OK) w->failed = true;
    return status;
}

static void fill_trailer(const stk_shard_writer *w, const stk_index_sections *sections, const char *metadata,
                         stk_shard_trailer *t)
{
    t->index_offset = w->written;
    t->index_bytes = sections->index_bytes;
    t->strings_offset = t->index_offset + t->index_bytes;
    t->strings_bytes = sections->strings_bytes;
    t->columns_offset = t->strings_offset + t->strings_bytes;
    t->columns_bytes = sections->column_table.n_bytes;
    t->metadata_offset = t->columns_offset + t->columns_bytes;
    t->metadata_bytes = strlen(metadata);
    t->n_records = w->n_records;
    t->payload_bytes = w->payload_bytes;
    t->block_rows = STK_BLOCK_ROWS;
    t->core_row_bytes = sizeof(stk_core_row);
    t->n_columns = sections->n_columns;
    t->flags = w->has_labels ? STK_TRAILER_LABELS : 0;
    t->columns_xxh3 = stk_hash64(sections->column_table.data, sections->column_table.n_bytes);
    t->metadata_xxh3 = stk_hash64(metadata, t->metadata_bytes);
    t->header_xxh3 = w->header.xxh3;
    t->file_bytes = t->metadata_offset + t->metadata_bytes + sizeof *t;
    memcpy(t->magic, stk_shard_end_magic, STK_MAGIC_BYTES);
}

/* The id covers everything but header and payloads; those are covered by the checksums in the index. */
static stk_status write_end(stk_shard_writer *w, const char *metadata, char *id, stk_hasher *hasher,
                            stk_error *error)
{
    stk_index_sections sections;
    stk_shard_trailer trailer = {0};
    STK_TRY(stk_index_builder_finish(w->index, &sections, error));
    STK_TRY(stk_shard_writer_flush(w, error));
    fill_trailer(w, &sections, metadata, &trailer);
    stk_hasher_add(hasher, w->directory.data, w->directory.n_bytes);
    STK_TRY(stk_index_builder_copy(w->index, &w->file, w->written, hasher, error));
    w->written = trailer.columns_offset;
    stk_hasher_add(hasher, sections.column_table.data, sections.column_table.n_bytes);
    stk_hasher_add(hasher, metadata, trailer.metadata_bytes);
    stk_hash128 hash = stk_hasher_result128(hasher);
    stk_id_from_hash(hash, trailer.id);
    stk_trailer_seal(&trailer);
    STK_TRY(put(w, sections.column_table.data, sections.column_table.n_bytes, error));
    STK_TRY(put(w, metadata, trailer.metadata_bytes, error));
    STK_TRY(put(w, &trailer, sizeof trailer, error));
    STK_TRY(stk_shard_writer_flush(w, error));
    STK_TRY(stk_file_sync(&w->file, error));
    STK_TRY(stk_file_close_checked(&w->file, error));
    stk_hash128_text(hash, id);
    return STK_OK;
}

static stk_status check_metadata(const char *metadata, stk_error *error)
{
    stk_json *root = NULL;
    if (strlen(metadata) > STK_MAX_METADATA)
        return stk_fail(error, STK_ERR_LIMIT, "metadata: more than %d bytes", STK_MAX_METADATA);
    stk_status status = stk_json_parse(metadata, strlen(metadata), &root, error);
    if (status == STK_OK && stk_json_kind_of(root) != STK_JSON_OBJECT)
        status = stk_fail(error, STK_ERR_ARGUMENT, "is no JSON object");
    if (status != STK_OK) stk_fail_prefix(error, "metadata: ");
    stk_json_close(&root);
    return status;
}

stk_status stk_shard_writer_finish(stk_shard_writer *w, const char *metadata, char *id, stk_error *error)
{
    if (w->finished || w->failed)
        return stk_fail(error, STK_ERR_STATE, "%s: %s", w->path,
                        w->finished ? "is finished already" : "an earlier write failed");
    STK_TRY(check_metadata(metadata, error));
    STK_TRY(stk_shard_writer_end_adoption(w, error));
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "a checksum");
    stk_status status = write_end(w, metadata, id, hasher, error);
    w->finished = status == STK_OK;
    w->failed = status != STK_OK;
    stk_hasher_close(&hasher);
    return status;
}

void stk_shard_writer_close(stk_shard_writer **writer)
{
    stk_shard_writer *w = *writer;
    if (w == NULL) return;
    /* Only a file that this writer created is removed. */
    bool created = w->file.fd >= 0 || w->failed;
    stk_file_close(&w->file);
    if (created && !w->finished && !w->keep) unlink(w->path);
    stk_index_builder_close(&w->index);
    stk_buffer_free(&w->gather);
    stk_buffer_free(&w->directory);
    stk_buffer_free(&w->window);
    free(w->path);
    free(w);
    *writer = NULL;
}
