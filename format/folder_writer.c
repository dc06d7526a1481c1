/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of dataset.json. */
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/json.h"
#include "format/folder.h"
#include "format/folder_manifest.h"
#include "format/layout.h"

void stk_folder_shard_name(uint32_t n, char out[32])
{
    snprintf(out, 32, "%05u.stk", n);
}

bool stk_folder_is_shard_name(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits >= 5 && strcmp(name + digits, ".stk") == 0;
}

static void write_columns(stk_json_writer *w, const stk_folder_info *info)
{
    stk_jw_key(w, "columns");
    stk_jw_array(w);
    for (uint32_t i = 0; i < info->n_columns; i++) {
        const stk_column *c = &info->columns[i];
        stk_jw_newline(w);
        stk_jw_object(w);
        stk_jw_key(w, "name");
        stk_jw_string(w, c->name);
        stk_jw_key(w, "type");
        stk_jw_string(w, stk_type_name(c->type));
        stk_jw_key(w, "items");
        stk_jw_u64(w, stk_type_size(c->type) == 0 ? 1 : c->n_items);
        stk_jw_key(w, "nullable");
        stk_jw_bool(w, c->nullable);
        stk_jw_key(w, "dictionary");
        stk_jw_bool(w, c->dictionary);
        stk_jw_end_object(w);
    }
    stk_jw_end_array(w);
}

static void write_shards(stk_json_writer *w, const stk_folder_info *info)
{
    stk_jw_key(w, "shards");
    stk_jw_array(w);
    for (uint32_t i = 0; i < info->n_shards; i++) {
        const stk_folder_shard *s = &info->shards[i];
        stk_jw_newline(w);
        stk_jw_object(w);
        stk_jw_key(w, "file");
        stk_jw_string(w, s->file);
        stk_jw_key(w, "records");
        stk_jw_u64(w, s->n_records);
        stk_jw_key(w, "bytes");
        stk_jw_u64(w, s->n_bytes);
        stk_jw_key(w, "id");
        stk_jw_string(w, s->id);
        stk_jw_key(w, "first_table_set");
        stk_jw_u64(w, s->first_table_set);
        stk_jw_key(w, "table_sets");
        stk_jw_u64(w, s->n_table_sets);
        if (s->job != NULL) {
            stk_jw_key(w, "job");
            stk_jw_string(w, s->job);
        }
        stk_jw_end_object(w);
    }
    stk_jw_end_array(w);
}

/* The order of members is part of the format: same data set, same bytes. */
static void write_members(stk_json_writer *w, const stk_folder_info *info, uint64_t n_records,
                          uint64_t n_bytes, const char *id)
{
    stk_jw_object(w);
    stk_jw_key(w, "format");
    stk_jw_string(w, STK_FOLDER_FORMAT);
    stk_jw_key(w, "version");
    stk_jw_array(w);
    stk_jw_u64(w, STK_SHARD_MAJOR);
    stk_jw_u64(w, STK_SHARD_MINOR);
    stk_jw_end_array(w);
    stk_jw_key(w, "needs");
    stk_jw_array(w);
    stk_jw_end_array(w);
    stk_jw_key(w, "id");
    stk_jw_string(w, id);
    stk_jw_key(w, "records");
    stk_jw_u64(w, n_records);
    stk_jw_key(w, "bytes");
    stk_jw_u64(w, n_bytes);
    stk_jw_key(w, "labels");
    stk_jw_bool(w, info->has_labels);
    stk_jw_newline(w);
    write_columns(w, info);
    stk_jw_newline(w);
    write_shards(w, info);
    stk_jw_newline(w);
    stk_jw_key(w, "metadata");
    stk_jw_raw(w, info->metadata);
}

/* XXH3-128 of the shards' ids, one after the other. */
static stk_status folder_id(const stk_folder_info *info, char *id, stk_error *error)
{
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "a checksum");
    for (uint32_t i = 0; i < info->n_shards; i++) {
        uint8_t bytes[16];
        if (!stk_id_parse(info->shards[i].id, bytes) || !stk_folder_name_ok(info->shards[i].file)) {
            stk_hasher_close(&hasher);
            return stk_fail(error, STK_ERR_ARGUMENT, "shard %u: '%s' is no shard's name or '%s' no id", i,
                            info->shards[i].file, info->shards[i].id);
        }
        stk_hasher_add(hasher, bytes, sizeof bytes);
    }
    stk_hash128_text(stk_hasher_result128(hasher), id);
    stk_hasher_close(&hasher);
    return STK_OK;
}

stk_status stk_folder_manifest(const stk_folder_info *info, stk_buffer *out, char *id, stk_error *error)
{
    STK_TRY(folder_id(info, id, error));
    uint64_t n_records = 0, n_bytes = 0;
    for (uint32_t i = 0; i < info->n_shards; i++) {
        n_records += info->shards[i].n_records;
        n_bytes += info->shards[i].n_bytes;
    }
    size_t start = out->n_bytes;
    stk_json_writer w = stk_jw_begin(out, error);
    write_members(&w, info, n_records, n_bytes, id);
    STK_TRY(stk_jw_end(&w));
    uint64_t check = stk_hash64(out->data + start, out->n_bytes - start);
    return stk_buffer_printf(out, error, STK_FOLDER_CHECK, (unsigned long long)check);
}
