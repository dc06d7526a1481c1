/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer refuses, and what it leaves behind when something fails. */
#include <signal.h>
#include <sys/resource.h>

#include "common/file.h"
#include "format/dictionary.h"
#include "format/layout.h"
#include "format/storage.h"
#include "support/check.h"
#include "support/shard_maker.h"
#include "support/temporary.h"

static stk_error error;

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static stk_record plain_record(const stk_cell *cells)
{
    return (stk_record){.payload = (const uint8_t *)"abc",
                        .n_bytes = 3,
                        .xxh3 = stk_hash64("abc", 3),
                        .label = -1,
                        .width = 1,
                        .height = 1,
                        .encoding = STK_ENCODING_PNG,
                        .orientation = 1,
                        .channels = 3,
                        .cells = cells};
}

static void an_existing_file_stays(void)
{
    const char *path = temporary("there.stk");
    stk_shard_writer_options options = {0};
    stk_shard_writer *w = NULL;
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs("mine", f) >= 0 && fclose(f) == 0);
    CHECK_STATUS(stk_shard_writer_open(path, &options, &w, &error), STK_ERR_EXISTS);
    CHECK(w == NULL);
    CHECK(exists(path));
    CHECK_STATUS(stk_shard_writer_open(temporary("no/such/folder.stk"), &options, &w, &error),
                 STK_ERR_NOT_FOUND);
}

static void unfinished_files_go(void)
{
    const char *path = temporary("unfinished.stk");
    stk_shard_writer_options options = {0};
    stk_shard_writer *w = NULL;
    CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
    CHECK(exists(path));
    stk_shard_writer_close(&w);
    CHECK(w == NULL);
    CHECK(!exists(path));
}

