/* SPDX-License-Identifier: Apache-2.0 */
#include "format/shard_mend.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/shard_internal.h"
#include "format/shard_reader.h"

enum { PIECE_BYTES = 1 << 20 };

struct stk_shard_mender {
    stk_storage *storage;
    stk_file file;
    stk_buffer unit; /* the core unit at hand */
    uint64_t block;  /* whose unit that is; UINT64_MAX: none */
    bool unit_changed, index_changed;
};

static stk_shard *shard_of(stk_shard_mender *m)
{
    return (stk_shard *)m->storage;
}

stk_status stk_shard_mender_open(const char *path, stk_shard_mender **out, stk_error *error)
{
    *out = NULL;
    stk_shard_mender *m = calloc(1, sizeof *m);
    if (m == NULL) return stk_fail_memory(error, "mending a shard");
    m->file = STK_FILE_CLOSED;
    m->block = UINT64_MAX;
    stk_status status;
    STK_GOTO(stk_shard_open(path, NULL, &m->storage, error));
    STK_GOTO(stk_file_open_update(shard_of(m)->path, &m->file, error));
    *out = m;
    m = NULL;
cleanup:
    stk_shard_mender_close(&m);
    return status;
}

static stk_status write_unit(stk_shard_mender *m, stk_error *error)
{
    if (!m->unit_changed) return STK_OK;
    size_t covered = m->unit.n_bytes - sizeof(uint64_t);
    uint64_t n_bytes, xxh3 = stk_hash64(m->unit.data, covered);
    memcpy(m->unit.data + covered, &xxh3, sizeof xxh3);
    uint64_t at = stk_index_unit_place(&shard_of(m)->index, 0, m->block, &n_bytes);
    STK_TRY(stk_file_write_at(&m->file, m->unit.data, m->unit.n_bytes, at, error));
    m->unit_changed = false;
    m->index_changed = true;
    return STK_OK;
}

static stk_status read_unit(stk_shard_mender *m, uint64_t block, stk_error *error)
{
    if (m->block == block) return STK_OK;
    STK_TRY(write_unit(m, error));
    m->block = UINT64_MAX;
    const stk_index_reader *index = &shard_of(m)->index;
    uint64_t n_bytes, at = stk_index_unit_place(index, 0, block, &n_bytes);
    STK_TRY(stk_buffer_resize(&m->unit, (size_t)n_bytes, error));
    STK_TRY(stk_file_read_at(&m->file, m->unit.data, m->unit.n_bytes, at, error));
    STK_TRY(stk_index_check_unit(index, 0, block, m->unit.data, n_bytes, error));
    m->block = block;
    return STK_OK;
}

static stk_record_header header_of(const stk_core_row *row, uint64_t number)
{
    stk_record_header h = {.encoding = row->encoding,
                           .orientation = row->orientation,
                           .channels = row->channels,
                           .number = number,
                           .label = row->label,
                           .n_bytes = row->n_bytes,
                           .payload_xxh3 = row->xxh3,
                           .width = row->width,
                           .height = row->height,
                           .tables = row->tables};
    memcpy(h.magic, stk_record_magic, sizeof h.magic);
    stk_record_header_seal(&h);
    return h;
}

stk_status stk_shard_mender_set(stk_shard_mender *m, uint64_t i, uint8_t encoding, const uint8_t *payload,
                                stk_error *error)
{
    static const uint8_t zeros[STK_RECORD_ALIGN];
    stk_shard *s = shard_of(m);
    stk_core_row row;
    STK_TRY(read_unit(m, i / STK_BLOCK_ROWS, error));
    uint8_t *at = m->unit.data + sizeof(stk_unit_header) + i % STK_BLOCK_ROWS * sizeof row;
    memcpy(&row, at, sizeof row);
    const char *fault = stk_core_row_fault(&row, &s->header, s->index.trailer.index_offset);
    if (fault != NULL)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: record %llu: the index gives %s", s->path,
                        (unsigned long long)i, fault);
    if (row.encoding != encoding) {
        row.encoding = encoding;
        memcpy(at, &row, sizeof row);
        m->unit_changed = true;
    }
    stk_record_header h = header_of(&row, s->header.first_record + i);
    STK_TRY(stk_file_write_at(&m->file, &h, sizeof h, row.offset - sizeof h, error));
    if (payload == NULL) return STK_OK;
    uint64_t end = row.offset + row.n_bytes;
    STK_TRY(stk_file_write_at(&m->file, payload, (size_t)row.n_bytes, row.offset, error));
    return stk_file_write_at(&m->file, zeros, (size_t)(stk_align_record(end) - end), end, error);
}

static stk_status hash_range(stk_shard_mender *m, stk_hasher *hasher, uint64_t at, uint64_t end, stk_error *error)
{
    while (at < end) {
        size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        STK_TRY(stk_buffer_resize(&m->unit, n, error));
        STK_TRY(stk_file_read_at(&m->file, m->unit.data, n, at, error));
        stk_hasher_add(hasher, m->unit.data, n);
        at += n;
    }
    return STK_OK;
}

/* The data set id again, over the directory of table sets and all from the index to the trailer. */
static stk_status write_trailer(stk_shard_mender *m, stk_error *error)
{
    stk_shard *s = shard_of(m);
    stk_shard_trailer t = s->index.trailer;
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "a checksum");
    uint64_t trailer_at = t.file_bytes - sizeof t, directory = sizeof s->header;
    stk_status status;
    m->block = UINT64_MAX; /* its buffer is used for the pieces */
    STK_GOTO(hash_range(m, hasher, directory, directory + s->header.n_table_sets * sizeof(stk_table_entry), error));
    STK_GOTO(hash_range(m, hasher, t.index_offset, trailer_at, error));
    stk_id_from_hash(stk_hasher_result128(hasher), t.id);
    stk_trailer_seal(&t);
    STK_GOTO(stk_file_write_at(&m->file, &t, sizeof t, trailer_at, error));
    stk_id_text(t.id, s->head.id);
cleanup:
    stk_hasher_close(&hasher);
    return status;
}

stk_status stk_shard_mender_finish(stk_shard_mender *m, char *id, stk_error *error)
{
    STK_TRY(write_unit(m, error));
    if (m->index_changed) STK_TRY(write_trailer(m, error));
    STK_TRY(stk_file_sync(&m->file, error));
    memcpy(id, m->storage->id, sizeof m->storage->id);
    return stk_file_close_checked(&m->file, error);
}

void stk_shard_mender_close(stk_shard_mender **mender)
{
    stk_shard_mender *m = *mender;
    if (m == NULL) return;
    stk_file_close(&m->file);
    stk_storage_close(&m->storage);
    stk_buffer_free(&m->unit);
    free(m);
    *mender = NULL;
}
