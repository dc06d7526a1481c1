/* SPDX-License-Identifier: Apache-2.0
 *
 * A .stk shard as a storage. */
#ifndef STK_FORMAT_SHARD_READER_H
#define STK_FORMAT_SHARD_READER_H

#include "format/layout.h"
#include "format/storage.h"

/* Opens one shard: reads header, trailer, column table and metadata. */
stk_status stk_shard_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                          stk_error *error);

/* Opens what is whole of a shard whose end or index is lost, by scanning for record headers; the payloads'
 * checksums decide. Memory in proportion to the records. One column, "record" (uint64): the number that each
 * had in its data set. */
stk_status stk_shard_salvage(const char *path, stk_storage **out, stk_error *error);

static inline stk_row stk_row_from_core(const stk_core_row *core)
{
    return (stk_row){.offset = core->offset,
                     .n_bytes = core->n_bytes,
                     .xxh3 = core->xxh3,
                     .label = core->label,
                     .width = core->width,
                     .height = core->height,
                     .tables = core->tables,
                     .encoding = core->encoding,
                     .orientation = core->orientation,
                     .channels = core->channels,
                     .has_xxh3 = 1};
}

/* Number of the shard's first record within its data set. The storage must be a shard. */
uint64_t stk_shard_first_record(const stk_storage *shard);

#endif
