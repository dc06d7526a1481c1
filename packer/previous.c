/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/previous.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/record_maker.h"

static stk_status try_open(const char *dst, const char *recipe, stk_previous *p, stk_error *error)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s.sources", dst) >= sizeof path)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", dst);
    STK_TRY(stk_history_open(path, &p->history, error));
    if (strcmp(p->history.recipe, recipe) != 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "%s: was made with other parameters", dst);
    STK_TRY(stk_storage_open(dst, NULL, &p->storage, error));
    if (strcmp(p->storage->id, p->history.dataset_id) != 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "%s.sources: does not belong to %s", dst, dst);
    return STK_OK;
}

stk_status stk_previous_open(const char *dst, const char *recipe, const stk_pack_options *options,
                             stk_previous *out, stk_error *error)
{
    *out = (stk_previous){.options = options};
    stk_status status = try_open(dst, recipe, out, error);
    if (status == STK_OK) return STK_OK;
    stk_previous_close(out);
    return status == STK_ERR_MEMORY ? status : STK_OK;
}

void stk_previous_close(stk_previous *previous)
{
    stk_storage_close(&previous->storage);
    stk_history_close(&previous->history);
    *previous = (stk_previous){0};
}

stk_status stk_source_unchanged(stk_source_reader *reader, const stk_source *source,
                                const stk_history_entry *entry, const stk_pack_options *options,
                                bool *unchanged, int64_t *mtime_ns, stk_error *error)
{
    stk_source_bytes now;
    *unchanged = false;
    STK_TRY(stk_source_stat(reader, source, &now, error));
    *mtime_ns = now.mtime_ns;
    if (now.result != STK_READ_OK || now.size != entry->size) return STK_OK;
    *unchanged = !options->rehash && entry->mtime_ns != 0 && now.mtime_ns == entry->mtime_ns;
    if (*unchanged || !entry->has_xxh3) return STK_OK;
    STK_TRY(stk_source_read_all(reader, source, options->max_file_bytes, &now, error));
    *unchanged = now.result == STK_READ_OK && now.n_bytes == entry->size &&
                 stk_hash64(now.data, now.n_bytes) == entry->xxh3;
    return STK_OK;
}

stk_status stk_previous_tables(const stk_previous *p, const stk_sources *sources, uint64_t n,
                               const uint8_t **blob, size_t *n_bytes, stk_error *error)
{
    *n_bytes = 0;
    if (p->storage == NULL || p->storage->n_table_sets != 1) return STK_OK;
    /* The same files must have stood first, in the same order, and be all there were when there were fewer.
     */
    uint64_t look = sources->n < n ? sources->n : n;
    if (p->history.n_lines < look || (look < n && p->history.n_lines != look)) return STK_OK;
    stk_source_reader reader;
    stk_buffer scratch = {0};
    STK_TRY(stk_source_reader_open(sources, &reader, error));
    stk_status status = STK_OK;
    bool same = true;
    size_t at = p->history.first_line;
    for (uint64_t i = 0; i < look && same; i++) {
        stk_source source;
        stk_history_entry entry;
        char path[PATH_MAX];
        int64_t mtime_ns;
        stk_sources_get(sources, i, &source);
        stk_source_path(sources, &source, path, sizeof path);
        same = stk_history_next(&p->history, &at, &scratch, &entry) && strcmp(entry.path, path) == 0;
        if (same)
            STK_GOTO(stk_source_unchanged(&reader, &source, &entry, p->options, &same, &mtime_ns, error));
    }
    if (same) STK_GOTO(p->storage->ops->tables(p->storage, 0, blob, n_bytes, error));
cleanup:
    stk_source_reader_close(&reader);
    stk_buffer_free(&scratch);
    return status;
}

stk_status stk_previous_compare_tables(stk_previous *p, const uint8_t *blob, size_t n_bytes, stk_error *error)
{
    if (p->storage == NULL) return STK_OK;
    const uint8_t *old = NULL;
    size_t n_old = 0;
    if (p->storage->n_table_sets > 0) STK_TRY(p->storage->ops->tables(p->storage, 0, &old, &n_old, error));
    p->same_tables =
        p->storage->n_table_sets <= 1 && n_old == n_bytes && (n_old == 0 || memcmp(old, blob, n_old) == 0);
    return STK_OK;
}

