/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading through a staged copy: at once, after a change-over in the middle of an epoch, in part; damage in the copy,
 * damage in the source, a copy that is evicted under a reader. The bytes are those of the source, always. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "reader/dataset_internal.h"
#include "staging/stage_base.h"
#include "staging/stage_job.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { MIB = 1 << 20, N = 1500, SIDE = 40 }; /* 1500 records of 4800 bytes: 7 MiB */

static stk_error error;
static const stk_stage_seams seams = {.root = "", .statfs = statfs, .block_bytes = MIB};

static const char *new_place(const char *name)
{
    const char *path = temporary(name);
    mkdir(path, 0755);
    return path;
}

static void stage(const char *source, const char *place, uint64_t max_bytes)
{
    stk_stage_options o;
    stk_stage_report r = {.state = STK_STAGE_NONE};
    stk_stage_options_init(&o);
    o.to = place;
    o.keep_free = 0;
    o.max_bytes = max_bytes;
    CHECK_OK(stk_stage_run(source, &o, &seams, &r, &error));
    CHECK_EQ(r.state, max_bytes == 0 ? STK_STAGE_WHOLE : STK_STAGE_SUBSET);
}

static stk_dataset *open_staged(const char *path, const char *place, stk_io io)
{
    stk_dataset_options o;
    stk_dataset *d = NULL;
    stk_dataset_options_init(&o);
    o.stage = place;
    o.io = io;
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    if (d == NULL) exit(1);
    return d;
}

static const char *state_of(const stk_dataset *d)
{
    stk_dataset_stage_info info;
    stk_dataset_stage(d, &info);
    return info.state;
}

static bool wait_for(const stk_dataset *d, const char *state)
{
    for (int i = 0; i < 1200 && strcmp(state_of(d), "copying") == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    if (strcmp(state_of(d), state) == 0) return true;
    stk_dataset_stage_info info;
    stk_dataset_stage(d, &info);
    fprintf(stderr, "state %s: %s\n", info.state, info.text);
    return false;
}

/* All records are what image_shard made. */
static uint64_t wrong_records(const stk_dataset *d)
{
    static uint8_t want[SIDE * SIDE * 3];
    stk_buffer got = {0};
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < N; i++) {
        image_fill(i, SIDE, SIDE, 3, want);
        stk_status status = stk_dataset_payload(d, i, &got, &error);
        wrong += status != STK_OK || got.n_bytes != sizeof want || memcmp(got.data, want, sizeof want) != 0;
    }
    stk_buffer_free(&got);
    return wrong;
}

/* Overwrites the payloads of all records in a file of the data set, size and time kept. */
static void spoil(const char *path, uint64_t from, uint64_t to)
{
    struct stat st;
    CHECK(stat(path, &st) == 0);
    int fd = open(path, O_WRONLY);
    static uint8_t junk[4096];
    CHECK(fd >= 0);
    for (uint64_t at = from; at < to && at + sizeof junk < (uint64_t)st.st_size; at += sizeof junk)
        CHECK(pwrite(fd, junk, sizeof junk, (off_t)at) == (ssize_t)sizeof junk);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    CHECK(futimens(fd, times) == 0);
    close(fd);
}

static const char *copy_file(const char *place, const char *source, const char *ending)
{
    static char path[3 * STK_STAGE_PATH];
    stk_stage_source s;
    char base[STK_STAGE_PATH];
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    CHECK_OK(stk_stage_base(place, false, base, &error));
    snprintf(path, sizeof path, "%s/%s/%s%s", base, s.key, s.top, ending);
    stk_stage_source_close(&s);
    return path;
}

/* ---- */

static const stk_io roads[] = {STK_IO_AUTO, STK_IO_MMAP, STK_IO_PREAD};

/* The copy is read, not the source: the source's payloads are spoilt after opening. */
static void at_once(void)
{
    for (size_t k = 0; k < 3; k++) {
        const char *source = temporary("a.stk"), *place = new_place("place-a");
        image_shard(source, N, SIDE, SIDE, 3);
        stage(source, place, 0);
        stk_dataset *d = open_staged(source, place, roads[k]);
        CHECK(strcmp(state_of(d), "whole") == 0);
        spoil(source, 4096, 7 * MIB);
        CHECK_EQ(wrong_records(d), 0);
        stk_dataset_close(&d);
        d = run_open(source); /* and without the copy this would show */
        CHECK(strcmp(state_of(d), "off") == 0);
        CHECK(wrong_records(d) > N / 2);
        stk_dataset_close(&d);
    }
}

