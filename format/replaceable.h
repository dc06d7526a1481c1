/* SPDX-License-Identifier: Apache-2.0
 *
 * May a file be replaced by an output of stoker? */
#ifndef STK_FORMAT_REPLACEABLE_H
#define STK_FORMAT_REPLACEABLE_H

#include <stdbool.h>

#include <stoker/status.h>

/* STK_ERR_EXISTS when what lies at path is neither empty nor a shard or an HDF5 file by its first bytes (with `tar`
 * a tar will do too): a slip in a path must not cost somebody a file. STK_OK when nothing lies there. */
stk_status stk_check_replaceable(const char *path, bool tar, stk_error *error);

#endif
