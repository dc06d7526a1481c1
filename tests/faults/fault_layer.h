/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls that fail to order: a shared library whose functions stand before the C library's, because a test
 * program links it first or LD_PRELOAD names it. The n-th call of a kind, counted over all threads since it was
 * armed, fails with an errno, transfers only half, or kills the process. x86-64 Linux with glibc. */
#ifndef STK_TESTS_FAULT_LAYER_H
#define STK_TESTS_FAULT_LAYER_H

#include <stdbool.h>

typedef enum fault_kind {
    FAULT_READ = 0,
    FAULT_PREAD,
    FAULT_WRITE,
    FAULT_PWRITE,
    FAULT_FSYNC,
    FAULT_OPEN,
    FAULT_RENAME,
    FAULT_UNLINK,
    FAULT_MKDIR,
    FAULT_TRUNCATE,
    FAULT_STAT,
    FAULT_MMAP,
    FAULT_MALLOC, /* and calloc, realloc, aligned_alloc, posix_memalign; what the C library allocates for itself too */
    FAULT_THREAD, /* pthread_create, EAGAIN */
    FAULT_CLOSE,
    FAULT_KINDS
} fault_kind;

/* Beside an errno. */
enum { FAULT_SHORT = 0, FAULT_KILL = -1 };

const char *fault_name(fault_kind kind);

/* From now on call number n (from 1) of the kind fails; from_then_on: and all after it. */
void fault_arm(fault_kind kind, long n, int how, bool from_then_on);
/* No more. Returns how many have failed. */
long fault_disarm(void);
/* Calls of the armed kind so far. */
long fault_seen(void);

/* Leaves alone also what the C library asks for, on whose behalf nobody knows. */
void fault_spare_libc(bool spare);

/* Memory blocks that were allocated and not freed, in the whole process. */
long fault_live_blocks(void);

#endif
