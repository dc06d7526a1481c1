/* SPDX-License-Identifier: Apache-2.0 */
#include "common/take_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"

/* The lock file may be removed by its last owner at any moment: what was locked must still be what lies there. */
stk_status stk_take_lock(const char *lock, const char *dst, int *lock_fd, stk_error *error)
{
    for (;;) {
        int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return stk_fail_errno(error, errno, "%s: cannot write beside the output; choose another place", lock);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int why = errno;
            char owner[64] = "";
            ssize_t n = pread(fd, owner, sizeof owner - 1, 0);
            if (n > 0) owner[n] = '\0';
            close(fd);
            if (why == EWOULDBLOCK)
                return stk_fail(error, STK_ERR_BUSY, "%s: another process (%s) is writing to it", dst,
                                n > 0 ? owner : "starting just now");
            /* A file system without locks: two writers to one place are then the user's care. */
            *lock_fd = -1;
            return STK_OK;
        }
        struct stat held, there;
        if (fstat(fd, &held) == 0 && stat(lock, &there) == 0 && held.st_ino == there.st_ino &&
            held.st_dev == there.st_dev) {
            char owner[64];
            int n = snprintf(owner, sizeof owner, "pid %ld", (long)getpid());
            /* Only for the message above; a full disk will be met later. */
            if (ftruncate(fd, 0) != 0 || pwrite(fd, owner, (size_t)n, 0) != n) errno = 0;
            *lock_fd = fd;
            return STK_OK;
        }
        close(fd);
    }
}
