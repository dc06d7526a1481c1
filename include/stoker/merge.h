/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining the parts that several machines packed (stk_pack_options.part of n_parts) into one data set. */
#ifndef STOKER_MERGE_H
#define STOKER_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_merge_options {
    size_t struct_size;   /* filled by stk_merge_options_init */
    bool force;           /* false: an existing DST is STK_ERR_EXISTS */
    uint64_t shard_bytes; /* 4 GiB; a folder DST's shards */
    /* Called now and then on the calling thread; false cancels (STK_ERR_CANCELLED). May be NULL. */
    bool (*progress)(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done);
    void *user;
} stk_merge_options;
STK_API void stk_merge_options_init(stk_merge_options *options);

typedef struct stk_merge_report {
    uint64_t records, bytes;
    double seconds;
    char dataset_id[40];
} stk_merge_report;

/* Joins the n parts (paths of data sets, in any order) into dst ("x.stk", or "folder/"), which equals byte for
 * byte what one pack of the whole would have written. Every payload's checksum is compared on the way. dst
 * appears whole or not at all; the parts stay. Where all parts have their .sources beside them, so has dst.
 * report may be NULL. Errors: STK_ERR_ARGUMENT with a list when parts are missing, given twice, or belong to
 * different packs; STK_ERR_CHECKSUM for a damaged record; as stk_pack for the output. */
STK_API STK_NODISCARD stk_status stk_merge(const char *const *parts, uint32_t n_parts, const char *dst,
                                           const stk_merge_options *options, stk_merge_report *report,
                                           stk_error *error);

STK_END_DECLS

#endif
