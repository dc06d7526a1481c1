/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fail.h"
#include "common/hash.h"
#include "common/rng.h"
#include "staging/stage_base.h"
#include "staging/stage_pass.h"

enum { SAMPLES = 8, SAMPLE_BYTES = 64 << 10 };

/* Real files of the right size, wherever a block is said to be. */
static stk_status check_files(const char *copy, const stk_stage_source *source, const stk_stage_map *map,
                              stk_error *error)
{
    bool subset = !stk_stage_map_is_whole(map);
    for (uint32_t i = 0; i < map->n_files; i++) {
        bool present = !subset;
        for (uint64_t b = map->first[i]; b < map->first[i + 1] && !present; b++)
            present = map->blocks[b].state == STK_BLOCK_GOOD;
        char path[STK_STAGE_PATH];
        struct stat st;
        if (!present) continue;
        if (!stk_stage_target(copy, source, subset, i, path) || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
            (uint64_t)st.st_size != source->files[i].n_bytes)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: a file of the copy is gone or has another size", copy);
    }
    return STK_OK;
}

/* Compares up to SAMPLE_BYTES of a block with the source. */
static stk_status compare_piece(const char *copy, const stk_stage_source *source, const stk_stage_map *map, uint64_t b,
                                uint64_t random, uint8_t *two, stk_error *error)
{
    const stk_stage_block *block = &map->blocks[b];
    const stk_stage_file *f = &source->files[block->file];
    size_t n = block->n_bytes < SAMPLE_BYTES ? (size_t)block->n_bytes : SAMPLE_BYTES;
    uint64_t at = block->offset + random % (block->n_bytes - n + 1);
    char path[STK_STAGE_PATH];
    stk_file mine = STK_FILE_CLOSED, theirs = STK_FILE_CLOSED;
    stk_status status = STK_OK;
    if (!stk_stage_target(copy, source, !stk_stage_map_is_whole(map), block->file, path)) return STK_ERR_ARGUMENT;
    STK_GOTO(stk_file_open_read(path, &mine, error));
    STK_GOTO(stk_file_read_at(&mine, two, n, at, error));
    STK_GOTO(stk_file_open_read(f->path, &theirs, error));
    STK_GOTO(stk_file_read_at(&theirs, two + SAMPLE_BYTES, n, at, error));
    if (memcmp(two, two + SAMPLE_BYTES, n) != 0)
        status = stk_fail(error, STK_ERR_CHECKSUM, "%s: differs from %s near byte %llu", path, f->path,
                          (unsigned long long)at);
cleanup:
    stk_file_close(&mine);
    stk_file_close(&theirs);
    return status;
}

static stk_status rehash_block(const char *copy, const stk_stage_source *source, const stk_stage_map *map, uint64_t b,
                               stk_error *error)
{
    const stk_stage_block *block = &map->blocks[b];
    uint64_t n_pieces = (block->n_bytes + STK_STAGE_PIECE - 1) / STK_STAGE_PIECE;
    char path[STK_STAGE_PATH];
    stk_file file = STK_FILE_CLOSED;
    uint8_t *piece = malloc(STK_STAGE_PIECE);
    uint64_t *hashes = calloc((size_t)n_pieces + 1, sizeof *hashes);
    stk_status status = piece == NULL || hashes == NULL ? stk_fail_memory(error, "a piece") : STK_OK;
    if (!stk_stage_target(copy, source, !stk_stage_map_is_whole(map), block->file, path))
        status = stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", copy);
    if (status == STK_OK) status = stk_file_open_read(path, &file, error);
    for (uint64_t k = 0; status == STK_OK && k < n_pieces; k++) {
        uint64_t rest = block->n_bytes - k * STK_STAGE_PIECE;
        size_t n = rest < STK_STAGE_PIECE ? (size_t)rest : STK_STAGE_PIECE;
        status = stk_file_read_at(&file, piece, n, block->offset + k * STK_STAGE_PIECE, error);
        hashes[k] = stk_hash64(piece, n);
    }
    if (status == STK_OK && stk_hash64(hashes, (size_t)n_pieces * sizeof *hashes) != block->hash)
        status = stk_fail(error, STK_ERR_CHECKSUM, "%s: a block at byte %llu does not have its checksum", path,
                          (unsigned long long)block->offset);
    stk_file_close(&file);
    free(piece);
    free(hashes);
    return status;
}

/* The k-th block that is there, counted round and round from a random one. */
static uint64_t pick_block(const stk_stage_map *map, uint64_t random)
{
    uint64_t b = random % map->n_blocks;
    while (map->blocks[b].state != STK_BLOCK_GOOD) b = (b + 1) % map->n_blocks;
    return b;
}

static stk_status check_samples(const char *copy, const stk_stage_source *source, const stk_stage_map *map,
                                uint32_t n_rehash, stk_error *error)
{
    if (stk_stage_map_bytes(map, STK_BLOCK_GOOD) == 0)
        return source->n_bytes == 0 ? STK_OK : stk_fail(error, STK_ERR_CORRUPT, "%s: holds nothing", copy);
    uint8_t *two = malloc((size_t)2 * SAMPLE_BYTES);
    if (two == NULL) return stk_fail_memory(error, "a sample");
    /* Other places each time: what one call misses another finds. */
    uint64_t seed = (uint64_t)(uintptr_t)two ^ (uint64_t)time(NULL);
    stk_status status = STK_OK;
    for (uint64_t i = 0; status == STK_OK && i < SAMPLES; i++) {
        uint64_t r = stk_mix64(seed + i * 2), q = stk_mix64(seed + i * 2 + 1);
        status = compare_piece(copy, source, map, pick_block(map, r), q, two, error);
    }
    for (uint64_t i = 0; status == STK_OK && i < n_rehash && i < map->n_blocks; i++)
        status = rehash_block(copy, source, map, pick_block(map, stk_mix64(seed + 1000 + i)), error);
    free(two);
    return status;
}

stk_status stk_stage_find(const char *base, const stk_stage_source *source, uint32_t n_rehash, stk_stage_map *map,
                          char copy[STK_STAGE_PATH], stk_error *error)
{
    struct stat st;
    *map = (stk_stage_map){0};
    if (!stk_stage_join(copy, base, source->key, "") || lstat(copy, &st) != 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "%s: no copy of %s", base, source->path);
    stk_status status = stk_stage_record_read(copy, source, map, error);
    if (status == STK_ERR_NOT_FOUND || status == STK_ERR_ARGUMENT)
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: has no sound record", copy);
    if (status == STK_OK) status = check_files(copy, source, map, error);
    if (status != STK_OK) {
        stk_stage_map_close(map);
        return status;
    }
    status = check_samples(copy, source, map, n_rehash, error);
    if (status != STK_OK && status != STK_ERR_CHECKSUM) stk_stage_map_close(map);
    return status;
}

void stk_stage_touch(const char *copy)
{
    char path[STK_STAGE_PATH];
    if (stk_stage_join(path, copy, "record", "")) (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}
