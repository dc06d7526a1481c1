/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

static stk_status find_backend(const char *name, const stk_gpu_backend **out, stk_error *error)
{
    if (name != NULL && strcmp(name, "dummy") == 0) {
        *out = &stk_gpu_dummy_backend;
        return STK_OK;
    }
    if (name != NULL && strcmp(name, "cuda") != 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "GPU back end '%s': there are cuda and dummy", name);
    return stk_gpu_cuda_backend(out, error);
}

stk_status stk_gpu_share_open(const char *backend, int device, stk_gpu_share **out, stk_error *error)
{
    *out = NULL;
    stk_gpu_share *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a GPU device");
    stk_status status = find_backend(backend, &s->backend, error);
    if (status == STK_OK) status = s->backend->open(device, &s->device, &s->info, error);
    if (status != STK_OK) {
        free(s);
        return status;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->users = 1;
    *out = s;
    return STK_OK;
}

void stk_gpu_share_keep(stk_gpu_share *s)
{
    pthread_mutex_lock(&s->lock);
    s->users++;
    pthread_mutex_unlock(&s->lock);
}

void stk_gpu_share_drop(stk_gpu_share *s)
{
    if (s == NULL) return;
    pthread_mutex_lock(&s->lock);
    bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last) return;
    for (int i = 0; i < STK_GPU_PINNED_KEPT; i++) s->backend->pinned_free(s->device, s->pinned[i].memory);
    s->backend->close(s->device);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- Pinned memory. */

static stk_gpu_pinned *best_fit(stk_gpu_share *s, size_t n_bytes)
{
    stk_gpu_pinned *best = NULL;
    for (int i = 0; i < STK_GPU_PINNED_KEPT; i++) {
        stk_gpu_pinned *p = &s->pinned[i];
        if (p->memory == NULL || p->used || p->capacity < n_bytes) continue;
        if (best == NULL || p->capacity < best->capacity) best = p;
    }
    return best;
}

/* A place to remember a block in: an empty one, or that of the smallest unused block, which *evicted then is. NULL when
 * all are in use. */
static stk_gpu_pinned *place_for(stk_gpu_share *s, void **evicted)
{
    stk_gpu_pinned *smallest = NULL;
    *evicted = NULL;
    for (int i = 0; i < STK_GPU_PINNED_KEPT; i++) {
        stk_gpu_pinned *p = &s->pinned[i];
        if (p->memory == NULL) return p;
        if (!p->used && (smallest == NULL || p->capacity < smallest->capacity)) smallest = p;
    }
    if (smallest == NULL) return NULL;
    *evicted = smallest->memory;
    s->pinned_bytes -= smallest->capacity;
    *smallest = (stk_gpu_pinned){0};
    return smallest;
}

/* Slots ask for a little more now and then, as batches differ: a block has room for a quarter more. An unused block that
 * is too small will hardly be asked for again: it goes. */
stk_status stk_gpu_pinned_get(stk_gpu_share *s, size_t n_bytes, void **out, stk_error *error)
{
    void *old = NULL;
    size_t capacity = n_bytes + n_bytes / 4 + STK_GPU_SLACK;
    *out = NULL;
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "a batch");
    pthread_mutex_lock(&s->lock);
    stk_gpu_pinned *p = best_fit(s, n_bytes + STK_GPU_SLACK);
    if (p != NULL) {
        p->used = true;
        *out = p->memory;
    } else {
        for (int i = 0; i < STK_GPU_PINNED_KEPT && old == NULL; i++) {
            if (s->pinned[i].memory == NULL || s->pinned[i].used) continue;
            old = s->pinned[i].memory;
            s->pinned_bytes -= s->pinned[i].capacity;
            s->pinned[i] = (stk_gpu_pinned){0};
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (*out != NULL) return STK_OK;
    s->backend->pinned_free(s->device, old);
    STK_TRY(s->backend->pinned_alloc(s->device, capacity, out, error));
    pthread_mutex_lock(&s->lock);
    p = place_for(s, &old);
    if (p != NULL) {
        *p = (stk_gpu_pinned){.memory = *out, .capacity = capacity, .used = true};
        s->pinned_bytes += capacity;
    }
    pthread_mutex_unlock(&s->lock);
    s->backend->pinned_free(s->device, old);
    return STK_OK;
}

void stk_gpu_pinned_put(stk_gpu_share *s, void *memory)
{
    bool kept = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < STK_GPU_PINNED_KEPT && !kept; i++)
        if (s->pinned[i].memory == memory) {
            s->pinned[i].used = false;
            kept = true;
        }
    pthread_mutex_unlock(&s->lock);
    if (!kept) s->backend->pinned_free(s->device, memory);
}

/* ---- Blocks. */

static void count(stk_gpu_share *s, const stk_gpu_block *block, bool add)
{
    pthread_mutex_lock(&s->lock);
    uint64_t *total = block->pinned ? &s->pinned_bytes : &s->device_bytes;
    *total = add ? *total + block->capacity : *total - block->capacity;
    pthread_mutex_unlock(&s->lock);
}

void stk_gpu_block_free(stk_gpu_share *s, stk_gpu_block *block)
{
    if (block->memory == NULL) return;
    count(s, block, false);
    if (block->pinned) s->backend->pinned_free(s->device, block->memory);
    else s->backend->device_free(s->device, block->memory);
    block->memory = NULL;
    block->capacity = 0;
}

stk_status stk_gpu_block_fit(stk_gpu_share *s, stk_gpu_block *block, size_t n_bytes, stk_error *error)
{
    if (n_bytes <= block->capacity && block->memory != NULL) return STK_OK;
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "GPU memory");
    stk_gpu_block_free(s, block);
    /* Growing stops the whole device, so there is room for the next larger batch. */
    size_t capacity = block->exact ? n_bytes : n_bytes + n_bytes / 4;
    if (block->pinned) STK_TRY(s->backend->pinned_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, error));
    else STK_TRY(s->backend->device_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, error));
    block->capacity = capacity;
    count(s, block, true);
    return STK_OK;
}
