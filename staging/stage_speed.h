/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast a source reads and a place writes, measured in a fraction of a second. */
#ifndef STK_STAGING_STAGE_SPEED_H
#define STK_STAGING_STAGE_SPEED_H

#include <stdbool.h>

#include "staging/stage_source.h"

typedef struct stk_source_speed {
    double mb_s;      /* 10^6 bytes a second of one thread; 0 = could not be measured */
    bool from_memory; /* what was read lay in the page cache: says nothing about the disk behind */
} stk_source_speed;

/* Reads up to eight pieces spread over the data set, for 0.15 s at most (one piece at least). */
stk_source_speed stk_stage_source_speed(const stk_stage_source *source);

/* Writes 16 MiB (in memory, whose speed decides nothing, 4) into a nameless file in folder, for 0.3 s at most; synced
 * where that reaches a disk. 0 = could not be measured. */
double stk_stage_target_speed(const char *folder, bool in_memory);

#endif
