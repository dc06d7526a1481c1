/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening takes constant time and memory for any number of records. The shard of 10 million records is a
 * sparse file: only three of its index blocks hold rows, the others are holes, that is damaged blocks, which
 * nobody notices before they are touched. */
#include <fcntl.h>
#include <malloc.h>
#include <time.h>

#include "common/file.h"
#include "format/storage.h"
#include "format/layout.h"
#include "support/check.h"
#include "support/temporary.h"

enum { RECORDS = 10000000, PAYLOAD = 100, STRIDE = 192 };
static const uint64_t blocks[] = {0, 1000, (RECORDS - 1) / STK_BLOCK_ROWS};

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

static uint64_t payload_place(uint64_t i)
{
    return sizeof(stk_shard_header) + i * STRIDE + sizeof(stk_record_header);
}

static void seal_unit(uint8_t *unit, size_t n, uint32_t number, uint64_t block)
{
    stk_unit_header header = {.unit = number, .first_row = block * STK_BLOCK_ROWS};
    memcpy(header.magic, stk_unit_magic, 4);
    memcpy(unit, &header, sizeof header);
    stk_store64(unit + n - 8, stk_hash64(unit, n - 8));
}

/* A block: core rows, then a uint32 column that holds i ^ 0x5555. */
static void put_block(int fd, uint64_t at, uint64_t block)
{
    uint64_t n = rows_of(block);
    size_t core = (size_t)stk_unit_bytes(n, sizeof(stk_core_row), false),
           column = (size_t)stk_unit_bytes(n, 4, false);
    uint8_t *unit = calloc(1, core);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = block * STK_BLOCK_ROWS + k;
        stk_core_row row = {.offset = payload_place(i),
                            .n_bytes = PAYLOAD,
                            .label = (int64_t)i,
                            .width = 10,
                            .height = 10,
                            .encoding = STK_ENCODING_JPEG,
                            .orientation = 1,
                            .channels = 3};
        memcpy(unit + sizeof(stk_unit_header) + k * sizeof row, &row, sizeof row);
    }
    seal_unit(unit, core, 0, block);
    put(fd, unit, core, at);
    memset(unit, 0, core);
    for (uint64_t k = 0; k < n; k++)
        stk_store32(unit + sizeof(stk_unit_header) + k * 4, (uint32_t)(block * STK_BLOCK_ROWS + k) ^ 0x5555);
    seal_unit(unit, column, 1, block);
    put(fd, unit, column, at + core);
    free(unit);
}

static void put_column_table(int fd, stk_shard_trailer *t)
{
    struct {
        stk_column_entry entry;
        char name[8];
    } table = {.entry = {.entry_bytes = 56,
                         .name_bytes = 6,
                         .type = STK_TYPE_U32,
                         .storage = STK_STORE_INLINE,
                         .n_items = 1},
               .name = "number"};
    t->n_columns = 1;
    t->columns_bytes = sizeof table;
    t->columns_xxh3 = stk_hash64(&table, sizeof table);
    put(fd, &table, sizeof table, t->columns_offset);
}