static void bad_columns(void)
{
    static const struct {
        stk_column column;
        const char *part;
    } cases[] = {
        {{.name = "", .type = STK_TYPE_I8, .n_items = 1}, "not empty"},
        {{.name = NULL, .type = STK_TYPE_I8, .n_items = 1}, "not empty"},
        {{.name = "\xff", .type = STK_TYPE_I8, .n_items = 1}, "UTF-8"},
        {{.name = "x", .type = (stk_type)15, .n_items = 1}, "unknown type"},
        {{.name = "x", .type = STK_TYPE_STRING, .n_items = 3}, "arrays of string"},
        {{.name = "x", .type = STK_TYPE_I8, .n_items = 1, .dictionary = true}, "dictionaries"},
        {{.name = "x", .type = STK_TYPE_F64, .n_items = 1u << 30}, "4 GiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stk_shard_writer_options options = {.columns = &cases[i].column, .n_columns = 1};
        stk_shard_writer *w = NULL;
        CHECK_STATUS(stk_shard_writer_open(temporary("bad.stk"), &options, &w, &error), STK_ERR_ARGUMENT);
        CHECK(strstr(error.text, cases[i].part) != NULL);
        CHECK(!exists(temporary("bad.stk")));
    }
    static const stk_column twice[2] = {{.name = "x", .type = STK_TYPE_I8, .n_items = 1},
                                        {.name = "x", .type = STK_TYPE_I16, .n_items = 1}};
    stk_shard_writer_options options = {.columns = twice, .n_columns = 2};
    stk_shard_writer *w = NULL;
    CHECK_STATUS(stk_shard_writer_open(temporary("bad.stk"), &options, &w, &error), STK_ERR_ARGUMENT);
}

/* A refused record changes nothing: the shard goes on and is whole. */
static void bad_records_leave_no_trace(void)
{
    static const stk_column columns[3] = {{.name = "n", .type = STK_TYPE_I32, .n_items = 2},
                                          {.name = "s", .type = STK_TYPE_STRING, .n_items = 1},
                                          {.name = "b", .type = STK_TYPE_BOOL, .n_items = 1}};
    static const int32_t pair[2] = {1, 2};
    stk_cell cells[3] = {
        {.data = pair, .n_items = 2}, {.data = "text", .n_items = 4}, {.data = "\1", .n_items = 1}};
    char ids[2][33];
    for (int with_bad = 0; with_bad < 2; with_bad++) {
        const char *path = temporary(with_bad ? "with.stk" : "without.stk");
        stk_shard_writer_options options = {.columns = columns, .n_columns = 3};
        stk_shard_writer *w = NULL;
        CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
        stk_record r = plain_record(cells);
        CHECK_OK(stk_shard_writer_add(w, &r, NULL, &error));
        for (int bad = 0; with_bad && bad < 9; bad++) {
            stk_cell other[3] = {cells[0], cells[1], cells[2]};
            stk_record b = plain_record(other);
            if (bad == 0) other[0].n_items = 3;
            if (bad == 1) other[0].is_null = true;
            if (bad == 2) other[1].data = "\xc3(";
            if (bad == 3) other[1].data = NULL;
            if (bad == 4) other[2].data = "\2";
            if (bad == 5) b.encoding = STK_ENCODING_UNKNOWN;
            if (bad == 6) b.orientation = 9;
            if (bad == 7) b.tables = 1;
            if (bad == 8) b.encoding = STK_ENCODING_RAW, b.width = 2;
            CHECK_STATUS(stk_shard_writer_add(w, &b, NULL, &error), STK_ERR_ARGUMENT);
        }
        CHECK_STATUS(stk_shard_writer_finish(w, "[1]", ids[with_bad], &error), STK_ERR_ARGUMENT);
        CHECK_STATUS(stk_shard_writer_finish(w, "{\"a\":}", ids[with_bad], &error), STK_ERR_ARGUMENT);
        CHECK_OK(stk_shard_writer_finish(w, "{\"a\":1}", ids[with_bad], &error));
        CHECK_STATUS(stk_shard_writer_add(w, &r, NULL, &error), STK_ERR_STATE);
        CHECK_STATUS(stk_shard_writer_finish(w, "{}", ids[with_bad], &error), STK_ERR_STATE);
        stk_shard_writer_close(&w);
        CHECK(exists(path));
    }
    CHECK(strcmp(ids[0], ids[1]) == 0);
}

static void write_until_full(stk_shard_writer *w, uint8_t *payload, size_t n)
{
    stk_status status = STK_OK;
    stk_record r = plain_record(NULL);
    r.payload = payload;
    r.n_bytes = n;
    for (int i = 0; i < 1000 && status == STK_OK; i++)
        status = stk_shard_writer_add(w, &r, NULL, &error);
    CHECK_EQ(status, STK_ERR_IO);
    CHECK(strstr(error.text, "full.stk: writing at byte") != NULL);
    char id[33];
    CHECK_STATUS(stk_shard_writer_add(w, &r, NULL, &error), STK_ERR_STATE);
    CHECK_STATUS(stk_shard_writer_finish(w, "{}", id, &error), STK_ERR_STATE);
}

/* A file-size limit stands for the full disk: small records (gathered) and large ones (direct). */
static void a_failed_write_leaves_nothing(void)
{
    struct rlimit old, limit;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 3 << 20;
    static uint8_t payload[400000];
    static const size_t sizes[] = {50000, 400000};
    for (size_t k = 0; k < 2; k++) {
        const char *path = temporary("full.stk");
        stk_shard_writer_options options = {0};
        stk_shard_writer *w = NULL;
        CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        write_until_full(w, payload, sizes[k]);
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
        stk_shard_writer_close(&w);
        CHECK(!exists(path));
    }
}

/* The end of the shard (index, trailer) may be what no longer fits. */
static void a_failed_finish_leaves_nothing(void)
{
    struct rlimit old, limit;
    const char *path = temporary("full.stk");
    char id[33];
    stk_shard_writer *w = maker_open(path, 1, 0);
    maker_add(w, 1, 0, 100);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = stk_shard_writer_bytes(w) + 100;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_STATUS(stk_shard_writer_finish(w, "{}", id, &error), STK_ERR_IO);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    stk_shard_writer_close(&w);
    CHECK(!exists(path));
}

static void dictionaries_have_limits(void)
{
    stk_dictionary d = {0};
    uint32_t code = 0;
    char text[16];
    for (uint32_t i = 0; i < STK_DICTIONARY_MAX_ENTRIES; i++) {
        int n = snprintf(text, sizeof text, "%u", i);
        if (stk_dictionary_code(&d, text, (size_t)n, &code, &error) != STK_OK || code != i) CHECK(false);
    }
    CHECK_OK(stk_dictionary_code(&d, "77777", 5, &code, &error));
    CHECK_EQ(code, 77777);
    CHECK_STATUS(stk_dictionary_code(&d, "new", 3, &code, &error), STK_ERR_LIMIT);
    stk_dictionary_free(&d);
    CHECK_OK(stk_dictionary_code(&d, NULL, 0, &code, &error));
    CHECK_OK(stk_dictionary_code(&d, "", 0, &code, &error));
    CHECK_EQ(d.n_entries, 1);
    stk_dictionary_free(&d);
}

/* Tables in front, records at multiples of 64, everything else in its order: as docs/format.md says. */
static void layout_is_as_documented(void)
{
    char id[33];
    const char *path = temporary("layout.stk");
    stk_buffer b = {0};
    maker_shard(path, 2, 7, 3, id);
    CHECK_OK(stk_file_read_all(path, 1 << 20, &b, &error));
    CHECK_EQ(stk_load64(b.data + 32), 7); /* first_record */
    uint64_t records = stk_load64(b.data + 40);
    CHECK_EQ(records, 448); /* 192 + 48, set 0 at 256, set 1 at 384 */
    CHECK(memcmp(b.data + 384, "second set", 11) == 0);
    CHECK(memcmp(b.data + records, stk_record_magic, 4) == 0);
    CHECK_EQ(stk_load64(b.data + records + 8), 7); /* the record's number */
    const uint8_t *trailer = b.data + b.n_bytes - 192;
    CHECK(memcmp(trailer + 184, stk_shard_end_magic, 8) == 0);
    uint64_t index = stk_load64(trailer);
    CHECK_EQ(index % 64, 0);
    CHECK(memcmp(b.data + index, stk_unit_magic, 4) == 0);
    CHECK_EQ(stk_load64(trailer + 8), 16 + 3 * 48 + 8 + 16 + 3 * 16 + 8 + 16 + 8 + 8 + 8);
    CHECK_EQ(stk_load64(trailer + 64), 3);
    CHECK_EQ(stk_load64(trailer + 136), b.n_bytes);
    stk_buffer_free(&b);
}

int main(void)
{
    RUN(an_existing_file_stays);
    RUN(unfinished_files_go);
    RUN(bad_columns);
    RUN(bad_records_leave_no_trace);
    RUN(a_failed_write_leaves_nothing);
    RUN(a_failed_finish_leaves_nothing);
    RUN(dictionaries_have_limits);
    RUN(layout_is_as_documented);
    return check_exit();
}
