/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

/* "cuda", "dummy" or "dummy:OPTIONS". */
static stk_status find_backend(const char *name, int device, const stk_gpu_backend **out, const char **options, stk_error *error)
{
    *options = NULL;
    if (name != NULL && strncmp(name, "dummy", 5) == 0 && (name[5] == '\0' || name[5] == ':')) {
        *out = &stk_gpu_dummy_backend;
        *options = name[5] == ':' ? name + 6 : NULL;
        return STK_OK;
    }
    if (name != NULL && strcmp(name, "cuda") != 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "GPU back end '%s': there are cuda and dummy", name);
    return stk_gpu_cuda_backend(device, out, error);
}

/* ---- The log. */

void stk_gpu_share_log(void *share, const char *line)
{
    stk_gpu_share *s = share;
    pthread_mutex_lock(&s->log_lock);
    if (s->log.write != NULL) s->log.write(s->log.user, line);
    pthread_mutex_unlock(&s->log_lock);
}

void stk_gpu_share_mute(stk_gpu_share *s)
{
    pthread_mutex_lock(&s->log_lock);
    s->log.write = NULL;
    pthread_mutex_unlock(&s->log_lock);
}

/* ---- Host memory: pinned, or pageable where the driver gives no pinned memory. What it is stands in front of it. */

typedef struct host_head {
    size_t n_bytes;
    bool pageable;
} host_head;

enum { HOST_HEAD = 256 }; /* of which the memory behind keeps the alignment */

static host_head *head_of(void *memory) { return (host_head *)(void *)((uint8_t *)memory - HOST_HEAD); }

bool stk_gpu_host_pageable(void *memory) { return memory != NULL && head_of(memory)->pageable; }

static void count_host(stk_gpu_share *s, const host_head *h, bool add)
{
    pthread_mutex_lock(&s->lock);
    uint64_t *total = h->pageable ? &s->pageable_bytes : &s->pinned_bytes;
    *total = add ? *total + h->n_bytes : *total - h->n_bytes;
    pthread_mutex_unlock(&s->lock);
}

static void warn_pageable(stk_gpu_share *s, const stk_error *why)
{
    char line[sizeof why->text + 200];
    pthread_mutex_lock(&s->lock);
    bool first = !s->warned_pageable;
    s->warned_pageable = true;
    pthread_mutex_unlock(&s->lock);
    if (!first) return;
    snprintf(line, sizeof line,
             "pinned memory could not be had (%s); uploads to the GPU go through pageable memory, which is slower. Allow the "
             "process more locked memory, or use smaller batches or a smaller prefetch.",
             why->text);
    stk_gpu_share_log(s, line);
}

static stk_status host_alloc(stk_gpu_share *s, size_t n_bytes, void **out, stk_error *error)
{
    stk_error why = {0};
    void *memory = NULL;
    size_t all = n_bytes + HOST_HEAD;
    bool pageable = false;
    *out = NULL;
    stk_status status = s->backend->pinned_alloc(s->device, all, &memory, &why);
    if (status != STK_OK) {
        stk_gpu_share_trim(s);
        status = s->backend->pinned_alloc(s->device, all, &memory, &why);
    }
    if (status != STK_OK) {
        memory = aligned_alloc(HOST_HEAD, (all + HOST_HEAD - 1) / HOST_HEAD * HOST_HEAD);
        if (memory == NULL) return stk_fail(error, STK_ERR_MEMORY, "%zu bytes of host memory for a batch: %s", n_bytes, why.text);
        pageable = true;
        warn_pageable(s, &why);
    }
    *out = (uint8_t *)memory + HOST_HEAD;
    *head_of(*out) = (host_head){.n_bytes = n_bytes, .pageable = pageable};
    count_host(s, head_of(*out), true);
    return STK_OK;
}

static void host_free(stk_gpu_share *s, void *memory)
{
    if (memory == NULL) return;
    host_head *h = head_of(memory);
    count_host(s, h, false);
    if (h->pageable) free(h);
    else s->backend->pinned_free(s->device, h);
}

/* ---- What is kept though nobody uses it. */

static void count_device(stk_gpu_share *s, size_t n_bytes, bool add)
{
    pthread_mutex_lock(&s->lock);
    s->device_bytes = add ? s->device_bytes + n_bytes : s->device_bytes - n_bytes;
    pthread_mutex_unlock(&s->lock);
}

static void give_back(stk_gpu_share *s, const stk_gpu_retired *r)
{
    if (r->host) {
        host_free(s, r->memory);
        return;
    }
    count_device(s, r->capacity, false);
    s->backend->device_free(s->device, r->memory);
}

void stk_gpu_share_trim(stk_gpu_share *s)
{
    stk_gpu_retired all[STK_GPU_RETIRED_KEPT + STK_GPU_PINNED_KEPT];
    uint32_t n = 0;
    pthread_mutex_lock(&s->lock);
    for (; s->n_retired > 0; s->n_retired--) all[n++] = s->retired[s->n_retired - 1];
    for (int i = 0; i < STK_GPU_PINNED_KEPT; i++) {
        if (s->pinned[i].memory == NULL || s->pinned[i].used) continue;
        all[n++] = (stk_gpu_retired){.memory = s->pinned[i].memory, .host = true};
        s->pinned[i] = (stk_gpu_pinned){0};
    }
    pthread_mutex_unlock(&s->lock);
    for (uint32_t i = 0; i < n; i++) give_back(s, &all[i]);
}

