/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader's life: closing at any moment, held batches, several loaders, fork, timeouts, memory that stays as it
 * is, an allocator of the caller's. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reader/loader_internal.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

/* ThreadSanitizer ends a program that starts threads in the child of a threaded process. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_AFTER_FORK_REFUSED 1
#endif
#endif
/* AddressSanitizer keeps freed memory for a while. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_IS_KEPT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_IS_KEPT 1
#endif
#endif
#ifndef MEMORY_IS_KEPT
#define MEMORY_IS_KEPT 0
#endif
/* gcc's AddressSanitizer forks with its allocator's locks as they are: a thread of the child waits for one that a thread
 * of the parent held, once in some fifty runs. */
#if defined(__SANITIZE_ADDRESS__)
#define THREADS_AFTER_FORK_REFUSED 1
#endif
#ifndef THREADS_AFTER_FORK_REFUSED
#define THREADS_AFTER_FORK_REFUSED 0
#endif

enum { N = 500, SIDE = 16 };

static stk_error error;
static stk_dataset *dataset;
static char shard[512];

static stk_loader_options options_for(uint32_t batch, uint32_t threads)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = batch;
    o.n_threads = threads;
    return o;
}

static uint64_t milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void close_any_time(void)
{
    for (uint32_t k = 0; k < 60; k++) {
        stk_loader_options o = options_for(1 + k * 7 % 90, 1 + k % 4);
        stk_loader *l = run_loader(dataset, &o);
        run_log log = {0};
        run_batches(l, &log, k % 9);
        run_free(&log);
        stk_loader_close(&l);
        CHECK(l == NULL);
        stk_loader_close(&l);
    }
}

/* Every batch of an epoch held, also past the loader's end: none of them changes. */
static void hold_all(void)
{
    enum { BATCH = 20, BATCHES = N / BATCH };
    static const uint32_t threads[] = {1, 4};
    for (int k = 0; k < 2; k++) {
        stk_loader_options o = options_for(BATCH, threads[k]);
        stk_loader *l = run_loader(dataset, &o);
        stk_batch *held[BATCHES];
        uint64_t hashes[BATCHES];
        for (int i = 0; i < BATCHES; i++) {
            CHECK_OK(stk_loader_next(l, 60000, &held[i], &error));
            hashes[i] = stk_hash64(held[i]->data, held[i]->n * held[i]->sample_bytes);
            for (int j = 0; j < i; j++) CHECK(held[i]->data != held[j]->data);
        }
        stk_loader_stats stats;
        stk_loader_get_stats(l, &stats);
        CHECK(stats.surplus_slots > 0);
        CHECK(stats.slots >= BATCHES);
        /* Given back, the surplus goes; the loader keeps what it needs for running ahead. */
        for (int i = 0; i < BATCHES - 3; i++) {
            CHECK(hashes[i] == stk_hash64(held[i]->data, held[i]->n * held[i]->sample_bytes));
            stk_batch_release(held[i]);
        }
        stk_loader_get_stats(l, &stats);
        CHECK(stats.slots <= 9);
        stk_loader_close(&l);
        for (int i = BATCHES - 3; i < BATCHES; i++) {
            CHECK(hashes[i] == stk_hash64(held[i]->data, held[i]->n * held[i]->sample_bytes));
            CHECK(held[i]->ids[0] < N);
            stk_batch_release(held[i]);
        }
    }
    stk_batch_release(NULL);
}

/* Memory from the caller: alignment, balance of acquire and release, handle passed on, no growth after warm-up. */
typedef struct counting {
    _Atomic int acquired, released, inside;
    int fail_from; /* acquire number from which on it fails; 0 = never */
} counting;

