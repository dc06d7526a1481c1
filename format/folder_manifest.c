/* SPDX-License-Identifier: Apache-2.0 */
#include "format/folder_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/version.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/utf8.h"
#include "format/layout.h"

bool stk_folder_name_ok(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return name != NULL && name[0] != '\0' && name[0] != '.' && strspn(name, plain) == strlen(name);
}

static stk_status broken(const char *path, const char *what, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: %s", path, what);
}

static stk_status check_sum(const char *text, size_t n_bytes, const char *path, stk_error *error)
{
    char want[64];
    if (n_bytes > STK_FOLDER_CHECK_BYTES) {
        size_t covered = n_bytes - STK_FOLDER_CHECK_BYTES;
        int n = snprintf(want, sizeof want, STK_FOLDER_CHECK, (unsigned long long)stk_hash64(text, covered));
        if (n == STK_FOLDER_CHECK_BYTES && memcmp(text + covered, want, STK_FOLDER_CHECK_BYTES) == 0)
            return STK_OK;
    }
    return broken(path, "is damaged or was edited (its checksum, the last line, does not fit)", error);
}

static stk_status check_version(const stk_manifest *m, const char *path, stk_error *error)
{
    const stk_json *version = stk_json_get(m->root, "version"), *needs = stk_json_get(m->root, "needs");
    const char *format = stk_json_string(stk_json_get(m->root, "format"), NULL);
    uint64_t major;
    if (format == NULL || strcmp(format, STK_FOLDER_FORMAT) != 0)
        return broken(path, "does not describe a stoker data set", error);
    if (!stk_json_u64(stk_json_at(version, 0), &major) || stk_json_kind_of(needs) != STK_JSON_ARRAY)
        return broken(path, "has no version", error);
    if (major != STK_SHARD_MAJOR)
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: format version %llu; stoker %s reads %d.x: update stoker", path,
                        (unsigned long long)major, STK_VERSION, STK_SHARD_MAJOR);
    const char *feature = stk_json_string(stk_json_at(needs, 0), NULL);
    if (stk_json_len(needs) > 0)
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: uses the feature '%s', which stoker %s does not know: update "
                        "stoker",
                        path, feature != NULL ? feature : "unnamed", STK_VERSION);
    return STK_OK;
}

static stk_type type_by_name(const char *name)
{
    for (int type = STK_TYPE_BOOL; type <= STK_TYPE_BYTES; type++) {
        if (name != NULL && strcmp(stk_type_name((stk_type)type), name) == 0) return (stk_type)type;
    }
    return (stk_type)0;
}

static stk_status read_column(const stk_json *node, const char *path, stk_column *c, stk_error *error)
{
    size_t n_name;
    uint64_t items;
    const char *type = stk_json_string(stk_json_get(node, "type"), NULL);
    c->name = stk_json_string(stk_json_get(node, "name"), &n_name);
    if (c->name == NULL || n_name == 0 || strlen(c->name) != n_name || !stk_utf8_valid(c->name, n_name) ||
        type == NULL || !stk_json_u64(stk_json_get(node, "items"), &items) || items > UINT32_MAX ||
        !stk_json_bool(stk_json_get(node, "nullable"), &c->nullable) ||
        !stk_json_bool(stk_json_get(node, "dictionary"), &c->dictionary))
        return broken(path, "a column's description is not whole", error);
    c->type = type_by_name(type);
    c->n_items = (uint32_t)items;
    if (c->type == 0)
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: column '%s' has type '%s', which stoker %s does not know: update "
                        "stoker",
                        path, c->name, type, STK_VERSION);
    if (stk_column_check(c, NULL) != STK_OK)
        return broken(path, "a column's description contradicts itself", error);
    return STK_OK;
}

static stk_status read_columns(stk_manifest *m, const char *path, stk_error *error)
{
    const stk_json *columns = stk_json_get(m->root, "columns");
    size_t n = stk_json_len(columns);
    if (stk_json_kind_of(columns) != STK_JSON_ARRAY || n > STK_MAX_COLUMNS)
        return broken(path, "has no list of columns", error);
    m->columns = calloc(n + 1, sizeof *m->columns);
    if (m->columns == NULL) return stk_fail_memory(error, "columns");
    for (size_t i = 0; i < n; i++)
        STK_TRY(read_column(stk_json_at(columns, i), path, &m->columns[i], error));
    m->n_columns = (uint32_t)n;
    return STK_OK;
}

static bool small_number(const stk_json *node, const char *key, uint32_t *out)
{
    uint64_t value;
    if (!stk_json_u64(stk_json_get(node, key), &value) || value > STK_MAX_TABLE_SETS) return false;
    *out = (uint32_t)value;
    return true;
}

