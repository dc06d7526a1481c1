/* SPDX-License-Identifier: Apache-2.0
 *
 * Files written below a folder under names that came out of a data set, which may be hostile: no symbolic
 * link is followed on the way, nothing is overwritten unasked. */
#ifndef STK_TOOLS_SAFE_WRITE_H
#define STK_TOOLS_SAFE_WRITE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum safe_result {
    SAFE_WRITTEN,
    SAFE_SAME,   /* a file with these very bytes is there already */
    SAFE_EXISTS, /* another file is there, and force is false */
    SAFE_FAILED  /* errno says why */
} safe_result;

/* Writes name (relative, parts separated by '/', made by record_path_safe) below the folder root_fd. Missing
 * folders are made. With force an existing file is replaced in one step. A file that could not be written
 * whole is removed. */
safe_result safe_write(int root_fd, const char *name, const void *bytes, size_t n_bytes, bool force);

#endif
