/* SPDX-License-Identifier: Apache-2.0 */
#include "format/replaceable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/fail.h"
#include "format/layout.h"

static bool holds(int fd, off_t at, const void *bytes, size_t n)
{
    uint8_t there[16];
    return n <= sizeof there && pread(fd, there, n, at) == (ssize_t)n && memcmp(there, bytes, n) == 0;
}

/* HDF5 File Format Specification, section II.A: the superblock lies at byte 0, 512, 1024, 2048 and so on. */
static bool is_hdf5(int fd, off_t n_bytes)
{
    static const uint8_t magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    if (holds(fd, 0, magic, sizeof magic)) return true;
    for (off_t at = 512; at > 0 && at < n_bytes && at < (off_t)1 << 32; at *= 2)
        if (holds(fd, at, magic, sizeof magic)) return true;
    return false;
}

stk_status stk_check_replaceable(const char *path, bool tar, stk_error *error)
{
    struct stat st;
    /* Not to wait for the other end of a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return STK_OK;
    if (fd < 0)
        return stk_fail_errno(error, errno, "%s: cannot be read to see whether it may be replaced; remove it first",
                              path);
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    bool ours = regular && (st.st_size == 0 || holds(fd, 0, stk_shard_magic, STK_MAGIC_BYTES) ||
                            is_hdf5(fd, st.st_size) || (tar && holds(fd, 257, "ustar", 5)));
    close(fd);
    if (ours) return STK_OK;
    if (!regular) return stk_fail(error, STK_ERR_EXISTS, "%s: is no ordinary file; it is not replaced", path);
    return stk_fail(error, STK_ERR_EXISTS,
                    "%s: is a file that holds no stoker data set%s; it is not replaced: remove it or choose another name",
                    path, tar ? " and no tar" : "");
}
