/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/file.h"

enum { COPY_BYTES = 64 << 10 };

/* Makes the folders in front of the last slash. */
static stk_status make_folders(char *path, stk_error *error)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0777);
        int why = errno;
        if (rc != 0 && why != EEXIST)
            return stk_fail_errno(error, why, "%s: cannot make the quarantine folder", path);
        *slash = '/';
    }
    return STK_OK;
}

static stk_status copy_bytes(int from, const stk_file *to, stk_error *error)
{
    uint8_t block[COPY_BYTES];
    uint64_t at = 0;
    for (;;) {
        ssize_t got = read(from, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return stk_fail_errno(error, errno, "%s: reading its source failed", to->path);
        if (got == 0) return STK_OK;
        STK_TRY(stk_file_write_at(to, block, (size_t)got, at, error));
        at += (uint64_t)got;
    }
}

/* True when the file at path holds the very bytes of the open one. */
static bool same_content(int from, const char *path)
{
    uint8_t a[4096], b[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool same = fd >= 0;
    for (off_t at = 0; same;) {
        ssize_t n = pread(from, a, sizeof a, at), m = pread(fd, b, sizeof b, at);
        same = n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0;
        if (n <= 0) break;
        at += n;
    }
    if (fd >= 0) close(fd);
    return same;
}

/* A new file, or none when its bytes lie there already (file->fd stays -1). */
static stk_status create_copy(int from, char *path, size_t capacity, stk_file *file, stk_error *error)
{
    size_t n = strlen(path);
    for (unsigned k = 1; k < 10000; k++) {
        stk_status status = stk_file_create(path, file, error);
        if (status != STK_ERR_EXISTS || same_content(from, path)) {
            if (status != STK_ERR_EXISTS) return status;
            *file = STK_FILE_CLOSED;
            return STK_OK;
        }
        if ((size_t)snprintf(path + n, capacity - n, ".%u", k) >= capacity - n) break;
    }
    return stk_fail(error, STK_ERR_EXISTS, "%s: too many files of this name are in quarantine already", path);
}

stk_status stk_quarantine(stk_source_reader *reader, const stk_source *source, const char *folder,
                          stk_product *product, stk_error *error)
{
    char path[PATH_MAX + 16], relative[PATH_MAX];
    size_t n = stk_source_path(reader->sources, source, relative, sizeof relative);
    int length = snprintf(path, sizeof path - 16, "%s/%s", folder, relative);
    if (n >= sizeof relative || length < 0 || (size_t)length >= sizeof path - 16)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path in quarantine would be too long", folder);
    int from = openat(reader->root_fd, relative, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (from < 0) return STK_OK;
    if (fstat(from, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(from);
        return STK_OK;
    }
    stk_status status = STK_OK;
    stk_file file = STK_FILE_CLOSED;
    STK_GOTO(make_folders(path, error));
    STK_GOTO(create_copy(from, path, sizeof path, &file, error));
    if (file.fd >= 0) STK_GOTO(copy_bytes(from, &file, error));
    STK_GOTO(stk_file_close_checked(&file, error));
    product->action = "quarantined";
cleanup:
    if (status != STK_OK && file.fd >= 0) unlink(path);
    stk_file_close(&file);
    close(from);
    return status;
}
