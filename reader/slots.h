/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for batches. A slot is a byte region from the caller's allocator plus arrays with one element an entry
 * (ids, labels, statuses ...); it is handed out as an stk_batch and comes back by stk_batch_release, from any
 * thread, also after the loader is closed: the pool is counted and dies with the last slot.
 *
 * The pool keeps `base` slots; when the consumer holds so many that none is left, further ones are taken from
 * the allocator and given back as soon as they return. Nobody ever waits here. */
#ifndef STK_READER_SLOTS_H
#define STK_READER_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stoker/loader.h>

#include "reader/schedule.h"

typedef struct stk_slot_pool stk_slot_pool;

typedef struct stk_slot_shape {
    uint32_t n_entries; /* at most: batch_size * n_views */
    uint32_t base;      /* slots kept */
    uint32_t n_ahead;   /* of these, for batches not yet delivered */
    uint32_t n_columns;
    const size_t *column_bytes; /* [n_columns] bytes an entry; copied */
    bool with_offsets;          /* entries of different sizes */
    bool with_mix;              /* labels2, shares and mixings */
} stk_slot_shape;

typedef struct stk_slot {
    stk_batch batch; /* first: a batch's address is its slot's */
    stk_slot_pool *pool;
    struct stk_slot *next; /* in the pool's list */
    void *memory;          /* from the allocator */
    size_t capacity;
    bool held; /* by the consumer */

    uint64_t *ids;
    uint32_t *occurrences;
    int64_t *labels;
    int32_t *statuses;
    int64_t *labels2; /* [n_entries] or NULL */
    float *shares;    /* likewise */
    stk_mixing *mixings; /* [samples] or NULL */
    uint64_t *offsets; /* [n_entries + 1] or NULL */
    void **columns;
    stk_array array; /* batch.array, when the records are arrays */
    void *arrays;    /* the one block that all of these lie in */

    /* The batch in the making (pipeline.c). Fixed before the slot is open to workers: */
    uint64_t serial, generation;
    uint64_t sequence; /* number of its first sample among this rank's, since the generation began */
    stk_share share;
    /* Under the pipeline's lock: */
    uint32_t bad_sample; /* lowest number of a sample that failed; UINT32_MAX = none */
    stk_error error;     /* of that one */
    /* Atomic: samples not finished yet; packed work: bytes taken so far. */
    _Atomic uint32_t pending;
    _Atomic uint64_t cursor;
} stk_slot;

/* allocator.acquire NULL: aligned host memory. */
stk_status stk_slot_pool_open(const stk_slot_shape *shape, const stk_slot_allocator *allocator,
                              stk_slot_pool **out, stk_error *error);
/* The loader lets go: free slots are freed, held ones when they are released. */
void stk_slot_pool_close(stk_slot_pool **pool);

/* A free slot with room for n_bytes. *surplus is set when it was taken because the consumer holds all. One call at
 * a time. */
stk_status stk_slot_get(stk_slot_pool *pool, size_t n_bytes, stk_slot **out, bool *surplus, stk_error *error);
void stk_slot_put(stk_slot *slot);
/* From now on the consumer's, until stk_batch_release. */
void stk_slot_hand_out(stk_slot *slot);

/* Slots that exist now. */
uint32_t stk_slot_count(stk_slot_pool *pool);

#endif
