/* SPDX-License-Identifier: Apache-2.0
 *
 * Which place a copy goes to, and why, in one line. */
#ifndef STK_STAGING_STAGE_CHOICE_H
#define STK_STAGING_STAGE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "staging/stage_place.h"

typedef struct stk_stage_wish {
    const char *source;       /* for the texts */
    uint64_t n_bytes, beside; /* what a whole copy takes, and what lies beside it */
    uint64_t source_device;   /* st_dev */
    stk_place_kind source_kind;
    uint64_t already[STK_PLACES]; /* bytes of it that lie in place i from an earlier run */
    bool named;               /* the user named the (only) place */
} stk_stage_wish;

/* The number of the place to use, or -1 with the reason: nothing faster than where it lies (*needless true), or no room
 * anywhere. Memory goes before a disk, a place with room for all before one with room for some. */
int stk_stage_choose(const stk_place *places, int n, const stk_stage_wish *wish, bool *needless,
                     char reason[STK_STAGE_TEXT]);

#endif