static stk_status counting_acquire(void *user, size_t n_bytes, void **data, void **handle, stk_error *e)
{
    counting *c = user;
    CHECK_EQ(c->inside++, 0); /* one call at a time */
    int number = ++c->acquired;
    if (c->fail_from > 0 && number >= c->fail_from) {
        c->acquired--;
        c->inside--;
        if (e != NULL) {
            e->status = STK_ERR_MEMORY;
            snprintf(e->text, sizeof e->text, "no more pinned memory");
        }
        return STK_ERR_MEMORY;
    }
    *data = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    *handle = (void *)((uintptr_t)*data ^ 0x55);
    c->inside--;
    return STK_OK;
}

static void counting_release(void *user, void *data, void *handle)
{
    counting *c = user;
    CHECK((uintptr_t)handle == ((uintptr_t)data ^ 0x55));
    c->released++;
    free(data);
}

static void allocator(void)
{
    counting c = {0};
    stk_loader_options o = options_for(50, 2);
    o.allocator = (stk_slot_allocator){&c, counting_acquire, counting_release};
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    for (int k = 0; k < 20; k++) CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK(c.acquired <= 5 && c.released == 0); /* n_ahead and two more, kept all the time */
    stk_batch *b;
    CHECK_OK(stk_loader_next(l, -1, &b, &error));
    CHECK((uintptr_t)b->handle == ((uintptr_t)b->data ^ 0x55));
    stk_loader_close(&l);
    CHECK_EQ(c.acquired - c.released, 1);
    stk_batch_release(b);
    CHECK_EQ(c.acquired, c.released);
    run_free(&log);
}

/* The next batch that is not an epoch's end. */
static stk_status next_of_any_epoch(stk_loader *l, stk_batch **b)
{
    stk_status status = stk_loader_next(l, 60000, b, &error);
    return status == STK_END ? stk_loader_next(l, 60000, b, &error) : status;
}

/* No memory: an error of that batch, not a hang; when batches come back, the loader goes on. */
static void allocator_fails(void)
{
    counting c = {.fail_from = 3};
    stk_loader_options o = options_for(50, 2);
    o.allocator = (stk_slot_allocator){&c, counting_acquire, counting_release};
    stk_loader *l = run_loader(dataset, &o);
    for (int round = 0; round < 5; round++) {
        stk_batch *held[2], *b;
        int n_held = 0;
        stk_status status = STK_OK;
        while (status == STK_OK) { /* two slots can be had; with both in our hands there is none */
            status = next_of_any_epoch(l, &b);
            CHECK(n_held < 2 || status != STK_OK);
            if (status == STK_OK) held[n_held++] = b;
        }
        CHECK_EQ(status, STK_ERR_MEMORY);
        CHECK(strstr(error.text, "pinned") != NULL);
        while (n_held > 0) stk_batch_release(held[--n_held]);
        /* Batches whose memory failed before are still to be told; then good ones come again. */
        do status = next_of_any_epoch(l, &b);
        while (status == STK_ERR_MEMORY);
        CHECK_EQ(status, STK_OK);
        stk_batch_release(b);
    }
    stk_loader_close(&l);
    CHECK_EQ(c.acquired, c.released);
}

typedef struct messages {
    int n;
    char last[1300];
} messages;

static void note(void *user, const char *line)
{
    messages *m = user;
    m->n++;
    snprintf(m->last, sizeof m->last, "%s", line);
}

static void surplus_is_said_once(void)
{
    messages m = {0};
    stk_loader_options o = options_for(10, 2);
    o.log = note;
    o.log_user = &m;
    stk_loader *l = run_loader(dataset, &o);
    stk_batch *held[30];
    for (int i = 0; i < 30; i++) CHECK_OK(stk_loader_next(l, 60000, &held[i], &error));
    for (int i = 0; i < 30; i++) stk_batch_release(held[i]);
    stk_loader_close(&l);
    CHECK_EQ(m.n, 1);
    CHECK(strstr(m.last, "holds all") != NULL);
}

static void *release_later(void *argument)
{
    stk_batch **batches = argument;
    for (int i = 0; i < 20; i++) stk_batch_release(batches[i]);
    return NULL;
}