static stk_status read_shard(stk_manifest *m, const stk_json *node, const char *path, stk_manifest_shard *s,
                             stk_error *error)
{
    uint8_t bytes[16];
    const char *id = stk_json_string(stk_json_get(node, "id"), NULL);
    s->file = stk_json_string(stk_json_get(node, "file"), NULL);
    if (!stk_folder_name_ok(s->file))
        return broken(path, "a shard's file name is missing or not plain", error);
    if (id == NULL || !stk_id_parse(id, bytes) || !stk_json_u64(stk_json_get(node, "records"), &s->n_rows) ||
        !stk_json_u64(stk_json_get(node, "bytes"), &s->n_bytes) ||
        !small_number(node, "first_table_set", &s->first_table_set) ||
        !small_number(node, "table_sets", &s->n_table_sets))
        return broken(path, "a shard's description is not whole", error);
    stk_id_text(bytes, s->id);
    s->job = stk_json_string(stk_json_get(node, "job"), NULL);
    s->first_row = m->n_rows;
    if (!stk_add_u64(m->n_rows, s->n_rows, &m->n_rows) || !stk_add_u64(m->n_bytes, s->n_bytes, &m->n_bytes) ||
        m->n_rows > INT64_MAX)
        return broken(path, "the shards' sizes overflow", error);
    uint32_t end = s->first_table_set + s->n_table_sets;
    if (end > m->n_table_sets) m->n_table_sets = end;
    return STK_OK;
}

static stk_status read_shards(stk_manifest *m, const char *path, stk_error *error)
{
    const stk_json *shards = stk_json_get(m->root, "shards");
    size_t n = stk_json_len(shards);
    uint64_t n_records;
    if (stk_json_kind_of(shards) != STK_JSON_ARRAY || n > UINT32_MAX)
        return broken(path, "has no list of shards", error);
    m->shards = calloc(n + 1, sizeof *m->shards);
    if (m->shards == NULL) return stk_fail_memory(error, "shards");
    for (size_t i = 0; i < n; i++)
        STK_TRY(read_shard(m, stk_json_at(shards, i), path, &m->shards[i], error));
    m->n_shards = (uint32_t)n;
    if (!stk_json_u64(stk_json_get(m->root, "records"), &n_records) || n_records != m->n_rows)
        return broken(path, "the number of records is not the shards' sum", error);
    return STK_OK;
}

static stk_status read_rest(stk_manifest *m, const char *path, stk_error *error)
{
    uint8_t bytes[16];
    const char *id = stk_json_string(stk_json_get(m->root, "id"), NULL);
    if (id == NULL || !stk_id_parse(id, bytes) ||
        !stk_json_bool(stk_json_get(m->root, "labels"), &m->has_labels))
        return broken(path, "'id' or 'labels' is missing", error);
    stk_id_text(bytes, m->id);
    stk_buffer text = {0};
    stk_status status = stk_json_print(stk_json_get(m->root, "metadata"), &text, error);
    char *copy = status == STK_OK ? strndup((const char *)text.data, text.n_bytes) : NULL;
    if (status == STK_OK && copy == NULL) status = stk_fail_memory(error, "metadata");
    if (status == STK_OK) status = stk_metadata_open(&m->metadata, copy, text.n_bytes, path, error);
    stk_buffer_free(&text);
    return status;
}

static stk_status parse(stk_manifest *m, const char *text, size_t n_bytes, const char *path, stk_error *error)
{
    stk_status status = stk_json_parse(text, n_bytes, &m->root, error);
    if (status == STK_ERR_ARGUMENT) {
        stk_fail_prefix(error, "%s: ", path);
        if (error != NULL) error->status = STK_ERR_CORRUPT;
        return STK_ERR_CORRUPT;
    }
    STK_TRY(status);
    STK_TRY(check_version(m, path, error));
    STK_TRY(check_sum(text, n_bytes, path, error));
    STK_TRY(read_columns(m, path, error));
    STK_TRY(read_shards(m, path, error));
    return read_rest(m, path, error);
}

stk_status stk_manifest_open(stk_manifest *m, const char *text, size_t n_bytes, const char *path,
                             stk_error *error)
{
    *m = (stk_manifest){0};
    stk_status status = parse(m, text, n_bytes, path, error);
    if (status != STK_OK) stk_manifest_close(m);
    return status;
}

stk_status stk_manifest_open_folder(stk_manifest *m, const char *folder, stk_error *error)
{
    stk_buffer path = {0}, text = {0};
    stk_status status;
    *m = (stk_manifest){0};
    STK_GOTO(stk_buffer_printf(&path, error, "%s/%s", folder, STK_FOLDER_MANIFEST));
    status = stk_file_read_all((const char *)path.data, STK_FOLDER_MAX_BYTES, &text, error);
    if (status == STK_ERR_NOT_FOUND)
        stk_fail(error, status,
                 "%s: a folder without %s: not a packed data set, or its packing did not finish (%s is written last)",
                 folder, STK_FOLDER_MANIFEST, STK_FOLDER_MANIFEST);
    STK_GOTO(status);
    status = stk_manifest_open(m, (const char *)text.data, text.n_bytes, (const char *)path.data, error);
cleanup:
    stk_buffer_free(&text);
    stk_buffer_free(&path);
    return status;
}

void stk_manifest_close(stk_manifest *m)
{
    stk_metadata_close(&m->metadata);
    free(m->columns);
    free(m->shards);
    stk_json_close(&m->root);
    *m = (stk_manifest){0};
}

uint32_t stk_manifest_next_number(const stk_manifest *m)
{
    uint32_t next = m->n_shards;
    for (uint32_t i = 0; i < m->n_shards; i++) {
        unsigned long number = stk_folder_is_shard_name(m->shards[i].file) ? strtoul(m->shards[i].file, NULL, 10) : 0;
        if (number >= next && number < UINT32_MAX) next = (uint32_t)number + 1;
    }
    return next;
}
