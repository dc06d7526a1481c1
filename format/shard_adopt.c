/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with a shard whose writer was killed. Its records are read and checked one by one: after a power
 * cut any part of the file may be missing, whatever its length says. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/shard_writer_internal.h"

static stk_status read_and_compare(stk_shard_writer *w, uint64_t at, const void *want, size_t n_bytes,
                                   stk_error *error)
{
    STK_TRY(stk_buffer_resize(&w->window, n_bytes, error));
    STK_TRY(stk_file_read_at(&w->file, w->window.data, n_bytes, at, error));
    if (memcmp(w->window.data, want, n_bytes) == 0) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "%s: begins differently from what is to be written", w->path);
}

static stk_status check_head(stk_shard_writer *w, const stk_shard_writer_options *options, stk_error *error)
{
    STK_TRY(stk_shard_writer_plan_head(w, options, error));
    STK_TRY(read_and_compare(w, 0, &w->header, sizeof w->header, error));
    STK_TRY(read_and_compare(w, sizeof w->header, w->directory.data, w->directory.n_bytes, error));
    for (uint32_t i = 0; i < options->n_table_sets; i++) {
        stk_table_entry entry;
        memcpy(&entry, w->directory.data + i * sizeof entry, sizeof entry);
        STK_TRY(
            read_and_compare(w, entry.offset, options->table_sets[i], options->table_set_bytes[i], error));
    }
    w->written = w->header.records_offset;
    w->window.n_bytes = 0;
    return STK_OK;
}

stk_status stk_shard_writer_reopen(const char *path, const stk_shard_writer_options *options,
                                   stk_shard_writer **out, stk_error *error)
{
    *out = NULL;
    stk_shard_writer *w = NULL;
    stk_status status = STK_OK;
    STK_GOTO(stk_shard_writer_alloc(path, options, &w, error));
    w->keep = true;
    STK_GOTO(stk_file_open_update(w->path, &w->file, error));
    STK_GOTO(check_head(w, options, error));
    w->adopting = true;
    w->keep = false;
    *out = w;
    w = NULL;
cleanup:
    stk_shard_writer_close(&w);
    return status;
}

/* n bytes at `at` through the window; *out NULL when the file ends before or cannot be read there. */
static stk_status peek(stk_shard_writer *w, uint64_t at, size_t n_bytes, const uint8_t **out,
                       stk_error *error)
{
    uint64_t size = 0;
    *out = NULL;
    if (at < w->window_start || at - w->window_start > w->window.n_bytes ||
        w->window.n_bytes - (size_t)(at - w->window_start) < n_bytes) {
        STK_TRY(stk_file_size(&w->file, &size, error));
        if (at > size || size - at < n_bytes) return STK_OK;
        size_t n = size - at < STK_GATHER_BYTES ? (size_t)(size - at) : STK_GATHER_BYTES;
        STK_TRY(stk_buffer_resize(&w->window, n > n_bytes ? n : n_bytes, error));
        w->window_start = at;
        if (stk_file_read_at(&w->file, w->window.data, w->window.n_bytes, at, NULL) != STK_OK) {
            w->window.n_bytes = 0;
            return STK_OK;
        }
    }
    *out = w->window.data + (at - w->window_start);
    return STK_OK;
}

static stk_status payload_is_whole(stk_shard_writer *w, uint64_t at, uint64_t n_bytes, uint64_t xxh3,
                                   bool *whole, stk_error *error)
{
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "a checksum");
    stk_status status = STK_OK;
    const uint8_t *bytes = NULL;
    *whole = false;
    while (n_bytes > 0) {
        size_t n = n_bytes < STK_GATHER_BYTES ? (size_t)n_bytes : STK_GATHER_BYTES;
        STK_GOTO(peek(w, at, n, &bytes, error));
        if (bytes == NULL) goto cleanup;
        stk_hasher_add(hasher, bytes, n);
        at += n;
        n_bytes -= n;
    }
    *whole = stk_hasher_result64(hasher) == xxh3;
cleanup:
    stk_hasher_close(&hasher);
    return status;
}

stk_status stk_shard_writer_adopt(stk_shard_writer *w, int64_t label, const stk_cell *cells, bool *adopted,
                                  stk_error *error)
{
    const uint8_t *bytes;
    stk_record_header h;
    *adopted = false;
    if (!w->adopting) return STK_OK;
    STK_TRY(peek(w, w->written, sizeof h, &bytes, error));
    if (bytes == NULL) return STK_OK;
    memcpy(&h, bytes, sizeof h);
    stk_record record = {.n_bytes = h.n_bytes,
                         .encoding = (stk_encoding)h.encoding,
                         .orientation = h.orientation,
                         .channels = h.channels,
                         .width = h.width,
                         .height = h.height,
                         .tables = h.tables};
    if (!stk_record_header_ok(&h) || h.number != w->header.first_record + w->n_records || h.label != label ||
        stk_shard_writer_check(w, &record, NULL) != STK_OK)
        return STK_OK;
    uint64_t payload = w->written + sizeof h;
    bool whole = false;
    STK_TRY(payload_is_whole(w, payload, h.n_bytes, h.payload_xxh3, &whole, error));
    if (!whole) return STK_OK;
    stk_core_row row = stk_record_header_row(&h, payload);
    STK_TRY(stk_index_builder_check(w->index, cells, error));
    STK_TRY(stk_shard_writer_count(w, &row, cells, error));
    w->written = stk_align_record(payload + h.n_bytes);
    *adopted = true;
    return STK_OK;
}

/* Cuts off what was not adopted. On the disk before anything new is: after a power cut nothing of it may come
 * back between new records. */
stk_status stk_shard_writer_end_adoption(stk_shard_writer *w, stk_error *error)
{
    if (!w->adopting) return STK_OK;
    w->adopting = false;
    stk_buffer_free(&w->window);
    if (ftruncate(w->file.fd, (off_t)w->written) != 0)
        return stk_fail_errno(error, errno, "%s: cannot be cut", w->path);
    return stk_file_sync(&w->file, error);
}

stk_status stk_shard_writer_keep(stk_shard_writer *w, stk_error *error)
{
    w->keep = true;
    if (w->adopting || w->finished || w->failed) return STK_OK;
    return stk_shard_writer_flush(w, error);
}