static void release_from_another_thread(void)
{
    stk_loader_options o = options_for(25, 2);
    stk_loader *l = run_loader(dataset, &o);
    for (int k = 0; k < 10; k++) {
        stk_batch *batches[20];
        for (int i = 0; i < 20; i++) {
            stk_status status = stk_loader_next(l, 60000, &batches[i], &error);
            if (status == STK_END) status = stk_loader_next(l, 60000, &batches[i], &error);
            CHECK_EQ(status, STK_OK);
        }
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, release_later, batches), 0);
        pthread_join(thread, NULL);
    }
    stk_loader_close(&l);
}

/* Batches that come back while the loader is being closed: the closing thread is held within its first release until
 * the last batch is back, which must not take the slots' pool away from it. */
typedef struct meeting {
    _Atomic int closing, all_back, releases;
} meeting;

static stk_status meeting_acquire(void *user, size_t n_bytes, void **data, void **handle, stk_error *e)
{
    (void)user, (void)e;
    *data = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
    *handle = NULL;
    return STK_OK;
}

static void meeting_release(void *user, void *data, void *handle)
{
    meeting *m = user;
    (void)handle;
    if (m->releases++ == 0) {
        m->closing = 1;
        while (!m->all_back) usleep(100);
    }
    free(data);
}

static void *close_loader(void *argument)
{
    stk_loader *l = argument;
    stk_loader_close(&l);
    return NULL;
}

static void last_batch_comes_back_during_close(void)
{
    meeting m = {0};
    stk_loader_options o = options_for(50, 2);
    o.allocator = (stk_slot_allocator){&m, meeting_acquire, meeting_release};
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    run_free(&log);
    stk_batch *last;
    CHECK_OK(stk_loader_next(l, 60000, &last, &error));
    pthread_t closer;
    CHECK_EQ(pthread_create(&closer, NULL, close_loader, l), 0);
    while (!m.closing) usleep(100);
    stk_batch_release(last);
    m.all_back = 1;
    pthread_join(closer, NULL);
    CHECK(m.releases >= 3); /* more slots than one were freed after it */
}

static void *release_one(void *batch)
{
    stk_batch_release(batch);
    return NULL;
}

static void batches_come_back_from_everywhere_during_close(void)
{
    enum { HELD = 4 };
    for (int round = 0; round < 100; round++) {
        stk_loader_options o = options_for(10, 2);
        stk_loader *l = run_loader(dataset, &o);
        stk_batch *held[HELD];
        pthread_t threads[HELD];
        for (int i = 0; i < HELD; i++) CHECK_OK(stk_loader_next(l, 60000, &held[i], &error));
        for (int i = 0; i < HELD; i++) CHECK_EQ(pthread_create(&threads[i], NULL, release_one, held[i]), 0);
        stk_loader_close(&l);
        for (int i = 0; i < HELD; i++) pthread_join(threads[i], NULL);
    }
}

/* Training and validation side by side, interleaved. */
static void two_loaders(void)
{
    stk_loader_options o = options_for(30, 2);
    stk_loader *a = run_loader(dataset, &o), *b = run_loader(dataset, &o);
    run_log la = {0}, lb = {0};
    bool enda = false, endb = false;
    while (!enda || !endb) {
        if (!enda) enda = run_batches(a, &la, 1);
        if (!endb) endb = run_batches(b, &lb, 2);
    }
    CHECK_EQ(la.n, N);
    CHECK_EQ(lb.n, N);
    for (size_t i = 0; i < N; i++)
        CHECK(la.entries[i].id == lb.entries[i].id && la.entries[i].pixels == lb.entries[i].pixels);
    run_free(&la);
    run_free(&lb);
    stk_loader_close(&a);
    stk_loader_close(&b);
}

