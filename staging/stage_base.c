/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/remove_tree.h"

bool stk_stage_join(char out[STK_STAGE_PATH], const char *base, const char *name, const char *ending)
{
    int n = snprintf(out, STK_STAGE_PATH, "%s/%s%s", base, name, ending);
    return n >= 0 && n < STK_STAGE_PATH;
}

static stk_status check_place(const char *place, stk_error *error)
{
    struct stat st;
    if (stat(place, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot be used for staging", place);
    if (!S_ISDIR(st.st_mode)) return stk_fail(error, STK_ERR_ARGUMENT, "%s: is not a folder", place);
    if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "%s: anybody may exchange what lies there (it is writable by all and not sticky); choose "
                        "another folder, or chmod +t it",
                        place);
    return STK_OK;
}

static stk_status check_base(const char *base, stk_error *error)
{
    struct stat st;
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return stk_fail(error, STK_ERR_NOT_FOUND, "%s: is not there", base);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "%s: is a link or a file, not a folder of yours; remove it, or choose another place", base);
    if (fd < 0) return stk_fail_errno(error, errno, "%s: cannot be opened", base);
    stk_status status = STK_OK;
    if (fstat(fd, &st) != 0)
        status = stk_fail_errno(error, errno, "%s: cannot be looked at", base);
    else if (st.st_uid != geteuid())
        status = stk_fail(error, STK_ERR_UNSUPPORTED, "%s: belongs to another user; choose another place", base);
    else if ((st.st_mode & 077) != 0 && fchmod(fd, 0700) != 0)
        status = stk_fail_errno(error, errno, "%s: is open to others and cannot be closed", base);
    close(fd);
    return status;
}

stk_status stk_stage_base(const char *place, bool create, char base[STK_STAGE_PATH], stk_error *error)
{
    STK_TRY(check_place(place, error));
    char name[64];
    snprintf(name, sizeof name, "stoker-%lu", (unsigned long)geteuid());
    char *real = realpath(place, NULL); /* the copy's path is handed out, and must not depend on who asks from where */
    bool fits = real != NULL && stk_stage_join(base, real, name, "");
    free(real);
    if (!fits) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", place);
    if (create && mkdir(base, 0700) != 0 && errno != EEXIST)
        return stk_fail_errno(error, errno, "%s: cannot be made", base);
    return check_base(base, error);
}

static void write_holder(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    /* For messages only. */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) return;
}

static long read_holder(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

/* The file that is locked must still be the one of that name: its last holder may have removed it in between. */
static bool still_there(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

stk_status stk_stage_lock(const char *path, int *fd, long *holder, stk_error *error)
{
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (*fd < 0) return stk_fail_errno(error, errno, "%s: cannot be opened", path);
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
            if (still_there(*fd, path)) break;
            close(*fd);
            continue;
        }
        int why = errno;
        if (holder != NULL) *holder = read_holder(*fd);
        close(*fd);
        *fd = -1;
        if (why == EINTR) continue;
        if (why == EWOULDBLOCK) return STK_AGAIN;
        return stk_fail_errno(error, why, "%s: cannot be locked", path);
    }
    write_holder(*fd);
    return STK_OK;
}

void stk_stage_unlock(int *fd)
{
    /* A child that was forked meanwhile holds the same lock; closing alone would leave it to that child. */
    if (*fd >= 0) {
        (void)flock(*fd, LOCK_UN);
        close(*fd);
    }
    *fd = -1;
}

void stk_stage_drop_lock(const char *path, int *fd)
{
    if (*fd >= 0) unlink(path);
    stk_stage_unlock(fd);
}

bool stk_stage_is_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

int stk_stage_hold(const char *folder, int how)
{
    char path[STK_STAGE_PATH];
    errno = ENAMETOOLONG;
    int fd = stk_stage_join(path, folder, "record", "") ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0) return -1;
    int rc;
    do rc = flock(fd, how);
    while (rc != 0 && errno == EINTR);
    int why = rc != 0 ? errno : still_there(fd, path) ? 0 : ENOENT;
    if (why == 0) return fd;
    stk_stage_unlock(&fd);
    errno = why;
    return -1;
}

bool stk_stage_in_use(const char *folder)
{
    int fd = stk_stage_hold(folder, LOCK_EX | LOCK_NB);
    if (fd < 0) return errno == EWOULDBLOCK;
    stk_stage_unlock(&fd);
    return false;
}

int stk_stage_discard(const char *base, const char *path)
{
    char trash[STK_STAGE_PATH];
    for (unsigned i = 0; i < 10000; i++) {
        char name[64];
        snprintf(name, sizeof name, "trash.%ld.%u", (long)getpid(), i);
        if (!stk_stage_join(trash, base, name, "")) return ENAMETOOLONG;
        if (rename(path, trash) == 0) return stk_remove_tree(trash);
        if (errno == ENOENT) return 0;
        if (errno != EEXIST && errno != ENOTEMPTY) return errno;
    }
    return EEXIST;
}

static uint64_t disk_bytes_at(int at, const char *name, int depth)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    uint64_t total = (uint64_t)st.st_blocks * 512;
    if (!S_ISDIR(st.st_mode) || depth == 0) return total;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL) {
        if (fd >= 0) close(fd);
        return total;
    }
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            total += disk_bytes_at(dirfd(stream), entry->d_name, depth - 1);
    closedir(stream);
    return total;
}

uint64_t stk_stage_disk_bytes(const char *path) { return disk_bytes_at(AT_FDCWD, path, 3); }
