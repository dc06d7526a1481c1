/* SPDX-License-Identifier: Apache-2.0
 *
 * Fetching ahead where advice to the kernel is not enough: network, FUSE and other file systems that may drop
 * advice (FUSE does so when 12 requests are under way) or keep no page cache at all. Threads read ranges of coming
 * records into memory of our own ("hauls"), and the decoders take the records from there: what was read once is
 * not read again. Threads are started when needed, none before the first haul.
 *
 * Samples are known by their sequence number: how many of this rank's samples lie before them since the
 * last reset. */
#ifndef STK_READER_HAUL_H
#define STK_READER_HAUL_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/payload.h"

typedef struct stk_haulage stk_haulage;
typedef struct stk_haul stk_haul;

/* A record that is wanted. */
typedef struct stk_wanted {
    uint64_t offset, n_bytes;
    uint64_t sequence;
    uint32_t file;
} stk_wanted;

/* The source must outlive it. At most n_places sequence numbers in a row can be remembered. */
stk_status stk_haulage_open(const stk_payload_source *source, uint32_t n_places, stk_haulage **out,
                            stk_error *error);
/* No taker may be left. Reads under way are waited for. */
void stk_haulage_close(stk_haulage **haulage);

/* Queues one read for the records, which lie in one file, sorted by offset; gaps between them are read along.
 * Waits while the queue is full. False when it is being interrupted, or nothing can be read ahead here (no memory,
 * no thread): the decoders then read for themselves. */
bool stk_haulage_fetch(stk_haulage *haulage, const stk_wanted *records, uint32_t n);

/* The payload of a record that was queued, waiting until it is read. NULL when it was not, or could not be read.
 * The bytes stay until stk_haulage_done. */
const uint8_t *stk_haulage_take(stk_haulage *haulage, uint64_t sequence, const stk_row *row, stk_haul **haul);
void stk_haulage_done(stk_haulage *haulage, stk_haul *haul);

/* Forgets everything; sequence numbers start anew. A fetch that waits returns false, as do all until resume. */
void stk_haulage_reset(stk_haulage *haulage);
void stk_haulage_resume(stk_haulage *haulage);

#endif