/* Wrong bytes in the copy: the source has them right. */
static void damaged_copy(void)
{
    for (size_t k = 0; k < 3; k++) {
        const char *source = temporary("b.stk"), *place = new_place("place-b");
        image_shard(source, N, SIDE, SIDE, 3);
        stage(source, place, 0);
        stk_dataset *d = open_staged(source, place, roads[k]);
        CHECK(strcmp(state_of(d), "whole") == 0);
        spoil(copy_file(place, source, ""), 4096, 7 * MIB);
        CHECK_EQ(wrong_records(d), 0);
        /* Cut short under the reader: no SIGBUS, the source again. */
        CHECK(truncate(copy_file(place, source, ""), MIB) == 0);
        CHECK_EQ(wrong_records(d), 0);
        stk_dataset_close(&d);
    }
}

static void in_part(void)
{
    for (size_t k = 0; k < 3; k++) {
        const char *source = temporary("c.stk"), *place = new_place("place-c");
        image_shard(source, N, SIDE, SIDE, 3);
        stage(source, place, 3 * MIB);
        stk_dataset *d = open_staged(source, place, roads[k]);
        CHECK(strcmp(state_of(d), "subset") == 0);
        CHECK_EQ(wrong_records(d), 0);
        CHECK_EQ(wrong_records(d), 0);
        /* What is staged comes from the copy, the rest from the source. */
        spoil(source, 4096, 2 * MIB);
        CHECK_EQ(wrong_records(d), 0);
        spoil(source, 5 * MIB, 6 * MIB);
        uint64_t wrong = wrong_records(d);
        CHECK(wrong > 100 && wrong < 400);
        stk_dataset_close(&d);
    }
}

/* A part that is read as mapped memory does not grow, whatever room others find: a growth that is killed and gone on
 * with when there is less room would punch holes where the reader has its bytes. With the reader gone it grows. */
static void not_grown_under_a_reader(void)
{
    const char *source = temporary("h.stk"), *place = new_place("place-h");
    image_shard(source, N, SIDE, SIDE, 3);
    stage(source, place, 4 * MIB);
    stk_dataset *d = open_staged(source, place, STK_IO_MMAP);
    CHECK(strcmp(state_of(d), "subset") == 0);
    stk_stage_options o;
    stk_stage_options_init(&o);
    o.to = place;
    o.keep_free = 0;
    for (int verify = 0; verify < 2; verify++)
        for (uint64_t max_bytes = 0; max_bytes <= 6 * MIB; max_bytes += 2 * MIB) {
            stk_stage_report r = {.state = STK_STAGE_NONE};
            o.verify = verify == 1;
            o.max_bytes = max_bytes;
            CHECK_OK(stk_stage_run(source, &o, &seams, &r, &error));
            CHECK_EQ(r.state, STK_STAGE_SUBSET);
            CHECK_EQ(r.bytes_staged, 4 * MIB);
            CHECK_EQ(r.bytes_copied, 0);
            CHECK((strstr(r.reason, "can grow when nobody reads it") != NULL) == (max_bytes == 0 || max_bytes > 4 * MIB));
        }
    spoil(source, 8192, 3 * MIB); /* what is staged comes from the copy still */
    CHECK_EQ(wrong_records(d), 0);
    stk_dataset_close(&d);
    image_shard(source, N, SIDE, SIDE, 3);
    stage(source, place, 4 * MIB);
    stage(source, place, 0); /* makes it whole */
}

