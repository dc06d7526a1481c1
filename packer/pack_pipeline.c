/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads claim chunks of consecutive positions. A finished chunk waits in a ring until all before it are
 * written; the thread that finishes the ring's first chunk writes it and whatever is done behind it, while
 * the others work on. Payloads that wait are counted: when they are too many, a thread keeps its product
 * in its own buffers and waits for its turn instead, so memory holds the budget and one image a thread. */
#include "packer/pack_pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/team.h"

enum {
    CHUNK_FILES = 64,
    CHUNK_BYTES = 256 << 10,  /* of source files, about */
    BUDGET_BYTES = 24 << 20,  /* of payloads that wait; their buffers are up to half as large again */
    RESERVE_BYTES = 64 << 10, /* taken from the budget at a time */
    KEEP_BYTES = 1 << 20,     /* a chunk's buffer above this is given back once it is written */
    CHUNKS_PER_THREAD = 4,
    TICK_MS = 50
};

typedef struct chunk {
    uint64_t number; /* in the order of claims */
    uint64_t first;  /* position */
    uint32_t n;
    uint32_t n_made, n_taken;
    bool done;
    stk_product items[CHUNK_FILES];
    size_t payload_at[CHUNK_FILES]; /* in bytes */
    stk_buffer bytes;
    size_t reserved;   /* of the budget, for bytes */
    stk_status status; /* of making item n_made */
    stk_error error;
} chunk;

typedef struct run {
    const stk_pipeline *p;
    chunk *ring;
    uint32_t n_ring;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock: */
    uint64_t next_position;
    uint64_t next_chunk, head;         /* numbers: to be claimed next, to be written next */
    bool writing;                      /* some thread writes */
    atomic_bool stop;                  /* set under the lock; read anywhere */
    size_t waiting_bytes;              /* reserved by all chunks */
    uint64_t taken_files, taken_bytes; /* for the size of chunks */
    stk_status status;
    stk_error *error;
} run;

static chunk *chunk_of(run *r, uint64_t number)
{
    return &r->ring[number % r->n_ring];
}

