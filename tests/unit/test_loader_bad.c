/* SPDX-License-Identifier: Apache-2.0
 *
 * Bad records while reading: damaged payloads, files cut short under a mapping and under pread, broken images. */
#include <fcntl.h>
#include <unistd.h>

#include "support/damage.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 120, SIDE = 16, BATCH = 10 };

static stk_error error;
static const uint64_t bad_ids[] = {7, 8, 51, 119};
enum { N_BAD = sizeof bad_ids / sizeof bad_ids[0] };

static bool is_bad(uint64_t id)
{
    for (int k = 0; k < N_BAD; k++)
        if (bad_ids[k] == id) return true;
    return false;
}

static stk_loader_options options_for(stk_on_bad on_bad, uint32_t threads)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_NONE);
    o.batch_size = BATCH;
    o.n_threads = threads;
    o.on_bad = on_bad;
    return o;
}

static stk_dataset *damaged(const char *path, stk_io io)
{
    image_shard(path, N, SIDE, SIDE, 3);
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.io = io;
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    for (int k = 0; k < N_BAD; k++) damage_record(path, d, bad_ids[k]);
    return d;
}

/* The batch with the bad record is an error that names it; all others come, in order. */
static void on_bad_error(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s", temporary("error.stk"));
    stk_dataset *d = damaged(path, STK_IO_AUTO);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        stk_loader_options o = options_for(STK_ON_BAD_ERROR, threads);
        o.order = STK_ORDER_SEQUENTIAL;
        stk_loader *l = run_loader(d, &o);
        uint64_t place = 0;
        int errors = 0;
        for (;;) {
            stk_batch *b;
            stk_status status = stk_loader_next(l, 60000, &b, &error);
            if (status == STK_END) break;
            if (status == STK_OK) {
                CHECK_EQ(b->ids[0], place);
                for (uint32_t e = 0; e < b->n; e++) CHECK(!is_bad(b->ids[e]));
                stk_batch_release(b);
            } else {
                CHECK_EQ(status, STK_ERR_CHECKSUM);
                CHECK(b == NULL);
                /* The first bad record of the batch, always the same. */
                const char *want = place == 0 ? "record 7 (class7/image7.png)" : place == 50 ? "record 51 ("
                                                                                             : "record 119 (";
                CHECK(strstr(error.text, want) != NULL);
                errors++;
            }
            place += BATCH;
        }
        CHECK_EQ(place, N);
        CHECK_EQ(errors, 3);
        stk_loader_close(&l);
    }
    stk_dataset_close(&d);
}

typedef struct lines {
    int n;
    char text[64][300];
} lines;

static void note(void *user, const char *line)
{
    lines *l = user;
    if (l->n < 64) snprintf(l->text[l->n++], sizeof l->text[0], "%s", line);
}

static void on_bad_skip(void)
{
    stk_dataset *d = damaged(temporary("skip.stk"), STK_IO_AUTO);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        lines said = {0};
        stk_loader_options o = options_for(STK_ON_BAD_SKIP, threads);
        o.log = note;
        o.log_user = &said;
        o.n_views = 2;
        stk_loader *l = run_loader(d, &o);
        uint32_t seen[N] = {0};
        stk_batch *b;
        stk_status status;
        static const uint8_t zero[SIDE * SIDE * 3];
        while ((status = stk_loader_next(l, 60000, &b, &error)) == STK_OK) {
            for (uint32_t e = 0; e < b->n; e++) {
                seen[b->ids[e]]++;
                CHECK_EQ(b->statuses[e], is_bad(b->ids[e]) ? STK_ERR_CHECKSUM : STK_OK);
                bool zeroed = memcmp(zero, (uint8_t *)b->data + e * b->sample_bytes, sizeof zero) == 0;
                CHECK_EQ(zeroed, is_bad(b->ids[e]));
                CHECK_EQ(b->labels[e], b->ids[e] % 10);
            }
            stk_batch_release(b);
        }
        CHECK_EQ(status, STK_END);
        for (int i = 0; i < N; i++) CHECK_EQ(seen[i], 2);
        stk_loader_stats stats;
        stk_loader_get_stats(l, &stats);
        CHECK(stats.bad_samples >= N_BAD);
        CHECK_EQ(stats.substituted, 0);
        stk_loader_close(&l);
        CHECK(said.n >= N_BAD);
        CHECK(strstr(said.text[0], "record ") != NULL && strstr(said.text[0], "left out") != NULL);
    }
    stk_dataset_close(&d);
}

/* A good sample of the epoch takes the place, the same one for any number of threads. */
static void on_bad_substitute(void)
{
    stk_dataset *d = damaged(temporary("substitute.stk"), STK_IO_AUTO);
    run_log first = {0};
    for (uint32_t threads = 1; threads <= 4; threads++) {
        lines said = {0};
        stk_loader_options o = options_for(STK_ON_BAD_SUBSTITUTE, threads);
        o.log = note;
        o.log_user = &said;
        stk_loader *l = run_loader(d, &o);
        run_log log = {0};
        CHECK(run_batches(l, &log, UINT64_MAX));
        CHECK_EQ(log.n, N);
        uint32_t seen[N] = {0};
        for (size_t i = 0; i < log.n; i++) {
            CHECK(!is_bad(log.entries[i].id));
            CHECK_EQ(log.entries[i].status, STK_OK);
            seen[log.entries[i].id]++;
            if (threads > 1)
                CHECK(log.entries[i].id == first.entries[i].id &&
                      log.entries[i].pixels == first.entries[i].pixels);
        }
        uint32_t missing = 0, twice = 0;
        for (int i = 0; i < N; i++) {
            missing += seen[i] == 0;
            if (seen[i] > 1) twice += seen[i] - 1;
        }
        CHECK_EQ(missing, N_BAD);
        CHECK_EQ(twice, N_BAD);
        stk_loader_stats stats;
        stk_loader_get_stats(l, &stats);
        CHECK(stats.substituted >= N_BAD && stats.substituted <= stats.bad_samples);
        CHECK(said.n > 0 && strstr(said.text[0], "takes its place") != NULL);
        stk_loader_close(&l);
        if (threads == 1)
            first = log;
        else
            run_free(&log);
    }
    run_free(&first);
    stk_dataset_close(&d);
}

