/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/readahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/cgroup.h"
#include "common/fail.h"
#include "reader/haul.h"

enum {
    LIST_BYTES = 8 << 20,     /* of a list; sorting a longer one would delay the first request */
    LIST_RECORDS = 4096,
    WINDOW_RECORDS = 1 << 18, /* page order: a list is a window, so that its pages are read as ranges */
    RANGE_BYTES = 512 << 10,  /* longer ranges are read by several requests */
    GAP_BYTES = 32 << 10,     /* smaller gaps are read along: cheaper than another request */
    RING = 256,               /* lists asked for and not yet claimed */
    FIRST_BYTES = 24 << 20,   /* asked for before anything was claimed */
    PROBES = 4,
    DISTRUST = 16             /* lists asked for without probing after a slow read */
};
static const uint64_t auto_budget = 128 << 20, least_budget = 16 << 20;

/* A list that was asked for: gone from the budget when `end` samples are claimed. */
typedef struct asked {
    uint64_t end, n_bytes;
} asked;

struct stk_readahead {
    stk_readahead_options o;
    uint64_t budget, list_bytes, mean_bytes;
    uint32_t list_records;
    stk_haulage *haulage; /* for file systems that do not heed advice */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;

    /* Under lock: */
    bool stop;
    uint64_t generation, epoch, cursor; /* where this generation began */

    _Atomic uint64_t claimed; /* samples since it began */
    _Atomic uint64_t wake_at; /* claimed count at which the thread wants to be woken; UINT64_MAX = not */
    _Atomic uint32_t distrust;

    /* The thread's own: */
    uint64_t my_generation;
    stk_sampler_view view;
    uint64_t at_epoch, at_cursor; /* the step that is being walked */
    stk_share share;
    uint32_t in_share;  /* samples of it already walked */
    uint64_t walked;    /* samples since the generation began */
    bool warm;          /* the last list was in memory */
    bool all_copied;    /* nothing is left for stk_payload_copy_some */
    stk_payload_copying copying;
    stk_wanted *wanted; /* [list_records] */
    asked ring[RING];
    uint32_t ring_first, ring_n;
    uint64_t outstanding; /* bytes in the ring */
    uint64_t retired;     /* bytes that were, since the generation began */
};

/* ---- Walking the sequence. */

static void start_epoch(stk_readahead *r, uint64_t epoch, uint64_t cursor)
{
    r->at_epoch = epoch;
    r->at_cursor = cursor;
    r->in_share = 0;
    stk_sampler_begin(r->o.sampler, epoch, &r->view);
    if (!stk_schedule_share(&r->o.schedule, cursor, &r->share)) {
        /* An epoch without a single step is refused when a loader is opened, so this ends. */
        start_epoch(r, epoch + 1, 0);
    }
}

static void next_step(stk_readahead *r)
{
    uint64_t cursor = r->share.next;
    r->in_share = 0;
    if (stk_schedule_share(&r->o.schedule, cursor, &r->share))
        r->at_cursor = cursor;
    else
        start_epoch(r, r->at_epoch + 1, 0);
}

/* Passes over n samples. */
static void skip(stk_readahead *r, uint64_t n)
{
    while (n > 0) {
        uint32_t left = r->share.n - r->in_share;
        uint32_t now = n < left ? (uint32_t)n : left;
        r->in_share += now;
        r->walked += now;
        n -= now;
        if (r->in_share == r->share.n) next_step(r);
    }
}

/* The place that is next, and how many samples can be taken before the epoch or the page window ends. */
static uint64_t place_now(const stk_readahead *r)
{
    return (r->share.first + r->in_share) % r->o.schedule.length;
}

static bool row_at(stk_readahead *r, uint64_t place, stk_row *row)
{
    stk_pick pick = stk_sampler_at(r->o.sampler, &r->view, place);
    return !stk_work_resident(r->o.env, pick.id) && stk_dataset_row(r->o.dataset, pick.id, row, NULL) == STK_OK &&
           row->offset != UINT64_MAX;
}

/* ---- One list. */

