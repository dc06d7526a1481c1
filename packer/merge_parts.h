/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a data set: do they belong together, and are they all there? */
#ifndef STK_PACKER_MERGE_PARTS_H
#define STK_PACKER_MERGE_PARTS_H

#include <stoker/pack.h>

#include "format/storage.h"
#include "packer/source_history.h"

typedef struct stk_part {
    const char *path; /* the caller's */
    stk_storage *storage;
    stk_history history; /* empty without DST.sources */
    uint64_t number;     /* 1 .. n */
} stk_part;

typedef struct stk_merge_parts {
    stk_part *parts; /* in the order of their numbers */
    uint32_t n;
    uint64_t n_records;
    char *metadata;   /* of the whole */
    char whole[17];   /* the pack that they are parts of */
    bool has_history; /* all have one that belongs to them */
    stk_check check;
} stk_merge_parts;

/* STK_ERR_ARGUMENT with a list of what is missing, given twice, or belongs elsewhere. */
stk_status stk_merge_parts_open(const char *const *paths, uint32_t n, stk_merge_parts *out, stk_error *error);
void stk_merge_parts_close(stk_merge_parts *parts);

#endif
