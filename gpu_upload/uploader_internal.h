/* SPDX-License-Identifier: Apache-2.0
 *
 * What the uploader's files share: uploader.c (API and the pump's life), upload.c (one batch onto the device),
 * resident.c (records that stay there). */
#ifndef STK_GPU_UPLOADER_INTERNAL_H
#define STK_GPU_UPLOADER_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include <stoker/gather.h>

#include "gpu_upload/direct.h"
#include "gpu_upload/job.h"

/* A place in the line to the consumer: a batch, the end of an epoch, or an error. */
typedef struct stk_upload_ticket {
    stk_job *job; /* NULL: status says what */
    stk_status status;
    stk_error error;
    char state[STK_STATE_BYTES];
} stk_upload_ticket;

enum { STK_UPLOAD_MAX_AHEAD = 16, STK_UPLOAD_MAX_STREAMS = 4 };

/* A stream that batches run on, and the memory between their kernels. */
typedef struct stk_upload_lane {
    void *stream;
    stk_gpu_block scratch;
} stk_upload_lane;

/* Records kept in device memory. */
typedef struct stk_resident_set {
    stk_gather_entry *entries; /* [records]: of the whole image, in memory; kind 0 = not there */
    stk_gpu_block memory;
    uint64_t n_bytes, n_records;
} stk_resident_set;

struct stk_uploader {
    pid_t pid;
    const stk_dataset *dataset;
    stk_loader *loader;
    stk_loader_options loader_options;
    stk_uploader_options options;
    bool gather, measures; /* the GPU decodes; whether it should is to be found out */
    char decode_text[sizeof((stk_uploader_stats *)0)->decode];
    stk_gpu_share *share;
    stk_job_pool *pool;
    void *copy_stream;
    stk_upload_lane lanes[STK_UPLOAD_MAX_STREAMS];
    uint32_t n_lanes, next_lane;
    stk_job *copying; /* the pump's: its loader batch is given back when the next one is queued */
    stk_gpu_plan *plan;
    stk_gpu_block norm;
    stk_resident_set resident;
    stk_direct_set direct;
    uint64_t *column_sizes; /* bytes an entry */

    pthread_t pump;
    bool pump_started;
    pthread_mutex_t loader_lock; /* the loader's consumer calls */
    pthread_mutex_t lock;        /* all below */
    pthread_cond_t ready, room;
    stk_upload_ticket tickets[STK_UPLOAD_MAX_AHEAD];
    uint32_t head, tail, n_ahead;
    uint64_t generation;
    bool stop;
    char state[STK_STATE_BYTES];        /* after the last delivered batch */
    char queued_state[STK_STATE_BYTES]; /* after the last one lined up */
    stk_uploader_stats stats;
    uint64_t timed_bytes; /* whose copies are in stats.upload_ms */
};

/* Queues everything for the loader's batch; the job owns it then. The caller released nothing. */
stk_status stk_upload_batch(stk_uploader *u, stk_batch *source, stk_job *job, stk_error *error);
/* Gives the loader's batch back as soon as its bytes are on the device (waits for the copy). */
void stk_upload_release_source(stk_uploader *u, stk_job *job);

/* The loader's slots in pinned memory. */
stk_slot_allocator stk_upload_allocator(const stk_uploader *u);

/* Uploads as many records as the options allow. */
stk_status stk_resident_load(stk_uploader *u, stk_error *error);
void stk_resident_free(stk_uploader *u);

#endif