/* The child gets errors, not a deadlock; it may open a loader of its own; the parent goes on. */
static void fork_guard(void)
{
    stk_loader_options o = options_for(30, 2);
    stk_loader *l = run_loader(dataset, &o);
    stk_batch *held;
    CHECK_OK(stk_loader_next(l, -1, &held, &error));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        stk_batch *b;
        char state[STK_STATE_BYTES];
        int bad = 0;
        bad += stk_loader_next(l, -1, &b, &error) != STK_ERR_STATE;
        bad += strstr(error.text, "fork") == NULL;
        bad += stk_loader_set_epoch(l, 3, &error) != STK_ERR_STATE;
        bad += stk_loader_state(l, state, &error) != STK_ERR_STATE;
        bad += stk_loader_restore(l, "{}", &error) != STK_ERR_STATE;
        stk_loader_stats stats;
        stk_loader_get_stats(l, &stats);
        stk_batch_release(held);
        stk_loader_close(&l);
        bad += l != NULL;
        stk_buffer image = {0};
        uint32_t w, h, c;
        bad += stk_dataset_image(dataset, 5, NULL, &image, &w, &h, &c, &error) != STK_OK;
#if !THREADS_AFTER_FORK_REFUSED
        stk_loader *own = NULL;
        bad += stk_loader_open(dataset, &o, &own, &error) != STK_OK;
        bad += own == NULL || stk_loader_next(own, 10000, &b, &error) != STK_OK;
#endif
        _exit(bad);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, N - 30);
    run_free(&log);
    stk_batch_release(held);
    stk_loader_close(&l);
}

/* A work entry that waits: for timeouts, and for seeing that a slow sample idles nobody. */
static _Atomic int gate_open, second_gate_open, slow_inside, second_inside, fast_done;

static stk_status slow_run(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item,
                           uint8_t *region, size_t n_bytes, stk_error *e)
{
    (void)env, (void)bench, (void)e;
    memset(region, 1, n_bytes);
    if (item->id == 0) {
        slow_inside = 1;
        while (!gate_open) usleep(1000);
    } else if (item->id == 100) {
        second_inside = 1;
        while (!second_gate_open) usleep(1000);
    } else {
        fast_done++;
    }
    return STK_OK;
}

static const stk_work slow_work = {.name = "slow", .fixed = true, .run = slow_run};

static void timeouts_and_slow_samples(void)
{
    stk_loader_options o = options_for(20, 2);
    o.order = STK_ORDER_SEQUENTIAL;
    gate_open = slow_inside = fast_done = 0;
    second_gate_open = 1;
    stk_loader *l = NULL;
    CHECK_OK(stk_loader_open_work(dataset, &o, &slow_work, &l, &error));
    stk_batch *b;
    CHECK_STATUS(stk_loader_next(l, 0, &b, &error), STK_AGAIN);
    uint64_t before = milliseconds();
    CHECK_STATUS(stk_loader_next(l, 120, &b, &error), STK_AGAIN);
    uint64_t took = milliseconds() - before;
    CHECK(took >= 119 && took < 5000);
    /* The other thread meanwhile did all that may be ahead: three batches but the stuck sample. */
    for (int k = 0; k < 5000 && fast_done < 59; k++) usleep(1000);
    CHECK(slow_inside);
    CHECK_EQ(fast_done, 59);
    CHECK_STATUS(stk_loader_next(l, 20, &b, &error), STK_AGAIN);
    CHECK(strstr(error.text, "of 2 threads 0 read and 1 decode; one is at record 0 (") != NULL);
    gate_open = 1;
    CHECK_OK(stk_loader_next(l, 10000, &b, &error));
    CHECK_EQ(b->ids[0], 0);
    stk_batch_release(b);
    stk_loader_stats stats;
    stk_loader_get_stats(l, &stats);
    CHECK(stats.consumer_wait_ns >= 119000000);
    CHECK_EQ(stats.n_threads, 2);
    stk_loader_close(&l);
}

