/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading ahead into memory of our own: what is taken is what was asked for, whatever is reset, closed or cut
 * short meanwhile; and loaders whose data lies "far away" deliver the same as others. */
#include <pthread.h>
#include <unistd.h>

#include "reader/dataset_internal.h"
#include "reader/haul.h"
#include "support/damage.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 400, SIDE = 16, BYTES = SIDE * SIDE * 3 };

static stk_error error;
static char path[512];

static stk_dataset *open_remote(void)
{
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    if (d == NULL) exit(1);
    stk_payload_pretend_remote(d->payload);
    return d;
}

static stk_wanted wanted(const stk_dataset *d, uint64_t i, uint64_t sequence, stk_row *row)
{
    CHECK_OK(stk_dataset_row(d, i, row, &error));
    return (stk_wanted){.file = row->file, .offset = row->offset, .n_bytes = row->n_bytes, .sequence = sequence};
}

static bool is_record(const uint8_t *data, uint64_t i)
{
    uint8_t want[BYTES];
    image_fill(i, SIDE, SIDE, 3, want);
    return data != NULL && memcmp(data, want, BYTES) == 0;
}

static void fetch_and_take(void)
{
    stk_dataset *d = open_remote();
    stk_haulage *h = NULL;
    stk_row row;
    stk_haul *haul;
    CHECK_OK(stk_haulage_open(d->payload, 64, &h, &error));
    CHECK_OK(stk_dataset_row(d, 0, &row, &error));
    CHECK(stk_haulage_take(h, 0, &row, &haul) == NULL && haul == NULL); /* nothing fetched yet */
    for (uint64_t round = 0; round < 50; round++) {
        /* Two ranges: records 10..13 as sequence 0..3, record 200 as 4. */
        stk_wanted list[4];
        for (uint64_t k = 0; k < 4; k++) list[k] = wanted(d, 10 + k, round * 5 + k, &row);
        CHECK(stk_haulage_fetch(h, list, 4));
        stk_wanted one = wanted(d, 200, round * 5 + 4, &row);
        CHECK(stk_haulage_fetch(h, &one, 1));
        for (uint64_t k = 5; k-- > 0;) {
            uint64_t i = k == 4 ? 200 : 10 + k;
            CHECK_OK(stk_dataset_row(d, i, &row, &error));
            const uint8_t *data = stk_haulage_take(h, round * 5 + k, &row, &haul);
            CHECK(is_record(data, i));
            stk_haulage_done(h, haul);
            CHECK(stk_haulage_take(h, round * 5 + k, &row, &haul) == NULL); /* once */
        }
    }
    /* Another record than the one that was asked for under this number: refused. */
    stk_wanted one = wanted(d, 5, 1000, &row);
    CHECK(stk_haulage_fetch(h, &one, 1));
    CHECK_OK(stk_dataset_row(d, 300, &row, &error));
    CHECK(stk_haulage_take(h, 1000, &row, &haul) == NULL);
    stk_haulage_close(&h);
    stk_dataset_close(&d);
}

static void reset_and_close(void)
{
    stk_dataset *d = open_remote();
    for (int k = 0; k < 30; k++) {
        stk_haulage *h = NULL;
        stk_row row;
        stk_haul *haul;
        CHECK_OK(stk_haulage_open(d->payload, 256, &h, &error));
        for (uint64_t s = 0; s < 200; s++) {
            stk_wanted one = wanted(d, s * 7 % N, s, &row);
            CHECK(stk_haulage_fetch(h, &one, 1));
        }
        CHECK_OK(stk_dataset_row(d, 0, &row, &error));
        const uint8_t *held = stk_haulage_take(h, 0, &row, &haul);
        CHECK(is_record(held, 0));
        stk_haulage_reset(h);
        stk_wanted one = wanted(d, 1, 0, &row);
        CHECK(!stk_haulage_fetch(h, &one, 1)); /* until resumed */
        stk_haulage_resume(h);
        CHECK(is_record(held, 0)); /* what is in use stays */
        stk_haulage_done(h, haul);
        CHECK(stk_haulage_fetch(h, &one, 1));
        CHECK(is_record(stk_haulage_take(h, 0, &row, &haul), 1));
        stk_haulage_done(h, haul);
        for (uint64_t s = 1; s < (uint64_t)k * 5; s++) { /* closed with reads in every state */
            one = wanted(d, s, s, &row);
            CHECK(stk_haulage_fetch(h, &one, 1));
        }
        stk_haulage_close(&h);
    }
    stk_dataset_close(&d);
}

