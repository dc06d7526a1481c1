/* SPDX-License-Identifier: Apache-2.0
 *
 * A published copy as a reader sees it: which ranges of which files it holds, and the files. Immutable after open;
 * every function but close may be called by any number of threads. */
#ifndef STK_STAGING_STAGED_H
#define STK_STAGING_STAGED_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

#include "common/file.h"

typedef struct stk_staged stk_staged;

/* Looks for a copy of the data set at path in the place `to` ("auto": all places that stk_stage would look at). STK_OK
 * and *out NULL: there is none that fits. Holds a shared lock on the copy's record until closed, so that evictions of
 * what was not used lately leave it alone. */
stk_status stk_staged_open(const char *path, const char *to, stk_staged **out, stk_error *error);
void stk_staged_close(stk_staged **staged);

/* The whole copy's path, which opens like the source; NULL when only some of it is there. */
const char *stk_staged_path(const stk_staged *staged);
/* Where it lies. */
const char *stk_staged_folder(const stk_staged *staged);
uint64_t stk_staged_bytes(const stk_staged *staged); /* that it holds */

/* Whether the range of file number `file` (as the storage counts them) is there. */
bool stk_staged_covers(const stk_staged *staged, uint32_t file, uint64_t offset, uint64_t n_bytes);
/* Opens file number `file` of the copy; out->path lives as long as staged, the descriptor is the caller's. */
stk_status stk_staged_file(const stk_staged *staged, uint32_t file, stk_file *out, stk_error *error);

#endif