static void fail(run *r, stk_status status, const stk_error *error)
{
    pthread_mutex_lock(&r->lock);
    if (!r->stop) {
        r->stop = true;
        r->status = status;
        if (r->error != NULL) *r->error = *error;
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Lets the caller look in; only on its own thread, and without the lock. */
static void tick(run *r, uint32_t thread)
{
    if (thread != 0 || r->p->tick == NULL) return;
    if (r->p->tick(r->p->user)) return;
    stk_error error;
    (void)stk_fail(&error, STK_ERR_CANCELLED, "cancelled");
    fail(r, STK_ERR_CANCELLED, &error);
}

/* Waits for a change; the lock is held before and after. The caller's thread wakes now and then to tick. */
static void wait_for_change(run *r, uint32_t thread)
{
    if (thread != 0) {
        pthread_cond_wait(&r->changed, &r->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TICK_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    if (pthread_cond_timedwait(&r->changed, &r->lock, &until) != ETIMEDOUT) return;
    pthread_mutex_unlock(&r->lock);
    tick(r, thread);
    pthread_mutex_lock(&r->lock);
}

/* Small files by the dozen, large ones singly, so that threads meet rarely and end together. */
static uint32_t chunk_size(const run *r)
{
    if (r->taken_files == 0) return 4;
    uint64_t mean = r->taken_bytes / r->taken_files + 1;
    uint64_t n = CHUNK_BYTES / mean;
    return n < 1 ? 1 : n > CHUNK_FILES ? CHUNK_FILES : (uint32_t)n;
}

/* The next chunk, or NULL when there is nothing left to do. */
static chunk *claim(run *r, uint32_t thread)
{
    chunk *c = NULL;
    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->next_position < r->p->end && r->next_chunk - r->head >= r->n_ring)
        wait_for_change(r, thread);
    if (!r->stop && r->next_position < r->p->end) {
        uint64_t left = r->p->end - r->next_position;
        uint32_t n = chunk_size(r);
        c = chunk_of(r, r->next_chunk);
        c->number = r->next_chunk++;
        c->first = r->next_position;
        c->n = left < n ? (uint32_t)left : n;
        c->n_made = c->n_taken = 0;
        c->done = false;
        c->status = STK_OK;
        c->bytes.n_bytes = 0;
        r->next_position += c->n;
    }
    pthread_mutex_unlock(&r->lock);
    return c;
}

static void source_at(const run *r, uint64_t position, stk_source *out)
{
    stk_source_at(r->p->sources, r->p->shuffle, position, out);
}

/* Hands one product over. The caller has the writing turn. */
static stk_status take(run *r, const chunk *c, uint32_t i, const stk_product *product, stk_error *error)
{
    stk_source source;
    source_at(r, c->first + i, &source);
    return r->p->take(r->p->user, &source, product, error);
}

/* Hands over what a chunk has made and not handed over yet. The caller has the writing turn. */
static void write_chunk(run *r, chunk *c)
{
    stk_status status = STK_OK;
    stk_error error;
    uint64_t bytes = 0;
    uint32_t before = c->n_taken;
    for (; c->n_taken < c->n_made && status == STK_OK; c->n_taken++) {
        stk_product *product = &c->items[c->n_taken];
        product->record.payload = c->bytes.data + c->payload_at[c->n_taken];
        status = take(r, c, c->n_taken, product, &error);
        bytes += product->source_bytes;
    }
    if (status == STK_OK && c->status != STK_OK) {
        status = c->status;
        error = c->error;
    }
    if (status != STK_OK) fail(r, status, &error);
    pthread_mutex_lock(&r->lock);
    r->waiting_bytes -= c->reserved;
    c->reserved = 0;
    r->taken_files += c->n_taken - before;
    r->taken_bytes += bytes;
    pthread_mutex_unlock(&r->lock);
    c->bytes.n_bytes = 0;
    if (c->bytes.capacity > KEEP_BYTES) stk_buffer_free(&c->bytes);
}

/* Writes the ring's first chunks as far as they are done, unless somebody does already: then that thread will
 * find this one's. The lock is held before and after, not while writing. */
static void write_done_chunks(run *r)
{
    if (r->writing) return;
    r->writing = true;
    while (!r->stop && r->head < r->next_chunk && chunk_of(r, r->head)->done) {
        chunk *c = chunk_of(r, r->head);
        pthread_mutex_unlock(&r->lock);
        write_chunk(r, c);
        pthread_mutex_lock(&r->lock);
        r->head++;
        pthread_cond_broadcast(&r->changed);
    }
    r->writing = false;
    pthread_cond_broadcast(&r->changed);
}

/* Writes the chunk's products so far and then this one from where it lies, when it is the chunk's turn. */
static void take_in_turn(run *r, chunk *c, const stk_product *product, uint32_t thread)
{
    pthread_mutex_lock(&r->lock);
    while (!r->stop && (r->head != c->number || r->writing))
        wait_for_change(r, thread);
    bool go = !r->stop;
    if (go) r->writing = true;
    pthread_mutex_unlock(&r->lock);
    if (!go) return;

    write_chunk(r, c);
    stk_error error;
    stk_status status = take(r, c, c->n_made, product, &error);
    if (status != STK_OK) fail(r, status, &error);
    c->n_made++;
    c->n_taken = c->n_made;

    pthread_mutex_lock(&r->lock);
    r->taken_files++;
    r->taken_bytes += product->source_bytes;
    r->writing = false;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* True when n more bytes may wait in the chunk's buffer. In the first chunk what is made can be written at
 * once; there only small products are gathered. */
static bool may_wait(run *r, chunk *c, size_t n)
{
    size_t need = c->bytes.n_bytes + n;
    if (need <= c->reserved) return true;
    size_t more = need - c->reserved < RESERVE_BYTES ? RESERVE_BYTES : need - c->reserved;
    pthread_mutex_lock(&r->lock);
    size_t limit = r->head == c->number ? CHUNK_BYTES : BUDGET_BYTES;
    bool fits = need <= limit && more <= BUDGET_BYTES && r->waiting_bytes <= BUDGET_BYTES - more;
    if (fits) {
        r->waiting_bytes += more;
        c->reserved += more;
    }
    pthread_mutex_unlock(&r->lock);
    return fits;
}

static void keep_product(run *r, chunk *c, const stk_product *product, uint32_t thread)
{
    size_t n = product->fate == STK_FATE_RECORD ? product->record.n_bytes : 0;
    if (n > 0 && !may_wait(r, c, n)) {
        take_in_turn(r, c, product, thread);
        return;
    }
    c->items[c->n_made] = *product;
    c->payload_at[c->n_made] = c->bytes.n_bytes;
    c->status = n > 0 ? stk_buffer_append(&c->bytes, product->record.payload, n, &c->error) : STK_OK;
    if (c->status == STK_OK) c->n_made++;
}

static void make_chunk(run *r, chunk *c, stk_record_maker *maker, uint32_t thread)
{
    stk_product product;
    for (uint32_t i = 0; i < c->n && c->status == STK_OK && !atomic_load(&r->stop); i++) {
        stk_source source;
        source_at(r, c->first + i, &source);
        c->status = stk_record_make(maker, &source, &product, &c->error);
        if (c->status == STK_OK) keep_product(r, c, &product, thread);
    }
    pthread_mutex_lock(&r->lock);
    c->done = true;
    write_done_chunks(r);
    pthread_mutex_unlock(&r->lock);
}

static void run_thread(void *user, uint32_t thread)
{
    run *r = user;
    stk_record_maker maker;
    stk_error error;
    stk_status status = stk_record_maker_open(r->p->recipe, r->p->sources, &maker, &error);
    if (status != STK_OK) {
        fail(r, status, &error);
        return;
    }
    for (chunk *c = claim(r, thread); c != NULL; c = claim(r, thread)) {
        make_chunk(r, c, &maker, thread);
        tick(r, thread);
    }
    stk_record_maker_close(&maker);
    /* The caller's thread stays to tick while others finish long images. */
    pthread_mutex_lock(&r->lock);
    while (thread == 0 && !r->stop && r->head < r->next_chunk)
        wait_for_change(r, thread);
    pthread_mutex_unlock(&r->lock);
}

stk_status stk_pipeline_run(const stk_pipeline *pipeline, stk_error *error)
{
    run r = {.p = pipeline, .next_position = pipeline->first, .error = error};
    r.n_ring = pipeline->n_threads * CHUNKS_PER_THREAD;
    r.ring = calloc(r.n_ring, sizeof *r.ring);
    if (r.ring == NULL) return stk_fail_memory(error, "the packing threads");
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    stk_team_run(pipeline->n_threads, run_thread, &r);
    tick(&r, 0);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    for (uint32_t i = 0; i < r.n_ring; i++)
        stk_buffer_free(&r.ring[i].bytes);
    free(r.ring);
    return r.status;
}
