/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared table sets of a shard: read and checked at first touch, kept until close. No locks, as
 * index_reader.h. */
#ifndef STK_FORMAT_TABLE_SETS_H
#define STK_FORMAT_TABLE_SETS_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/file.h"
#include "format/layout.h"

/* The directory and the sets loaded so far; allocated at first touch. */
typedef struct stk_table_directory stk_table_directory;
typedef struct stk_table_sets {
    _Atomic(stk_table_directory *) directory;
} stk_table_sets;

/* Set number `set`; *blob lives until close. */
stk_status stk_table_sets_get(stk_table_sets *sets, const stk_file *file, const stk_shard_header *header,
                              uint32_t set, const uint8_t **blob, size_t *n_bytes, stk_error *error);
void stk_table_sets_close(stk_table_sets *sets);

#endif
