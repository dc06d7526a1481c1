/* SPDX-License-Identifier: Apache-2.0 */
#include "format/slab.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    CHUNK_BYTES = 2 * HUGE_PAGE,
    LARGE_PIECE = HUGE_PAGE, /* has a chunk of its own */
    PIECE_ALIGN = 64
};
/* Below this the unused end of the last huge page would weigh more than it saves. */
#define HUGE_FROM_BYTES (8u << 20)

struct stk_slab_chunk {
    stk_slab_chunk *next;
    uint8_t *base;
    size_t n_bytes;
    void *mapping; /* NULL: base came from malloc */
    size_t mapping_bytes;
    _Atomic size_t used;
};

void stk_slab_init(stk_slab *slab, uint64_t expected_bytes)
{
    slab->huge = expected_bytes >= HUGE_FROM_BYTES;
    atomic_init(&slab->newest, NULL);
}

static void free_chunk(stk_slab_chunk *chunk)
{
    if (chunk->mapping != NULL)
        munmap(chunk->mapping, chunk->mapping_bytes);
    else
        free(chunk->base);
    free(chunk);
}

/* A chunk of which the first `used` bytes are taken already. */
static stk_slab_chunk *new_chunk(bool huge, size_t used)
{
    stk_slab_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL) return NULL;
    atomic_init(&chunk->used, used);
    if (!huge) {
        chunk->n_bytes = used;
        chunk->base = aligned_alloc(PIECE_ALIGN, used);
        if (chunk->base != NULL) return chunk;
        free(chunk);
        return NULL;
    }
    chunk->n_bytes = CHUNK_BYTES;
    chunk->mapping_bytes = CHUNK_BYTES + HUGE_PAGE;
    void *mapping = mmap(NULL, chunk->mapping_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        free(chunk);
        return NULL;
    }
    chunk->mapping = mapping;
    chunk->base = (uint8_t *)(((uintptr_t)mapping + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    /* Only advice: without huge pages the chunk works as well, just slower. */
    (void)madvise(chunk->base, CHUNK_BYTES, MADV_HUGEPAGE);
    return chunk;
}

static uint8_t *take_from(stk_slab_chunk *chunk, size_t n_bytes)
{
    /* Looked at first, so that failed tries do not add up to an overflow. */
    if (atomic_load_explicit(&chunk->used, memory_order_relaxed) + n_bytes > chunk->n_bytes) return NULL;
    size_t at = atomic_fetch_add_explicit(&chunk->used, n_bytes, memory_order_relaxed);
    return at + n_bytes <= chunk->n_bytes ? chunk->base + at : NULL;
}

uint8_t *stk_slab_take(stk_slab *slab, size_t n_bytes)
{
    n_bytes = (n_bytes + PIECE_ALIGN - 1) & ~(size_t)(PIECE_ALIGN - 1);
    bool shared = slab->huge && n_bytes < LARGE_PIECE;
    stk_slab_chunk *newest = atomic_load_explicit(&slab->newest, memory_order_acquire);
    stk_slab_chunk *fresh = NULL;
    for (;;) {
        uint8_t *piece = shared && newest != NULL ? take_from(newest, n_bytes) : NULL;
        if (piece != NULL) {
            if (fresh != NULL) free_chunk(fresh);
            return piece;
        }
        if (fresh == NULL) fresh = new_chunk(shared, n_bytes);
        if (fresh == NULL) return NULL;
        fresh->next = newest;
        if (atomic_compare_exchange_weak_explicit(&slab->newest, &newest, fresh, memory_order_acq_rel,
                                                  memory_order_acquire))
            return fresh->base;
    }
}

void stk_slab_close(stk_slab *slab)
{
    stk_slab_chunk *chunk = atomic_load_explicit(&slab->newest, memory_order_relaxed);
    while (chunk != NULL) {
        stk_slab_chunk *next = chunk->next;
        free_chunk(chunk);
        chunk = next;
    }
    atomic_store_explicit(&slab->newest, NULL, memory_order_relaxed);
}
