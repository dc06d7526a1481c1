/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/haul.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/buffer.h"
#include "common/fail.h"

enum {
    THREADS = 64, /* requests under way: with 128 KiB each and a latency of 20 ms, 400 MB/s */
    QUEUE = 256,
    KEPT_BYTES = 4 << 20 /* a spare buffer above this is given back */
};

typedef enum haul_state { HAUL_QUEUED, HAUL_READING, HAUL_READ, HAUL_FAILED } haul_state;

struct stk_haul {
    stk_haul *next; /* in the list of spare ones */
    stk_buffer buffer;
    uint64_t offset, n_bytes; /* in the file */
    uint32_t file;
    uint32_t refs; /* places that name it, takers, and the reader */
    haul_state state;
};

/* Where a sample's record is. */
typedef struct place {
    uint64_t sequence;
    stk_haul *haul; /* NULL: nothing here */
} place;

struct stk_haulage {
    const stk_payload_source *source;
    uint32_t n_places;
    _Atomic bool active; /* something was fetched once: takers need not lock before */
    pthread_mutex_t lock;
    pthread_cond_t filled, drained, read;
    /* Under lock: */
    place *places; /* [n_places], made with the first haul; sequence s is at s % n_places */
    stk_haul *queue[QUEUE];
    uint32_t first, n;
    stk_haul *spare; /* buffers to be used again */
    pthread_t threads[THREADS];
    uint32_t n_threads, idle;
    bool stop, interrupted, full_house; /* the last: no further thread can be had */
};

/* ---- Hauls. Lock held in all of these. */

static stk_haul *haul_new(stk_haulage *h)
{
    stk_haul *haul = h->spare;
    if (haul == NULL) return calloc(1, sizeof *haul);
    h->spare = haul->next;
    return haul;
}

static void unref(stk_haulage *h, stk_haul *haul)
{
    if (--haul->refs > 0) return;
    if (haul->buffer.capacity > KEPT_BYTES) stk_buffer_free(&haul->buffer);
    haul->next = h->spare;
    h->spare = haul;
}

static void forget(stk_haulage *h, place *p)
{
    if (p->haul == NULL) return;
    unref(h, p->haul);
    p->haul = NULL;
}

/* ---- Reading. */

static bool read_haul(const stk_payload_source *source, stk_haul *haul)
{
    haul->buffer.n_bytes = 0;
    return stk_buffer_resize(&haul->buffer, (size_t)haul->n_bytes, NULL) == STK_OK &&
           stk_payload_read_range(source, haul->file, haul->offset, haul->n_bytes, haul->buffer.data);
}

static void *read_loop(void *argument)
{
    stk_haulage *h = argument;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        if (h->n == 0) {
            h->idle++;
            pthread_cond_wait(&h->filled, &h->lock);
            h->idle--;
            continue;
        }
        stk_haul *haul = h->queue[h->first];
        h->first = (h->first + 1) % QUEUE;
        h->n--;
        haul->state = HAUL_READING;
        pthread_cond_signal(&h->drained);
        pthread_mutex_unlock(&h->lock);
        bool good = read_haul(h->source, haul);
        pthread_mutex_lock(&h->lock);
        haul->state = good ? HAUL_READ : HAUL_FAILED;
        pthread_cond_broadcast(&h->read);
        unref(h, haul);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* Lock held. */
static void add_thread(stk_haulage *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&h->threads[h->n_threads], NULL, read_loop, h) == 0)
        h->n_threads++;
    else
        h->full_house = true;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Lock held. Waits for room in the queue; false when nothing may be queued. */
static bool make_room(stk_haulage *h)
{
    for (;;) {
        if (h->stop || h->interrupted) return false;
        if (h->idle == 0 && h->n_threads < THREADS && !h->full_house) add_thread(h);
        if (h->n_threads == 0) return false;
        if (h->n < QUEUE) return true;
        pthread_cond_wait(&h->drained, &h->lock);
    }
}

