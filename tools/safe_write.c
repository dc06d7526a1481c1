/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the folder that holds the last part of name, making folders on the way; -1 and errno on failure. */
static int open_parent(int root_fd, const char *name, const char **last)
{
    char part[256];
    int fd = dup(root_fd);
    const char *slash;
    while (fd >= 0 && (slash = strchr(name, '/')) != NULL) {
        size_t length = (size_t)(slash - name);
        if (length >= sizeof part) {
            close(fd);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, name, length);
        part[length] = '\0';
        int next = -1;
        if (mkdirat(fd, part, 0777) == 0 || errno == EEXIST)
            next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int saved = errno;
        close(fd);
        errno = saved;
        fd = next;
        name = slash + 1;
    }
    *last = name;
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* Makes a new file of these bytes; nothing of it stays after a failure. */
static bool create(int dir_fd, const char *name, const void *bytes, size_t n_bytes)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    bool good = write_all(fd, bytes, n_bytes);
    int saved = errno;
    if (close(fd) != 0 && good) {
        good = false;
        saved = errno;
    }
    if (!good) unlinkat(dir_fd, name, 0);
    errno = saved;
    return good;
}

/* True when the file holds exactly these bytes. */
static bool holds(int dir_fd, const char *name, const char *bytes, size_t n_bytes)
{
    char block[65536];
    struct stat status;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool same = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == n_bytes;
    while (same && n_bytes > 0) {
        ssize_t n = read(fd, block, sizeof block);
        same = n > 0 && (size_t)n <= n_bytes && memcmp(block, bytes, (size_t)n) == 0;
        if (same) {
            bytes += n;
            n_bytes -= (size_t)n;
        }
    }
    close(fd);
    return same;
}

static bool replace(int dir_fd, const char *name, const void *bytes, size_t n_bytes)
{
    char temporary[64];
    snprintf(temporary, sizeof temporary, ".stoker-extract-%ld.tmp", (long)getpid());
    unlinkat(dir_fd, temporary, 0);
    if (!create(dir_fd, temporary, bytes, n_bytes)) return false;
    if (renameat(dir_fd, temporary, dir_fd, name) == 0) return true;
    int saved = errno;
    unlinkat(dir_fd, temporary, 0);
    errno = saved;
    return false;
}

safe_result safe_write(int root_fd, const char *name, const void *bytes, size_t n_bytes, bool force)
{
    const char *last = name;
    int dir_fd = open_parent(root_fd, name, &last);
    if (dir_fd < 0) return SAFE_FAILED;
    safe_result result = SAFE_WRITTEN;
    if (!create(dir_fd, last, bytes, n_bytes)) {
        result = SAFE_FAILED;
        if (errno == EEXIST && holds(dir_fd, last, bytes, n_bytes))
            result = SAFE_SAME;
        else if (errno == EEXIST || errno == ELOOP)
            result = !force                                  ? SAFE_EXISTS
                     : replace(dir_fd, last, bytes, n_bytes) ? SAFE_WRITTEN
                                                             : SAFE_FAILED;
    }
    int saved = errno;
    close(dir_fd);
    errno = saved;
    return result;
}
