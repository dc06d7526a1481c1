/* SPDX-License-Identifier: Apache-2.0
 *
 * What a copy consists of: its files in blocks of 64 MiB, which of them are there, and their checksums. A published
 * copy's lies in its file `record`; one that is being made has a `journal` instead, a slot a block, written after the
 * block's bytes. Nothing in either is trusted beyond what the bytes' checksums bear out.
 *
 * A block's checksum is the XXH3-64 of the XXH3-64s of its pieces of 1 MiB: so that several threads can work on one
 * block, each on pieces of its own. */
#ifndef STK_STAGING_STAGE_RECORD_H
#define STK_STAGING_STAGE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

#include "common/file.h"
#include "staging/stage_source.h"

enum { STK_STAGE_PIECE = 1 << 20 };

typedef enum stk_block_state {
    STK_BLOCK_ABSENT = 0, /* not part of this copy */
    STK_BLOCK_WANTED,     /* to be copied */
    STK_BLOCK_CLAIMED,    /* the journal says that it is there: to be compared with its checksum */
    STK_BLOCK_GOOD        /* there, checksum compared */
} stk_block_state;

typedef struct stk_stage_block {
    uint64_t hash;
    uint32_t state;
    uint32_t file;
    uint64_t offset, n_bytes;
} stk_stage_block;

/* One array for all files, in their order. */
typedef struct stk_stage_map {
    stk_stage_block *blocks;
    uint64_t *first; /* [n_files + 1]: of a file's blocks */
    uint64_t n_blocks, block_bytes;
    uint32_t n_files;
} stk_stage_map;

/* All blocks WANTED. */
stk_status stk_stage_map_open(const stk_stage_source *source, uint64_t block_bytes, stk_stage_map *out,
                              stk_error *error);
void stk_stage_map_close(stk_stage_map *map);
/* Bytes of the blocks in state, or in any but ABSENT for state ABSENT. */
uint64_t stk_stage_map_bytes(const stk_stage_map *map, stk_block_state state);
/* No block is ABSENT. */
bool stk_stage_map_is_whole(const stk_stage_map *map);

/* FOLDER/record, whole or not at all. */
stk_status stk_stage_record_write(const char *folder, const stk_stage_source *source, const stk_stage_map *map,
                                  stk_error *error);
/* Reads the record of a copy of exactly this source: its blocks become GOOD and ABSENT in map (which is opened).
 * STK_ERR_NOT_FOUND: no record; STK_ERR_CORRUPT: damaged, or of something else. */
stk_status stk_stage_record_read(const char *folder, const stk_stage_source *source, stk_stage_map *map,
                                 stk_error *error);
/* The source's path in any copy's record or note, for lists; false when it cannot be read. The caller frees *path. */
bool stk_stage_record_source(const char *folder, char **path, uint64_t *n_bytes, bool *whole);
/* FOLDER/note: what a .part is a copy of, for the same function. */
stk_status stk_stage_note_write(const char *folder, const stk_stage_source *source, stk_error *error);

/* The journal: one open file, any number of threads. */
stk_status stk_stage_journal_open(const char *folder, uint64_t block_bytes, stk_file *out, char path[],
                                  stk_error *error);
stk_status stk_stage_journal_put(const stk_file *journal, uint64_t block, uint64_t hash, stk_error *error);
/* Blocks with a sound slot become CLAIMED. */
stk_status stk_stage_journal_read(const stk_file *journal, stk_stage_map *map, stk_error *error);

#endif
