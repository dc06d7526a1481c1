/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that a writer needs only at its end (index, strings): kept in memory while they are few, then in an
 * unnamed file beside the output, so that packing any number of records takes bounded memory. */
#ifndef STK_FORMAT_SPOOL_H
#define STK_FORMAT_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>

#include "common/file.h"
#include "common/hash.h"

typedef struct stk_spool {
    const char *path;  /* of the output; kept by the caller */
    stk_buffer memory; /* what is not yet in the file */
    stk_file file;     /* closed until memory was exceeded */
    uint64_t in_file;
} stk_spool;

void stk_spool_init(stk_spool *spool, const char *path);
stk_status stk_spool_append(stk_spool *spool, const void *data, size_t n_bytes, stk_error *error);
uint64_t stk_spool_bytes(const stk_spool *spool);
/* Writes everything to `to` at offset, and into the hasher. */
stk_status stk_spool_copy(stk_spool *spool, const stk_file *to, uint64_t offset, stk_hasher *hasher,
                          stk_error *error);
/* Reads n bytes back from offset (inside what was appended). */
stk_status stk_spool_read(const stk_spool *spool, uint64_t offset, void *data, size_t n_bytes,
                          stk_error *error);
void stk_spool_free(stk_spool *spool);

#endif
