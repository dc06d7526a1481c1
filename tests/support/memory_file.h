/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a file that has a path but touches no disk. */
#ifndef STK_TESTS_MEMORY_FILE_H
#define STK_TESTS_MEMORY_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct memory_file {
    int fd;
    char path[48];
} memory_file;

/* Replaces the content; the first call creates the file (start with fd -1). */
static inline void memory_file_set(memory_file *file, const void *data, size_t n_bytes)
{
    if (file->fd < 0) {
        file->fd = memfd_create("stoker-test", MFD_CLOEXEC);
        if (file->fd < 0) abort();
        snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
    }
    if (ftruncate(file->fd, 0) != 0 || ftruncate(file->fd, (off_t)n_bytes) != 0) abort();
    if (n_bytes > 0 && pwrite(file->fd, data, n_bytes, 0) != (ssize_t)n_bytes) abort();
}

static inline void memory_file_close(memory_file *file)
{
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

#endif