/* Only bad records: substitution gives up with an error, it does not spin. */
static void nothing_to_substitute(void)
{
    stk_dataset *d = damaged(temporary("hopeless.stk"), STK_IO_AUTO);
    stk_loader_options o = options_for(STK_ON_BAD_SUBSTITUTE, 2);
    o.indices = bad_ids;
    o.n_indices = N_BAD;
    o.batch_size = N_BAD;
    stk_loader *l = run_loader(d, &o);
    stk_batch *b;
    CHECK_STATUS(stk_loader_next(l, 60000, &b, &error), STK_ERR_CHECKSUM);
    CHECK(strstr(error.text, "no good sample") != NULL);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

static uint64_t cut_place(const stk_dataset *d, uint64_t first_lost)
{
    stk_record_info info;
    CHECK_OK(stk_dataset_record(d, first_lost, &info, &error));
    return info.offset + 10;
}

/* The file loses its second half while it is in use: records there fail, by name, the others go on; no
 * SIGBUS. The batches that are prepared are taken before the cut, so that no thread is at work just then. */
static void cut_short(void)
{
    static const stk_io roads[] = {STK_IO_MMAP, STK_IO_PREAD};
    for (int k = 0; k < 2; k++) {
        for (uint32_t warm = 0; warm < 2; warm++) {
            char path[512];
            snprintf(path, sizeof path, "%s", temporary("cut.stk"));
            image_shard(path, N, SIDE, SIDE, 3);
            stk_dataset_options so;
            stk_dataset_options_init(&so);
            so.io = roads[k];
            stk_dataset *d = NULL;
            CHECK_OK(stk_dataset_open(path, &so, &d, &error));
            CHECK(strcmp(stk_dataset_road(d), k == 0 ? "mmap" : "pread") == 0);
            stk_loader_options o = options_for(STK_ON_BAD_SKIP, 2);
            o.order = STK_ORDER_SEQUENTIAL;
            stk_loader *l = run_loader(d, &o);
            run_log log = {0};
            if (warm) CHECK(run_batches(l, &log, UINT64_MAX)); /* all mapped and touched before */
            run_batches(l, &log, 1);
            usleep(50000); /* the team is three batches ahead now, and waits */
            CHECK_EQ(truncate(path, (off_t)cut_place(d, 80)), 0);
            run_free(&log);
            CHECK(run_batches(l, &log, UINT64_MAX));
            CHECK_EQ(log.n, N - BATCH);
            for (size_t i = 0; i < log.n; i++) {
                const run_entry *e = &log.entries[i];
                CHECK_EQ(e->status, e->id < 80 ? STK_OK : STK_ERR_CORRUPT);
            }
            run_free(&log);
            stk_loader_close(&l);
            stk_dataset_close(&d);
        }
    }
}

/* Bytes that pass the checksum and are no picture. */
static void broken_images(void)
{
    const char *path = temporary("broken.stk");
    stk_shard_writer *writer = image_shard_begin(path);
    static uint8_t payload[SIDE * SIDE * 3];
    for (uint64_t i = 0; i < 20; i++) {
        image_fill(i, SIDE, SIDE, 3, payload);
        if (i == 4)
            image_add(writer, i, SIDE, SIDE, 3, STK_ENCODING_JPEG, (const uint8_t *)"\xff\xd8\xff\xe0 nothing",
                      12);
        else if (i == 9)
            image_add(writer, i, SIDE, SIDE, 3, STK_ENCODING_TILES, payload, sizeof payload);
        else if (i == 11)
            image_add(writer, i, SIDE, SIDE, 3, STK_ENCODING_PNG, (const uint8_t *)"", 0);
        else
            image_add(writer, i, SIDE, SIDE, 3, STK_ENCODING_RAW, payload, sizeof payload);
    }
    image_shard_end(writer);
    stk_dataset *d = run_open(path);
    stk_loader_options o = options_for(STK_ON_BAD_SKIP, 2);
    stk_transform_init(&o.transform, STK_TRANSFORM_RESIZE);
    stk_loader *l = run_loader(d, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, 20);
    for (size_t i = 0; i < log.n; i++) {
        uint64_t id = log.entries[i].id;
        CHECK_EQ(log.entries[i].status != STK_OK, id == 4 || id == 9 || id == 11);
    }
    run_free(&log);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(on_bad_error);
    RUN(on_bad_skip);
    RUN(on_bad_substitute);
    RUN(nothing_to_substitute);
    RUN(cut_short);
    RUN(broken_images);
    return check_exit();
}
