/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file.h"

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

/* One read or write call moves at most this much: Linux stops at 2 GiB - 4 KiB anyway. */
enum { MAX_TRANSFER = 1 << 30 };

stk_status stk_file_open_read(const char *path, stk_file *out, stk_error *error)
{
    *out = (stk_file){.fd = -1, .path = path};
    do out->fd = open(path, O_RDONLY | O_CLOEXEC);
    while (out->fd < 0 && errno == EINTR);
    if (out->fd < 0) return stk_fail_errno(error, errno, "%s: cannot open", path);
    return STK_OK;
}

stk_status stk_file_open_update(const char *path, stk_file *out, stk_error *error)
{
    *out = (stk_file){.fd = -1, .path = path};
    do out->fd = open(path, O_RDWR | O_CLOEXEC);
    while (out->fd < 0 && errno == EINTR);
    if (out->fd < 0) return stk_fail_errno(error, errno, "%s: cannot open for writing", path);
    return STK_OK;
}

stk_status stk_file_create(const char *path, stk_file *out, stk_error *error)
{
    *out = (stk_file){.fd = -1, .path = path};
    do out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    while (out->fd < 0 && errno == EINTR);
    if (out->fd < 0) return stk_fail_errno(error, errno, "%s: cannot create", path);
    return STK_OK;
}

void stk_file_close(stk_file *file)
{
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

stk_status stk_file_close_checked(stk_file *file, stk_error *error)
{
    if (file->fd < 0) return STK_OK;
    int rc = close(file->fd);
    file->fd = -1;
    /* After EINTR the descriptor is gone on Linux: nothing to retry. */
    if (rc != 0 && errno != EINTR) return stk_fail_errno(error, errno, "%s: closing failed", file->path);
    return STK_OK;
}

stk_status stk_file_size(const stk_file *file, uint64_t *n_bytes, stk_error *error)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot stat", file->path);
    *n_bytes = (uint64_t)st.st_size;
    return STK_OK;
}

stk_status stk_file_read_at(const stk_file *file, void *data, size_t n_bytes, uint64_t offset, stk_error *error)
{
    uint8_t *p = data;
    if (offset > INT64_MAX) return stk_fail(error, STK_ERR_CORRUPT, "%s: offset beyond any file", file->path);
    while (n_bytes > 0) {
        size_t want = n_bytes < MAX_TRANSFER ? n_bytes : MAX_TRANSFER;
        ssize_t got = pread(file->fd, p, want, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return stk_fail_errno(error, errno, "%s: reading at byte %llu failed", file->path,
                                  (unsigned long long)offset);
        if (got == 0)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: ends at byte %llu, %zu bytes short", file->path,
                            (unsigned long long)offset, n_bytes);
        p += got;
        offset += (uint64_t)got;
        n_bytes -= (size_t)got;
    }
    return STK_OK;
}

stk_status stk_file_write_at(const stk_file *file, const void *data, size_t n_bytes, uint64_t offset,
                             stk_error *error)
{
    const uint8_t *p = data;
    while (n_bytes > 0) {
        size_t want = n_bytes < MAX_TRANSFER ? n_bytes : MAX_TRANSFER;
        ssize_t put = pwrite(file->fd, p, want, (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return stk_fail_errno(error, errno, "%s: writing at byte %llu failed", file->path,
                                  (unsigned long long)offset);
        if (put == 0) return stk_fail_errno(error, ENOSPC, "%s: nothing could be written", file->path);
        p += put;
        offset += (uint64_t)put;
        n_bytes -= (size_t)put;
    }
    return STK_OK;
}

stk_status stk_file_sync(const stk_file *file, stk_error *error)
{
    if (fsync(file->fd) != 0) return stk_fail_errno(error, errno, "%s: fsync failed", file->path);
    return STK_OK;
}

stk_status stk_file_read_all(const char *path, uint64_t max_bytes, stk_buffer *out, stk_error *error)
{
    stk_file file;
    STK_TRY(stk_file_open_read(path, &file, error));
    stk_status status = STK_OK;
    out->n_bytes = 0;
    /* One byte more than the size is asked for, so that a file that grows meanwhile, or whose size the
     * system does not know (/proc), is read to its real end. */
    uint64_t size = 0;
    STK_GOTO(stk_file_size(&file, &size, error));
    for (;;) {
        uint64_t want = out->n_bytes < size ? size - out->n_bytes + 1 : 4096;
        if (out->n_bytes > max_bytes || size > max_bytes) {
            status = stk_fail(error, STK_ERR_LIMIT, "%s: larger than the limit of %llu bytes", path,
                              (unsigned long long)max_bytes);
            goto cleanup;
        }
        if (want > MAX_TRANSFER) want = MAX_TRANSFER;
        STK_GOTO(stk_buffer_reserve(out, out->n_bytes + (size_t)want, error));
        ssize_t got = read(file.fd, out->data + out->n_bytes, (size_t)want);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = stk_fail_errno(error, errno, "%s: cannot read", path);
            goto cleanup;
        }
        if (got == 0) break;
        out->n_bytes += (size_t)got;
    }
cleanup:
    stk_file_close(&file);
    return status;
}

stk_status stk_sync_folder_of(const char *path, stk_error *error)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    if (n >= sizeof folder) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", path);
    if (slash == NULL) {
        strcpy(folder, ".");
    } else if (n == 0) {
        strcpy(folder, "/");
    } else {
        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return stk_fail_errno(error, errno, "%s: cannot open folder", folder);
    stk_status status = STK_OK;
    /* Some network file systems refuse fsync on folders (EINVAL): there is nothing more to do then. */
    if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        status = stk_fail_errno(error, errno, "%s: fsync failed", folder);
    close(fd);
    return status;
}

/* Rename that refuses an existing target: renameat2 where the file system has it, else link + unlink. */
static int rename_noreplace(const char *from, const char *to)
{
    enum { NOREPLACE = 1 };
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    struct stat st;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

stk_status stk_publish(const char *temporary, const char *path, bool replace, stk_error *error)
{
    int rc = replace ? rename(temporary, path) : rename_noreplace(temporary, path);
    if (rc != 0) return stk_fail_errno(error, errno, "%s: cannot put the finished output in place", path);
    return stk_sync_folder_of(path, error);
}

stk_status stk_write_file_synced(const char *path, const void *data, size_t n_bytes, stk_error *error)
{
    stk_file file;
    (void)unlink(path); /* what cannot be removed is met by the next line */
    STK_TRY(stk_file_create(path, &file, error));
    stk_status status;
    STK_GOTO(stk_file_write_at(&file, data, n_bytes, 0, error));
    STK_GOTO(stk_file_sync(&file, error));
    STK_GOTO(stk_file_close_checked(&file, error));
cleanup:
    stk_file_close(&file);
    if (status != STK_OK) unlink(path);
    return status;
}

stk_status stk_write_file_atomic(const char *path, const void *data, size_t n_bytes, stk_error *error)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", path);
    STK_TRY(stk_write_file_synced(temporary, data, n_bytes, error));
    stk_status status = stk_publish(temporary, path, true, error);
    if (status != STK_OK) unlink(temporary);
    return status;
}
