/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples that wait to be encoded, as a list of sources whose bytes lie in a spool. */
#ifndef STK_PACKER_WRITER_BATCH_H
#define STK_PACKER_WRITER_BATCH_H

#include <stoker/writer.h>

#include "packer/sources.h"

typedef struct stk_writer_batch stk_writer_batch;

/* beside: the path that the spool lies beside. columns and class names: copied. */
stk_status stk_writer_batch_open(const char *beside, const stk_writer_options *options, stk_writer_batch **out,
                                 stk_error *error);
void stk_writer_batch_close(stk_writer_batch **batch);

/* Adds an item that was checked; number names it when it has no path. After a failure the batch is of no use. */
stk_status stk_writer_batch_add(stk_writer_batch *batch, const stk_item *item, uint64_t number, stk_error *error);

/* The samples in the batch, and how many of them have at most small_bytes bytes. */
uint64_t stk_writer_batch_len(const stk_writer_batch *batch);
uint64_t stk_writer_batch_bytes(const stk_writer_batch *batch);
uint64_t stk_writer_batch_small(const stk_writer_batch *batch, uint64_t small_bytes);

/* The batch as a list; valid until it is added to or emptied. */
stk_status stk_writer_batch_sources(stk_writer_batch *batch, const stk_sources **out, stk_error *error);

/* Forgets the samples; classes and columns stay. */
stk_status stk_writer_batch_empty(stk_writer_batch *batch, stk_error *error);

#endif
