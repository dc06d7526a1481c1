/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: whole reads and writes (short ones and EINTR handled), sizes, and publishing by rename. Every
 * error text names the path. */
#ifndef STK_COMMON_FILE_H
#define STK_COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

typedef struct stk_file {
    int fd; /* -1 = closed */
    const char *path; /* for error texts; kept by the caller */
} stk_file;
#define STK_FILE_CLOSED ((stk_file){.fd = -1, .path = ""})

/* Opens for reading (O_CLOEXEC). */
stk_status stk_file_open_read(const char *path, stk_file *out, stk_error *error);
/* Opens an existing file for reading and writing. */
stk_status stk_file_open_update(const char *path, stk_file *out, stk_error *error);
/* Creates for reading and writing, O_EXCL: STK_ERR_EXISTS when there is one. */
stk_status stk_file_create(const char *path, stk_file *out, stk_error *error);
void stk_file_close(stk_file *file);
/* Closes and reports what close() says (a full network disk speaks up here). */
stk_status stk_file_close_checked(stk_file *file, stk_error *error);

stk_status stk_file_size(const stk_file *file, uint64_t *n_bytes, stk_error *error);
/* Reads exactly n bytes at offset; the file's end before that is STK_ERR_CORRUPT ("ends at ..."). */
stk_status stk_file_read_at(const stk_file *file, void *data, size_t n_bytes, uint64_t offset, stk_error *error);
stk_status stk_file_write_at(const stk_file *file, const void *data, size_t n_bytes, uint64_t offset,
                             stk_error *error);
stk_status stk_file_sync(const stk_file *file, stk_error *error);

/* Reads a whole file into buffer; larger than max_bytes is STK_ERR_LIMIT. */
stk_status stk_file_read_all(const char *path, uint64_t max_bytes, stk_buffer *out, stk_error *error);

/* fsync of the folder that holds path, so that a rename in it survives a power cut. */
stk_status stk_sync_folder_of(const char *path, stk_error *error);
/* rename + fsync of the folder. With replace false an existing target is STK_ERR_EXISTS (atomically). */
stk_status stk_publish(const char *temporary, const char *path, bool replace, stk_error *error);
/* Writes a file anew and fsyncs it, for publishing by the caller. On failure nothing stays. */
stk_status stk_write_file_synced(const char *path, const void *data, size_t n_bytes, stk_error *error);
/* Writes a small file whole or not at all: temporary name, fsync, rename, fsync of the folder. */
stk_status stk_write_file_atomic(const char *path, const void *data, size_t n_bytes, stk_error *error);

#endif
