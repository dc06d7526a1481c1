/* SPDX-License-Identifier: Apache-2.0 */
#include "format/shard_reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "format/shard_internal.h"

static void shard_close(stk_storage *self)
{
    stk_shard *s = (stk_shard *)self;
    stk_table_sets_close(&s->tables);
    stk_metadata_close(&s->metadata);
    stk_index_reader_close(&s->index);
    stk_file_close(&s->file);
    free(s->path);
    free(s);
}

stk_status stk_shard_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error)
{
    stk_shard *s = (stk_shard *)self;
    const uint8_t *unit;
    STK_TRY(stk_index_unit(&s->index, 0, i >> STK_BLOCK_SHIFT, &unit, error));
    stk_core_row row;
    memcpy(&row, unit + sizeof(stk_unit_header) + (i & (STK_BLOCK_ROWS - 1)) * sizeof row, sizeof row);
    const char *fault = stk_core_row_fault(&row, &s->header, s->index.trailer.index_offset);
    if (__builtin_expect(fault != NULL, 0))
        return stk_fail(error, STK_ERR_CORRUPT, "%s: record %llu: the index gives %s", s->path,
                        (unsigned long long)i, fault);
    *out = stk_row_from_core(&row);
    return STK_OK;
}

static stk_status shard_file(stk_storage *self, uint32_t number, stk_file *out, uint64_t *n_bytes,
                             stk_error *error)
{
    stk_shard *s = (stk_shard *)self;
    if (number != 0) return stk_fail(error, STK_ERR_ARGUMENT, "%s: is one file, not %u", s->path, number);
    *out = s->file;
    *n_bytes = s->head.total_bytes;
    return STK_OK;
}

static stk_status shard_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                              stk_value *out, stk_error *error)
{
    stk_shard *s = (stk_shard *)self;
    if (column >= self->n_columns || i >= self->n_rows)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: no column %u or no record %llu", s->path, column,
                        (unsigned long long)i);
    return stk_index_value(&s->index, column, i, buffer, capacity, out, error);
}

static stk_status shard_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                               stk_error *error)
{
    stk_shard *s = (stk_shard *)self;
    return stk_table_sets_get(&s->tables, &s->file, &s->header, set, blob, n_bytes, error);
}

static const stk_storage_ops shard_ops = {.name = "stk",
                                          .close = shard_close,
                                          .row = stk_shard_row,
                                          .file = shard_file,
                                          .value = shard_value,
                                          .tables = shard_tables,
                                          .check = stk_shard_check,
                                          .check_record = stk_shard_check_record};

uint64_t stk_shard_first_record(const stk_storage *storage)
{
    return ((const stk_shard *)storage)->header.first_record;
}

/* A file of which not even the magic is there gets the magic's error, not "too short". */
static stk_status read_ends(stk_shard *s, stk_shard_trailer *trailer, stk_error *error)
{
    uint64_t n = 0;
    STK_TRY(stk_file_size(&s->file, &n, error));
    s->head.total_bytes = n;
    size_t head = n < sizeof s->header ? (size_t)n : sizeof s->header;
    STK_TRY(stk_file_read_at(&s->file, &s->header, head, 0, error));
    if (n < sizeof s->header + sizeof *trailer &&
        memcmp(s->header.magic, stk_shard_magic, STK_MAGIC_BYTES) == 0)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: cut off after %llu bytes; copy it again", s->path,
                        (unsigned long long)n);
    STK_TRY(stk_header_check(&s->header, s->path, error));
    STK_TRY(stk_file_read_at(&s->file, trailer, sizeof *trailer, n - sizeof *trailer, error));
    return stk_trailer_check(trailer, &s->header, n, s->path, error);
}

static void fill_head(stk_shard *s, const stk_shard_trailer *trailer)
{
    stk_storage *head = &s->head;
    head->ops = &shard_ops;
    head->n_rows = trailer->n_records;
    head->n_files = 1;
    head->n_columns = trailer->n_columns;
    head->columns = s->index.columns;
    head->n_classes = s->metadata.n_classes;
    head->class_names = s->metadata.class_names;
    head->metadata = s->metadata.text;
    head->has_labels = (trailer->flags & STK_TRAILER_LABELS) != 0;
    head->n_table_sets = s->header.n_table_sets;
    stk_id_text(trailer->id, head->id);
}

static stk_status read_metadata(stk_shard *s, const stk_shard_trailer *t, stk_error *error)
{
    char *text = malloc((size_t)t->metadata_bytes + 1);
    if (text == NULL) return stk_fail_memory(error, "metadata");
    stk_status status =
        stk_file_read_at(&s->file, text, (size_t)t->metadata_bytes, t->metadata_offset, error);
    if (status == STK_OK && stk_hash64(text, (size_t)t->metadata_bytes) != t->metadata_xxh3)
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: the metadata at byte %llu is damaged (checksum)",
                          s->path, (unsigned long long)t->metadata_offset);
    if (status != STK_OK) {
        free(text);
        return status;
    }
    text[t->metadata_bytes] = '\0';
    return stk_metadata_open(&s->metadata, text, (size_t)t->metadata_bytes, s->path, error);
}

static stk_status open_plain(const char *path, stk_storage **out, stk_error *error)
{
    *out = NULL;
    stk_shard *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a shard");
    s->file = STK_FILE_CLOSED;
    stk_status status = STK_OK;
    s->path = strdup(path);
    if (s->path == NULL) {
        status = stk_fail_memory(error, "a shard");
        goto cleanup;
    }
    stk_shard_trailer trailer;
    STK_GOTO(stk_file_open_read(s->path, &s->file, error));
    STK_GOTO(read_ends(s, &trailer, error));
    STK_GOTO(stk_index_reader_open(&s->index, &s->file, &trailer, error));
    STK_GOTO(read_metadata(s, &trailer, error));
    fill_head(s, &trailer);
    *out = &s->head;
    s = NULL;
cleanup:
    if (s != NULL) shard_close(&s->head);
    return status;
}

/* Whether every place in the index can be trusted, for salvage: the end may be there and the middle not. */
static stk_status check_all_places(stk_storage *storage, stk_error *error)
{
    stk_row row;
    for (uint64_t i = 0; i < storage->n_rows; i++)
        STK_TRY(stk_shard_row(storage, i, &row, error));
    return STK_OK;
}

stk_status stk_shard_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                          stk_error *error)
{
    stk_status status = open_plain(path, out, error);
    if (options == NULL || !options->salvage) return status;
    if (status == STK_OK) status = check_all_places(*out, error);
    if (status != STK_ERR_CORRUPT) return status;
    stk_storage_close(out);
    return stk_shard_salvage(path, out, error);
}
