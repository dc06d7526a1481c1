/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged and malicious shards: an error or the right data, never a crash, never other data. To be run under
 * AddressSanitizer and UBSan, where a wrong access shows. */
#include "common/buffer.h"
#include "format/storage.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/shard_fixup.h"
#include "support/shard_maker.h"
#include "support/storage_walk.h"
#include "support/temporary.h"

enum { ROWS = 9 };

static stk_error error;
static memory_file file = {.fd = -1};
static stk_buffer good;       /* the bytes of a sound shard */
static walk_result good_walk; /* and what it holds */

static stk_status open_bytes(const uint8_t *data, size_t n, bool salvage, stk_storage **out)
{
    stk_dataset_options options = {.struct_size = sizeof options, .salvage = salvage};
    memory_file_set(&file, data, n);
    return stk_storage_open(file.path, &options, out, &error);
}

static void make_good(void)
{
    char id[33];
    const char *path = temporary("good.stk");
    maker_shard(path, MAKER_COLUMNS, 100, ROWS, id);
    CHECK_OK(stk_file_read_all(path, 1 << 20, &good, &error));
    stk_storage *s = NULL;
    CHECK_OK(open_bytes(good.data, good.n_bytes, false, &s));
    if (s == NULL) exit(1);
    good_walk = storage_walk(s, UINT64_MAX);
    CHECK_EQ(good_walk.n_errors, 0);
    CHECK_EQ(good_walk.n_findings, 0);
    CHECK_EQ(s->n_rows, ROWS);
    stk_storage_close(&s);
}

/* An error while opening, or errors at a touch; else everything is as it was. */
static bool error_or_same(const uint8_t *data, size_t n)
{
    stk_storage *s = NULL;
    if (open_bytes(data, n, false, &s) != STK_OK) {
        CHECK(s == NULL);
        CHECK(strstr(error.text, file.path) != NULL);
        return true;
    }
    walk_result r = storage_walk(s, UINT64_MAX);
    stk_storage_close(&s);
    CHECK(r.n_errors == 0 || r.first.text[0] != '\0');
    return r.n_errors > 0 || r.digest == good_walk.digest;
}

static bool is_padding(size_t at)
{
    stk_shard_trailer t;
    stk_shard_header h;
    memcpy(&h, good.data, sizeof h);
    memcpy(&t, good.data + good.n_bytes - sizeof t, sizeof t);
    if (at < h.records_offset) return at >= sizeof h + 2 * sizeof(stk_table_entry) && good.data[at] == 0;
    return at < t.index_offset && good.data[at] == 0;
}

static void every_byte_flipped(void)
{
    size_t n_same = 0;
    for (size_t i = 0; i < good.n_bytes; i++) {
        uint8_t before = good.data[i];
        static const uint8_t masks[] = {0xff, 0x01, 0x80};
        for (size_t k = 0; k < sizeof masks; k++) {
            good.data[i] = before ^ masks[k];
            stk_storage *s = NULL;
            bool found = open_bytes(good.data, good.n_bytes, false, &s) != STK_OK;
            if (!found) {
                walk_result r = storage_walk(s, UINT64_MAX);
                found = r.n_errors > 0 || r.n_findings > 0;
                if (r.n_errors == 0 && r.digest != good_walk.digest) {
                    fprintf(stderr, "byte %zu ^ %02x: other data without an error\n", i, masks[k]);
                    CHECK(false);
                }
                stk_storage_close(&s);
            }
            n_same += !found;
            good.data[i] = before;
            if (!found && !is_padding(i)) {
                fprintf(stderr, "byte %zu ^ %02x: not noticed by any check\n", i, masks[k]);
                CHECK(false);
            }
        }
    }
    printf("     %zu bytes; %zu flips lay in padding\n", good.n_bytes, n_same);
}

static void cut_at_every_length(void)
{
    for (size_t n = 0; n < good.n_bytes; n++) {
        stk_storage *s = NULL;
        stk_status status = open_bytes(good.data, n, false, &s);
        if (status == STK_OK) fprintf(stderr, "opened with %zu of %zu bytes\n", n, good.n_bytes);
        CHECK(status == STK_ERR_CORRUPT || (status == STK_ERR_UNSUPPORTED && n < 4));
        CHECK(strstr(error.text, file.path) != NULL);
        stk_storage_close(&s);
    }
}

static void longer_than_it_was(void)
{
    stk_buffer longer = {0};
    CHECK_OK(stk_buffer_append(&longer, good.data, good.n_bytes, &error));
    for (int i = 1; i < 300; i++) {
        CHECK_OK(stk_buffer_append(&longer, "x", 1, &error));
        stk_storage *s = NULL;
        CHECK_EQ(open_bytes(longer.data, longer.n_bytes, false, &s), STK_ERR_CORRUPT);
        stk_storage_close(&s);
    }
    stk_buffer_free(&longer);
}

/* How many records does salvage find? They must be whole ones, in order. */
static uint64_t salvage_count(const uint8_t *data, size_t n)
{
    stk_storage *s = NULL;
    if (open_bytes(data, n, true, &s) != STK_OK) return 0;
    uint64_t rows = s->n_rows, before = 0, whole = 0;
    for (uint64_t i = 0; i < rows; i++) {
        stk_row row;
        stk_value value;
        uint64_t number = 0;
        uint8_t want[300];
        CHECK_OK(s->ops->row(s, i, &row, &error));
        if (strstr(s->metadata, "salvaged") != NULL) {
            CHECK_OK(s->ops->value(s, 0, i, &number, sizeof number, &value, &error));
        } else {
            number = 100 + i;
        }
        CHECK(number >= 100 && number < 100 + ROWS && (i == 0 || number > before));
        CHECK_EQ(row.n_bytes, maker_payload(number, want, sizeof want));
        CHECK_EQ(row.label, (int64_t)(number % 3));
        /* An index that is whole is believed; its checksums then tell at each payload. */
        whole += stk_hash64(data + row.offset, (size_t)row.n_bytes) == row.xxh3;
        if (row.xxh3 == stk_hash64(want, (size_t)row.n_bytes))
            before = number;
        else
            CHECK(false);
    }
    stk_storage_close(&s);
    return whole;
}

