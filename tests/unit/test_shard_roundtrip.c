/* SPDX-License-Identifier: Apache-2.0
 *
 * What was written is read back: rows, payloads, every type of column, table sets, metadata. */
#include <fcntl.h>
#include <pthread.h>

#include "common/buffer.h"
#include "common/file.h"
#include "format/storage.h"
#include "support/check.h"
#include "support/shard_maker.h"
#include "support/temporary.h"

static _Thread_local stk_error error;

static void check_value(stk_storage *s, uint32_t column, uint64_t i, uint64_t pattern)
{
    static maker_value want;
    uint8_t buffer[256];
    stk_value got;
    maker_fill(&want, column, pattern);
    CHECK_OK(s->ops->value(s, column, i, buffer, sizeof buffer, &got, &error));
    CHECK_EQ(got.is_null, want.cell.is_null);
    if (want.cell.is_null) {
        CHECK_EQ(got.n_bytes, 0);
        return;
    }
    size_t size = stk_type_size(maker_columns[column].type);
    CHECK_EQ(got.n_items, want.cell.n_items);
    CHECK_EQ(got.n_bytes, want.cell.n_items * (size > 0 ? size : 1));
    CHECK(memcmp(buffer, want.data.bytes, got.n_bytes) == 0);
    if (got.n_bytes > 0) {
        size_t need = got.n_bytes;
        CHECK_STATUS(s->ops->value(s, column, i, buffer, need - 1, &got, &error), STK_ERR_LIMIT);
        CHECK_EQ(got.n_bytes, need);
    }
}

static void check_row(stk_storage *s, uint64_t i, uint64_t pattern)
{
    uint8_t want[300], got[300];
    stk_row row;
    stk_file file;
    uint64_t file_bytes;
    size_t n = maker_payload(pattern, want, sizeof want);
    CHECK_OK(s->ops->row(s, i, &row, &error));
    CHECK_EQ(row.n_bytes, n);
    CHECK_EQ(row.label, (int64_t)(pattern % 3));
    CHECK_EQ(row.width, pattern + 1);
    CHECK_EQ(row.height, 2);
    CHECK_EQ(row.tables, pattern % 4 == 2 ? 1 : 0);
    CHECK_EQ(row.orientation, pattern % 8 + 1);
    CHECK_EQ(row.channels, 3);
    CHECK_EQ(row.encoding, STK_ENCODING_JPEG);
    CHECK_EQ(row.has_xxh3, 1);
    CHECK_EQ(row.offset % 64, 0);
    CHECK(row.xxh3 == stk_hash64(want, n));
    CHECK_OK(s->ops->file(s, row.file, &file, &file_bytes, &error));
    CHECK(row.offset + n <= file_bytes);
    CHECK_OK(stk_file_read_at(&file, got, n, row.offset, &error));
    CHECK(memcmp(got, want, n) == 0);
}

static stk_storage *open_storage(const char *path)
{
    stk_storage *s = NULL;
    CHECK_OK(stk_storage_open(path, NULL, &s, &error));
    return s;
}

/* Numbers of records at the edges of a block of 4,096, and 0. */
static void all_columns_at_block_edges(void)
{
    static const uint64_t sizes[] = {0, 1, 7, 4095, 4096, 4097, 10000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        char id[33] = "";
        const char *path = temporary("edges.stk");
        maker_shard(path, MAKER_COLUMNS, 1000, sizes[k], id);
        stk_storage *s = open_storage(path);
        if (s == NULL) return;
        CHECK_EQ(s->n_rows, sizes[k]);
        CHECK(strcmp(s->id, id) == 0);
        CHECK(strcmp(s->metadata, maker_metadata) == 0);
        CHECK_EQ(s->n_classes, 3);
        CHECK(s->n_classes == 3 && strcmp(s->class_names[2], "\xc3\x28") == 0);
        CHECK_EQ(s->has_labels, sizes[k] > 0);
        CHECK_EQ(s->n_columns, MAKER_COLUMNS);
        for (uint64_t i = 0; i<sizes[k]; i += i> 20 && i + 30 < sizes[k] && i % 4096 < 4050 ? 13 : 1) {
            check_row(s, i, 1000 + i);
            for (uint32_t c = 0; c < MAKER_COLUMNS; c++)
                check_value(s, c, i, 1000 + i);
        }
        stk_storage_close(&s);
    }
}

static void columns_are_described(void)
{
    char id[33];
    const char *path = temporary("columns.stk");
    maker_shard(path, MAKER_COLUMNS, 0, 3, id);
    stk_storage *s = open_storage(path);
    if (s == NULL) return;
    for (uint32_t c = 0; c < MAKER_COLUMNS; c++) {
        CHECK(strcmp(s->columns[c].name, maker_columns[c].name) == 0);
        CHECK_EQ(s->columns[c].type, maker_columns[c].type);
        CHECK_EQ(s->columns[c].n_items, maker_columns[c].n_items);
        CHECK_EQ(s->columns[c].nullable, maker_columns[c].nullable);
        CHECK_EQ(s->columns[c].dictionary, maker_columns[c].dictionary);
    }
    stk_value value;
    uint8_t buffer[8];
    CHECK_STATUS(s->ops->value(s, MAKER_COLUMNS, 0, buffer, 8, &value, &error), STK_ERR_ARGUMENT);
    CHECK_STATUS(s->ops->value(s, 0, 3, buffer, 8, &value, &error), STK_ERR_ARGUMENT);
    stk_storage_close(&s);
}

