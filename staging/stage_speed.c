/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_speed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <stoker/stage.h>

#include "common/clock.h"
#include "common/file.h"

enum { PIECES = 8, PIECE_BYTES = 1 << 20, DISK_WRITES = 16, MEMORY_WRITES = 4 };
static const uint64_t read_ns = 150000000, write_ns = 300000000;

/* Whether a read at the offset is answered from memory alone. */
static bool is_cached(const stk_file *file, uint8_t *data, uint64_t offset)
{
    struct iovec piece = {.iov_base = data, .iov_len = 4096};
    return preadv2(file->fd, &piece, 1, (off_t)offset, RWF_NOWAIT) > 0;
}

stk_source_speed stk_stage_source_speed(const stk_stage_source *source)
{
    stk_source_speed speed = {.from_memory = true};
    uint8_t *data = malloc(PIECE_BYTES);
    uint64_t start = stk_now_ns(), spent = 0, n_bytes = 0;
    for (uint32_t i = 0; data != NULL && i < PIECES && (i == 0 || stk_now_ns() - start < read_ns); i++) {
        const stk_stage_file *f = &source->files[(uint64_t)i * source->n_data / PIECES];
        stk_file file;
        if (f->n_bytes == 0 || stk_file_open_read(f->path, &file, NULL) != STK_OK) continue;
        size_t n = f->n_bytes < PIECE_BYTES ? (size_t)f->n_bytes : PIECE_BYTES;
        uint64_t at = (f->n_bytes - n) / PIECES * i;
        speed.from_memory = speed.from_memory && is_cached(&file, data, at) && is_cached(&file, data, at + n / 2);
        uint64_t before = stk_now_ns();
        if (stk_file_read_at(&file, data, n, at, NULL) == STK_OK) {
            spent += stk_now_ns() - before;
            n_bytes += n;
        }
        stk_file_close(&file);
    }
    free(data);
    speed.mb_s = spent > 0 ? (double)n_bytes * 1e3 / (double)spent : 0;
    return speed;
}

double stk_stage_target_speed(const char *folder, bool in_memory)
{
    uint64_t n_writes = in_memory ? MEMORY_WRITES : DISK_WRITES;
    char path[STK_STAGE_PATH];
    int n = snprintf(path, sizeof path, "%s/speed.%ld", folder, (long)getpid());
    uint8_t *data = malloc(PIECE_BYTES);
    stk_file file = STK_FILE_CLOSED;
    if (n < 0 || (size_t)n >= sizeof path || data == NULL || stk_file_create(path, &file, NULL) != STK_OK) {
        free(data);
        return 0;
    }
    unlink(path);
    memset(data, 0x5a, PIECE_BYTES);
    uint64_t start = stk_now_ns(), n_bytes = 0;
    bool good = true;
    for (uint64_t i = 0; good && i < n_writes && stk_now_ns() - start < write_ns; i++) {
        good = stk_file_write_at(&file, data, PIECE_BYTES, i * PIECE_BYTES, NULL) == STK_OK;
        n_bytes += PIECE_BYTES;
    }
    good = good && fdatasync(file.fd) == 0;
    uint64_t spent = stk_now_ns() - start;
    stk_file_close(&file);
    free(data);
    return good && spent > 0 ? (double)n_bytes * 1e3 / (double)spent : 0;
}
