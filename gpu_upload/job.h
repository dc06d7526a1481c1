/* SPDX-License-Identifier: Apache-2.0
 *
 * One batch on its way through the device: its memory, its events, its place in the pool. A job is the consumer's
 * between next and release; then it is reused, or freed when the uploader is gone. */
#ifndef STK_GPU_JOB_H
#define STK_GPU_JOB_H

#include <stdbool.h>

#include <stoker/gpu_upload.h>

#include "gpu_upload/device_memory.h"
#include "gpu_upload/gpu_plan.h"

typedef struct stk_job_pool stk_job_pool;

typedef struct stk_job {
    stk_device_batch batch; /* first: a batch's address is its job's */
    stk_array array;        /* batch.array, when the records are arrays */
    stk_job_pool *pool;
    struct stk_job *next;
    stk_gpu_block bytes, plan, steps, out, extras; /* device: gathered bytes; plan; the steps'; tensor; labels, columns,
                                                      statuses */
    stk_gpu_block staging;                  /* pinned: plan, labels, columns on their way in; statuses back */
    void *copy_begun, *copied, *run_begun, *done, *consumed;
    bool was_consumed; /* `consumed` was recorded: writers wait for it */
    bool was_used;     /* work was queued with it before: `done` means something */
    bool counted;      /* its times are in the statistics */
    struct stk_upload_lane *lane; /* that it runs on */
    stk_batch *source; /* the loader's batch while its memory is being copied */
    uint32_t capacity; /* entries that the host arrays hold */
    uint64_t *ids;
    int64_t *labels;
    int32_t *statuses;
    int64_t *labels2;
    float *shares;
    uint32_t *partners; /* [samples], under transform.mix: whom each is mixed with */
    uint32_t n_views;
    const void **columns;
    const int32_t *device_statuses; /* in staging, once `done` */
    uint64_t uploaded;
    char state[STK_STATE_BYTES];
} stk_job;

struct stk_job_pool {
    stk_gpu_share *share;
    pthread_mutex_t lock;
    stk_job *free, *newest; /* a queue: the job that was given back first is the likeliest to be done */
    uint32_t users;         /* the uploader while it is open, and every job until it is freed */
    uint32_t enough;        /* of these; more are made only when none is free */
    bool closed;
};

stk_status stk_job_pool_open(stk_gpu_share *share, uint32_t enough, stk_job_pool **out, stk_error *error);
/* Frees what is free; the rest goes when it is released. */
void stk_job_pool_close(stk_job_pool **pool);

/* A free job, or a new one: also where the free one's work is not done yet, as long as there are not enough. */
stk_status stk_job_get(stk_job_pool *pool, stk_job **out, stk_error *error);
/* Back to the pool. */
void stk_job_put(stk_job *job);
/* An entry turned out to be bad: neither it nor the one that it was to be a part of is mixed, and their labels say so. */
void stk_job_unmix(stk_job *job, uint32_t entry);
/* The device's work of a job is done: statuses and labels take over what it said of entry i's bits. True when they are
 * invalid. */
bool stk_job_note_bits(stk_job *job, uint32_t i);
/* Room for n entries and n_columns columns in the host arrays. */
stk_status stk_job_fit(stk_job *job, uint32_t n, uint32_t n_columns, stk_error *error);

#endif
