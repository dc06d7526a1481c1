/* SPDX-License-Identifier: Apache-2.0 */
#include "format/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"

enum { SPOOL_MEMORY = 4 << 20 };

void stk_spool_init(stk_spool *spool, const char *path)
{
    *spool = (stk_spool){.path = path, .file = STK_FILE_CLOSED};
}

/* A file without a name in the output's folder: O_TMPFILE, or create + unlink where that is unknown (NFS,
 * some overlays). Either way a killed process leaves nothing. */
static stk_status open_unnamed(stk_spool *spool, stk_error *error)
{
    char name[PATH_MAX];
    const char *slash = strrchr(spool->path, '/');
    int n = slash == NULL ? snprintf(name, sizeof name, ".")
                          : snprintf(name, sizeof name, "%.*s", (int)(slash - spool->path + 1), spool->path);
    if (n < 0 || (size_t)n >= sizeof name)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", spool->path);
    spool->file.path = spool->path;
    spool->file.fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spool->file.fd >= 0) return STK_OK;
    n = snprintf(name, sizeof name, "%s.spool.%ld.XXXXXX", spool->path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof name)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", spool->path);
    spool->file.fd = mkostemp(name, O_CLOEXEC);
    if (spool->file.fd < 0) return stk_fail_errno(error, errno, "%s: cannot create a temporary file", name);
    unlink(name);
    return STK_OK;
}

static stk_status spill(stk_spool *spool, stk_error *error)
{
    if (spool->file.fd < 0) STK_TRY(open_unnamed(spool, error));
    STK_TRY(
        stk_file_write_at(&spool->file, spool->memory.data, spool->memory.n_bytes, spool->in_file, error));
    spool->in_file += spool->memory.n_bytes;
    spool->memory.n_bytes = 0;
    return STK_OK;
}

stk_status stk_spool_append(stk_spool *spool, const void *data, size_t n_bytes, stk_error *error)
{
    if (spool->memory.n_bytes > 0 && spool->memory.n_bytes + n_bytes > SPOOL_MEMORY)
        STK_TRY(spill(spool, error));
    if (n_bytes <= SPOOL_MEMORY) return stk_buffer_append(&spool->memory, data, n_bytes, error);
    if (spool->file.fd < 0) STK_TRY(open_unnamed(spool, error));
    STK_TRY(stk_file_write_at(&spool->file, data, n_bytes, spool->in_file, error));
    spool->in_file += n_bytes;
    return STK_OK;
}

uint64_t stk_spool_bytes(const stk_spool *spool)
{
    return spool->in_file + spool->memory.n_bytes;
}

stk_status stk_spool_copy(stk_spool *spool, const stk_file *to, uint64_t offset, stk_hasher *hasher,
                          stk_error *error)
{
    if (spool->in_file > 0) {
        STK_TRY(spill(spool, error));
        STK_TRY(stk_buffer_resize(&spool->memory, SPOOL_MEMORY, error));
    }
    uint64_t done = 0;
    stk_status status = STK_OK;
    while (done < spool->in_file && status == STK_OK) {
        uint64_t left = spool->in_file - done;
        size_t n = left < SPOOL_MEMORY ? (size_t)left : SPOOL_MEMORY;
        status = stk_file_read_at(&spool->file, spool->memory.data, n, done, error);
        if (status == STK_OK) status = stk_file_write_at(to, spool->memory.data, n, offset + done, error);
        if (status == STK_OK) stk_hasher_add(hasher, spool->memory.data, n);
        done += n;
    }
    if (spool->in_file > 0) spool->memory.n_bytes = 0;
    if (status != STK_OK || spool->memory.n_bytes == 0) return status;
    stk_hasher_add(hasher, spool->memory.data, spool->memory.n_bytes);
    return stk_file_write_at(to, spool->memory.data, spool->memory.n_bytes, offset, error);
}

stk_status stk_spool_read(const stk_spool *spool, uint64_t offset, void *data, size_t n_bytes,
                          stk_error *error)
{
    uint8_t *to = data;
    if (offset < spool->in_file) {
        uint64_t left = spool->in_file - offset;
        size_t n = left < n_bytes ? (size_t)left : n_bytes;
        STK_TRY(stk_file_read_at(&spool->file, to, n, offset, error));
        to += n;
        offset += n;
        n_bytes -= n;
    }
    if (n_bytes > 0) memcpy(to, spool->memory.data + (offset - spool->in_file), n_bytes);
    return STK_OK;
}

void stk_spool_free(stk_spool *spool)
{
    stk_file_close(&spool->file);
    stk_buffer_free(&spool->memory);
}
