/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying a file whose disk may be failing. */
#ifndef STK_COMMON_FILE_COPY_H
#define STK_COMMON_FILE_COPY_H

#include <stoker/status.h>

/* Creates `to` (O_EXCL) with the bytes and permissions of `from`. What cannot be read is left as zeros, down to
 * pages, for the caller's checksums to find. On failure nothing stays. Not fsynced. */
stk_status stk_file_copy(const char *from, const char *to, stk_error *error);

#endif