/* A thread is stuck in a batch that a seek has dropped; when it comes free, it must not be taken for a
 * batch of the new place, which is in the making just then. */
static void seek_past_a_stuck_sample(void)
{
    stk_loader_options o = options_for(20, 2);
    o.order = STK_ORDER_SEQUENTIAL;
    gate_open = second_gate_open = slow_inside = second_inside = fast_done = 0;
    stk_loader *l = NULL;
    CHECK_OK(stk_loader_open_work(dataset, &o, &slow_work, &l, &error));
    for (int k = 0; k < 5000 && fast_done < 59; k++) usleep(1000); /* three batches but the stuck sample */
    CHECK(slow_inside);
    char state[STK_STATE_BYTES];
    CHECK_OK(stk_loader_state(l, state, &error));
    char *cursor = strstr(state, "\"cursor\":0");
    CHECK(cursor != NULL);
    if (cursor != NULL) strcpy(cursor, "\"cursor\":100}");
    CHECK_OK(stk_loader_restore(l, state, &error));
    for (int k = 0; k < 5000 && !second_inside; k++) usleep(1000);
    gate_open = 1;
    stk_batch *b;
    CHECK_STATUS(stk_loader_next(l, 200, &b, &error), STK_AGAIN);
    second_gate_open = 1;
    for (uint64_t k = 0; k < 20; k++) {
        CHECK_OK(stk_loader_next(l, 10000, &b, &error));
        CHECK_EQ(b->ids[0], 100 + 20 * k);
        for (uint32_t e = 0; e < b->n; e++) CHECK_EQ(((uint8_t *)b->data)[e * b->sample_bytes], 1);
        stk_batch_release(b);
    }
    stk_loader_stats stats;
    stk_loader_get_stats(l, &stats);
    CHECK(stats.slots <= 5);
    stk_loader_close(&l);
}

/* The seam's other kind: entries of different sizes. Delivers the stored payload, then the record's number. */
static stk_status copy_size(const stk_work_env *env, const stk_work_item *item, size_t *n_bytes, stk_error *e)
{
    (void)env, (void)e;
    *n_bytes = (size_t)item->row->n_bytes + 8 * (1 + item->id % 50);
    return STK_OK;
}

static stk_status copy_run(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item,
                           uint8_t *region, size_t n_bytes, stk_error *e)
{
    (void)env, (void)bench, (void)e;
    if (n_bytes < item->row->n_bytes + 8 * (1 + item->id % 50)) return STK_ERR_INTERNAL;
    memcpy(region, item->data, item->row->n_bytes);
    for (uint64_t k = 0; k <= item->id % 50; k++) memcpy(region + item->row->n_bytes + 8 * k, &item->id, 8);
    return STK_OK;
}

static const stk_work copy_work = {.name = "copy", .fixed = false, .size = copy_size, .run = copy_run};

static void entries_of_any_size(void)
{
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        stk_loader_options o = options_for(64, threads);
        stk_loader *l = NULL;
        CHECK_OK(stk_loader_open_work(dataset, &o, &copy_work, &l, &error));
        uint8_t image[SIDE * SIDE * 3];
        uint32_t seen[N] = {0};
        stk_batch *b;
        stk_status status;
        while ((status = stk_loader_next(l, 60000, &b, &error)) == STK_OK) {
            CHECK(b->offsets != NULL && b->offsets[0] == 0);
            for (uint32_t e = 0; e < b->n; e++) {
                uint64_t id = b->ids[e];
                const uint8_t *region = (const uint8_t *)b->data + b->offsets[e];
                CHECK(b->offsets[e + 1] - b->offsets[e] >= sizeof image + 8 * (1 + id % 50));
                image_fill(id, SIDE, SIDE, 3, image);
                CHECK(memcmp(region, image, sizeof image) == 0);
                CHECK(memcmp(region + sizeof image + 8 * (id % 50), &id, 8) == 0);
                seen[id]++;
            }
            stk_batch_release(b);
        }
        CHECK_EQ(status, STK_END);
        for (int i = 0; i < N; i++) CHECK_EQ(seen[i], 1);
        stk_loader_close(&l);
    }
}