/* Looks whether a few of the next n samples are in memory, without leaving the place. */
static bool all_resident(stk_readahead *r, uint64_t n)
{
    uint32_t left = r->share.n - r->in_share;
    uint64_t among = n < left ? n : left, step = among / PROBES + 1;
    for (uint64_t k = 0; k < among; k += step) {
        stk_row row;
        uint64_t place = (r->share.first + r->in_share + k) % r->o.schedule.length;
        if (row_at(r, place, &row) && !stk_payload_resident(r->o.dataset->payload, &row)) return false;
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const stk_wanted *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Takes samples off the sequence into r->wanted until the list is full, or the epoch or window ends. */
static uint32_t collect(stk_readahead *r, uint64_t *n_bytes)
{
    uint32_t n = 0, walked = 0;
    uint64_t epoch = r->at_epoch;
    uint64_t window_end = stk_sampler_window_end(r->o.sampler, &r->view, place_now(r));
    *n_bytes = 0;
    while (walked++ < r->list_records && *n_bytes < r->list_bytes && r->at_epoch == epoch) {
        stk_row row;
        uint64_t place = place_now(r);
        if (place >= window_end) break;
        if (row_at(r, place, &row)) {
            r->wanted[n++] = (stk_wanted){
                .file = row.file, .offset = row.offset, .n_bytes = row.n_bytes, .sequence = r->walked};
            *n_bytes += row.n_bytes;
        }
        skip(r, 1);
    }
    return n;
}

static bool superseded(stk_readahead *r)
{
    pthread_mutex_lock(&r->lock);
    bool yes = r->stop || r->generation != r->my_generation;
    pthread_mutex_unlock(&r->lock);
    return yes;
}

/* How many of the n sorted records from `first` on make one range; *end is where it ends. */
static uint32_t one_range(const stk_wanted *first, uint32_t n, uint64_t *end)
{
    uint32_t k = 1;
    *end = first->offset + first->n_bytes;
    for (; k < n && first[k].file == first->file && first[k].offset <= *end + GAP_BYTES; k++) {
        uint64_t its = first[k].offset + first[k].n_bytes;
        if (its > *end && its - first->offset > RANGE_BYTES) break;
        if (its > *end) *end = its;
    }
    return k;
}

/* Sorts the list and asks for it in ranges. */
static void ask(stk_readahead *r, uint32_t n)
{
    qsort(r->wanted, n, sizeof *r->wanted, by_place);
    for (uint32_t i = 0; i < n;) {
        const stk_wanted *first = &r->wanted[i];
        uint64_t end;
        uint32_t k = one_range(first, n - i, &end);
        /* Either call blocks when the device's queue is full: look up now and then. */
        if (superseded(r)) return;
        if (!stk_payload_ask(r->o.dataset->payload, first->file, first->offset, end - first->offset) &&
            !stk_haulage_fetch(r->haulage, first, k))
            return;
        i += k;
    }
}

/* Deals with the next list; what it stands for goes into the ring. */
static asked next_list(stk_readahead *r)
{
    uint64_t n = r->list_bytes / r->mean_bytes + 1, n_bytes;
    if (n > r->list_records) n = r->list_records;
    uint32_t distrust = atomic_load_explicit(&r->distrust, memory_order_relaxed);
    r->warm = distrust == 0 && all_resident(r, n);
    if (r->warm) {
        skip(r, n);
        return (asked){.end = r->walked, .n_bytes = n * r->mean_bytes};
    }
    if (distrust > 0) atomic_store_explicit(&r->distrust, distrust - 1, memory_order_relaxed);
    uint32_t found = collect(r, &n_bytes);
    ask(r, found);
    return (asked){.end = r->walked, .n_bytes = n_bytes};
}

/* ---- The thread. */

static void retire(stk_readahead *r, uint64_t claimed)
{
    while (r->ring_n > 0 && r->ring[r->ring_first].end <= claimed) {
        r->outstanding -= r->ring[r->ring_first].n_bytes;
        r->retired += r->ring[r->ring_first].n_bytes;
        r->ring_first = (r->ring_first + 1) % RING;
        r->ring_n--;
    }
}

static void restart(stk_readahead *r)
{
    r->my_generation = r->generation;
    stk_haulage_resume(r->haulage);
    r->walked = 0;
    r->ring_first = r->ring_n = 0;
    r->outstanding = r->retired = 0;
    start_epoch(r, r->epoch, r->cursor);
}

/* A slow start: with the whole budget asked for at once, the first records would share the device with all the
 * others, and the first batch would wait for the whole budget. */
static uint64_t limit(const stk_readahead *r)
{
    uint64_t now = FIRST_BYTES + r->retired;
    return r->o.page_order || now > r->budget ? r->budget : now;
}

/* The claimed count at which an eighth of the limit is free again. */
static uint64_t wake_point(const stk_readahead *r)
{
    uint64_t free_bytes = 0, end = 0;
    for (uint32_t i = 0; i < r->ring_n; i++) {
        const asked *a = &r->ring[(r->ring_first + i) % RING];
        free_bytes += a->n_bytes;
        end = a->end;
        if (free_bytes >= limit(r) / 8) break;
    }
    return end;
}

/* Waits, with the lock held, until there is room in the budget; copies small sets into memory meanwhile, once
 * reading them costs no disk. */
static void wait_for_room(stk_readahead *r)
{
    while (!r->stop && r->generation == r->my_generation) {
        uint64_t claimed = atomic_load(&r->claimed);
        retire(r, claimed);
        if (r->ring_n < RING && (r->outstanding < limit(r) || r->ring_n == 0)) break;
        if (r->warm && !r->all_copied) {
            pthread_mutex_unlock(&r->lock);
            r->all_copied = !stk_payload_copy_some(r->o.dataset->payload, &r->copying);
            pthread_mutex_lock(&r->lock);
            continue;
        }
        uint64_t at = wake_point(r);
        atomic_store(&r->wake_at, at);
        /* Whoever claims past it from now on sees the mark; whoever did before is seen here. */
        if (atomic_load(&r->claimed) < at) pthread_cond_wait(&r->wake, &r->lock);
    }
}

static void *run(void *argument)
{
    stk_readahead *r = argument;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        if (r->generation != r->my_generation) restart(r);
        wait_for_room(r);
        if (r->stop) break;
        if (r->generation != r->my_generation) continue;
        uint64_t claimed = atomic_load(&r->claimed);
        pthread_mutex_unlock(&r->lock);
        if (claimed > r->walked) skip(r, claimed - r->walked); /* the team was faster */
        asked list = next_list(r);
        pthread_mutex_lock(&r->lock);
        r->ring[(r->ring_first + r->ring_n++) % RING] = list;
        r->outstanding += list.n_bytes;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void stk_readahead_seek(stk_readahead *r, uint64_t epoch, uint64_t cursor)
{
    pthread_mutex_lock(&r->lock);
    r->generation++;
    r->epoch = epoch;
    r->cursor = cursor;
    atomic_store(&r->claimed, 0);
    stk_haulage_reset(r->haulage); /* refuses until the thread has seen the new generation */
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

void stk_readahead_advance(stk_readahead *r, uint32_t n)
{
    uint64_t claimed = atomic_fetch_add(&r->claimed, n) + n;
    if (claimed < atomic_load(&r->wake_at)) return;
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->wake_at, UINT64_MAX);
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

const uint8_t *stk_readahead_take(stk_readahead *r, uint64_t sequence, const stk_row *row, stk_haul **haul)
{
    return stk_haulage_take(r->haulage, sequence, row, haul);
}

void stk_readahead_done(stk_readahead *r, stk_haul *haul) { stk_haulage_done(r->haulage, haul); }

void stk_readahead_slow(stk_readahead *r) { atomic_store_explicit(&r->distrust, DISTRUST, memory_order_relaxed); }

static void plan_budget(stk_readahead *r)
{
    const stk_storage *storage = r->o.dataset->storage;
    uint64_t memory = stk_memory_allowed(), want = auto_budget, most = memory / 16;
    r->mean_bytes = storage->n_rows > 0 ? storage->total_bytes / storage->n_rows : 1;
    if (r->mean_bytes == 0) r->mean_bytes = 1;
    r->list_bytes = LIST_BYTES;
    r->list_records = LIST_RECORDS;
    if (r->o.page_order) {
        /* A window is at most twice page_window pages (sampler.c); the next one is read while one is consumed. */
        uint64_t window = (uint64_t)r->o.page_window * 2 * STK_PAGE_BYTES;
        if (window > storage->total_bytes) window = storage->total_bytes;
        r->list_bytes = window;
        r->list_records = WINDOW_RECORDS;
        want = window * 2;
        most = memory / 4;
    }
    if (want > most) want = most;
    r->budget = r->o.budget_bytes != 0 ? r->o.budget_bytes : want > least_budget ? want : least_budget;
    if (r->list_bytes > r->budget / 2) r->list_bytes = r->budget / 2 + 1;
}

stk_status stk_readahead_open(const stk_readahead_options *options, stk_readahead **out, stk_error *error)
{
    *out = NULL;
    stk_readahead *r = calloc(1, sizeof *r);
    if (r == NULL) return stk_fail_memory(error, "read-ahead");
    r->o = *options;
    r->generation = 1;
    atomic_store(&r->wake_at, UINT64_MAX);
    plan_budget(r);
    r->wanted = calloc(r->list_records, sizeof *r->wanted);
    stk_status status = r->wanted == NULL ? stk_fail_memory(error, "read-ahead") : STK_OK;
    if (status == STK_OK)
        status = stk_haulage_open(options->dataset->payload, r->list_records * 32, &r->haulage, error);
    if (status != STK_OK) {
        free(r->wanted);
        free(r);
        return status;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        pthread_mutex_destroy(&r->lock);
        pthread_cond_destroy(&r->wake);
        stk_haulage_close(&r->haulage);
        free(r->wanted);
        free(r);
        (void)stk_fail_errno(error, rc, "cannot start the read-ahead thread");
        if (error != NULL) error->status = STK_ERR_THREAD;
        return STK_ERR_THREAD;
    }
    *out = r;
    return STK_OK;
}

void stk_readahead_close(stk_readahead **readahead)
{
    stk_readahead *r = *readahead;
    if (r == NULL) return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    stk_haulage_reset(r->haulage);
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    stk_haulage_close(&r->haulage);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->wake);
    free(r->wanted);
    free(r);
    *readahead = NULL;
}
