/* SPDX-License-Identifier: Apache-2.0
 *
 * An open shard, for shard_reader.c and shard_check.c. */
#ifndef STK_FORMAT_SHARD_INTERNAL_H
#define STK_FORMAT_SHARD_INTERNAL_H

#include "format/index_reader.h"
#include "format/metadata.h"
#include "format/storage.h"
#include "format/table_sets.h"

typedef struct stk_shard {
    stk_storage head;
    char *path;
    stk_file file;
    stk_shard_header header;
    stk_index_reader index;
    stk_metadata metadata;
    stk_table_sets tables;
} stk_shard;

/* Entries of its table of operations. */
stk_status stk_shard_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error);
stk_status stk_shard_check(stk_storage *self, stk_storage_issue_fn fn, void *user, stk_error *error);
stk_status stk_shard_check_record(stk_storage *self, uint64_t i, stk_error *error);

#endif
