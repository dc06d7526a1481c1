/* SPDX-License-Identifier: Apache-2.0
 *
 * Device and pinned memory that is reused: blocks grow to what is asked for and come back for the next batch, so that
 * nothing is allocated after warm-up. Counted, so that it dies with its last user: the uploader or a batch that a
 * consumer still holds. */
#ifndef STK_GPU_DEVICE_MEMORY_H
#define STK_GPU_DEVICE_MEMORY_H

#include <pthread.h>
#include <stdint.h>

#include <stoker/loader.h>

#include "gpu_upload/backend.h"

enum { STK_GPU_SLACK = 256 }; /* bytes behind every block that kernels may read */

/* Where remarks go: lines of text, one at a time. */
typedef struct stk_gpu_log {
    stk_log_fn write; /* may be NULL */
    void *user;
} stk_gpu_log;

/* Giving memory back to the driver waits for all that the device was told to do, the consumer's steps included: it cost
 * a training loop 50 ms each time. So nothing is given back while batches flow. What the loader's slots do not need is
 * kept for the next one; what a block outgrew waits here for the end, or for the driver to run out of memory. Blocks
 * grow by half and more, so that all that waits is less than twice what is in use. */
enum { STK_GPU_PINNED_KEPT = 64, STK_GPU_RETIRED_KEPT = 64 };
typedef struct stk_gpu_pinned {
    void *memory;
    size_t capacity;
    bool used;
} stk_gpu_pinned;

typedef struct stk_gpu_retired {
    void *memory;
    size_t capacity;
    bool host;
} stk_gpu_retired;

/* A device shared by an uploader and its batches. */
typedef struct stk_gpu_share {
    const stk_gpu_backend *backend;
    stk_gpu_device *device;
    stk_gpu_device_info info;
    pthread_mutex_t lock;
    uint32_t users;
    uint64_t device_bytes, pinned_bytes, pageable_bytes;
    bool warned_pageable;
    pthread_mutex_t log_lock;
    stk_gpu_log log;
    stk_gpu_pinned pinned[STK_GPU_PINNED_KEPT];
    size_t pinned_usual; /* slots are at least so large: what one is expected to need, the largest there was */
    stk_gpu_retired retired[STK_GPU_RETIRED_KEPT];
    uint32_t n_retired;
} stk_gpu_share;

stk_status stk_gpu_share_open(const char *backend, int device, stk_gpu_log log, stk_gpu_share **out, stk_error *error);
void stk_gpu_share_keep(stk_gpu_share *share);
void stk_gpu_share_drop(stk_gpu_share *share);

/* An stk_log_fn whose `user` is the share: the loader's lines and ours come one at a time. */
void stk_gpu_share_log(void *share, const char *line);
/* From now on lines are dropped: their taker goes, while batches may still be held. */
void stk_gpu_share_mute(stk_gpu_share *share);

/* At least n_bytes and STK_GPU_SLACK: pinned memory, or pageable memory and one remark in the log where the driver has
 * none. Any thread. */
stk_status stk_gpu_pinned_get(stk_gpu_share *share, size_t n_bytes, void **out, stk_error *error);
void stk_gpu_pinned_put(stk_gpu_share *share, void *memory);
/* Gives all unused memory back to the driver, which waits for the device: not while batches flow. */
void stk_gpu_share_trim(stk_gpu_share *share);
/* How large a slot will usually be: the first ones are made so large at once. */
void stk_gpu_pinned_expect(stk_gpu_share *share, size_t n_bytes);
/* The opposite: the batches that come have nothing to do with those before. Gives back what nobody uses. */
void stk_gpu_pinned_forget(stk_gpu_share *share);
/* True for memory of stk_gpu_pinned_get and of pinned blocks that the device can neither read nor write by itself. */
bool stk_gpu_host_pageable(void *memory);

typedef struct stk_gpu_block {
    void *memory;
    size_t capacity;
    bool pinned;
    bool exact; /* its size will not change: no room is added */
} stk_gpu_block;

/* Grows the block to n_bytes and half as much more (contents are lost when it grows). The caller knows that nothing in
 * flight uses it. */
stk_status stk_gpu_block_fit(stk_gpu_share *share, stk_gpu_block *block, size_t n_bytes, stk_error *error);
void stk_gpu_block_free(stk_gpu_share *share, stk_gpu_block *block);

#endif
