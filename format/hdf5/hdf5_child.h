/* SPDX-License-Identifier: Apache-2.0
 *
 * libhdf5 behind a wall: a child process with limits on memory and time parses the file and hands back a plan.
 * What a bad file can do is end that child. */
#ifndef STK_FORMAT_HDF5_CHILD_H
#define STK_FORMAT_HDF5_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

#include "format/hdf5/hdf5_plan.h"

typedef struct stk_h5_child stk_h5_child;

/* Parses path (which must stay valid until close). *plan is checked against file_bytes and lives until close. The
 * child stays only where chunks could not be listed, to read them one by one (stk_h5_child_serves). */
stk_status stk_h5_child_open(const char *path, uint64_t file_bytes, stk_h5_child **out, const stk_h5_plan **plan,
                             stk_error *error);
bool stk_h5_child_serves(const stk_h5_child *child);
/* The raw (still filtered) bytes of a chunk; *n_bytes 0 where it was never written. Any thread; one at a time
 * inside (this is libhdf5's own lock in another guise). */
stk_status stk_h5_child_chunk(stk_h5_child *child, uint32_t dataset, uint64_t chunk, stk_buffer *out,
                              uint32_t *filter_mask, stk_error *error);
void stk_h5_child_close(stk_h5_child **child);

#endif
