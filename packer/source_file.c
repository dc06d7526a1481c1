/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/source_file.h"

#include "packer/source_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"

/* Files up to this size are read at once; of larger ones the head is looked at first, and what is no image or
 * larger than the limit is not read on. */
enum { HEAD_BYTES = 4096, WHOLE_BYTES = 1 << 20 };

/* openat2 (Linux 5.6), spelled out here since older kernel headers lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
enum { BENEATH = 0x08 };
typedef struct open_request {
    uint64_t flags, mode, resolve;
} open_request;

/* A pipe named like an image must not block the pack. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

stk_status stk_source_reader_open(const stk_sources *sources, stk_source_reader *out, stk_error *error)
{
    *out = (stk_source_reader){.sources = sources, .root_fd = -1};
    for (int i = 0; i < STK_READER_FOLDERS; i++)
        out->folders[i].fd = -1;
    if (sources->store != NULL) return STK_OK; /* nothing will be opened by name */
    out->root_fd = open(sources->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->root_fd < 0) return stk_fail_errno(error, errno, "%s: cannot open the folder", sources->root);
    if (sources->confined) {
        out->real_root = realpath(sources->root, NULL);
        if (out->real_root == NULL) {
            int why = errno;
            stk_source_reader_close(out);
            return stk_fail_errno(error, why, "%s: cannot open the folder", sources->root);
        }
    }
    return STK_OK;
}

void stk_source_reader_close(stk_source_reader *reader)
{
    for (int i = 0; i < STK_READER_FOLDERS; i++)
        if (reader->folders[i].fd >= 0) close(reader->folders[i].fd);
    if (reader->root_fd >= 0) close(reader->root_fd);
    free(reader->real_root);
    stk_buffer_free(&reader->bytes);
    *reader = (stk_source_reader){.root_fd = -1};
    for (int i = 0; i < STK_READER_FOLDERS; i++)
        reader->folders[i].fd = -1;
}

/* The open folder of a list entry, or -1 with errno. */
static int folder_fd(stk_source_reader *reader, size_t dir)
{
    const char *path = reader->sources->dirs[dir].path;
    if (path[0] == '\0') return reader->root_fd;
    size_t slot = dir % STK_READER_FOLDERS;
    if (reader->folders[slot].fd >= 0 && reader->folders[slot].dir == dir) return reader->folders[slot].fd;
    int fd = openat(reader->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (reader->folders[slot].fd >= 0) close(reader->folders[slot].fd);
    reader->folders[slot].fd = fd;
    reader->folders[slot].dir = dir;
    return fd;
}

/* Where openat2 is not to be had: open, then look where that led. */
static int open_and_compare(const stk_source_reader *reader, const char *name)
{
    int fd = openat(reader->root_fd, name, OPEN_FLAGS);
    if (fd < 0) return -1;
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof real - 1);
    size_t n_root = strlen(reader->real_root);
    bool inside = n > 0 && (size_t)n > n_root && memcmp(real, reader->real_root, n_root) == 0 &&
                  (real[n_root] == '/' || reader->real_root[n_root - 1] == '/');
    if (inside) return fd;
    close(fd);
    errno = EXDEV;
    return -1;
}

static int open_confined(stk_source_reader *reader, const char *name)
{
    if (!reader->no_openat2) {
        open_request how = {.flags = OPEN_FLAGS, .resolve = BENEATH};
        long fd = syscall(SYS_openat2, reader->root_fd, name, &how, sizeof how);
        if (fd >= 0) return (int)fd;
        /* Older containers answer EPERM to calls that they do not know; BENEATH refuses absolute links
         * even into the root (EXDEV), which the slow way decides rightly. */
        if (errno == ENOSYS || errno == EPERM || errno == EINVAL)
            reader->no_openat2 = true;
        else if (errno != EXDEV && errno != EAGAIN)
            return -1;
    }
    return open_and_compare(reader, name);
}

static int open_source(stk_source_reader *reader, const stk_source *source)
{
    if (reader->sources->confined) return open_confined(reader, source->name);
    int folder = folder_fd(reader, source->dir);
    if (folder < 0) return -1;
    for (;;) {
        int fd = openat(folder, source->name, OPEN_FLAGS);
        if (fd >= 0 || errno != EINTR) return fd;
    }
}

bool stk_stops_everything(int error_number)
{
    return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM ||
           error_number == ENOTCONN || error_number == ESHUTDOWN || error_number == ETIMEDOUT ||
           error_number == EHOSTDOWN;
}

static stk_status set_failure(const stk_source_reader *reader, const stk_source *source, int error_number,
                              stk_source_bytes *out, stk_error *error)
{
    out->error_number = error_number;
    out->result = error_number == ENOENT || error_number == ENOTDIR ? STK_READ_GONE
                  : error_number == EXDEV                           ? STK_READ_OUTSIDE
                                                                    : STK_READ_UNREADABLE;
    /* open() of a socket. */
    if (error_number == ENXIO) out->result = STK_READ_NOT_A_FILE;
    if (!stk_stops_everything(error_number)) return STK_OK;
    char path[PATH_MAX];
    stk_source_path(reader->sources, source, path, sizeof path);
    return stk_fail_errno(error, error_number, "%s/%s: cannot read", reader->sources->root, path);
}

