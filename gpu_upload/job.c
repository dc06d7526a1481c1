/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/job.h"

#include <stdlib.h>

#include "common/fail.h"

stk_status stk_job_pool_open(stk_gpu_share *share, uint32_t enough, stk_job_pool **out, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "the uploader");
    pthread_mutex_init(&(*out)->lock, NULL);
    (*out)->share = share;
    (*out)->enough = enough;
    (*out)->users = 1;
    stk_gpu_share_keep(share);
    return STK_OK;
}

static void free_pool(stk_job_pool *pool)
{
    stk_gpu_share_drop(pool->share);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* One user less. Only who is done with the pool itself may be counted off: batches come back from several threads at
 * once, also while the uploader is being closed. */
static void drop_pool(stk_job_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool last = --pool->users == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last) free_pool(pool);
}

static void free_job(stk_job *job)
{
    stk_job_pool *pool = job->pool;
    stk_gpu_share *s = pool->share;
    void *events[5] = {job->copy_begun, job->copied, job->run_begun, job->done, job->consumed};
    /* A consumer's last kernels may still read the tensor. */
    if (job->was_consumed && job->consumed != NULL) (void)s->backend->event_sync(s->device, job->consumed, NULL);
    stk_gpu_block *blocks[6] = {&job->bytes, &job->plan, &job->steps, &job->out, &job->extras, &job->staging};
    for (int i = 0; i < 6; i++) stk_gpu_block_free(s, blocks[i]);
    for (int i = 0; i < 5; i++)
        if (events[i] != NULL) s->backend->event_close(s->device, events[i]);
    free(job->ids);
    free(job->labels);
    free(job->statuses);
    free(job->labels2);
    free(job->shares);
    free(job->partners);
    free(job->columns);
    free(job);
    drop_pool(pool);
}

void stk_job_pool_close(stk_job_pool **pool)
{
    stk_job_pool *p = *pool;
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    stk_job *list = p->free;
    p->free = p->newest = NULL;
    pthread_mutex_unlock(&p->lock);
    while (list != NULL) {
        stk_job *next = list->next;
        free_job(list);
        list = next;
    }
    drop_pool(p);
    *pool = NULL;
}

static stk_status new_job(stk_job_pool *pool, stk_job **out, stk_error *error)
{
    stk_gpu_share *s = pool->share;
    stk_job *job = calloc(1, sizeof *job);
    if (job == NULL) return stk_fail_memory(error, "a batch");
    job->pool = pool;
    pthread_mutex_lock(&pool->lock);
    pool->users++;
    pthread_mutex_unlock(&pool->lock);
    job->staging.pinned = true;
    job->out.exact = true;
    void **events[5] = {&job->copy_begun, &job->copied, &job->run_begun, &job->done, &job->consumed};
    for (int i = 0; i < 5; i++) {
        stk_status status = s->backend->event_open(s->device, events[i], error);
        if (status != STK_OK) {
            free_job(job);
            return status;
        }
    }
    *out = job;
    return STK_OK;
}

static bool still_at_work(const stk_job *job)
{
    stk_gpu_share *s = job->pool->share;
    bool done = true, consumed = true;
    if (job->was_used && s->backend->event_done(s->device, job->done, &done, NULL) != STK_OK) return false;
    if (job->was_consumed && s->backend->event_done(s->device, job->consumed, &consumed, NULL) != STK_OK) return false;
    return !done || !consumed;
}

stk_status stk_job_get(stk_job_pool *pool, stk_job **out, stk_error *error)
{
    pthread_mutex_lock(&pool->lock);
    stk_job *job = pool->free;
    if (job != NULL && pool->users <= pool->enough && still_at_work(job)) job = NULL;
    if (job != NULL) {
        pool->free = job->next;
        if (pool->free == NULL) pool->newest = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    if (job == NULL) STK_TRY(new_job(pool, &job, error));
    job->next = NULL;
    *out = job;
    return STK_OK;
}

void stk_job_put(stk_job *job)
{
    stk_job_pool *pool = job->pool;
    pthread_mutex_lock(&pool->lock);
    bool closed = pool->closed;
    if (!closed) {
        job->next = NULL;
        if (pool->newest != NULL) pool->newest->next = job;
        else pool->free = job;
        pool->newest = job;
    }
    pthread_mutex_unlock(&pool->lock);
    if (closed) free_job(job);
}

stk_status stk_job_fit(stk_job *job, uint32_t n, uint32_t n_columns, stk_error *error)
{
    if (job->columns == NULL) job->columns = calloc((size_t)n_columns + 1, sizeof *job->columns);
    if (job->columns == NULL) return stk_fail_memory(error, "a batch");
    if (n <= job->capacity) return STK_OK;
    free(job->ids);
    free(job->labels);
    free(job->statuses);
    free(job->labels2);
    free(job->shares);
    free(job->partners);
    job->capacity = 0;
    job->ids = malloc(n * sizeof *job->ids);
    job->labels = malloc(n * sizeof *job->labels);
    job->statuses = malloc(n * sizeof *job->statuses);
    job->labels2 = malloc(n * sizeof *job->labels2);
    job->shares = malloc(n * sizeof *job->shares);
    job->partners = malloc(n * sizeof *job->partners);
    if (job->ids == NULL || job->labels == NULL || job->statuses == NULL || job->labels2 == NULL || job->shares == NULL ||
        job->partners == NULL)
        return stk_fail_memory(error, "a batch");
    job->capacity = n;
    return STK_OK;
}

static void take_own_label(stk_job *job, uint32_t entry)
{
    job->labels2[entry] = job->labels[entry];
    job->shares[entry] = 1;
}

void stk_job_unmix(stk_job *job, uint32_t entry)
{
    const uint32_t n_views = job->n_views;
    if (job->batch.host_labels2 == NULL) return;
    take_own_label(job, entry);
    for (uint32_t s = 0; s < job->batch.n / n_views; s++)
        if (job->partners[s] == entry / n_views) take_own_label(job, s * n_views + entry % n_views);
}

bool stk_job_note_bits(stk_job *job, uint32_t i)
{
    if (job->device_statuses == NULL || job->device_statuses[i] == 0) return false;
    job->statuses[i] = STK_ERR_IMAGE;
    stk_job_unmix(job, i);
    return true;
}
