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
    s->backend->close(s->device);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

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
    bool first = block->memory == NULL;
    stk_gpu_block_free(s, block);
    /* The first size is often right for good (outputs); only what grew once is likely to grow again. */
    size_t capacity = first ? n_bytes : n_bytes + n_bytes / 4;
    if (block->pinned) STK_TRY(s->backend->pinned_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, error));
    else STK_TRY(s->backend->device_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, error));
    block->capacity = capacity;
    count(s, block, true);
    return STK_OK;
}
