/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader's engine room: batches are opened in the order of the sequence, their samples claimed by the team's
 * threads a few at a time (across batch borders, so a slow image never idles the others), and finished batches
 * delivered in order. One lock, held for tens of nanoseconds a claim; waiting is passive (condition variables).
 *
 *   open      a slot for the next batch           the thread that finds nothing left to claim
 *   claim     samples of the open slot            any thread
 *   finish    the last sample makes it ready      any thread
 *   next      hands it out                        the consumer
 *
 * At most n_ahead batches are between open and next. A seek (other epoch, restored state) starts a new
 * generation: what was in the making is finished by its threads and dropped. */
#ifndef STK_READER_PIPELINE_H
#define STK_READER_PIPELINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stoker/loader.h>

#include "reader/readahead.h"
#include "reader/sampler.h"
#include "reader/schedule.h"
#include "reader/slots.h"
#include "reader/work.h"

/* A point of the sequence: everything before it was delivered. */
typedef struct stk_place {
    uint64_t epoch, cursor;
} stk_place;

typedef struct stk_ticket {
    stk_slot *slot; /* NULL: no memory could be had; status and error say why */
    bool ready;
    bool last; /* of its epoch */
    stk_place start, after;
    stk_status status;
    stk_error error;
} stk_ticket;

typedef struct stk_column_plan {
    uint32_t column;
    stk_type type;
    size_t n_bytes; /* a row */
} stk_column_plan;

/* Of one thread of the team; written by it alone, read by stk_pipeline_stats. */
/* What a worker does with a sample. */
typedef enum stk_doing { STK_DOING_READ = 0, STK_DOING_DECODE = 1 } stk_doing;

typedef struct stk_worker {
    _Alignas(64) stk_workbench *bench;
    stk_sampler_view view; /* of view.epoch, when has_view */
    bool has_view;
    double ns_per_sample; /* smoothed; 0 = not known yet */
    _Atomic uint64_t doing; /* (sample id + 1) * 4 + stk_doing; 0: nothing. For whoever waits too long */
    _Atomic uint64_t samples, bad_samples, substituted, bytes_read, read_ns, decode_ns, wait_ns;
} stk_worker;

typedef struct stk_pipeline {
    /* Fixed while the team runs: */
    const stk_work *work;
    stk_work_env env;
    const stk_sampler *sampler;
    stk_schedule schedule;
    uint32_t n_views, first_view, n_ahead;
    stk_on_bad on_bad;
    bool mixes; /* finished batches are mixed */
    const stk_column_plan *columns;
    uint32_t n_columns;
    stk_log_fn log;
    void *log_user;
    stk_ranges ranges;
    stk_slot_pool *pool;
    stk_readahead *readahead; /* NULL: the data needs none */

    pthread_mutex_t lock;
    pthread_cond_t work_cond;  /* there may be something to claim or to open */
    pthread_cond_t ready_cond; /* the ticket at head is ready */
    pthread_mutex_t log_lock;
    bool has_lock; /* the four above are initialised */

    /* Under lock: */
    bool stop;
    bool opening; /* a thread is opening a slot with the lock released */
    uint64_t generation;
    stk_place next_open; /* where the next batch to be opened begins */
    stk_place next_out;  /* what the consumer has got so far */
    bool end_pending;    /* STK_END is due */
    stk_ticket *tickets; /* [n_ahead]; serial s is at s % n_ahead */
    uint64_t opened;     /* samples of the batches opened in this generation */
    uint64_t head, tail; /* serials: next to deliver, next to open */
    stk_slot *open;      /* samples of it are left to claim; NULL = none */
    uint32_t open_next;  /* first unclaimed sample of it */
    uint32_t idle;       /* threads waiting on work_cond */
    uint64_t batches, consumer_wait_ns, surplus_slots;
    bool warn_surplus; /* to be said by the next claim */
} stk_pipeline;

/* Samples [first, first + n) of a slot. */
typedef struct stk_chunk {
    stk_slot *slot;
    uint32_t first, n;
} stk_chunk;

enum { STK_CHUNK_MAX = 64 };

/* Initialises lock and tickets; the constant fields are the caller's to fill before. */
stk_status stk_pipeline_init(stk_pipeline *p, stk_error *error);
/* After the team has ended: drops what is prepared, closes the pool. Copes with a half-initialised pipeline. */
void stk_pipeline_destroy(stk_pipeline *p);

/* ---- Workers. */
/* Waits for work; false when the loader closes. */
bool stk_pipeline_claim(stk_pipeline *p, stk_worker *worker, stk_chunk *out);
void stk_pipeline_finish(stk_pipeline *p, stk_worker *worker, const stk_chunk *chunk);
/* A sample failed under on_bad=error; the lowest number's error is the batch's. */
void stk_pipeline_fail(stk_pipeline *p, stk_slot *slot, uint32_t sample, const stk_error *error);
void stk_pipeline_log(stk_pipeline *p, const char *format, ...) STK_PRINTF(2, 3);
/* Tells all threads to end. */
void stk_pipeline_stop(stk_pipeline *p);

/* ---- The consumer. */
stk_status stk_pipeline_next(stk_pipeline *p, int timeout_ms, stk_batch **out, stk_error *error);
/* Continues at place. Batches prepared ahead stay when they are the next ones there, and are dropped otherwise. */
void stk_pipeline_seek(stk_pipeline *p, stk_place place);

#endif
