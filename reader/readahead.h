/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the system for coming records before the decoders want them. A thread of its own walks the sequence
 * ahead of the team, in lists of some MiB; a list's records are sorted by place, merged where they nearly touch,
 * and asked for with POSIX_FADV_WILLNEED, which returns at once and lets the kernel keep many requests in flight:
 * that is what hides the 20 ms of a network disk. Bytes asked for and not yet claimed stay within a budget, so
 * data larger than memory streams through the page cache.
 *
 * Where advice does not help (network, FUSE, overlay file systems) the ranges are read by threads instead, and
 * decoders take the records from what these read (haul.h).
 *
 * A few records of each list are probed first; a list that is in memory costs nothing more. */
#ifndef STK_READER_READAHEAD_H
#define STK_READER_READAHEAD_H

#include <stdint.h>

#include "reader/dataset_internal.h"
#include "reader/haul.h"
#include "reader/sampler.h"
#include "reader/schedule.h"
#include "reader/work.h"

typedef struct stk_readahead stk_readahead;

typedef struct stk_readahead_options {
    const stk_dataset *dataset;
    const stk_sampler *sampler;
    stk_schedule schedule;
    bool page_order;
    uint32_t page_window;
    uint64_t budget_bytes; /* 0 = auto */
    const stk_work_env *env; /* records that the consumer has are not asked for */
} stk_readahead_options;

/* Starts the thread. All pointers must outlive it. */
stk_status stk_readahead_open(const stk_readahead_options *options, stk_readahead **out, stk_error *error);
void stk_readahead_close(stk_readahead **readahead);

/* The sequence goes on at (epoch, cursor): forget what was asked for. */
void stk_readahead_seek(stk_readahead *readahead, uint64_t epoch, uint64_t cursor);
/* n more samples of this rank were claimed. From any thread; takes no lock but to wake. */
void stk_readahead_advance(stk_readahead *readahead, uint32_t n);
/* The payload of this rank's sample number `sequence` since the last seek, when it was read ahead into memory of
 * our own; waits for a read under way. NULL: read it yourself. The bytes stay until stk_readahead_done(haul). */
const uint8_t *stk_readahead_take(stk_readahead *readahead, uint64_t sequence, const stk_row *row,
                                  stk_haul **haul);
void stk_readahead_done(stk_readahead *readahead, stk_haul *haul);
/* A record took long to read: probing may have missed that the data is cold. */
void stk_readahead_slow(stk_readahead *readahead);

#endif
