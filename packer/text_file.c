/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"

enum { PIECE_BYTES = 256 << 10 };

/* Asked for every line: the clock that costs next to nothing will do. */
static double coarse_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

stk_status stk_text_file_open(const char *path, stk_text_file *out, stk_error *error)
{
    *out = (stk_text_file){.file = STK_FILE_CLOSED};
    stk_status status = STK_OK;
    out->path = strdup(path);
    out->hasher = stk_hasher_open();
    if (out->path == NULL || out->hasher == NULL) {
        status = stk_fail_memory(error, "a report");
        goto cleanup;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        status = stk_fail_errno(error, errno, "%s: cannot replace", path);
        goto cleanup;
    }
    STK_GOTO(stk_file_create(out->path, &out->file, error));
    out->written_at = coarse_now();
cleanup:
    if (status != STK_OK) stk_text_file_close(out);
    return status;
}

static stk_status write_pending(stk_text_file *text, stk_error *error)
{
    STK_TRY(stk_file_write_at(&text->file, text->pending.data, text->pending.n_bytes, text->written, error));
    stk_hasher_add(text->hasher, text->pending.data, text->pending.n_bytes);
    text->written += text->pending.n_bytes;
    text->pending.n_bytes = 0;
    return STK_OK;
}

stk_status stk_text_file_flow(stk_text_file *text, stk_error *error)
{
    double now = coarse_now();
    if (text->pending.n_bytes < PIECE_BYTES && now - text->written_at < 0.5) return STK_OK;
    text->written_at = now;
    return write_pending(text, error);
}

stk_status stk_text_file_checksum(stk_text_file *text, uint64_t *xxh3, stk_error *error)
{
    STK_TRY(write_pending(text, error));
    *xxh3 = stk_hasher_result64(text->hasher);
    return STK_OK;
}

stk_status stk_text_file_write(stk_text_file *text, stk_error *error)
{
    return write_pending(text, error);
}

stk_status stk_text_file_finish(stk_text_file *text, stk_error *error)
{
    STK_TRY(write_pending(text, error));
    STK_TRY(stk_file_sync(&text->file, error));
    return stk_file_close_checked(&text->file, error);
}

void stk_text_file_close(stk_text_file *text)
{
    stk_file_close(&text->file);
    stk_hasher_close(&text->hasher);
    stk_buffer_free(&text->pending);
    free(text->path);
    text->path = NULL;
}