static void statistics(void)
{
    stk_loader_options o = options_for(50, 2);
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    stk_loader_stats stats;
    stk_loader_get_stats(l, &stats);
    CHECK_EQ(stats.batches, 10);
    CHECK(stats.samples >= N);
    CHECK(stats.bytes_read >= (uint64_t)N * SIDE * SIDE * 3);
    CHECK_EQ(stats.bytes_read % (SIDE * SIDE * 3), 0);
    CHECK_EQ(stats.bad_samples, 0);
    CHECK(stats.decode_ns > 0);
    CHECK(strncmp(stats.decoder, "cpu", 3) == 0);
    run_free(&log);
    stk_loader_close(&l);
}

/* Signals stay with the program's own threads: a handler must never run in the team. */
static _Atomic pid_t handler_thread;
static void on_signal(int number)
{
    (void)number;
    handler_thread = gettid();
}

static void signals_reach_the_consumer(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, &before);
    stk_loader_options o = options_for(50, 4);
    stk_loader *l = run_loader(dataset, &o);
    run_log log = {0};
    for (int k = 0; k < 50; k++) {
        handler_thread = 0;
        kill(getpid(), SIGINT);
        run_batches(l, &log, 1);
        CHECK_EQ(handler_thread, gettid());
    }
    run_free(&log);
    stk_loader_close(&l);
    sigaction(SIGINT, &before, NULL);
}

/* A number from /proc/self/status, or the count of open files. */
static long status_number(const char *key)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) value = strtol(line + strlen(key), NULL, 10);
    if (file != NULL) fclose(file);
    return value;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Loaders come and go: threads end, files close, memory stays flat. */
static void nothing_is_left(void)
{
    /* Threads of the tests before, OpenMP's too, may take a moment to be gone, also longer than what follows. */
    long threads = status_number("Threads:"), memory = 0;
    int files = open_files();
    for (int k = 0; k < 200; k++) {
        stk_loader_options o = options_for(40, 3);
        o.dtype = k % 2 == 0 ? STK_DTYPE_U8 : STK_DTYPE_F32;
        stk_dataset *d = run_open(shard);
        stk_loader *l = run_loader(d, &o);
        run_log log = {0};
        run_batches(l, &log, k % 5 == 0 ? UINT64_MAX : 2);
        run_free(&log);
        stk_loader_close(&l);
        stk_dataset_close(&d);
        if (k == 50) memory = status_number("VmRSS:");
    }
    for (int k = 0; k < 1000 && status_number("Threads:") > threads; k++)
        usleep(1000); /* OpenMP lets them go lazily */
    CHECK(status_number("Threads:") <= threads);
    CHECK_EQ(open_files(), files);
    CHECK(MEMORY_IS_KEPT || status_number("VmRSS:") - memory < 8192); /* KiB */
}

int main(void)
{
    snprintf(shard, sizeof shard, "%s", temporary("images.stk"));
    const char *path = shard;
    image_shard(path, N, SIDE, SIDE, 3);
    dataset = run_open(path);
    RUN(close_any_time);
    RUN(hold_all);
    RUN(allocator);
    RUN(allocator_fails);
    RUN(surplus_is_said_once);
    RUN(release_from_another_thread);
    RUN(last_batch_comes_back_during_close);
    RUN(batches_come_back_from_everywhere_during_close);
    RUN(two_loaders);
    RUN(fork_guard);
    RUN(timeouts_and_slow_samples);
    RUN(seek_past_a_stuck_sample);
    RUN(entries_of_any_size);
    RUN(statistics);
    RUN(signals_reach_the_consumer);
    RUN(nothing_is_left);
    stk_dataset_close(&dataset);
    return check_exit();
}
