/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading source files, cheaply: relative to open folders, into one buffer that is kept. One reader a thread.
 */
#ifndef STK_PACKER_SOURCE_FILE_H
#define STK_PACKER_SOURCE_FILE_H

#include <stdint.h>

#include <stoker/dataset.h>

#include "packer/sources.h"

enum { STK_READER_FOLDERS = 8 };

typedef struct stk_source_reader {
    const stk_sources *sources;
    int root_fd;
    /* Folders used last, so that a file is opened relative to its own: the kernel then walks one name. */
    struct {
        size_t dir;
        int fd;
    } folders[STK_READER_FOLDERS];
    char *real_root; /* confined lists: resolved, to compare with */
    bool no_openat2; /* the kernel or a container forbids it */
    stk_buffer bytes;
} stk_source_reader;

stk_status stk_source_reader_open(const stk_sources *sources, stk_source_reader *out, stk_error *error);
void stk_source_reader_close(stk_source_reader *reader);

/* Is it a failure that is not this file's or folder's, so that every further one would fail alike (no memory, no
 * descriptors, a network disk that is gone)? */
bool stk_stops_everything(int error_number);

typedef enum stk_read_result {
    STK_READ_OK = 0,
    STK_READ_GONE,       /* no such file */
    STK_READ_UNREADABLE, /* open or read failed; error_number says why */
    STK_READ_NOT_A_FILE, /* a pipe, socket or device */
    STK_READ_TOO_LARGE,
    STK_READ_OUTSIDE, /* a link leads out of a confined root */
    STK_READ_NO_IMAGE /* its beginning is no image; only that was read */
} stk_read_result;

typedef struct stk_source_bytes {
    stk_read_result result;
    int error_number;
    const uint8_t *data; /* in the reader, until its next read */
    size_t n_bytes;
    uint64_t size; /* of the file when opened */
    int64_t mtime_ns;
} stk_source_bytes;

/* Reads a file whole. Larger files are looked at first: when the head (its first bytes) is no image they are
 * not read on. Fails only where going on would leave out file after file: no memory, no descriptors, a
 * network disk that is gone. */
stk_status stk_source_read(stk_source_reader *reader, const stk_source *source, uint64_t max_bytes,
                           bool (*is_image)(const uint8_t *head, size_t n_bytes), stk_source_bytes *out,
                           stk_error *error);

/* The same without a look at the head. */
stk_status stk_source_read_all(stk_source_reader *reader, const stk_source *source, uint64_t max_bytes,
                               stk_source_bytes *out, stk_error *error);

/* Size and time of a file without reading it; result as above. */
stk_status stk_source_stat(stk_source_reader *reader, const stk_source *source, stk_source_bytes *out,
                           stk_error *error);

#endif