static void set_stat(const struct stat *st, stk_source_bytes *out)
{
    out->size = (uint64_t)st->st_size;
    out->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    if (!S_ISREG(st->st_mode)) out->result = STK_READ_NOT_A_FILE;
}

/* Reads from the file's place up to n bytes in all; sets errno and returns false on failure. *end: the file
 * ended before. */
static bool read_up_to(int fd, stk_buffer *bytes, size_t n, bool *end)
{
    *end = false;
    while (bytes->n_bytes < n) {
        ssize_t got = read(fd, bytes->data + bytes->n_bytes, n - bytes->n_bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        *end = got == 0;
        if (*end) return true;
        bytes->n_bytes += (size_t)got;
    }
    return true;
}

/* The whole file, whatever its size was when it was opened: a growing one is read to its end. */
static stk_status read_whole(stk_source_reader *reader, int fd, uint64_t max_bytes,
                             bool (*is_image)(const uint8_t *, size_t), stk_source_bytes *out,
                             int *error_number, stk_error *error)
{
    stk_buffer *bytes = &reader->bytes;
    bool end = false;
    bytes->n_bytes = 0;
    if (out->size > WHOLE_BYTES || out->size > max_bytes) {
        STK_TRY(stk_buffer_reserve(bytes, HEAD_BYTES, error));
        if (!read_up_to(fd, bytes, HEAD_BYTES, &end)) goto failed;
        if (!is_image(bytes->data, bytes->n_bytes))
            out->result = STK_READ_NO_IMAGE;
        else if (out->size > max_bytes)
            out->result = STK_READ_TOO_LARGE;
        if (out->result != STK_READ_OK) return STK_OK;
    }
    uint64_t want = out->size + 1;
    while (!end) {
        STK_TRY(stk_buffer_reserve(bytes, (size_t)want, error));
        if (!read_up_to(fd, bytes, (size_t)want, &end)) goto failed;
        if (bytes->n_bytes > max_bytes) {
            out->result = STK_READ_TOO_LARGE;
            return STK_OK;
        }
        want = bytes->n_bytes + (bytes->n_bytes >> 2) + HEAD_BYTES;
    }
    return STK_OK;
failed:
    *error_number = errno;
    return STK_OK;
}

/* A record that cannot be read is one entry's misfortune, as a file's would be. */
static stk_status read_from_store(stk_source_reader *reader, const stk_source *source, uint64_t max_bytes,
                                  stk_source_bytes *out, stk_error *error)
{
    stk_source_store *store = reader->sources->store;
    stk_error why;
    out->size = store->size(store, source->position);
    if (out->size > max_bytes) {
        out->result = STK_READ_TOO_LARGE;
        return STK_OK;
    }
    stk_status status = store->read(store, source->position, &reader->bytes, &why);
    if (status == STK_ERR_MEMORY) return stk_fail_memory(error, "a record");
    if (status != STK_OK) {
        out->result = STK_READ_UNREADABLE;
        out->error_number = EIO;
        return STK_OK;
    }
    out->data = reader->bytes.data;
    out->n_bytes = reader->bytes.n_bytes;
    return STK_OK;
}

stk_status stk_source_read(stk_source_reader *reader, const stk_source *source, uint64_t max_bytes,
                           bool (*is_image)(const uint8_t *head, size_t n_bytes), stk_source_bytes *out,
                           stk_error *error)
{
    *out = (stk_source_bytes){0};
    /* What an outlier took is given back before the next file. */
    if (reader->bytes.capacity > (size_t)16 << 20) stk_buffer_free(&reader->bytes);
    if (reader->sources->store != NULL) return read_from_store(reader, source, max_bytes, out, error);
    int fd = open_source(reader, source);
    if (fd < 0) return set_failure(reader, source, errno, out, error);
    struct stat st;
    int error_number = 0;
    stk_status status = STK_OK;
    if (fstat(fd, &st) != 0)
        error_number = errno;
    else
        set_stat(&st, out);
    if (error_number == 0 && out->result == STK_READ_OK)
        status = read_whole(reader, fd, max_bytes, is_image, out, &error_number, error);
    close(fd);
    if (status == STK_OK && error_number != 0) return set_failure(reader, source, error_number, out, error);
    out->data = reader->bytes.data;
    out->n_bytes = reader->bytes.n_bytes;
    return status;
}

static bool take_any(const uint8_t *head, size_t n_bytes)
{
    (void)head, (void)n_bytes;
    return true;
}

stk_status stk_source_read_all(stk_source_reader *reader, const stk_source *source, uint64_t max_bytes,
                               stk_source_bytes *out, stk_error *error)
{
    return stk_source_read(reader, source, max_bytes, take_any, out, error);
}

stk_status stk_source_stat(stk_source_reader *reader, const stk_source *source, stk_source_bytes *out,
                           stk_error *error)
{
    *out = (stk_source_bytes){0};
    if (reader->sources->store != NULL) {
        out->size = reader->sources->store->size(reader->sources->store, source->position);
        return STK_OK;
    }
    int folder = reader->sources->confined ? reader->root_fd : folder_fd(reader, source->dir);
    struct stat st;
    if (folder < 0 || fstatat(folder, source->name, &st, 0) != 0)
        return set_failure(reader, source, errno, out, error);
    set_stat(&st, out);
    return STK_OK;
}
