/* SPDX-License-Identifier: Apache-2.0
 *
 * One writer at a time for an output: the file DST.tmp.lock is held by flock while somebody writes to DST. The kernel
 * lets go of it when its owner dies, so temporary files found under the lock belong to the dead. */
#ifndef STK_COMMON_TAKE_LOCK_H
#define STK_COMMON_TAKE_LOCK_H

#include <stoker/status.h>

/* Takes the lock file at path `lock` for the output dst. *lock_fd: to be closed after the file is unlinked; -1 when the
 * file system has no locks. STK_ERR_BUSY when another process holds it; dst is for the text. */
stk_status stk_take_lock(const char *lock, const char *dst, int *lock_fd, stk_error *error);

#endif
