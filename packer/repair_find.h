/* SPDX-License-Identifier: Apache-2.0
 *
 * Which records of a shard are not as they were written? */
#ifndef STK_PACKER_REPAIR_FIND_H
#define STK_PACKER_REPAIR_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/dataset.h>

#include "format/storage.h"

/* A record that is damaged, or dead already. */
typedef struct stk_patient {
    uint64_t local;    /* number in its shard */
    uint64_t record;   /* in the data set */
    stk_row row;       /* its encoding perhaps with STK_ENCODING_DEAD */
    uint32_t shard;
    bool payload_lost; /* else only the copy of the row before it is damaged */
    char wrong[128];   /* a clause: what was found */
    /* What it was made of (repair_sources.h). */
    char *path;        /* owned; NULL: not known */
    uint64_t source_bytes, source_xxh3;
    uint64_t position; /* in the list of sources; UINT64_MAX: not there */
} stk_patient;

typedef struct stk_patients {
    stk_patient *items; /* in record order */
    size_t n, capacity;
} stk_patients;
void stk_patients_free(stk_patients *patients);

/* How far a search has got, over all shards. */
typedef struct stk_find_progress {
    bool (*tick)(void *user, uint64_t records, uint64_t bytes); /* false: stop */
    void *user;
    uint64_t records, bytes;
} stk_find_progress;

/* Compares every payload and record header of an open shard with its index, and appends what does not fit;
 * first: number of the shard's first record, as its rows are told. STK_ERR_CORRUPT when the index itself, or
 * anything else outside the records, is damaged; STK_ERR_CANCELLED. */
stk_status stk_repair_find(stk_storage *shard, uint32_t number, uint64_t first, stk_find_progress *progress,
                           stk_patients *out, stk_error *error);

#endif