static stk_loader_options options_for(stk_order order, uint32_t threads)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = 23;
    o.n_threads = threads;
    o.order = order;
    return o;
}

/* Far or near, read ahead or not: the same batches; also after seeks, several epochs, and with two ranks. */
static void same_batches(void)
{
    for (int order = STK_ORDER_SHUFFLE; order <= STK_ORDER_PAGE; order++) {
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            run_log logs[2] = {0};
            for (int far = 0; far < 2; far++) {
                stk_dataset *d = far ? open_remote() : run_open(path);
                stk_loader_options o = options_for((stk_order)order, threads);
                o.world = 2;
                o.rank = 1;
                if (far) o.read_ahead_bytes = threads == 1 ? 20000 : 0; /* also a budget of a few records */
                stk_loader *l = run_loader(d, &o);
                CHECK(run_batches(l, &logs[far], UINT64_MAX));
                run_batches(l, &logs[far], 2);
                CHECK_OK(stk_loader_set_epoch(l, 7, &error));
                CHECK(run_batches(l, &logs[far], UINT64_MAX));
                stk_loader_close(&l);
                stk_dataset_close(&d);
            }
            CHECK_EQ(logs[0].n, logs[1].n);
            for (size_t i = 0; i < logs[0].n && i < logs[1].n; i++)
                CHECK(logs[0].entries[i].id == logs[1].entries[i].id &&
                      logs[0].entries[i].pixels == logs[1].entries[i].pixels);
            run_free(&logs[0]);
            run_free(&logs[1]);
        }
    }
}

/* Damage and lost bytes are found and named on this road too. */
static void damage_far_away(void)
{
    stk_dataset *d = open_remote();
    damage_record(path, d, 33);
    damage_record(path, d, 399);
    stk_loader_options o = options_for(STK_ORDER_SHUFFLE, 2);
    o.on_bad = STK_ON_BAD_SKIP;
    stk_loader *l = run_loader(d, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    for (size_t i = 0; i < log.n; i++) {
        bool bad = log.entries[i].id == 33 || log.entries[i].id == 399;
        CHECK_EQ(log.entries[i].status, bad ? STK_ERR_CHECKSUM : STK_OK);
    }
    run_free(&log);
    stk_loader_close(&l);
    stk_dataset_close(&d);
    d = open_remote();
    damage_record(path, d, 33); /* the bit flips back */
    damage_record(path, d, 399);
    stk_record_info info;
    CHECK_OK(stk_dataset_record(d, 300, &info, &error));
    CHECK_EQ(truncate(path, (off_t)info.offset), 0);
    l = run_loader(d, &o);
    CHECK(run_batches(l, &log, UINT64_MAX));
    for (size_t i = 0; i < log.n; i++)
        CHECK_EQ(log.entries[i].status, log.entries[i].id < 300 ? STK_OK : STK_ERR_CORRUPT);
    run_free(&log);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

/* Seeks at any moment, with reads under way. */
static void many_seeks(void)
{
    stk_dataset *d = open_remote();
    stk_loader_options o = options_for(STK_ORDER_SHUFFLE, 3);
    stk_loader *l = run_loader(d, &o);
    run_log log = {0};
    for (uint64_t k = 0; k < 300; k++) {
        CHECK_OK(stk_loader_set_epoch(l, 1000 + k, &error));
        run_batches(l, &log, k % 5);
    }
    run_free(&log);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

int main(void)
{
    snprintf(path, sizeof path, "%s", temporary("images.stk"));
    image_shard(path, N, SIDE, SIDE, 3);
    RUN(fetch_and_take);
    RUN(reset_and_close);
    RUN(same_batches);
    RUN(many_seeks);
    RUN(damage_far_away);
    return check_exit();
}
