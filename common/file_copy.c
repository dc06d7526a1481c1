/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"

enum { PIECE_BYTES = 4 << 20, PAGE_BYTES = 4096 };

/* A piece with a bad place in it: page by page, zeros for those that are lost. */
static void read_pages(const stk_file *in, uint8_t *data, size_t n_bytes, uint64_t at)
{
    for (size_t i = 0; i < n_bytes; i += PAGE_BYTES) {
        size_t n = n_bytes - i < PAGE_BYTES ? n_bytes - i : PAGE_BYTES;
        if (stk_file_read_at(in, data + i, n, at + i, NULL) != STK_OK) memset(data + i, 0, n);
    }
}

static stk_status copy_bytes(const stk_file *in, const stk_file *out, uint64_t size, stk_error *error)
{
    stk_buffer piece = {0};
    stk_status status = STK_OK;
    for (uint64_t at = 0; at < size; at += piece.n_bytes) {
        STK_GOTO(stk_buffer_resize(&piece, size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES, error));
        if (stk_file_read_at(in, piece.data, piece.n_bytes, at, NULL) != STK_OK)
            read_pages(in, piece.data, piece.n_bytes, at);
        STK_GOTO(stk_file_write_at(out, piece.data, piece.n_bytes, at, error));
    }
cleanup:
    stk_buffer_free(&piece);
    return status;
}

stk_status stk_file_copy(const char *from, const char *to, stk_error *error)
{
    stk_file in = STK_FILE_CLOSED, out = STK_FILE_CLOSED;
    struct stat st;
    stk_status status;
    STK_GOTO(stk_file_open_read(from, &in, error));
    if (fstat(in.fd, &st) != 0) {
        status = stk_fail_errno(error, errno, "%s: cannot stat", from);
        goto cleanup;
    }
    STK_GOTO(stk_file_create(to, &out, error));
    status = copy_bytes(&in, &out, (uint64_t)st.st_size, error);
    /* A file system that has no permissions is no reason to fail. */
    if (status == STK_OK) (void)!fchmod(out.fd, st.st_mode & 0777);
    if (status == STK_OK) status = stk_file_close_checked(&out, error);
    stk_file_close(&out);
    if (status != STK_OK) unlink(to);
cleanup:
    stk_file_close(&in);
    return status;
}
