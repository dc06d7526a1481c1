/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over blocks of a copy, by several threads: copying them from the source, or comparing them with their
 * checksums. Threads take pieces of 1 MiB, so that also a file of one block is copied by all of them. */
#ifndef STK_STAGING_STAGE_PASS_H
#define STK_STAGING_STAGE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/stage.h>

#include "common/file.h"
#include "staging/stage_record.h"

typedef enum stk_pass_kind {
    STK_PASS_CHECK, /* CLAIMED and GOOD blocks become GOOD or WANTED */
    STK_PASS_COPY,  /* WANTED blocks become GOOD: read, hashed, written; a part is read back and compared */
    STK_PASS_MEND   /* the same, and the source must give the checksum that is known (STK_ERR_STATE) */
} stk_pass_kind;

typedef struct stk_stage_pass {
    stk_pass_kind kind;
    const char *phase; /* for progress */
    const stk_stage_source *source;
    const char *folder; /* the copy's */
    bool subset;        /* which decides the files' names (stk_stage_target) */
    const stk_file *journal; /* NULL = none; gets a slot for each block copied */
    uint32_t n_threads;
    stk_stage_progress_fn progress;
    void *user;
    uint64_t started_ns;
    uint64_t bytes_before, bytes_total; /* for progress: of the phase */
} stk_stage_pass;

/* Over the map's blocks that are in one of the states that kind names. *n_bytes (may be NULL): worked on. Files that are
 * to be written must exist with their full size. A failure ends the pass; blocks that were finished stay GOOD. */
stk_status stk_stage_pass_run(const stk_stage_pass *pass, stk_stage_map *map, uint64_t *n_bytes, stk_error *error);

/* Where file i lies in a copy: FOLDER/train.stk; of a copy that has only some of its blocks FOLDER/train.stk.partial, so
 * that nobody takes it for the whole. False when the path is too long. */
bool stk_stage_target(const char *folder, const stk_stage_source *source, bool subset, uint32_t i,
                      char out[STK_STAGE_PATH]);

#endif