static void salvage_cut_files(void)
{
    uint64_t whole = 0;
    stk_row rows[ROWS];
    stk_storage *s = NULL;
    CHECK_OK(open_bytes(good.data, good.n_bytes, false, &s));
    for (uint64_t i = 0; i < ROWS; i++)
        CHECK_OK(s->ops->row(s, i, &rows[i], &error));
    stk_storage_close(&s);
    for (size_t n = 0; n <= good.n_bytes; n++) {
        while (whole < ROWS && rows[whole].offset + rows[whole].n_bytes <= n)
            whole++;
        CHECK_EQ(salvage_count(good.data, n), whole);
    }
}

/* One flipped byte costs at most one record. */
static void salvage_flipped_bytes(void)
{
    for (size_t i = 0; i < good.n_bytes; i++) {
        uint8_t before = good.data[i];
        good.data[i] = before ^ 0x10;
        uint64_t found = salvage_count(good.data, good.n_bytes);
        if (found + 1 < ROWS) fprintf(stderr, "byte %zu flipped: %d records lost\n", i, ROWS - (int)found);
        CHECK(found + 1 >= ROWS);
        good.data[i] = before;
    }
}

static void salvage_without_tables(void)
{
    stk_storage *s = NULL;
    good.data[40] ^= 1; /* in the header */
    CHECK_OK(open_bytes(good.data, good.n_bytes, true, &s));
    if (s != NULL) {
        const uint8_t *blob;
        size_t n;
        CHECK_EQ(s->n_rows, ROWS);
        CHECK_EQ(s->n_table_sets, 0);
        CHECK_STATUS(s->ops->tables(s, 0, &blob, &n, &error), STK_ERR_ARGUMENT);
        stk_storage_close(&s);
    }
    good.data[40] ^= 1;
}

/* A malicious writer makes the checksums fit: each 4- and 8-byte field of each structure takes extreme
 * values. */
static void try_fixed(uint8_t *data, bool salvage)
{
    stk_storage *s = NULL;
    shard_fixup(data, good.n_bytes);
    if (open_bytes(data, good.n_bytes, false, &s) == STK_OK) {
        (void)storage_walk(s, 100);
        stk_storage_close(&s);
    }
    if (salvage && open_bytes(data, good.n_bytes, true, &s) == STK_OK) {
        (void)storage_walk(s, 100);
        stk_storage_close(&s);
    }
}

static void fields_with_extreme_values(void)
{
    static const uint64_t values[] = {
        0, 1, 7, 63, 64, UINT64_MAX, UINT64_MAX - 63, 1ull << 63, UINT32_MAX, 1ull << 32, 1ull << 31, 4096};
    uint8_t *data = malloc(good.n_bytes);
    stk_shard_trailer t;
    memcpy(&t, good.data + good.n_bytes - sizeof t, sizeof t);
    for (size_t at = 0; at + 8 <= good.n_bytes; at += 4) {
        bool head = at < 512; /* header, table directory, the first record's header: what salvage reads */
        if (!head && at < t.index_offset) continue;
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            for (size_t width = 4; width <= 8; width += 4) {
                memcpy(data, good.data, good.n_bytes);
                memcpy(data + at, &values[v], width);
                try_fixed(data, head);
            }
        }
        /* And small changes of what is there. */
        for (int delta = -1; delta <= 1; delta += 2) {
            memcpy(data, good.data, good.n_bytes);
            stk_store32(data + at, stk_load32(data + at) + (uint32_t)delta);
            try_fixed(data, head);
        }
    }
    free(data);
}

/* The fixing itself must be right, or the test above tests nothing. */
static void fixing_is_faithful(void)
{
    uint8_t *data = malloc(good.n_bytes);
    memcpy(data, good.data, good.n_bytes);
    shard_fixup(data, good.n_bytes);
    CHECK(memcmp(data, good.data, good.n_bytes) == 0);
    /* A number of records that does not fit passes the checksums and meets the size check. */
    stk_store64(data + good.n_bytes - sizeof(stk_shard_trailer) + offsetof(stk_shard_trailer, n_records), 10);
    shard_fixup(data, good.n_bytes);
    stk_storage *s = NULL;
    CHECK_EQ(open_bytes(data, good.n_bytes, false, &s), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "size of 10 records") != NULL);
    free(data);
}

static void shrinks_while_open(void)
{
    stk_storage *s = NULL;
    CHECK_OK(open_bytes(good.data, good.n_bytes, false, &s));
    if (ftruncate(file.fd, 1000) != 0) abort();
    walk_result r = storage_walk(s, UINT64_MAX);
    CHECK(r.n_errors > 0);
    stk_storage_close(&s);
}

int main(void)
{
    make_good();
    CHECK(error_or_same(good.data, good.n_bytes));
    RUN(fixing_is_faithful);
    RUN(every_byte_flipped);
    RUN(cut_at_every_length);
    RUN(longer_than_it_was);
    RUN(salvage_cut_files);
    RUN(salvage_flipped_bytes);
    RUN(salvage_without_tables);
    RUN(shrinks_while_open);
    RUN(fields_with_extreme_values);
    stk_buffer_free(&good);
    memory_file_close(&file);
    return check_exit();
}