static void table_sets_are_shared(void)
{
    char id[33];
    const char *path = temporary("sets.stk");
    maker_shard(path, 0, 0, 5, id);
    stk_storage *s = open_storage(path);
    if (s == NULL) return;
    const uint8_t *blob = NULL, *again = NULL;
    size_t n = 0;
    CHECK_EQ(s->n_table_sets, 2);
    CHECK_OK(s->ops->tables(s, 0, &blob, &n, &error));
    CHECK_EQ(n, 100);
    CHECK(blob[0] == 1 && blob[2] == 3 && blob[99] == 0);
    CHECK_OK(s->ops->tables(s, 1, &blob, &n, &error));
    CHECK(n == 11 && memcmp(blob, "second set", 11) == 0);
    CHECK_OK(s->ops->tables(s, 1, &again, &n, &error));
    CHECK(again == blob);
    CHECK_STATUS(s->ops->tables(s, 2, &blob, &n, &error), STK_ERR_ARGUMENT);
    stk_storage_close(&s);
}

static void same_calls_same_bytes(void)
{
    char id[2][33];
    stk_buffer a = {0}, b = {0};
    const char *one = temporary("one.stk"), *two = temporary("two.stk");
    maker_shard(one, MAKER_COLUMNS, 5, 5000, id[0]);
    maker_shard(two, MAKER_COLUMNS, 5, 5000, id[1]);
    CHECK_OK(stk_file_read_all(one, 1u << 30, &a, &error));
    CHECK_OK(stk_file_read_all(two, 1u << 30, &b, &error));
    CHECK(a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0);
    CHECK(strcmp(id[0], id[1]) == 0);
    maker_shard(two, MAKER_COLUMNS, 5, 4999, id[1]);
    CHECK(strcmp(id[0], id[1]) != 0);
    stk_buffer_free(&a);
    stk_buffer_free(&b);
}

/* Columns so long that the spools overflow into their unnamed file, and payloads written directly. */
static void large_strings_and_payloads(void)
{
    enum { ROWS = 40, BYTES = 300000 };
    static const stk_column column = {.name = "mask", .type = STK_TYPE_BYTES, .n_items = 1};
    stk_shard_writer_options options = {.columns = &column, .n_columns = 1};
    const char *path = temporary("large.stk");
    uint8_t *bytes = malloc(BYTES), *back = malloc(BYTES);
    uint64_t offsets[ROWS];
    stk_shard_writer *w = NULL;
    char id[33];
    CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
    for (int i = 0; i < ROWS; i++) {
        memset(bytes, i, BYTES);
        stk_cell cell = {.data = bytes, .n_items = (size_t)(BYTES - i)};
        stk_record r = {.payload = bytes,
                        .n_bytes = (size_t)(BYTES - 2 * i),
                        .label = -1,
                        .width = 1,
                        .height = 1,
                        .encoding = STK_ENCODING_PNG,
                        .orientation = 1,
                        .channels = 3,
                        .cells = &cell,
                        .xxh3 = stk_hash64(bytes, (size_t)(BYTES - 2 * i))};
        CHECK_OK(stk_shard_writer_add(w, &r, &offsets[i], &error));
    }
    CHECK_OK(stk_shard_writer_finish(w, "{}", id, &error));
    stk_shard_writer_close(&w);
    stk_storage *s = open_storage(path);
    if (s == NULL) return;
    CHECK(!s->has_labels);
    CHECK_EQ(s->n_classes, 0);
    for (int i = 0; i < ROWS; i++) {
        stk_row row;
        stk_value value;
        CHECK_OK(s->ops->row(s, (uint64_t)i, &row, &error));
        CHECK_EQ(row.offset, offsets[i]);
        CHECK_OK(s->ops->value(s, 0, (uint64_t)i, back, BYTES, &value, &error));
        CHECK_EQ(value.n_bytes, BYTES - i);
        CHECK(back[0] == i && back[value.n_bytes - 1] == i);
    }
    stk_storage_close(&s);
    free(bytes);
    free(back);
}

static void *touch_everything(void *argument)
{
    stk_storage *s = argument;
    for (uint64_t i = 0; i < s->n_rows; i += 97) {
        check_row(s, i, i);
        for (uint32_t c = 0; c < MAKER_COLUMNS; c++) {
            uint8_t buffer[256];
            stk_value value;
            if (s->ops->value(s, c, i, buffer, sizeof buffer, &value, NULL) != STK_OK) return s;
        }
    }
    return NULL;
}

/* Four threads meet at the same untouched blocks. Run under TSan too. */
static void threads_load_the_same_blocks(void)
{
    char id[33];
    const char *path = temporary("threads.stk");
    maker_shard(path, MAKER_COLUMNS, 0, 12000, id);
    stk_storage *s = open_storage(path);
    if (s == NULL) return;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, touch_everything, s), 0);
    for (int i = 0; i < 4; i++) {
        void *result = s;
        CHECK_EQ(pthread_join(threads[i], &result), 0);
        CHECK(result == NULL);
    }
    stk_storage_close(&s);
}

int main(void)
{
    RUN(all_columns_at_block_edges);
    RUN(columns_are_described);
    RUN(table_sets_are_shared);
    RUN(same_calls_same_bytes);
    RUN(large_strings_and_payloads);
    RUN(threads_load_the_same_blocks);
    return check_exit();
}
