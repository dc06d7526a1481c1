/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/mirror.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/fail.h"

/* A huge page of x86-64 and aarch64. */
static const uint64_t block_bytes = 2 << 20;

typedef enum block_state { BLOCK_EMPTY, BLOCK_READING, BLOCK_READ, BLOCK_FAILED } block_state;

struct stk_mirror {
    const stk_file *file;
    uint64_t n_bytes;
    uint8_t *reserved; /* as mapped */
    size_t reserved_bytes;
    uint8_t *memory; /* aligned to a block */
    _Atomic uint8_t states[];
};

stk_status stk_mirror_open(const stk_file *file, uint64_t n_bytes, stk_mirror **out, stk_error *error)
{
    *out = NULL;
    uint64_t n_blocks = n_bytes / block_bytes + 1;
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "a file's copy");
    stk_mirror *m = calloc(1, sizeof *m + n_blocks);
    if (m == NULL) return stk_fail_memory(error, "a file's copy");
    m->file = file;
    m->n_bytes = n_bytes;
    m->reserved_bytes = (size_t)((n_blocks + 1) * block_bytes);
    void *memory =
        mmap(NULL, m->reserved_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(m);
        return stk_fail_errno(error, errno, "cannot reserve memory for a file's copy");
    }
    m->reserved = memory;
    uintptr_t aligned = ((uintptr_t)memory + block_bytes - 1) & ~(uintptr_t)(block_bytes - 1);
    m->memory = m->reserved + (aligned - (uintptr_t)memory);
    /* Only a wish: without huge pages everything works the same, a little slower. */
    (void)madvise(m->memory, (size_t)(n_blocks * block_bytes), MADV_HUGEPAGE);
    *out = m;
    return STK_OK;
}

void stk_mirror_close(stk_mirror **mirror)
{
    if (*mirror == NULL) return;
    munmap((*mirror)->reserved, (*mirror)->reserved_bytes);
    free(*mirror);
    *mirror = NULL;
}

uint64_t stk_mirror_fill(stk_mirror *m, uint64_t offset)
{
    uint64_t block = offset / block_bytes, at = block * block_bytes;
    uint8_t empty = BLOCK_EMPTY;
    if (at >= m->n_bytes || !atomic_compare_exchange_strong(&m->states[block], &empty, BLOCK_READING))
        return at + block_bytes;
    uint64_t rest = m->n_bytes - at;
    size_t n = (size_t)(rest < block_bytes ? rest : block_bytes);
    bool good = stk_file_read_at(m->file, m->memory + at, n, at, NULL) == STK_OK;
    /* A block that cannot be read stays out; reading its records by themselves will say why. */
    atomic_store_explicit(&m->states[block], good ? BLOCK_READ : BLOCK_FAILED, memory_order_release);
    return at + block_bytes;
}

const uint8_t *stk_mirror_get(const stk_mirror *m, uint64_t offset, uint64_t n_bytes)
{
    uint64_t last = n_bytes == 0 ? offset : offset + n_bytes - 1;
    if (last >= m->n_bytes) return NULL;
    for (uint64_t block = offset / block_bytes; block <= last / block_bytes; block++)
        if (atomic_load_explicit(&m->states[block], memory_order_acquire) != BLOCK_READ) return NULL;
    return m->memory + offset;
}

const uint8_t *stk_mirror_place(const stk_mirror *m, uint64_t offset) { return m->memory + offset; }
