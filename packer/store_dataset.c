/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of an HDF5 file as sources. Pixels come as PNM, so that everything a pack can do with a picture
 * (resize, encode, mode) works on them; tiles come as JPEGs of the same coefficients, other encoded pictures and arrays
 * as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "format/array_layout.h"
#include "format/storage.h"
#include "packer/source_store.h"
#include "packer/string_set.h"
#include "packer/table.h"
#include "packer/text_classes.h"
#include "packer/tiles_source.h"

typedef struct store_dataset {
    stk_source_store base;
    stk_storage *storage;
    stk_tiles_source *tiles;
} store_dataset;

static stk_status fetch_payload(stk_storage *s, uint64_t i, const stk_row *row, uint8_t *out, stk_error *error)
{
    stk_file file;
    uint64_t size;
    if (row->n_bytes == 0) return STK_OK;
    if (row->offset == UINT64_MAX) return s->ops->fetch(s, i, row, out, error);
    STK_TRY(s->ops->file(s, row->file, &file, &size, error));
    return stk_file_read_at(&file, out, (size_t)row->n_bytes, row->offset, error);
}

/* A record that was damaged on disk must not get a new, fitting checksum here. */
static stk_status read_payload(stk_storage *s, uint64_t i, const stk_row *row, uint8_t *out, stk_error *error)
{
    STK_TRY(fetch_payload(s, i, row, out, error));
    if (!row->has_xxh3 || stk_hash64(out, (size_t)row->n_bytes) == row->xxh3) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM, "the record does not match its checksum");
}

static stk_status read_tiles(store_dataset *d, uint64_t i, const stk_row *row, stk_buffer *out, stk_error *error)
{
    stk_buffer payload = {0};
    stk_status status = stk_buffer_resize(&payload, (size_t)row->n_bytes, error);
    if (status == STK_OK) status = read_payload(d->storage, i, row, payload.data, error);
    if (status == STK_OK) status = stk_tiles_source_jpeg(d->tiles, row, payload.data, out, error);
    stk_buffer_free(&payload);
    return status;
}

static stk_status read_entry(stk_source_store *self, uint64_t position, stk_buffer *out, stk_error *error)
{
    stk_storage *s = ((store_dataset *)self)->storage;
    stk_row row;
    char head[64] = "";
    STK_TRY(s->ops->row(s, position, &row, error));
    if (row.encoding == STK_ENCODING_RAW)
        snprintf(head, sizeof head, "P%c %u %u 255\n", row.channels == 1 ? '5' : '6', row.width, row.height);
    if (row.n_bytes > SIZE_MAX / 2) return stk_fail(error, STK_ERR_LIMIT, "a record is too large");
    if (row.encoding == STK_ENCODING_TILES) return read_tiles((store_dataset *)self, position, &row, out, error);
    out->n_bytes = 0;
    if (row.array != NULL)
        STK_TRY(stk_array_put_header(row.array->type, row.array->n_dims, row.array->shape, out, error));
    if (head[0] != '\0') STK_TRY(stk_buffer_append(out, head, strlen(head), error));
    size_t n = out->n_bytes;
    STK_TRY(stk_buffer_resize(out, n + (size_t)row.n_bytes, error));
    return read_payload(s, position, &row, out->data + n, error);
}

static uint64_t entry_size(stk_source_store *self, uint64_t position)
{
    stk_storage *s = ((store_dataset *)self)->storage;
    stk_row row;
    return s->ops->row(s, position, &row, NULL) == STK_OK ? row.n_bytes : 0;
}

static bool is_decoded(stk_source_store *self, uint64_t position)
{
    stk_storage *s = ((store_dataset *)self)->storage;
    stk_row row;
    return s->ops->row(s, position, &row, NULL) == STK_OK && row.encoding == STK_ENCODING_RAW;
}

static void close_store(stk_source_store *self)
{
    store_dataset *d = (store_dataset *)self;
    stk_tiles_source_close(&d->tiles);
    stk_storage_close(&d->storage);
    free(d);
}

/* Value c of row i, in a buffer that grows to hold it. */
static stk_status value_of(stk_storage *s, uint32_t c, uint64_t i, stk_buffer *room, stk_value *v, stk_error *error)
{
    STK_TRY(stk_buffer_reserve(room, 256, error));
    stk_status status = s->ops->value(s, c, i, room->data, room->capacity, v, error);
    if (status != STK_ERR_LIMIT || v->n_bytes <= room->capacity) return status;
    STK_TRY(stk_buffer_reserve(room, v->n_bytes, error));
    return s->ops->value(s, c, i, room->data, room->capacity, v, error);
}

static bool is_path(const stk_column *column)
{
    return strcmp(column->name, "path") == 0;
}

/* The path is the entry's name, text labels become its class. */
static bool is_kept(const stk_storage *s, uint32_t c)
{
    return !is_path(&s->columns[c]) && c + 1 != s->text_labels;
}

