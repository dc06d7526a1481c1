/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/slots.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/checked.h"
#include "common/fail.h"

enum { ALIGN = 64 };

struct stk_slot_pool {
    pthread_mutex_t lock;
    pid_t pid; /* a child after fork() leaves the pool alone */
    stk_slot_allocator allocator;
    stk_slot_shape shape;
    size_t *column_bytes;
    stk_slot *free;  /* list */
    uint32_t total;  /* slots that exist */
    uint32_t held;   /* of these with the consumer */
    uint32_t users;  /* the loader while it is open, and every slot until it is freed */
    bool closed;     /* by the loader */
};

static size_t round_up(size_t n) { return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static stk_status host_acquire(void *user, size_t n_bytes, void **data, void **handle, stk_error *error)
{
    (void)user;
    *handle = NULL;
    if (n_bytes > SIZE_MAX - ALIGN) return stk_fail_memory(error, "a batch");
    *data = aligned_alloc(ALIGN, round_up(n_bytes > 0 ? n_bytes : 1));
    if (*data == NULL) return stk_fail(error, STK_ERR_MEMORY, "out of memory for a batch of %zu bytes", n_bytes);
    return STK_OK;
}

static void host_release(void *user, void *data, void *handle)
{
    (void)user, (void)handle;
    free(data);
}

static void pool_free(stk_slot_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    free(pool->column_bytes);
    free(pool);
}

stk_status stk_slot_pool_open(const stk_slot_shape *shape, const stk_slot_allocator *allocator,
                              stk_slot_pool **out, stk_error *error)
{
    *out = NULL;
    stk_slot_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) return stk_fail_memory(error, "the batches");
    pthread_mutex_init(&pool->lock, NULL);
    pool->pid = getpid();
    pool->shape = *shape;
    pool->allocator = *allocator;
    pool->users = 1;
    if (allocator->acquire == NULL)
        pool->allocator = (stk_slot_allocator){.acquire = host_acquire, .release = host_release};
    pool->column_bytes = calloc((size_t)shape->n_columns + 1, sizeof *pool->column_bytes);
    if (pool->column_bytes == NULL) {
        pool_free(pool);
        return stk_fail_memory(error, "the batches");
    }
    for (uint32_t c = 0; c < shape->n_columns; c++) pool->column_bytes[c] = shape->column_bytes[c];
    *out = pool;
    return STK_OK;
}

/* One user less. Slots come back from several threads at once, also while the loader is being closed: only who is
 * done with the pool itself may be counted off, or another thread frees it under his hands. */
static void pool_drop(stk_slot_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool last = --pool->users == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last) pool_free(pool);
}

static void slot_free(stk_slot *slot)
{
    stk_slot_pool *pool = slot->pool;
    if (slot->memory != NULL) pool->allocator.release(pool->allocator.user, slot->memory, slot->batch.handle);
    free(slot->arrays);
    free(slot);
    pool_drop(pool);
}

/* Cuts n * size bytes, aligned, off the block that grows at *at; with base NULL it only counts. */
static bool cut(uint8_t *base, size_t *at, size_t n, size_t size, void **out)
{
    size_t n_bytes;
    if (!stk_mul_size(n, size, &n_bytes) || n_bytes > SIZE_MAX / 2 - *at) return false;
    if (base != NULL) *out = base + *at;
    *at += round_up(n_bytes);
    return true;
}

static bool lay_out(const stk_slot_pool *pool, stk_slot *slot, uint8_t *base, size_t *n_bytes)
{
    size_t n = pool->shape.n_entries;
    void *p[9] = {0};
    *n_bytes = 0;
    bool good = cut(base, n_bytes, n, sizeof(uint64_t), &p[0]) && cut(base, n_bytes, n, sizeof(uint32_t), &p[1]) &&
                cut(base, n_bytes, n, sizeof(int64_t), &p[2]) && cut(base, n_bytes, n, sizeof(int32_t), &p[3]) &&
                cut(base, n_bytes, pool->shape.with_offsets ? n + 1 : 0, sizeof(uint64_t), &p[4]) &&
                cut(base, n_bytes, (size_t)pool->shape.n_columns + 1, sizeof(void *), &p[5]) &&
                cut(base, n_bytes, pool->shape.with_mix ? n : 0, sizeof(int64_t), &p[6]) &&
                cut(base, n_bytes, pool->shape.with_mix ? n : 0, sizeof(float), &p[7]) &&
                cut(base, n_bytes, pool->shape.with_mix ? n : 0, sizeof(stk_mixing), &p[8]);
    slot->ids = p[0];
    slot->occurrences = p[1];
    slot->labels = p[2];
    slot->statuses = p[3];
    slot->offsets = pool->shape.with_offsets ? p[4] : NULL;
    slot->columns = p[5];
    slot->labels2 = pool->shape.with_mix ? p[6] : NULL;
    slot->shares = pool->shape.with_mix ? p[7] : NULL;
    slot->mixings = pool->shape.with_mix ? p[8] : NULL;
    for (uint32_t c = 0; good && c < pool->shape.n_columns; c++) {
        void *column = NULL;
        good = cut(base, n_bytes, n, pool->column_bytes[c], &column);
        if (base != NULL) slot->columns[c] = column;
    }
    return good;
}

