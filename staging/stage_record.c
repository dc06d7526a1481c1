/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/json.h"
#include "staging/stage_base.h"

/* The record is a line of JSON and a line with its XXH3-64. */
enum { MAX_RECORD = 256 << 20, MAX_BLOCK = 1 << 30, CHECK_BYTES = 17, VERSION = 1 };

stk_status stk_stage_map_open(const stk_stage_source *source, uint64_t block_bytes, stk_stage_map *map,
                              stk_error *error)
{
    *map = (stk_stage_map){.block_bytes = block_bytes, .n_files = source->n_files};
    for (uint32_t i = 0; i < source->n_files; i++)
        map->n_blocks += (source->files[i].n_bytes + block_bytes - 1) / block_bytes;
    map->blocks = map->n_blocks < SIZE_MAX / 64 ? calloc((size_t)map->n_blocks + 1, sizeof *map->blocks) : NULL;
    map->first = calloc((size_t)map->n_files + 1, sizeof *map->first);
    if (map->blocks == NULL || map->first == NULL) {
        stk_stage_map_close(map);
        return stk_fail_memory(error, "the list of blocks");
    }
    uint64_t b = 0;
    for (uint32_t i = 0; i < map->n_files; i++) {
        map->first[i] = b;
        for (uint64_t at = 0; at < source->files[i].n_bytes; at += block_bytes, b++) {
            uint64_t rest = source->files[i].n_bytes - at;
            map->blocks[b] = (stk_stage_block){.state = STK_BLOCK_WANTED,
                                               .file = i,
                                               .offset = at,
                                               .n_bytes = rest < block_bytes ? rest : block_bytes};
        }
    }
    map->first[map->n_files] = b;
    return STK_OK;
}

void stk_stage_map_close(stk_stage_map *map)
{
    free(map->blocks);
    free(map->first);
    *map = (stk_stage_map){0};
}

uint64_t stk_stage_map_bytes(const stk_stage_map *map, stk_block_state state)
{
    uint64_t total = 0;
    for (uint64_t b = 0; b < map->n_blocks; b++) {
        uint32_t its = map->blocks[b].state;
        if (state == STK_BLOCK_ABSENT ? its != STK_BLOCK_ABSENT : its == state) total += map->blocks[b].n_bytes;
    }
    return total;
}

bool stk_stage_map_is_whole(const stk_stage_map *map)
{
    for (uint64_t b = 0; b < map->n_blocks; b++)
        if (map->blocks[b].state == STK_BLOCK_ABSENT) return false;
    return true;
}

/* ---- The record. */

static void write_head(stk_json_writer *w, const stk_stage_source *source, bool whole)
{
    stk_jw_object(w);
    stk_jw_key(w, "format");
    stk_jw_string(w, "stoker-stage");
    stk_jw_key(w, "version");
    stk_jw_u64(w, VERSION);
    stk_jw_key(w, "source");
    stk_jw_bytes(w, source->path, strlen(source->path));
    stk_jw_key(w, "key");
    stk_jw_string(w, source->key);
    stk_jw_key(w, "bytes");
    stk_jw_u64(w, source->n_bytes);
    stk_jw_key(w, "whole");
    stk_jw_bool(w, whole);
}

static void write_blocks(stk_json_writer *w, const stk_stage_map *map)
{
    char text[20];
    stk_jw_key(w, "block_bytes");
    stk_jw_u64(w, map->block_bytes);
    stk_jw_key(w, "blocks");
    stk_jw_array(w);
    for (uint64_t b = 0; b < map->n_blocks; b++) {
        snprintf(text, sizeof text, "%016llx", (unsigned long long)map->blocks[b].hash);
        if (map->blocks[b].state == STK_BLOCK_GOOD)
            stk_jw_string(w, text);
        else
            stk_jw_null(w);
    }
    stk_jw_end_array(w);
}

static stk_status write_text(const char *folder, const char *name, const stk_stage_source *source,
                             const stk_stage_map *map, stk_error *error)
{
    char path[STK_STAGE_PATH];
    stk_buffer text = {0};
    stk_json_writer w = stk_jw_begin(&text, error);
    stk_status status;
    write_head(&w, source, map != NULL && stk_stage_map_is_whole(map));
    if (map != NULL) write_blocks(&w, map);
    stk_jw_end_object(&w);
    STK_GOTO(stk_jw_end(&w));
    STK_GOTO(stk_buffer_append(&text, "\n", 1, error));
    uint64_t check = stk_hash64(text.data, text.n_bytes);
    STK_GOTO(stk_buffer_printf(&text, error, "%016llx\n", (unsigned long long)check));
    if (!stk_stage_join(path, folder, name, ""))
        status = stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", folder);
    else
        status = stk_write_file_atomic(path, text.data, text.n_bytes, error);
cleanup:
    stk_buffer_free(&text);
    return status;
}

stk_status stk_stage_record_write(const char *folder, const stk_stage_source *source, const stk_stage_map *map,
                                  stk_error *error)
{
    return write_text(folder, "record", source, map, error);
}

stk_status stk_stage_note_write(const char *folder, const stk_stage_source *source, stk_error *error)
{
    return write_text(folder, "note", source, NULL, error);
}

