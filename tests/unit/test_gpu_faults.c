/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device can do to an uploader, played by the dummy back end: no pinned memory, no device memory, a device lost
 * in the middle, several devices and several processes. Every failure is a status with a text, the uploader can be
 * closed afterwards, and a sound one opened beside it works. */
#include <sys/wait.h>
#include <unistd.h>

#include <stoker/gpu_upload.h>

#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 60, SIDE = 16, BATCH = 8, IMAGE = SIDE * SIDE * 3 };

static stk_error error;
static stk_dataset *dataset;

typedef struct lines {
    int n;
    char last[600];
} lines;

static void take_line(void *user, const char *line)
{
    lines *l = user;
    l->n++;
    snprintf(l->last, sizeof l->last, "%s", line);
}

static stk_status open_as(const char *backend, int device, stk_resident resident, lines *log, stk_uploader **out)
{
    stk_loader_options o;
    stk_uploader_options u;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = BATCH;
    o.n_threads = 2;
    o.log = log != NULL ? take_line : NULL;
    o.log_user = log;
    stk_uploader_options_init(&u);
    u.backend = backend;
    u.decode = STK_DECODE_GPU;
    u.device = device;
    u.resident = resident;
    return stk_uploader_open(dataset, &o, &u, out, &error);
}

static stk_uploader *open_sound(void)
{
    stk_uploader *u = NULL;
    CHECK_OK(open_as("dummy", 0, STK_RESIDENT_OFF, NULL, &u));
    return u;
}

/* The next batches of two uploaders hold the same. */
static void same_batch(stk_uploader *a, stk_uploader *b)
{
    static uint8_t x[BATCH * IMAGE], y[BATCH * IMAGE];
    stk_device_batch *p = NULL, *q = NULL;
    CHECK_OK(stk_uploader_next(a, NULL, -1, &p, &error));
    CHECK_OK(stk_uploader_next(b, NULL, -1, &q, &error));
    CHECK_EQ(p->n, q->n);
    CHECK_OK(stk_device_batch_read(p, p->data, x, (size_t)p->n * IMAGE, &error));
    CHECK_OK(stk_device_batch_read(q, q->data, y, (size_t)q->n * IMAGE, &error));
    CHECK(memcmp(x, y, (size_t)p->n * IMAGE) == 0 && memcmp(p->ids, q->ids, p->n * sizeof *p->ids) == 0);
    stk_device_batch_release(p, NULL);
    stk_device_batch_release(q, NULL);
}

static void without_pinned_memory(const char *backend, stk_resident resident)
{
    lines log = {0};
    stk_uploader_stats stats;
    stk_uploader *u = NULL, *sound = open_sound();
    CHECK_OK(open_as(backend, 0, resident, &log, &u));
    for (int i = 0; i < N / BATCH; i++) same_batch(u, sound);
    stk_uploader_get_stats(u, &stats);
    CHECK(stats.pageable_bytes > 0);
    CHECK_EQ(log.n, 1); /* one remark, not one a batch */
    CHECK(strstr(log.last, "pinned memory could not be had") != NULL && strstr(log.last, "slower") != NULL);
    stk_uploader_close(&u);
    stk_uploader_close(&sound);
}

static void pageable_memory_takes_the_place_of_pinned(void)
{
    stk_uploader_stats stats;
    without_pinned_memory("dummy:pinned=1", STK_RESIDENT_OFF);
    without_pinned_memory("dummy:pinned=1", STK_RESIDENT_ON);
    without_pinned_memory("dummy:pinned=3", STK_RESIDENT_OFF); /* part of it */
    stk_uploader *sound = open_sound();
    stk_uploader_get_stats(sound, &stats);
    CHECK_EQ(stats.pageable_bytes, 0);
    stk_uploader_close(&sound);
}

/* Whatever the device has room for: the uploader opens and delivers, or says STK_ERR_MEMORY there or at a batch. */
static void any_amount_of_device_memory(void)
{
    int refused = 0, failed = 0, delivered = 0;
    for (int bytes = 1; bytes < 1 << 22; bytes = bytes * 3 + 1) {
        char name[64];
        stk_uploader *u = NULL;
        snprintf(name, sizeof name, "dummy:memory=%d", bytes);
        if (open_as(name, 0, STK_RESIDENT_OFF, NULL, &u) != STK_OK) {
            CHECK(error.status == STK_ERR_MEMORY && strstr(error.text, "memory") != NULL && u == NULL);
            refused++;
            continue;
        }
        for (int i = 0; i < 5; i++) {
            stk_device_batch *b = NULL;
            stk_status status = stk_uploader_next(u, NULL, -1, &b, &error);
            if (status != STK_OK) CHECK(status == STK_ERR_MEMORY && strstr(error.text, "memory") != NULL && b == NULL);
            if (status == STK_OK) delivered++;
            else failed++;
            stk_device_batch_release(b, NULL);
        }
        stk_uploader_close(&u);
    }
    CHECK(failed > 0 && delivered > 0);
    (void)refused; /* this transform needs nothing on the device before its first batch */
}

static void resident_records_that_find_no_room(void)
{
    /* Half of the device is theirs when nothing else is said, and all of it cannot be had beside a batch. */
    stk_uploader *u = NULL;
    stk_uploader_stats stats;
    CHECK_OK(open_as("dummy:memory=40000", 0, STK_RESIDENT_ON, NULL, &u));
    stk_uploader_get_stats(u, &stats);
    CHECK(stats.resident_records > 0 && stats.resident_records < N);
    stk_uploader_close(&u);
}

