/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_compress.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "format/hdf5/squeeze.h"

typedef enum job_state { JOB_FREE, JOB_WAITING, JOB_RUNNING, JOB_DONE } job_state;

typedef struct job {
    job_state state;
    uint8_t *in, *out;
    size_t n_out; /* 0 = stored as it is */
} job;

struct stk_compress_pool {
    int level;
    size_t chunk_bytes;
    uint32_t n_jobs, n_threads, n_started;
    uint32_t first, used; /* ring: oldest job and number in use */
    job *jobs;
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    bool stop, failed;
};

static job *next_waiting(stk_compress_pool *p)
{
    for (uint32_t i = 0; i < p->used; i++) {
        job *j = &p->jobs[(p->first + i) % p->n_jobs];
        if (j->state == JOB_WAITING) return j;
    }
    return NULL;
}

static void *compress_chunks(void *argument)
{
    stk_compress_pool *p = argument;
    stk_squeezer *squeezer = NULL;
    bool ok = stk_squeezer_open(p->level, &squeezer, NULL) == STK_OK;
    pthread_mutex_lock(&p->lock);
    if (!ok) p->failed = true;
    for (;;) {
        job *j = NULL;
        while (!p->stop && (j = next_waiting(p)) == NULL) pthread_cond_wait(&p->work, &p->lock);
        if (p->stop) break;
        j->state = JOB_RUNNING;
        pthread_mutex_unlock(&p->lock);
        /* A chunk that does not shrink is stored as it is, as HDF5's own optional filters do. */
        size_t n = ok ? stk_squeezer_run(squeezer, j->in, p->chunk_bytes, j->out, p->chunk_bytes - 1) : 0;
        pthread_mutex_lock(&p->lock);
        j->n_out = n;
        j->state = JOB_DONE;
        pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    stk_squeezer_close(&squeezer);
    return NULL;
}

static stk_status start_threads(stk_compress_pool *p, stk_error *error)
{
    for (; p->n_started < p->n_threads; p->n_started++) {
        int rc = pthread_create(&p->threads[p->n_started], NULL, compress_chunks, p);
        if (rc != 0) return stk_fail(error, STK_ERR_THREAD, "a compression thread could not be started");
    }
    return STK_OK;
}

stk_status stk_compress_pool_open(int level, size_t chunk_bytes, uint32_t n_threads, stk_compress_pool **out,
                                  stk_error *error)
{
    *out = NULL;
    if (level < 0 && !stk_squeeze_has_lzf())
        return stk_fail(error, STK_ERR_UNSUPPORTED, "--hdf5-filter lzf: this build has no liblzf; use gzip");
    stk_compress_pool *p = calloc(1, sizeof *p);
    if (p == NULL) return stk_fail_memory(error, "a compression pool");
    stk_status status = STK_OK;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->level = level;
    p->chunk_bytes = chunk_bytes;
    p->n_threads = n_threads;
    p->n_jobs = n_threads * 2;
    p->jobs = calloc(p->n_jobs, sizeof *p->jobs);
    p->threads = calloc(n_threads, sizeof *p->threads);
    if (p->jobs == NULL || p->threads == NULL) {
        status = stk_fail_memory(error, "a compression pool");
        goto cleanup;
    }
    for (uint32_t i = 0; i < p->n_jobs; i++) {
        p->jobs[i].in = malloc(chunk_bytes);
        p->jobs[i].out = malloc(chunk_bytes);
        if (p->jobs[i].in == NULL || p->jobs[i].out == NULL) {
            status = stk_fail_memory(error, "chunk buffers");
            goto cleanup;
        }
    }
    STK_GOTO(start_threads(p, error));
cleanup:
    if (status != STK_OK) stk_compress_pool_close(&p);
    *out = p;
    return status;
}

void stk_compress_pool_close(stk_compress_pool **pool)
{
    stk_compress_pool *p = *pool;
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->n_started; i++) pthread_join(p->threads[i], NULL);
    for (uint32_t i = 0; p->jobs != NULL && i < p->n_jobs; i++) {
        free(p->jobs[i].in);
        free(p->jobs[i].out);
    }
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->jobs);
    free(p->threads);
    free(p);
    *pool = NULL;
}

bool stk_compress_pool_full(const stk_compress_pool *p)
{
    return p->used == p->n_jobs;
}

bool stk_compress_pool_empty(const stk_compress_pool *p)
{
    return p->used == 0;
}

stk_status stk_compress_pool_put(stk_compress_pool *p, const uint8_t *chunk, stk_error *error)
{
    if (stk_compress_pool_full(p)) return stk_fail(error, STK_ERR_INTERNAL, "compression pool overrun");
    job *j = &p->jobs[(p->first + p->used) % p->n_jobs];
    memcpy(j->in, chunk, p->chunk_bytes);
    pthread_mutex_lock(&p->lock);
    j->state = JOB_WAITING;
    p->used++;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    return STK_OK;
}

stk_status stk_compress_pool_take(stk_compress_pool *p, const uint8_t **data, size_t *n_bytes,
                                  uint32_t *filter_mask, stk_error *error)
{
    job *j = &p->jobs[p->first];
    pthread_mutex_lock(&p->lock);
    while (j->state != JOB_DONE) pthread_cond_wait(&p->done, &p->lock);
    bool failed = p->failed;
    j->state = JOB_FREE;
    p->first = (p->first + 1) % p->n_jobs;
    p->used--;
    pthread_mutex_unlock(&p->lock);
    if (failed) return stk_fail_memory(error, "a compressor");
    bool stored = j->n_out == 0;
    *data = stored ? j->in : j->out;
    *n_bytes = stored ? p->chunk_bytes : j->n_out;
    *filter_mask = stored ? 1u : 0u;
    return STK_OK;
}