static stk_status slot_new(stk_slot_pool *pool, stk_slot **out, stk_error *error)
{
    stk_slot *slot = calloc(1, sizeof *slot);
    size_t n_bytes;
    if (slot == NULL || !lay_out(pool, slot, NULL, &n_bytes)) {
        free(slot);
        return stk_fail_memory(error, "a batch");
    }
    slot->arrays = aligned_alloc(ALIGN, n_bytes);
    if (slot->arrays == NULL) {
        free(slot);
        return stk_fail_memory(error, "a batch");
    }
    memset(slot->arrays, 0, n_bytes);
    (void)lay_out(pool, slot, slot->arrays, &n_bytes);
    slot->pool = pool;
    pthread_mutex_lock(&pool->lock);
    pool->users++;
    pthread_mutex_unlock(&pool->lock);
    slot->batch.ids = slot->ids;
    slot->batch.occurrences = slot->occurrences;
    slot->batch.labels = slot->labels;
    slot->batch.statuses = slot->statuses;
    slot->batch.labels2 = slot->labels2;
    slot->batch.shares = slot->shares;
    slot->batch.mixings = slot->mixings;
    slot->batch.columns = (const void *const *)slot->columns;
    slot->batch.n_columns = pool->shape.n_columns;
    *out = slot;
    return STK_OK;
}

static stk_status slot_room(stk_slot_pool *pool, stk_slot *slot, size_t n_bytes, stk_error *error)
{
    if (slot->memory != NULL && slot->capacity >= n_bytes) return STK_OK;
    if (slot->memory != NULL) pool->allocator.release(pool->allocator.user, slot->memory, slot->batch.handle);
    slot->memory = NULL;
    slot->capacity = 0;
    STK_TRY(pool->allocator.acquire(pool->allocator.user, n_bytes, &slot->memory, &slot->batch.handle, error));
    slot->capacity = n_bytes;
    slot->batch.data = slot->memory;
    if (slot->memory != NULL && (uintptr_t)slot->memory % ALIGN == 0) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "allocator.acquire gave memory that is not aligned to %d bytes",
                    ALIGN);
}

stk_status stk_slot_get(stk_slot_pool *pool, size_t n_bytes, stk_slot **out, bool *surplus, stk_error *error)
{
    *out = NULL;
    *surplus = false;
    pthread_mutex_lock(&pool->lock);
    stk_slot *slot = pool->free;
    if (slot != NULL) {
        pool->free = slot->next;
    } else {
        *surplus = pool->total >= pool->shape.base && pool->held > pool->shape.base - pool->shape.n_ahead;
        pool->total++;
    }
    pthread_mutex_unlock(&pool->lock);

    stk_status status = slot != NULL ? STK_OK : slot_new(pool, &slot, error);
    if (status == STK_OK) status = slot_room(pool, slot, n_bytes, error);
    if (status != STK_OK) {
        pthread_mutex_lock(&pool->lock);
        pool->total--;
        pthread_mutex_unlock(&pool->lock);
        if (slot != NULL) slot_free(slot);
        return status;
    }
    slot->next = NULL;
    *out = slot;
    return STK_OK;
}

void stk_slot_put(stk_slot *slot)
{
    stk_slot_pool *pool = slot->pool;
    pthread_mutex_lock(&pool->lock);
    if (slot->held) pool->held--;
    slot->held = false;
    bool keep = !pool->closed && pool->total <= pool->shape.base;
    if (keep) {
        slot->next = pool->free;
        pool->free = slot;
    } else {
        pool->total--;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!keep) slot_free(slot);
}

void stk_slot_hand_out(stk_slot *slot)
{
    pthread_mutex_lock(&slot->pool->lock);
    slot->held = true;
    slot->pool->held++;
    pthread_mutex_unlock(&slot->pool->lock);
}

uint32_t stk_slot_count(stk_slot_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    uint32_t n = pool->total;
    pthread_mutex_unlock(&pool->lock);
    return n;
}

void stk_slot_pool_close(stk_slot_pool **pointer)
{
    stk_slot_pool *pool = *pointer;
    if (pool == NULL) return;
    *pointer = NULL;
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    stk_slot *list = pool->free;
    pool->free = NULL;
    for (stk_slot *s = list; s != NULL; s = s->next) pool->total--;
    pthread_mutex_unlock(&pool->lock);
    while (list != NULL) {
        stk_slot *next = list->next;
        slot_free(list);
        list = next;
    }
    pool_drop(pool);
}

void stk_batch_release(stk_batch *batch)
{
    if (batch == NULL) return;
    stk_slot *slot = (stk_slot *)(void *)batch;
    if (slot->pool->pid != getpid()) return; /* the lock may have been held by a thread the child does not have */
    stk_slot_put(slot);
}