/* Memory that a block outgrew. */
static void retire(stk_gpu_share *s, const stk_gpu_block *block)
{
    stk_gpu_retired r = {.memory = block->memory, .capacity = block->capacity, .host = block->pinned};
    if (r.memory == NULL) return;
    pthread_mutex_lock(&s->lock);
    bool kept = s->n_retired < STK_GPU_RETIRED_KEPT;
    if (kept) s->retired[s->n_retired++] = r;
    pthread_mutex_unlock(&s->lock);
    if (!kept) give_back(s, &r);
}

stk_status stk_gpu_share_open(const char *backend, int device, stk_gpu_log log, stk_gpu_share **out, stk_error *error)
{
    const char *options;
    *out = NULL;
    stk_gpu_share *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a GPU device");
    stk_status status = find_backend(backend, device, &s->backend, &options, error);
    if (status == STK_OK) status = s->backend->open(options, device, &s->device, &s->info, error);
    if (status != STK_OK) {
        free(s);
        return status;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->log_lock, NULL);
    s->log = log;
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
    stk_gpu_share_trim(s);
    s->backend->close(s->device);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->log_lock);
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

/* A place to remember a block in, NULL when all are taken: such a block lives as long as it is used. */
static stk_gpu_pinned *place_for(stk_gpu_share *s)
{
    for (int i = 0; i < STK_GPU_PINNED_KEPT; i++)
        if (s->pinned[i].memory == NULL) return &s->pinned[i];
    return NULL;
}

void stk_gpu_pinned_expect(stk_gpu_share *s, size_t n_bytes)
{
    pthread_mutex_lock(&s->lock);
    if (n_bytes > s->pinned_usual) s->pinned_usual = n_bytes;
    pthread_mutex_unlock(&s->lock);
}

void stk_gpu_pinned_forget(stk_gpu_share *s)
{
    pthread_mutex_lock(&s->lock);
    s->pinned_usual = 0;
    pthread_mutex_unlock(&s->lock);
    stk_gpu_share_trim(s);
}

/* Slots ask for a little more now and then, as batches differ. All are made as large as the largest one, so that soon
 * every block serves every batch; a request far below that is something else. */
static size_t slot_capacity(stk_gpu_share *s, size_t n_bytes)
{
    size_t capacity = n_bytes + n_bytes / 4;
    if (capacity > s->pinned_usual) s->pinned_usual = capacity;
    else if (n_bytes >= s->pinned_usual / 4) capacity = s->pinned_usual;
    return capacity + STK_GPU_SLACK;
}

stk_status stk_gpu_pinned_get(stk_gpu_share *s, size_t n_bytes, void **out, stk_error *error)
{
    size_t capacity = 0;
    *out = NULL;
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "a batch");
    pthread_mutex_lock(&s->lock);
    stk_gpu_pinned *p = best_fit(s, n_bytes + STK_GPU_SLACK);
    if (p != NULL) {
        p->used = true;
        *out = p->memory;
    } else {
        capacity = slot_capacity(s, n_bytes);
    }
    pthread_mutex_unlock(&s->lock);
    if (*out != NULL) return STK_OK;
    STK_TRY(host_alloc(s, capacity, out, error));
    pthread_mutex_lock(&s->lock);
    p = place_for(s);
    if (p != NULL) *p = (stk_gpu_pinned){.memory = *out, .capacity = capacity, .used = true};
    pthread_mutex_unlock(&s->lock);
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
    if (!kept) host_free(s, memory);
}

/* ---- Blocks. */

void stk_gpu_block_free(stk_gpu_share *s, stk_gpu_block *block)
{
    if (block->memory != NULL)
        give_back(s, &(stk_gpu_retired){.memory = block->memory, .capacity = block->capacity, .host = block->pinned});
    block->memory = NULL;
    block->capacity = 0;
}

static stk_status block_alloc(stk_gpu_share *s, stk_gpu_block *block, size_t capacity, stk_error *error)
{
    if (block->pinned) return host_alloc(s, capacity + STK_GPU_SLACK, &block->memory, error);
    if (s->backend->device_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, NULL) == STK_OK) return STK_OK;
    stk_gpu_share_trim(s);
    return s->backend->device_alloc(s->device, capacity + STK_GPU_SLACK, &block->memory, error);
}

stk_status stk_gpu_block_fit(stk_gpu_share *s, stk_gpu_block *block, size_t n_bytes, stk_error *error)
{
    if (n_bytes <= block->capacity && block->memory != NULL) return STK_OK;
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "GPU memory");
    retire(s, block);
    block->memory = NULL;
    block->capacity = 0;
    size_t capacity = block->exact ? n_bytes : n_bytes + n_bytes / 2;
    STK_TRY(block_alloc(s, block, capacity, error));
    block->capacity = capacity;
    if (!block->pinned) count_device(s, capacity, true);
    return STK_OK;
}
