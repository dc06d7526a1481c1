/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for index units: given out in pieces, given back all at once. Large indexes get chunks of huge pages
 * where the system has them: a first touch then costs a tenth of the page faults, and random rows half of the
 * TLB misses. Lock-free: a fork in the middle leaves the child nothing to wait for. */
#ifndef STK_FORMAT_SLAB_H
#define STK_FORMAT_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stk_slab_chunk stk_slab_chunk;
typedef struct stk_slab {
    bool huge;                        /* pieces share chunks; else each is an allocation of its own */
    _Atomic(stk_slab_chunk *) newest; /* the list of all; the head is the one to take from */
} stk_slab;

/* expected_bytes: what will be asked for in all, if everything is touched. */
void stk_slab_init(stk_slab *slab, uint64_t expected_bytes);
/* n_bytes aligned to 64, or NULL. From any thread. */
uint8_t *stk_slab_take(stk_slab *slab, size_t n_bytes);
void stk_slab_close(stk_slab *slab);

#endif
