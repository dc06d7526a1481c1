/* SPDX-License-Identifier: Apache-2.0
 *
 * What the uploader's files share: uploader.c (API and the pump's life), upload.c (one batch onto the device),
 * upload_steps.c (what a transform's steps add to that), resident.c (records that stay there). */
#ifndef STK_GPU_UPLOADER_INTERNAL_H
#define STK_GPU_UPLOADER_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include <stoker/gather.h>

#include "gpu_upload/direct.h"
#include "gpu_upload/job.h"
#include "gpu_upload/steps_plan.h"

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
    stk_gpu_block pictures; /* of batches that steps or mixing change */
} stk_upload_lane;

/* A transform's steps and mixing. */
typedef struct stk_upload_steps {
    stk_drawer *drawer; /* NULL: there are none, or the CPU takes them */
    stk_drawn_steps drawn;
    stk_steps_plan plan; /* of the last batch */
    stk_erase_value erased;
    uint32_t constants[3]; /* elements' bits */
    stk_gpu_block normal;
} stk_upload_steps;

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
    stk_upload_steps steps;
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

/* A table that all batches share to device memory, and waits. */
stk_status stk_upload_table(stk_uploader *u, const void *table, size_t n_bytes, stk_gpu_block *block, stk_error *error);

/* upload_steps.c. All of these do nothing where the transform has no steps for the device to take. */
stk_status stk_upload_steps_open(stk_uploader *u, stk_error *error);
void stk_upload_steps_close(stk_uploader *u);
/* Draws and plans the batch's steps; the job's statuses are those known so far. */
stk_status stk_upload_steps_plan(stk_uploader *u, const stk_batch *b, stk_job *job, const stk_gpu_output *output,
                                 stk_error *error);
/* Bytes of the planned batch that are to be copied to job->steps. */
size_t stk_upload_steps_bytes(const stk_uploader *u);
/* What the stages before are to make, of the batch's tensor. */
stk_gpu_output stk_upload_steps_picture(const stk_uploader *u, const stk_gpu_output *output);
/* Queues the steps behind those stages. images: of the plan, on the device, or NULL. */
stk_status stk_upload_steps_run(stk_uploader *u, stk_job *job, const stk_gpu_image *images, stk_error *error);

/* The loader's slots in pinned memory. */
stk_slot_allocator stk_upload_allocator(const stk_uploader *u);

/* Uploads as many records as the options allow. */
stk_status stk_resident_load(stk_uploader *u, stk_error *error);
void stk_resident_free(stk_uploader *u);

#endif