/* Reads, compares the check and parses. */
static stk_status read_text(const char *folder, const char *name, stk_json **out, stk_error *error)
{
    char path[STK_STAGE_PATH], check[CHECK_BYTES + 1];
    stk_buffer text = {0};
    *out = NULL;
    if (!stk_stage_join(path, folder, name, ""))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", folder);
    stk_status status;
    STK_GOTO(stk_file_read_all(path, MAX_RECORD, &text, error));
    size_t body = text.n_bytes > CHECK_BYTES ? text.n_bytes - CHECK_BYTES : 0;
    snprintf(check, sizeof check, "%016llx\n", (unsigned long long)stk_hash64(text.data, body));
    if (body == 0 || memcmp(check, text.data + body, CHECK_BYTES) != 0)
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: is damaged", path);
    else
        status = stk_json_parse((const char *)text.data, body, out, error);
cleanup:
    stk_buffer_free(&text);
    return status;
}

static bool read_hash(const stk_json *node, uint64_t *hash)
{
    size_t n = 0;
    const char *text = stk_json_string(node, &n);
    if (text == NULL || n != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *hash = strtoull(text, NULL, 16);
    return true;
}

static bool take_blocks(const stk_json *root, stk_stage_map *map)
{
    const stk_json *list = stk_json_get(root, "blocks");
    if (stk_json_len(list) != map->n_blocks) return false;
    for (uint64_t b = 0; b < map->n_blocks; b++) {
        const stk_json *node = stk_json_at(list, (size_t)b);
        map->blocks[b].state = STK_BLOCK_ABSENT;
        if (stk_json_kind_of(node) == STK_JSON_NULL) continue;
        if (!read_hash(node, &map->blocks[b].hash)) return false;
        map->blocks[b].state = STK_BLOCK_GOOD;
    }
    return true;
}

stk_status stk_stage_record_read(const char *folder, const stk_stage_source *source, stk_stage_map *map,
                                 stk_error *error)
{
    stk_json *root = NULL;
    *map = (stk_stage_map){0};
    STK_TRY(read_text(folder, "record", &root, error));
    stk_status status;
    uint64_t version = 0, block_bytes = 0;
    const char *key = stk_json_string(stk_json_get(root, "key"), NULL);
    if (!stk_json_u64(stk_json_get(root, "version"), &version) || version != VERSION || key == NULL ||
        strcmp(key, source->key) != 0 || !stk_json_u64(stk_json_get(root, "block_bytes"), &block_bytes) ||
        block_bytes < STK_STAGE_PIECE || block_bytes > MAX_BLOCK || block_bytes % STK_STAGE_PIECE != 0) {
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: the record is of something else", folder);
        goto cleanup;
    }
    STK_GOTO(stk_stage_map_open(source, block_bytes, map, error));
    if (!take_blocks(root, map)) {
        stk_stage_map_close(map);
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: the record does not fit the source", folder);
    }
cleanup:
    stk_json_close(&root);
    return status;
}

bool stk_stage_record_source(const char *folder, char **path, uint64_t *n_bytes, bool *whole)
{
    stk_json *root = NULL;
    *path = NULL;
    if (read_text(folder, "record", &root, NULL) != STK_OK && read_text(folder, "note", &root, NULL) != STK_OK)
        return false;
    size_t n = 0;
    const char *text = stk_json_string(stk_json_get(root, "source"), &n);
    *whole = false;
    *n_bytes = 0;
    (void)stk_json_bool(stk_json_get(root, "whole"), whole);
    (void)stk_json_u64(stk_json_get(root, "bytes"), n_bytes);
    if (text != NULL) *path = strdup(text);
    stk_json_close(&root);
    return *path != NULL;
}

/* ---- The journal. */

typedef struct slot {
    uint64_t hash;
    uint64_t check; /* over block number and hash, so that a torn or missing slot is seen */
} slot;

static uint64_t slot_check(uint64_t block, uint64_t hash)
{
    uint64_t words[3] = {0x6a6f75726e616c21u, block, hash};
    return stk_hash64(words, sizeof words);
}

stk_status stk_stage_journal_open(const char *folder, uint64_t block_bytes, stk_file *out, char path[],
                                  stk_error *error)
{
    char name[64];
    /* Of another block size, it would speak of other blocks. */
    snprintf(name, sizeof name, "journal.%llu", (unsigned long long)block_bytes);
    *out = STK_FILE_CLOSED;
    if (!stk_stage_join(path, folder, name, ""))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", folder);
    stk_status status = stk_file_create(path, out, error);
    return status == STK_ERR_EXISTS ? stk_file_open_update(path, out, error) : status;
}

stk_status stk_stage_journal_put(const stk_file *journal, uint64_t block, uint64_t hash, stk_error *error)
{
    slot s = {.hash = hash, .check = slot_check(block, hash)};
    return stk_file_write_at(journal, &s, sizeof s, block * sizeof s, error);
}

stk_status stk_stage_journal_read(const stk_file *journal, stk_stage_map *map, stk_error *error)
{
    uint64_t n_bytes = 0;
    STK_TRY(stk_file_size(journal, &n_bytes, error));
    for (uint64_t b = 0; b < map->n_blocks && (b + 1) * sizeof(slot) <= n_bytes; b++) {
        slot s;
        STK_TRY(stk_file_read_at(journal, &s, sizeof s, b * sizeof s, error));
        if (s.check != slot_check(b, s.hash)) continue;
        map->blocks[b].hash = s.hash;
        map->blocks[b].state = STK_BLOCK_CLAIMED;
    }
    return STK_OK;
}