/* May the record stand in the new output as it is? Small tiles depend on the shared tables, used or not. */
static bool fits(const stk_previous *p, const stk_row *row)
{
    /* An HDF5 file has arrays without the header that a record begins with. */
    if (row->array != NULL) return false;
    bool small = (uint64_t)row->width * row->height <= STK_SHARED_TABLES_PIXELS;
    return p->same_tables || row->encoding != STK_ENCODING_TILES || !small;
}

/* The payload, whose checksum must hold: what the disk has spoilt is made anew. */
static stk_status read_payload(const stk_previous *p, uint64_t record, const stk_row *row,
                               stk_buffer *payload, bool *good, stk_error *error)
{
    stk_file file;
    uint64_t n_file;
    *good = false;
    STK_TRY(stk_buffer_resize(payload, row->n_bytes, error));
    if (row->offset == UINT64_MAX) {
        if (p->storage->ops->fetch(p->storage, record, row, payload->data, NULL) != STK_OK) return STK_OK;
    } else {
        if (p->storage->ops->file(p->storage, row->file, &file, &n_file, NULL) != STK_OK) return STK_OK;
        if (stk_file_read_at(&file, payload->data, row->n_bytes, row->offset, NULL) != STK_OK) return STK_OK;
    }
    *good = row->has_xxh3 && stk_hash64(payload->data, payload->n_bytes) == row->xxh3;
    return STK_OK;
}

static stk_status make_record(const stk_previous *p, const stk_history_entry *entry, const stk_source *source,
                              stk_buffer *payload, stk_product *out, bool *made, stk_error *error)
{
    stk_row row;
    if (entry->record >= p->storage->n_rows) return STK_OK;
    if (p->storage->ops->row(p->storage, entry->record, &row, NULL) != STK_OK || !fits(p, &row))
        return STK_OK;
    STK_TRY(read_payload(p, entry->record, &row, payload, made, error));
    if (!*made) return STK_OK;
    out->record = (stk_record){
        .payload = payload->data,
        .n_bytes = payload->n_bytes,
        .xxh3 = row.xxh3,
        .label = source->label,
        .width = row.width,
        .height = row.height,
        .tables = row.tables,
        .encoding = (stk_encoding)row.encoding,
        .orientation = row.orientation,
        .channels = row.channels,
    };
    out->reused = true;
    return STK_OK;
}

/* What was left out is left out again when its content was what was wrong with it. */
static bool may_reuse(const stk_previous *p, const stk_history_entry *entry)
{
    switch (entry->fate) {
    case STK_FATE_RECORD: return entry->has_xxh3;
    case STK_FATE_LEFT_OUT: return entry->has_xxh3 && p->options->on_bad != STK_BAD_QUARANTINE;
    case STK_FATE_IGNORED: return entry->action == NULL;
    }
    return false;
}

stk_status stk_previous_make(const stk_previous *p, stk_source_reader *reader, const stk_source *source,
                             stk_buffer *payload, stk_buffer *scratch, stk_product *out, bool *made,
                             stk_error *error)
{
    *made = false;
    char path[PATH_MAX];
    stk_history_entry entry;
    if (p->storage == NULL || source->state != STK_SOURCE_FILE) return STK_OK;
    if (stk_source_path(reader->sources, source, path, sizeof path) >= sizeof path) return STK_OK;
    if (!stk_history_find(&p->history, path, scratch, &entry) || !may_reuse(p, &entry)) return STK_OK;
    bool unchanged = false;
    int64_t mtime_ns = 0;
    STK_TRY(stk_source_unchanged(reader, source, &entry, p->options, &unchanged, &mtime_ns, error));
    if (!unchanged) return STK_OK;
    stk_history_product(&entry, out);
    out->source_mtime_ns = mtime_ns;
    *made = entry.fate != STK_FATE_RECORD;
    return *made ? STK_OK : make_record(p, &entry, source, payload, out, made, error);
}
