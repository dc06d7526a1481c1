/* SPDX-License-Identifier: Apache-2.0
 *
 * The uploader's memory: while batches flow nothing is given back to the driver (that would wait for the device), what
 * was outgrown comes back when memory runs short and at the end, and slots soon fit every batch. The dummy back end's
 * table with counting entries stands for the device. */
#include "gpu_upload/device_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static stk_error error;
static stk_gpu_backend counting;
static int allocated, freed;
static size_t device_limit, device_held;

static stk_status count_pinned_alloc(stk_gpu_device *d, size_t n_bytes, void **out, stk_error *e)
{
    allocated++;
    return stk_gpu_dummy_backend.pinned_alloc(d, n_bytes, out, e);
}

static void count_pinned_free(stk_gpu_device *d, void *memory)
{
    freed++;
    stk_gpu_dummy_backend.pinned_free(d, memory);
}

/* A device that is full at device_limit bytes. Sizes stand in front of the memory. */
static stk_status count_device_alloc(stk_gpu_device *d, size_t n_bytes, void **out, stk_error *e)
{
    (void)d;
    *out = NULL;
    if (device_held + n_bytes > device_limit) {
        if (e != NULL) snprintf(e->text, sizeof e->text, "the device is full");
        return STK_ERR_MEMORY;
    }
    uint8_t *m = malloc(n_bytes + 64);
    CHECK(m != NULL);
    memcpy(m, &n_bytes, sizeof n_bytes);
    device_held += n_bytes;
    allocated++;
    *out = m + 64;
    return STK_OK;
}

static void count_device_free(stk_gpu_device *d, void *memory)
{
    size_t n_bytes;
    (void)d;
    memcpy(&n_bytes, (uint8_t *)memory - 64, sizeof n_bytes);
    device_held -= n_bytes;
    freed++;
    free((uint8_t *)memory - 64);
}

static stk_gpu_share *open_share(size_t limit)
{
    stk_gpu_share *s = NULL;
    CHECK_OK(stk_gpu_share_open("dummy", 0, (stk_gpu_log){0}, &s, &error));
    counting = stk_gpu_dummy_backend;
    counting.pinned_alloc = count_pinned_alloc;
    counting.pinned_free = count_pinned_free;
    counting.device_alloc = count_device_alloc;
    counting.device_free = count_device_free;
    s->backend = &counting;
    allocated = freed = 0;
    device_limit = limit;
    device_held = 0;
    return s;
}

static void blocks_grow_without_giving_back(void)
{
    stk_gpu_share *s = open_share(SIZE_MAX / 2);
    stk_gpu_block device = {0}, pinned = {.pinned = true};
    for (size_t n = 1000; n < 200000; n += 1000) {
        CHECK_OK(stk_gpu_block_fit(s, &device, n, &error));
        CHECK_OK(stk_gpu_block_fit(s, &pinned, n, &error));
        CHECK(device.capacity >= n && pinned.capacity >= n);
        memset(pinned.memory, 1, n + STK_GPU_SLACK);
    }
    CHECK_EQ(freed, 0);
    CHECK(allocated < 40); /* 200 times it was too small for what came next, had it not grown by more */
    CHECK(s->device_bytes < 3 * device.capacity);
    stk_gpu_block_free(s, &device);
    stk_gpu_block_free(s, &pinned);
    CHECK_EQ(freed, 2);
    stk_gpu_share_drop(s);
    CHECK_EQ(freed, allocated);
    CHECK_EQ(device_held, 0);
}

static void memory_that_was_outgrown_helps_a_full_device(void)
{
    stk_gpu_share *s = open_share(100000);
    stk_gpu_block a = {0}, b = {.exact = true};
    CHECK_OK(stk_gpu_block_fit(s, &a, 20000, &error));
    CHECK_OK(stk_gpu_block_fit(s, &a, 40000, &error)); /* 30,000 wait */
    CHECK_EQ(freed, 0);
    CHECK_OK(stk_gpu_block_fit(s, &b, 30000, &error)); /* only where those were */
    CHECK_EQ(freed, 1);
    CHECK_STATUS(stk_gpu_block_fit(s, &b, 90000, &error), STK_ERR_MEMORY);
    CHECK(strstr(error.text, "full") != NULL);
    CHECK(b.memory == NULL && b.capacity == 0);
    stk_gpu_block_free(s, &a);
    stk_gpu_block_free(s, &b);
    stk_gpu_share_drop(s);
    CHECK_EQ(device_held, 0);
}

/* Batches whose sizes differ by up to a half, three slots at a time. */
static void slots_soon_fit_every_batch(void)
{
    enum { SLOTS = 3, BATCHES = 3000, USUAL = 100000 };
    stk_gpu_share *s = open_share(SIZE_MAX / 2);
    void *slots[SLOTS] = {0};
    uint32_t state = 1;
    int after_warm_up = 0;
    for (int i = 0; i < BATCHES; i++) {
        state = state * 1664525u + 1013904223u;
        size_t n = USUAL * 3 / 4 + (state >> 16) % (USUAL / 2);
        if (slots[i % SLOTS] != NULL) stk_gpu_pinned_put(s, slots[i % SLOTS]);
        CHECK_OK(stk_gpu_pinned_get(s, n, &slots[i % SLOTS], &error));
        memset(slots[i % SLOTS], 1, n + STK_GPU_SLACK);
        if (i == 20) after_warm_up = allocated;
    }
    CHECK(allocated - after_warm_up <= SLOTS);
    CHECK_EQ(freed, 0);
    for (int i = 0; i < SLOTS; i++) stk_gpu_pinned_put(s, slots[i]);
    stk_gpu_share_drop(s);
    CHECK_EQ(freed, allocated);
}

static void expected_slots_are_made_once(void)
{
    stk_gpu_share *s = open_share(SIZE_MAX / 2);
    void *slot = NULL;
    stk_gpu_pinned_expect(s, 100000);
    for (size_t n = 50000; n <= 100000; n += 1000) {
        CHECK_OK(stk_gpu_pinned_get(s, n, &slot, &error));
        stk_gpu_pinned_put(s, slot);
    }
    CHECK_EQ(allocated, 1);
    stk_gpu_share_trim(s);
    CHECK_EQ(freed, 1);
    stk_gpu_share_drop(s);
}

int main(void)
{
    RUN(blocks_grow_without_giving_back);
    RUN(memory_that_was_outgrown_helps_a_full_device);
    RUN(slots_soon_fit_every_batch);
    RUN(expected_slots_are_made_once);
    return check_exit();
}
