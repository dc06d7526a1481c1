/* SPDX-License-Identifier: Apache-2.0
 *
 * Mending a copy of a shard whose index is sound: payloads and record headers that a disk has spoilt are written
 * anew, records that are lost are marked dead (docs/format.md). Nothing moves. When all payloads that the index
 * tells of are back, the file is the one that was written first, byte for byte. */
#ifndef STK_FORMAT_SHARD_MEND_H
#define STK_FORMAT_SHARD_MEND_H

#include <stdint.h>

#include <stoker/status.h>

typedef struct stk_shard_mender stk_shard_mender;

/* Opens the copy at path, which must open as a shard. */
stk_status stk_shard_mender_open(const char *path, stk_shard_mender **out, stk_error *error);

/* Sets record i (number within the shard; best in rising order: an index block is written when it is left):
 * its encoding from now on, its record header from the index, and its payload of the row's n_bytes; NULL leaves
 * the bytes that lie there. */
stk_status stk_shard_mender_set(stk_shard_mender *mender, uint64_t i, uint8_t encoding, const uint8_t *payload,
                                stk_error *error);

/* Writes index, data set id and trailer, fsyncs. id gets 33 bytes. */
stk_status stk_shard_mender_finish(stk_shard_mender *mender, char *id, stk_error *error);

/* Frees; sets *mender to NULL. */
void stk_shard_mender_close(stk_shard_mender **mender);

#endif