static stk_status read_columns(stk_storage *s, stk_sources *out, stk_error *error)
{
    stk_buffer room = {0};
    stk_status status = STK_OK;
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->n_columns; c++)
        n += is_kept(s, c);
    if (n == 0) return STK_OK;
    STK_TRY(stk_table_open(n, &out->table, error));
    out->table->n_rows = s->n_rows;
    for (uint32_t c = 0, k = 0; c < s->n_columns; c++) {
        const stk_column *column = &s->columns[c];
        if (!is_kept(s, c)) continue;
        stk_table_column *to = &out->table->columns[k++];
        STK_GOTO(stk_table_column_init(to, column->name, column->type, column->n_items, error));
        for (uint64_t i = 0; i < s->n_rows; i++) {
            stk_value v;
            STK_GOTO(value_of(s, c, i, &room, &v, error));
            STK_GOTO(stk_table_column_add(to, v.data, v.n_bytes, v.is_null, error));
        }
        STK_GOTO(stk_table_column_decide_dictionary(to, error));
    }
cleanup:
    stk_buffer_free(&room);
    return status;
}

/* The entries' names: those of a column "path", else their numbers. */
static stk_status read_names(stk_storage *s, stk_buffer *names, stk_error *error)
{
    stk_buffer room = {0};
    stk_status status = STK_OK;
    uint32_t path = 0;
    while (path < s->n_columns && !is_path(&s->columns[path])) path++;
    for (uint64_t i = 0; i < s->n_rows; i++) {
        char number[32];
        stk_value v = {.data = number};
        v.n_bytes = (size_t)snprintf(number, sizeof number, "%08llu", (unsigned long long)i);
        if (path < s->n_columns) STK_GOTO(value_of(s, path, i, &room, &v, error));
        STK_GOTO(stk_buffer_append(names, v.data, strnlen(v.data, v.n_bytes), error));
        STK_GOTO(stk_buffer_append(names, "", 1, error));
    }
cleanup:
    stk_buffer_free(&room);
    return status;
}

/* The text of a column as classes; an empty one is no label. */
static stk_status read_text_labels(stk_storage *s, stk_sources *out, stk_error *error)
{
    stk_buffer room = {0};
    stk_string_set names = {0};
    stk_status status = STK_OK;
    for (uint64_t i = 0; i < s->n_rows; i++) {
        stk_value v;
        uint32_t number = 0;
        STK_GOTO(value_of(s, s->text_labels - 1, i, &room, &v, error));
        bool is_none = v.is_null || v.n_bytes == 0;
        if (!is_none) STK_GOTO(stk_string_set_add(&names, v.data, v.n_bytes, &number, error));
        out->labels[i] = is_none ? -1 : (int64_t)number;
    }
    STK_GOTO(stk_text_classes(&names, out->labels, s->n_rows, out, error));
    out->has_labels = out->n_classes > 0;
cleanup:
    stk_string_set_free(&names);
    stk_buffer_free(&room);
    return status;
}

static stk_status read_labels(stk_storage *s, stk_sources *out, stk_error *error)
{
    out->labels = calloc((size_t)s->n_rows + 1, sizeof *out->labels);
    if (out->labels == NULL) return stk_fail_memory(error, "labels");
    if (s->text_labels != 0) return read_text_labels(s, out, error);
    out->class_names = calloc((size_t)s->n_classes + 1, sizeof *out->class_names);
    if (out->class_names == NULL) return stk_fail_memory(error, "class names");
    out->has_labels = s->has_labels;
    for (uint64_t i = 0; i < s->n_rows; i++) {
        stk_row row;
        STK_TRY(s->ops->row(s, i, &row, error));
        out->labels[i] = row.label;
    }
    for (; out->n_classes < s->n_classes; out->n_classes++) {
        out->class_names[out->n_classes] = strdup(s->class_names[out->n_classes]);
        if (out->class_names[out->n_classes] == NULL) return stk_fail_memory(error, "class names");
    }
    return STK_OK;
}

static stk_status keep_note(const char *text, char **out, stk_error *error)
{
    if (text == NULL) return STK_OK;
    *out = strdup(text);
    return *out != NULL ? STK_OK : stk_fail_memory(error, "a note");
}

stk_status stk_store_dataset(const char *path, const stk_pack_options *o, stk_sources *out, stk_error *error)
{
    store_dataset *d = calloc(1, sizeof *d);
    stk_buffer names = {0};
    stk_status status;
    *out = (stk_sources){0};
    if (d == NULL) return stk_fail_memory(error, "the source");
    d->base = (stk_source_store){read_entry, entry_size, close_store, is_decoded};
    out->store = &d->base;
    STK_GOTO(stk_storage_open(path, o->source, &d->storage, error));
    STK_GOTO(stk_tiles_source_open(d->storage, o->max_pixels, &d->tiles, error));
    STK_GOTO(read_names(d->storage, &names, error));
    STK_GOTO(stk_store_list(out, path, &names, d->storage->n_rows, error));
    STK_GOTO(read_labels(d->storage, out, error));
    STK_GOTO(read_columns(d->storage, out, error));
    STK_GOTO(keep_note(d->storage->label_note, &out->label_note, error));
    STK_GOTO(keep_note(d->storage->image_note, &out->image_note, error));
    out->root = strdup(path);
    if (out->root == NULL) status = stk_fail_memory(error, "a path");
cleanup:
    stk_buffer_free(&names);
    if (status != STK_OK) stk_sources_free(out);
    return status;
}