static void a_device_that_is_lost(void)
{
    for (int after = 1; after < 8; after++) {
        char name[64];
        stk_uploader *u = NULL, *sound = open_sound();
        snprintf(name, sizeof name, "dummy:lost=%d", after);
        CHECK_OK(open_as(name, 0, after % 2 ? STK_RESIDENT_ON : STK_RESIDENT_OFF, NULL, &u));
        stk_device_batch *held = NULL;
        int errors = 0;
        for (int i = 0; i < 20; i++) {
            stk_device_batch *b = NULL;
            stk_status status = stk_uploader_next(u, NULL, -1, &b, &error);
            CHECK(status == STK_OK || status == STK_ERR_DEVICE || status == STK_END);
            if (status == STK_ERR_DEVICE) {
                errors++;
                CHECK(b == NULL && strstr(error.text, "lost") != NULL);
            }
            if (held == NULL) held = b;
            else stk_device_batch_release(b, NULL);
        }
        CHECK(errors > 0);
        uint8_t pixel;
        if (held != NULL) CHECK_EQ(stk_device_batch_read(held, held->data, &pixel, 1, &error), STK_ERR_DEVICE);
        stk_uploader_close(&u);
        stk_device_batch_release(held, NULL);
        stk_device_batch_release(NULL, NULL);
        for (int i = 0; i < 3; i++) { /* another one goes on, untouched */
            stk_device_batch *b = NULL;
            CHECK_OK(stk_uploader_next(sound, NULL, -1, &b, &error));
            stk_device_batch_release(b, NULL);
        }
        stk_uploader_close(&sound);
    }
}

/* The dummy refuses streams and events of another device. */
static void several_devices_in_one_process(void)
{
    stk_uploader *u[3] = {NULL};
    stk_uploader *sound = open_sound();
    for (int d = 0; d < 3; d++) CHECK_OK(open_as("dummy", d, d == 1 ? STK_RESIDENT_ON : STK_RESIDENT_OFF, NULL, &u[d]));
    for (int i = 0; i < N / BATCH; i++) {
        static uint8_t want[BATCH * IMAGE], got[BATCH * IMAGE];
        stk_device_batch *first = NULL, *b = NULL;
        CHECK_OK(stk_uploader_next(sound, NULL, -1, &first, &error));
        CHECK_OK(stk_device_batch_read(first, first->data, want, (size_t)first->n * IMAGE, &error));
        for (int d = 2; d >= 0; d--) {
            CHECK_OK(stk_uploader_next(u[d], NULL, -1, &b, &error));
            CHECK_EQ(b->device, d);
            CHECK_OK(stk_device_batch_read(b, b->data, got, (size_t)b->n * IMAGE, &error));
            CHECK(b->n == first->n && memcmp(want, got, (size_t)b->n * IMAGE) == 0);
            stk_device_batch_release(b, NULL);
        }
        stk_device_batch_release(first, NULL);
    }
    for (int d = 0; d < 3; d++) stk_uploader_close(&u[d]);
    stk_uploader_close(&sound);
    CHECK_EQ(open_as("dummy:devices=2", 2, STK_RESIDENT_OFF, NULL, &u[0]), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "there are 2") != NULL);
}

/* Sum over an epoch's pixels: what a process of its own must come to as well. */
static unsigned epoch_sum(void)
{
    unsigned sum = 0;
    stk_uploader *u = open_sound();
    stk_device_batch *b = NULL;
    while (stk_uploader_next(u, NULL, -1, &b, &error) == STK_OK) {
        static uint8_t pixels[BATCH * IMAGE];
        CHECK_OK(stk_device_batch_read(b, b->data, pixels, (size_t)b->n * IMAGE, &error));
        for (size_t i = 0; i < (size_t)b->n * IMAGE; i++) sum = sum * 31 + pixels[i];
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&u);
    return sum;
}

static void several_processes(void)
{
    enum { PROCESSES = 3 };
    int pipes[PROCESSES][2];
    for (int i = 0; i < PROCESSES; i++) {
        CHECK(pipe(pipes[i]) == 0);
        pid_t child = fork(); /* before this process has opened an uploader */
        if (child != 0) continue;
        unsigned sum = epoch_sum();
        _exit(write(pipes[i][1], &sum, sizeof sum) == sizeof sum ? 0 : 1);
    }
    unsigned want = epoch_sum();
    for (int i = 0; i < PROCESSES; i++) {
        unsigned sum = 0;
        CHECK(read(pipes[i][0], &sum, sizeof sum) == sizeof sum && sum == want);
        close(pipes[i][0]);
        close(pipes[i][1]);
        wait(NULL);
    }
}

static void a_back_end_that_is_not_understood(void)
{
    stk_uploader *u = NULL;
    const char *const names[] = {"dummy:", "dummy:lost", "dummy:lost=x", "dummy:fire=1", "dummy:lost=1;idle=1", "dummyx", "opencl"};
    CHECK_OK(open_as(names[0], 0, STK_RESIDENT_OFF, NULL, &u)); /* nothing is asked for */
    stk_uploader_close(&u);
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++) {
        CHECK_EQ(open_as(names[i], 0, STK_RESIDENT_OFF, NULL, &u), STK_ERR_ARGUMENT);
        CHECK(u == NULL && strstr(error.text, "dummy") != NULL);
    }
}

int main(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    dataset = run_open(path);
    RUN(several_processes);
    RUN(pageable_memory_takes_the_place_of_pinned);
    RUN(any_amount_of_device_memory);
    RUN(resident_records_that_find_no_room);
    RUN(a_device_that_is_lost);
    RUN(several_devices_in_one_process);
    RUN(a_back_end_that_is_not_understood);
    stk_dataset_close(&dataset);
    return check_exit();
}