bool stk_haulage_fetch(stk_haulage *h, const stk_wanted *records, uint32_t n)
{
    if (n == 0) return true;
    uint64_t start = records[0].offset, end = start;
    for (uint32_t i = 0; i < n; i++)
        if (records[i].offset + records[i].n_bytes > end) end = records[i].offset + records[i].n_bytes;
    pthread_mutex_lock(&h->lock);
    if (h->places == NULL) h->places = calloc(h->n_places, sizeof *h->places);
    stk_haul *haul = h->places != NULL && make_room(h) ? haul_new(h) : NULL;
    if (haul != NULL) {
        haul->file = records[0].file;
        haul->offset = start;
        haul->n_bytes = end - start;
        haul->state = HAUL_QUEUED;
        haul->refs = 1;
        for (uint32_t i = 0; i < n; i++) {
            place *p = &h->places[records[i].sequence % h->n_places];
            forget(h, p); /* of a sample so long ago that nobody will ask for it */
            *p = (place){.sequence = records[i].sequence, .haul = haul};
            haul->refs++;
        }
        h->queue[(h->first + h->n++) % QUEUE] = haul;
        pthread_cond_signal(&h->filled);
    }
    pthread_mutex_unlock(&h->lock);
    if (haul != NULL) atomic_store_explicit(&h->active, true, memory_order_release);
    return haul != NULL;
}

/* ---- Taking. */

static bool holds(const stk_haul *haul, const stk_row *row)
{
    return haul->file == row->file && row->offset >= haul->offset &&
           row->offset - haul->offset + row->n_bytes <= haul->n_bytes;
}

const uint8_t *stk_haulage_take(stk_haulage *h, uint64_t sequence, const stk_row *row, stk_haul **out)
{
    *out = NULL;
    if (!atomic_load_explicit(&h->active, memory_order_acquire)) return NULL;
    const uint8_t *data = NULL;
    pthread_mutex_lock(&h->lock);
    place *p = &h->places[sequence % h->n_places];
    if (p->haul != NULL && p->sequence == sequence) {
        stk_haul *haul = p->haul; /* the place's reference becomes the taker's */
        p->haul = NULL;
        while (haul->state < HAUL_READ) pthread_cond_wait(&h->read, &h->lock);
        if (haul->state == HAUL_READ && holds(haul, row)) {
            data = haul->buffer.data + (row->offset - haul->offset);
            *out = haul;
        } else {
            unref(h, haul);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return data;
}

void stk_haulage_done(stk_haulage *h, stk_haul *haul)
{
    if (haul == NULL) return;
    pthread_mutex_lock(&h->lock);
    unref(h, haul);
    pthread_mutex_unlock(&h->lock);
}

/* ---- Life. */

void stk_haulage_reset(stk_haulage *h)
{
    pthread_mutex_lock(&h->lock);
    h->interrupted = true;
    for (; h->n > 0; h->n--) {
        stk_haul *haul = h->queue[h->first];
        h->first = (h->first + 1) % QUEUE;
        haul->state = HAUL_FAILED; /* whoever waits for it reads for itself */
        unref(h, haul);
    }
    for (uint32_t i = 0; h->places != NULL && i < h->n_places; i++) forget(h, &h->places[i]);
    pthread_cond_broadcast(&h->read);
    pthread_cond_broadcast(&h->drained);
    pthread_mutex_unlock(&h->lock);
}

void stk_haulage_resume(stk_haulage *h)
{
    pthread_mutex_lock(&h->lock);
    h->interrupted = false;
    pthread_mutex_unlock(&h->lock);
}

stk_status stk_haulage_open(const stk_payload_source *source, uint32_t n_places, stk_haulage **out,
                            stk_error *error)
{
    *out = NULL;
    stk_haulage *h = calloc(1, sizeof *h);
    if (h == NULL) return stk_fail_memory(error, "read-ahead");
    h->source = source;
    h->n_places = n_places;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->filled, NULL);
    pthread_cond_init(&h->drained, NULL);
    pthread_cond_init(&h->read, NULL);
    *out = h;
    return STK_OK;
}

void stk_haulage_close(stk_haulage **pointer)
{
    stk_haulage *h = *pointer;
    if (h == NULL) return;
    stk_haulage_reset(h);
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->filled);
    uint32_t n = h->n_threads;
    pthread_mutex_unlock(&h->lock);
    for (uint32_t i = 0; i < n; i++) pthread_join(h->threads[i], NULL);
    while (h->spare != NULL) {
        stk_haul *haul = h->spare;
        h->spare = haul->next;
        stk_buffer_free(&haul->buffer);
        free(haul);
    }
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->filled);
    pthread_cond_destroy(&h->drained);
    pthread_cond_destroy(&h->read);
    free(h->places);
    free(h);
    *pointer = NULL;
}