/* The whole of an epoch, with and without a change-over half-way: the same bytes. */
static void change_over(stk_order order)
{
    const char *source = temporary("d.stk"), *place = new_place("place-d");
    image_shard(source, N, SIDE, SIDE, 3);
    stk_loader_options o;
    stk_loader_options_init(&o);
    o.batch_size = 16;
    o.n_threads = 3;
    o.order = order;
    o.page_window = 64;
    run_log plain = {0}, changed = {0};
    stk_dataset *d = run_open(source);
    stk_loader *l = run_loader(d, &o);
    CHECK(run_batches(l, &plain, UINT64_MAX));
    CHECK(run_batches(l, &plain, UINT64_MAX));
    stk_loader_close(&l);
    stk_dataset_close(&d);

    /* Somebody else is copying, as far as the reader can tell, until the lock is given back. */
    stk_stage_source s;
    char base[STK_STAGE_PATH], lock[STK_STAGE_PATH];
    int fd;
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    CHECK_OK(stk_stage_base(place, true, base, &error));
    CHECK(stk_stage_join(lock, base, s.key, ".lock"));
    CHECK_OK(stk_stage_lock(lock, &fd, NULL, &error));
    d = open_staged(source, place, STK_IO_AUTO);
    l = run_loader(d, &o);
    CHECK(!run_batches(l, &changed, 30));
    CHECK(strcmp(state_of(d), "copying") == 0);
    stk_stage_unlock(&fd);
    CHECK(!run_batches(l, &changed, 10));
    CHECK(wait_for(d, "whole"));
    spoil(source, 4096, 7 * MIB); /* what comes now comes from the copy */
    CHECK(run_batches(l, &changed, UINT64_MAX));
    CHECK(run_batches(l, &changed, UINT64_MAX));
    CHECK(strcmp(stk_dataset_road(d), "mmap") == 0 || strcmp(stk_dataset_road(d), "pread") == 0);
    stk_loader_close(&l);
    stk_dataset_close(&d);
    stk_stage_source_close(&s);
    CHECK_EQ(plain.n, changed.n);
    CHECK_EQ(plain.n, 2 * N);
    uint64_t different = 0;
    for (size_t i = 0; i < plain.n && i < changed.n; i++)
        different += plain.entries[i].id != changed.entries[i].id || plain.entries[i].pixels != changed.entries[i].pixels ||
                     plain.entries[i].status != changed.entries[i].status;
    CHECK_EQ(different, 0);
    run_free(&plain);
    run_free(&changed);
}

static void change_over_shuffled(void) { change_over(STK_ORDER_SHUFFLE); }
static void change_over_sequential(void) { change_over(STK_ORDER_SEQUENTIAL); }
static void change_over_by_pages(void) { change_over(STK_ORDER_PAGE); }

/* Closed in the middle of waiting or copying: at once, and nothing is left that counts. */
static void closed_early(void)
{
    const char *source = temporary("e.stk"), *place = new_place("place-e");
    image_shard(source, N, SIDE, SIDE, 3);
    for (int i = 0; i < 20; i++) {
        stk_dataset *d = open_staged(source, place, STK_IO_AUTO);
        nanosleep(&(struct timespec){.tv_nsec = i * 3000000}, NULL);
        stk_dataset_close(&d);
        if (i % 7 == 6) CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    }
    stk_dataset *d = open_staged(source, place, STK_IO_AUTO);
    CHECK(wait_for(d, "whole"));
    CHECK_EQ(wrong_records(d), 0);
    stk_dataset_close(&d);
}

/* A place that cannot be used: said in the state, and the source is read. */
static void no_place(void)
{
    const char *source = temporary("f.stk");
    image_shard(source, N, SIDE, SIDE, 3);
    stk_dataset *d = open_staged(source, temporary("missing"), STK_IO_AUTO);
    CHECK(wait_for(d, "failed"));
    stk_dataset_stage_info info;
    stk_dataset_stage(d, &info);
    CHECK(strstr(info.text, "is not there") != NULL);
    CHECK_EQ(wrong_records(d), 0);
    stk_dataset_close(&d);
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.stage = "";
    CHECK_STATUS(stk_dataset_open(source, &o, &d, &error), STK_ERR_ARGUMENT);
}

/* Evicted under a reader. */
static void evicted(void)
{
    const char *source = temporary("g.stk"), *place = new_place("place-g");
    image_shard(source, N, SIDE, SIDE, 3);
    stage(source, place, 0);
    stk_dataset *d = open_staged(source, place, STK_IO_AUTO);
    CHECK_EQ(wrong_records(d), 0);
    uint64_t copies = 0;
    CHECK_OK(stk_stage_evict(NULL, place, STK_STAGE_KEEP_DEFAULT, &copies, NULL, &error));
    CHECK_EQ(copies, 0); /* in use */
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, &copies, NULL, &error));
    CHECK_EQ(copies, 1);
    CHECK_EQ(wrong_records(d), 0);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(at_once);
    RUN(damaged_copy);
    RUN(in_part);
    RUN(not_grown_under_a_reader);
    RUN(change_over_shuffled);
    RUN(change_over_sequential);
    RUN(change_over_by_pages);
    RUN(closed_early);
    RUN(no_place);
    RUN(evicted);
    return check_exit();
}
