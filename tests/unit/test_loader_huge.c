/* SPDX-License-Identifier: Apache-2.0
 *
 * A data set of ten million records: the first batch comes within 50 ms of opening, and memory does not grow with
 * the number of records. The shard is a sparse file: payloads are holes (zeros), and of the index only those
 * blocks are written that the first batches of the shuffled order touch. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "format/layout.h"
#include "reader/sampler.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { RECORDS = 10000000, SIDE = 4, BYTES = SIDE * SIDE * 3, STRIDE = 128, BATCH = 64, PLACES = BATCH * 8 };

/* Sanitizers slow everything down; what they look for here is something else. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOWED 1
#endif
#endif
#ifndef SLOWED
#define SLOWED 0
#endif

static stk_error error;

static void put(int fd, const void *data, size_t n, uint64_t at)
{
    if (pwrite(fd, data, n, (off_t)at) != (ssize_t)n) {
        perror("pwrite");
        exit(1);
    }
}

static uint64_t rows_of(uint64_t block)
{
    uint64_t left = RECORDS - block * STK_BLOCK_ROWS;
    return left < STK_BLOCK_ROWS ? left : STK_BLOCK_ROWS;
}

static void put_block(int fd, uint64_t at, uint64_t block, uint64_t xxh3)
{
    uint64_t n = rows_of(block);
    size_t n_bytes = (size_t)stk_unit_bytes(n, sizeof(stk_core_row), false);
    uint8_t *unit = calloc(1, n_bytes);
    stk_unit_header header = {.unit = 0, .first_row = block * STK_BLOCK_ROWS};
    memcpy(header.magic, stk_unit_magic, 4);
    memcpy(unit, &header, sizeof header);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = block * STK_BLOCK_ROWS + k;
        stk_core_row row = {.offset = sizeof(stk_shard_header) + i * STRIDE + sizeof(stk_record_header),
                            .n_bytes = BYTES, .xxh3 = xxh3, .label = (int64_t)(i % 1000), .width = SIDE,
                            .height = SIDE, .encoding = STK_ENCODING_RAW, .orientation = 1, .channels = 3};
        memcpy(unit + sizeof header + k * sizeof row, &row, sizeof row);
    }
    stk_store64(unit + n_bytes - 8, stk_hash64(unit, n_bytes - 8));
    put(fd, unit, n_bytes, at);
    free(unit);
}

/* The blocks in which the first PLACES samples of epoch 0 lie. */
static void put_blocks(int fd, const stk_shard_trailer *t, uint64_t total_bytes)
{
    static const uint8_t zeros[BYTES];
    stk_sampler_options so = {.order = STK_ORDER_SHUFFLE, .n_records = RECORDS, .total_bytes = total_bytes,
                              .repeats = 1, .page_window = 64};
    stk_sampler *sampler = NULL;
    stk_sampler_view view;
    CHECK_OK(stk_sampler_open(&so, &sampler, &error));
    stk_sampler_begin(sampler, 0, &view);
    uint64_t block_bytes = stk_unit_bytes(STK_BLOCK_ROWS, sizeof(stk_core_row), false),
             xxh3 = stk_hash64(zeros, BYTES);
    for (uint64_t place = 0; place < PLACES; place++) {
        uint64_t block = stk_sampler_at(sampler, &view, place).id / STK_BLOCK_ROWS;
        put_block(fd, t->index_offset + block * block_bytes, block, xxh3);
    }
    stk_sampler_close(&sampler);
}

static void make_huge(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    stk_shard_header h = {.major = 1, .header_bytes = sizeof h, .records_offset = sizeof h,
                          .tables_xxh3 = stk_hash64("", 0)};
    memcpy(h.magic, stk_shard_magic, sizeof h.magic);
    stk_header_seal(&h);
    put(fd, &h, sizeof h, 0);
    uint64_t last = RECORDS / STK_BLOCK_ROWS;
    stk_shard_trailer t = {.n_records = RECORDS, .block_rows = STK_BLOCK_ROWS, .header_xxh3 = h.xxh3,
                           .core_row_bytes = sizeof(stk_core_row), .flags = STK_TRAILER_LABELS,
                           .payload_bytes = (uint64_t)RECORDS * BYTES};
    t.index_offset = sizeof h + (uint64_t)RECORDS * STRIDE;
    t.index_bytes = last * stk_unit_bytes(STK_BLOCK_ROWS, sizeof(stk_core_row), false) +
                    stk_unit_bytes(rows_of(last), sizeof(stk_core_row), false);
    t.strings_offset = t.columns_offset = t.metadata_offset = t.index_offset + t.index_bytes;
    t.columns_xxh3 = stk_hash64("", 0);
    t.metadata_bytes = 2;
    t.metadata_xxh3 = stk_hash64("{}", 2);
    put(fd, "{}", 2, t.metadata_offset);
    t.file_bytes = t.metadata_offset + 2 + sizeof t;
    put_blocks(fd, &t, t.file_bytes);
    memcpy(t.magic, stk_shard_end_magic, sizeof t.magic);
    stk_trailer_seal(&t);
    put(fd, &t, sizeof t, t.metadata_offset + 2);
    close(fd);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f != NULL) fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

static void first_batch(void)
{
    const char *path = temporary("huge.stk");
    make_huge(path);
    double best = 1e9;
    for (int k = 0; k < 5; k++) {
        long before = resident_bytes();
        double start = seconds();
        stk_dataset *d = run_open(path);
        stk_loader_options o;
        stk_loader_options_init(&o);
        stk_transform_init(&o.transform, STK_TRANSFORM_NONE);
        o.batch_size = BATCH;
        o.n_threads = 1;
        o.n_ahead = 1;
        o.on_bad = STK_ON_BAD_SKIP; /* blocks that are holes, should the team run far ahead */
        stk_loader *l = run_loader(d, &o);
        stk_batch *b = NULL;
        CHECK_OK(stk_loader_next(l, 60000, &b, &error));
        double took = seconds() - start;
        if (took < best) best = took;
        CHECK_EQ(stk_dataset_len(d), RECORDS);
        for (uint32_t e = 0; b != NULL && e < b->n; e++) {
            CHECK_EQ(b->statuses[e], STK_OK);
            CHECK_EQ(b->labels[e], b->ids[e] % 1000);
        }
        long grown = resident_bytes() - before;
        CHECK(grown < 96l << 20); /* the index blocks touched, 196 KB each, not the 480 MB of all */
        stk_batch_release(b);
        stk_loader_close(&l);
        stk_dataset_close(&d);
    }
    printf("first batch of ten million records after %.1f ms\n", best * 1e3);
    CHECK(best < (SLOWED ? 0.500 : 0.050));
}

int main(void)
{
    RUN(first_batch);
    return check_exit();
}
