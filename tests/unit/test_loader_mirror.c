/* SPDX-License-Identifier: Apache-2.0
 *
 * Small sets copied into memory: the right bytes at every border, damage still found, no need of the file
 * afterwards. */
#include "reader/mirror.h"

#include <unistd.h>

#include "reader/dataset_internal.h"
#include "support/damage.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/memory_file.h"
#include "support/temporary.h"

enum { N = 9000, SIDE = 16, BYTES = SIDE * SIDE * 3 };
static const uint64_t block = 2 << 20;

static stk_error error;
static char path[512];

static void borders(void)
{
    const uint64_t n = 2 * block + 12345;
    uint8_t *bytes = malloc(n);
    for (uint64_t i = 0; i < n; i++) bytes[i] = (uint8_t)stk_mix64(i);
    memory_file file = {.fd = -1};
    memory_file_set(&file, bytes, n);
    stk_file opened;
    stk_mirror *m = NULL;
    CHECK_OK(stk_file_open_read(file.path, &opened, &error));
    CHECK_OK(stk_mirror_open(&opened, n, &m, &error));
    CHECK(stk_mirror_get(m, 0, 1) == NULL);
    CHECK_EQ(stk_mirror_fill(m, block + 5), 2 * block); /* the middle block */
    CHECK(stk_mirror_get(m, block - 1, 2) == NULL);
    CHECK(stk_mirror_get(m, 2 * block - 1, 2) == NULL);
    const uint8_t *got = stk_mirror_get(m, block, block);
    CHECK(got != NULL && memcmp(got, bytes + block, block) == 0);
    CHECK_EQ(stk_mirror_fill(m, 0), block);
    CHECK_EQ(stk_mirror_fill(m, n - 1), 3 * block);
    CHECK_EQ(stk_mirror_fill(m, n - 1), 3 * block);
    (void)stk_mirror_fill(m, n + block); /* beyond the end: nothing happens */
    got = stk_mirror_get(m, 0, n);
    CHECK(got != NULL && memcmp(got, bytes, n) == 0);
    CHECK(stk_mirror_get(m, n - 10, 11) == NULL);
    CHECK(stk_mirror_get(m, n, 1) == NULL);
    CHECK(stk_mirror_get(m, 7, 0) != NULL);
    stk_mirror_close(&m);
    /* A file that ends early: the block with the gap stays out. */
    CHECK_OK(stk_mirror_open(&opened, n, &m, &error));
    CHECK_EQ(truncate(file.path, (off_t)(block + 100)), 0);
    (void)stk_mirror_fill(m, 0);
    (void)stk_mirror_fill(m, block);
    CHECK(stk_mirror_get(m, 0, 50) != NULL);
    CHECK(stk_mirror_get(m, block, 50) == NULL);
    stk_mirror_close(&m);
    stk_file_close(&opened);
    memory_file_close(&file);
    free(bytes);
}

static stk_dataset *open_io(stk_io io)
{
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.io = io;
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    if (d == NULL) exit(1);
    return d;
}

static void copy_all(stk_dataset *d)
{
    stk_payload_copying progress = {0};
    stk_payload_mirror(d->payload);
    while (stk_payload_copy_some(d->payload, &progress)) continue;
}

static bool right_payload(stk_dataset *d, uint64_t i, stk_buffer *bytes)
{
    uint8_t want[BYTES];
    image_fill(i, SIDE, SIDE, 3, want);
    return stk_dataset_payload(d, i, bytes, &error) == STK_OK && memcmp(bytes->data, want, BYTES) == 0;
}

/* Once copied, the file may go: nothing is read from it again. */
static void file_is_not_needed(void)
{
    stk_dataset *d = open_io(STK_IO_AUTO);
    stk_buffer bytes = {0};
    stk_row row;
    for (uint64_t i = 0; i < N; i += 100) CHECK_OK(stk_dataset_row(d, i, &row, &error)); /* index blocks */
    copy_all(d);
    damage_record(path, d, 77); /* after copying: not seen */
    CHECK(right_payload(d, 77, &bytes));
    damage_record(path, d, 77);
    char aside[600];
    snprintf(aside, sizeof aside, "%s.aside", path);
    CHECK_EQ(rename(path, aside), 0);
    image_shard(path, N, SIDE, SIDE, 3); /* for the tests that follow */
    CHECK_EQ(truncate(aside, 100), 0);
    for (uint64_t i = 0; i < N; i += 7) CHECK(right_payload(d, i, &bytes));
    stk_buffer_free(&bytes);
    stk_dataset_close(&d);
}

/* Damage that was there before is found in the copy. */
static void damage_is_found(void)
{
    stk_dataset *d = open_io(STK_IO_AUTO);
    damage_record(path, d, 4321);
    copy_all(d);
    stk_buffer bytes = {0};
    CHECK_STATUS(stk_dataset_payload(d, 4321, &bytes, &error), STK_ERR_CHECKSUM);
    CHECK(right_payload(d, 4320, &bytes) && right_payload(d, 4322, &bytes));
    stk_buffer_free(&bytes);
    damage_record(path, d, 4321);
    stk_dataset_close(&d);
}

/* Loaders on one data set, copying while they deliver: the same batches as from a mapping. */
static void same_batches(void)
{
    run_log logs[2] = {0};
    for (int k = 0; k < 2; k++) {
        stk_dataset *d = open_io(k == 0 ? STK_IO_MMAP : STK_IO_AUTO);
        stk_loader_options o;
        stk_loader_options_init(&o);
        stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
        o.transform.out_width = o.transform.out_height = SIDE;
        o.n_threads = 2;
        stk_loader *l = run_loader(d, &o), *other = run_loader(d, &o);
        run_log second = {0};
        for (int epoch = 0; epoch < 3; epoch++) {
            CHECK(run_batches(l, &logs[k], UINT64_MAX));
            CHECK(run_batches(other, &second, UINT64_MAX));
        }
        for (size_t i = 0; i < second.n; i++) CHECK(second.entries[i].pixels == logs[k].entries[i].pixels);
        run_free(&second);
        stk_loader_close(&l);
        stk_loader_close(&other);
        stk_dataset_close(&d);
    }
    CHECK_EQ(logs[0].n, 3 * N);
    for (size_t i = 0; i < logs[0].n; i++)
        CHECK(logs[0].entries[i].id == logs[1].entries[i].id &&
              logs[0].entries[i].pixels == logs[1].entries[i].pixels);
    run_free(&logs[0]);
    run_free(&logs[1]);
}

int main(void)
{
    snprintf(path, sizeof path, "%s", temporary("small.stk"));
    image_shard(path, N, SIDE, SIDE, 3);
    RUN(borders);
    RUN(file_is_not_needed);
    RUN(damage_is_found);
    RUN(same_batches);
    return check_exit();
}
