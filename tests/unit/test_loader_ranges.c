/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges for profilers: named, nested in pairs on each thread, around reading and around the work. */
#include <stdatomic.h>

#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 60, SIDE = 8, BATCH = 8 };

static stk_error error;
static _Atomic int n_read, n_decode, n_gather, n_other, n_unmatched;
static _Thread_local int depth;

static void push(const char *name)
{
    depth++;
    if (strcmp(name, "stoker read") == 0) atomic_fetch_add(&n_read, 1);
    else if (strcmp(name, "stoker decode") == 0) atomic_fetch_add(&n_decode, 1);
    else if (strcmp(name, "stoker gather") == 0) atomic_fetch_add(&n_gather, 1);
    else atomic_fetch_add(&n_other, 1);
}

static void pop(void)
{
    if (--depth < 0) atomic_fetch_add(&n_unmatched, 1);
}

static void an_epoch(const stk_dataset *d, bool gather)
{
    stk_loader_options o;
    stk_loader *l = NULL;
    stk_batch *b = NULL;
    stk_status status;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = BATCH;
    o.n_threads = 2;
    o.gather = gather;
    o.ranges = (stk_ranges){.push = push, .pop = pop};
    CHECK_OK(stk_loader_open(d, &o, &l, &error));
    while ((status = stk_loader_next(l, -1, &b, &error)) == STK_OK) stk_batch_release(b);
    CHECK_EQ(status, STK_END);
    stk_loader_close(&l);
}

static void reading_and_decoding_are_ranges(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    stk_dataset *d = run_open(path);
    an_epoch(d, false);
    CHECK(n_read >= N && n_decode == n_read && n_gather == 0); /* some of the next epoch are made ahead */
    int before = n_read;
    an_epoch(d, true);
    CHECK(n_gather >= N && n_read == before + n_gather);
    CHECK_EQ(n_other, 0);
    CHECK_EQ(n_unmatched, 0);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(reading_and_decoding_are_ranges);
    return check_exit();
}