static void make_huge(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    stk_shard_header h = {
        .major = 1, .header_bytes = sizeof h, .records_offset = sizeof h, .tables_xxh3 = stk_hash64("", 0)};
    memcpy(h.magic, stk_shard_magic, sizeof h.magic);
    stk_header_seal(&h);
    put(fd, &h, sizeof h, 0);
    uint64_t block_bytes = stk_unit_bytes(STK_BLOCK_ROWS, sizeof(stk_core_row), false) +
                           stk_unit_bytes(STK_BLOCK_ROWS, 4, false);
    uint64_t last = RECORDS / STK_BLOCK_ROWS;
    stk_shard_trailer t = {.n_records = RECORDS,
                           .block_rows = STK_BLOCK_ROWS,
                           .header_xxh3 = h.xxh3,
                           .core_row_bytes = sizeof(stk_core_row),
                           .flags = STK_TRAILER_LABELS,
                           .payload_bytes = (uint64_t)RECORDS * PAYLOAD};
    t.index_offset = sizeof h + (uint64_t)RECORDS * STRIDE;
    t.index_bytes = last * block_bytes + stk_unit_bytes(rows_of(last), sizeof(stk_core_row), false) +
                    stk_unit_bytes(rows_of(last), 4, false);
    for (size_t k = 0; k < 3; k++)
        put_block(fd, t.index_offset + blocks[k] * block_bytes, blocks[k]);
    t.strings_offset = t.index_offset + t.index_bytes;
    t.columns_offset = t.strings_offset;
    put_column_table(fd, &t);
    t.metadata_offset = t.columns_offset + t.columns_bytes;
    t.metadata_bytes = 2;
    t.metadata_xxh3 = stk_hash64("{}", 2);
    put(fd, "{}", 2, t.metadata_offset);
    t.file_bytes = t.metadata_offset + 2 + sizeof t;
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

/* Pages in memory: counts what calloc only promised as nothing. */
static long resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f != NULL) fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

static void check_rows(stk_storage *s)
{
    for (size_t k = 0; k < 3; k++) {
        for (uint64_t j = 0; j < rows_of(blocks[k]); j += 401) {
            uint64_t i = blocks[k] * STK_BLOCK_ROWS + j;
            stk_row row;
            stk_value value;
            uint32_t number = 0;
            CHECK_OK(s->ops->row(s, i, &row, &error));
            CHECK_EQ(row.label, i);
            CHECK_EQ(row.offset, payload_place(i));
            CHECK_OK(s->ops->value(s, 0, i, &number, sizeof number, &value, &error));
            CHECK_EQ(number, i ^ 0x5555);
        }
    }
}

static void opens_at_once_and_checks_lazily(void)
{
    const char *path = temporary("huge.stk");
    make_huge(path);
    stk_storage *s = NULL;
    /* A first time, so that libraries and heap are warm. */
    CHECK_OK(stk_storage_open(path, NULL, &s, &error));
    stk_storage_close(&s);
    long before = resident_bytes();
    double start = seconds();
    CHECK_OK(stk_storage_open(path, NULL, &s, &error));
    double took = seconds() - start;
    long memory = resident_bytes() - before;
    printf("     %llu records, %.1f GB: opened in %.3f ms, %ld KiB\n", (unsigned long long)s->n_rows,
           (double)s->total_bytes * 1e-9, took * 1e3, memory >> 10);
    CHECK_EQ(s->n_rows, RECORDS);
    CHECK(took < 0.050); /* it takes 0.1 ms; a machine under load is no failure */
    CHECK(memory < 1 << 20);
    check_rows(s);
    CHECK(resident_bytes() - before < 8 << 20);
    stk_row row;
    CHECK_STATUS(s->ops->row(s, 5 * STK_BLOCK_ROWS, &row, &error), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "records 20480 and following") != NULL);
    check_rows(s); /* the sound blocks stay readable */
    stk_storage_close(&s);
}

static void row_is_fast(void)
{
    const char *path = temporary("huge.stk");
    stk_storage *s = NULL;
    CHECK_OK(stk_storage_open(path, NULL, &s, &error));
    stk_row row;
    uint64_t sum = 0;
    CHECK_OK(s->ops->row(s, 0, &row, &error));
    double start = seconds();
    for (uint32_t k = 0; k < 2000000; k++) {
        if (s->ops->row(s, k * 2654435761u >> 20, &row, &error) == STK_OK) sum += row.offset;
    }
    double ns = (seconds() - start) * 1e9 / 2000000;
    printf("     a row of a touched block: %.1f ns (sum %llu)\n", ns, (unsigned long long)sum);
    CHECK(ns < 2000);
    stk_storage_close(&s);
}

int main(void)
{
    RUN(opens_at_once_and_checks_lazily);
    RUN(row_is_fast);
    return check_exit();
}
