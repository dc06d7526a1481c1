/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of shards: read as one, opened lazily, and refused when its parts do not belong together. */
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/json.h"
#include "format/folder.h"
#include "format/storage.h"
#include "support/check.h"
#include "support/shard_maker.h"
#include "support/storage_walk.h"
#include "support/temporary.h"

enum { SHARDS = 3 };
static const uint64_t counts[SHARDS] = {5, 4100, 7};

static stk_error error;
static const char *folder;
static char folder_id[33];

static const char *in_folder(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "set/%s", name);
    return temporary(path);
}

static void write_manifest(const stk_folder_info *info)
{
    stk_buffer text = {0};
    CHECK_OK(stk_folder_manifest(info, &text, folder_id, &error));
    CHECK_OK(stk_write_file_atomic(in_folder(STK_FOLDER_MANIFEST), text.data, text.n_bytes, &error));
    stk_buffer_free(&text);
}

/* Shards 0 and 1 share their table sets, shard 2 brings its own. */
static void make_folder(void)
{
    stk_folder_shard shards[SHARDS];
    char ids[SHARDS][33], names[SHARDS][32];
    uint64_t first = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        struct stat st;
        stk_folder_shard_name(i, names[i]);
        maker_shard(in_folder(names[i]), MAKER_COLUMNS, first, counts[i], ids[i]);
        CHECK_EQ(stat(in_folder(names[i]), &st), 0);
        shards[i] = (stk_folder_shard){.file = names[i],
                                       .n_records = counts[i],
                                       .n_bytes = (uint64_t)st.st_size,
                                       .id = ids[i],
                                       .first_table_set = i == 2 ? 2 : 0,
                                       .n_table_sets = 2};
        first += counts[i];
    }
    write_manifest(&(stk_folder_info){.shards = shards,
                                      .n_shards = SHARDS,
                                      .columns = maker_columns,
                                      .n_columns = MAKER_COLUMNS,
                                      .has_labels = true,
                                      .metadata = maker_metadata});
}

static stk_storage *open_folder(void)
{
    stk_storage *s = NULL;
    CHECK_OK(stk_storage_open(folder, NULL, &s, &error));
    return s;
}

static void reads_as_one(void)
{
    stk_storage *s = open_folder();
    if (s == NULL) return;
    CHECK_EQ(s->n_rows, 5 + 4100 + 7);
    CHECK_EQ(s->n_files, SHARDS);
    CHECK_EQ(s->n_table_sets, 4);
    CHECK_EQ(s->n_classes, 3);
    CHECK(strcmp(s->ops->name, "stk-folder") == 0);
    CHECK(strcmp(s->id, folder_id) == 0);
    CHECK(strcmp(s->metadata, maker_metadata) == 0);
    CHECK(strcmp(s->class_names[2], "\xc3(") == 0);
    for (uint64_t i = 0; i < s->n_rows; i++) {
        stk_row row;
        stk_value value;
        static maker_value want;
        uint8_t buffer[256];
        CHECK_OK(s->ops->row(s, i, &row, &error));
        CHECK_EQ(row.width, i + 1);
        CHECK_EQ(row.file, i < 5 ? 0 : i < 4105 ? 1 : 2);
        CHECK_EQ(row.tables, i % 4 != 2 ? 0 : row.file == 2 ? 3 : 1);
        maker_fill(&want, 0, i);
        CHECK_OK(s->ops->value(s, 0, i, buffer, sizeof buffer, &value, &error));
        CHECK(value.n_bytes == want.cell.n_items && memcmp(buffer, want.data.bytes, value.n_bytes) == 0);
        CHECK_OK(s->ops->check_record(s, i, &error));
    }
    const uint8_t *blob;
    size_t n_bytes;
    for (uint32_t t = 0; t < 4; t++) {
        CHECK_OK(s->ops->tables(s, t, &blob, &n_bytes, &error));
        CHECK_EQ(n_bytes, t % 2 == 0 ? 100 : 11);
    }
    CHECK_STATUS(s->ops->tables(s, 4, &blob, &n_bytes, &error), STK_ERR_ARGUMENT);
    walk_result r = storage_walk(s, UINT64_MAX);
    CHECK_EQ(r.n_errors, 0);
    CHECK_EQ(r.n_findings, 0);
    stk_storage_close(&s);
}

static void trailing_slashes(void)
{
    char path[300];
    stk_storage *s = NULL;
    snprintf(path, sizeof path, "%s//", folder);
    CHECK_OK(stk_storage_open(path, NULL, &s, &error));
    stk_row row;
    if (s != NULL) CHECK_OK(s->ops->row(s, 4200 - 100, &row, &error));
    stk_storage_close(&s);
}

/* Opening touches dataset.json only: shards that are missing or damaged hurt when they are needed. */
static void shards_are_opened_lazily(void)
{
    const char *name = in_folder("00001.stk"), *away = temporary("away.stk");
    CHECK_EQ(rename(name, away), 0);
    stk_storage *s = open_folder();
    stk_row row;
    CHECK_OK(s->ops->row(s, 4, &row, &error));
    CHECK_STATUS(s->ops->row(s, 5, &row, &error), STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "00001.stk") != NULL);
    CHECK_OK(s->ops->row(s, 4105, &row, &error));
    walk_result r = storage_walk(s, 1);
    CHECK_EQ(r.n_findings, 1);
    CHECK_EQ(rename(away, name), 0);
    CHECK_OK(s->ops->row(s, 5, &row, &error));
    stk_storage_close(&s);
}

/* Sound shards in the wrong place. */
static void swapped_shards_are_refused(void)
{
    const char *a = in_folder("00000.stk"), *c = in_folder("00002.stk"), *away = temporary("away.stk");
    CHECK(rename(a, away) == 0 && rename(c, a) == 0 && rename(away, c) == 0);
    stk_storage *s = open_folder();
    stk_row row;
    CHECK_STATUS(s->ops->row(s, 0, &row, &error), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "does not belong to this data set (its id is another") != NULL);
    walk_result r = storage_walk(s, 1);
    CHECK_EQ(r.n_findings, 2);
    stk_storage_close(&s);
    CHECK(rename(a, away) == 0 && rename(c, a) == 0 && rename(away, c) == 0);
}

static void not_a_data_set(void)
{
    stk_storage *s = NULL;
    const char *empty = temporary("empty");
    CHECK_EQ(mkdir(empty, 0700), 0);
    CHECK_STATUS(stk_storage_open(empty, NULL, &s, &error), STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "without dataset.json") != NULL);
    CHECK_STATUS(stk_storage_open(temporary("nothing"), NULL, &s, &error), STK_ERR_NOT_FOUND);
    CHECK_STATUS(stk_storage_open("/dev/null", NULL, &s, &error), STK_ERR_UNSUPPORTED);
}

/* Puts text in the place of dataset.json, its checksum made to fit when asked for, and opens. */
static stk_status open_text(const char *text, size_t n, bool seal)
{
    stk_buffer b = {0};
    stk_storage *s = NULL;
    CHECK_OK(stk_buffer_append(&b, text, n, &error));
    if (seal)
        CHECK_OK(stk_buffer_printf(&b, &error, ",\n\"xxh3\":\"%016llx\"}\n",
                                   (unsigned long long)stk_hash64(b.data, b.n_bytes)));
    FILE *f = fopen(in_folder(STK_FOLDER_MANIFEST), "wb");
    CHECK(f != NULL && fwrite(b.data, 1, b.n_bytes, f) == b.n_bytes && fclose(f) == 0);
    stk_status status = stk_storage_open(folder, NULL, &s, &error);
    if (status == STK_OK) (void)storage_walk(s, 20);
    stk_storage_close(&s);
    stk_buffer_free(&b);
    return status;
}

static void every_manifest_byte_counts(void)
{
    stk_buffer b = {0};
    CHECK_OK(stk_file_read_all(in_folder(STK_FOLDER_MANIFEST), 1 << 20, &b, &error));
    for (size_t i = 0; i < b.n_bytes; i++) {
        b.data[i] ^= 1;
        stk_status status = open_text((const char *)b.data, b.n_bytes, false);
        if (status != STK_ERR_CORRUPT && status != STK_ERR_VERSION) fprintf(stderr, "byte %zu\n", i);
        CHECK(status == STK_ERR_CORRUPT || status == STK_ERR_VERSION);
        b.data[i] ^= 1;
        CHECK(open_text((const char *)b.data, i, false) == STK_ERR_CORRUPT);
    }
    CHECK_OK(open_text((const char *)b.data, b.n_bytes, false));
    stk_buffer_free(&b);
}

/* The text of dataset.json up to its checksum, with one piece replaced by another. */
static stk_status open_replaced(const stk_buffer *text, const char *from, const char *to)
{
    stk_buffer b = {0};
    char *place = strstr((const char *)text->data, from);
    CHECK(place != NULL);
    if (place == NULL) return STK_OK;
    size_t before = (size_t)(place - (const char *)text->data);
    CHECK_OK(stk_buffer_append(&b, text->data, before, &error));
    CHECK_OK(stk_buffer_append(&b, to, strlen(to), &error));
    CHECK_OK(stk_buffer_append(&b, place + strlen(from), text->n_bytes - before - strlen(from), &error));
    stk_status status = open_text((const char *)b.data, b.n_bytes, true);
    stk_buffer_free(&b);
    return status;
}

/* Edited by somebody who can compute checksums. */
static void hostile_manifests(void)
{
    static const struct {
        const char *from, *to, *part;
        stk_status status;
    } cases[] = {
        {"\"00001.stk\"", "\"../00001.stk\"", "file name", STK_ERR_CORRUPT},
        {"\"00001.stk\"", "\"/etc/passwd\"", "file name", STK_ERR_CORRUPT},
        {"\"00001.stk\"", "\".hidden\"", "file name", STK_ERR_CORRUPT},
        {"\"00001.stk\"", "7", "file name", STK_ERR_CORRUPT},
        {"\"version\":[1,0]", "\"version\":[2,0]", "format version 2", STK_ERR_VERSION},
        {"\"version\":[1,0]", "\"version\":[1,9]", "", STK_OK},
        {"\"version\":[1,0]", "\"version\":7", "no version", STK_ERR_CORRUPT},
        {"\"needs\":[]", "\"needs\":[\"encryption\"]", "'encryption'", STK_ERR_VERSION},
        {"stoker-dataset", "else", "does not describe", STK_ERR_CORRUPT},
        {"\"records\":4100", "\"records\":4101", "not the shards' sum", STK_ERR_CORRUPT},
        {"\"records\":4100", "\"records\":-4100", "not whole", STK_ERR_CORRUPT},
        {"\"records\":4100", "\"records\":18446744073709551615", "overflow", STK_ERR_CORRUPT},
        {"\"records\":4100", "\"records\":9223372036854775807", "overflow", STK_ERR_CORRUPT},
        {"\"table_sets\":2", "\"table_sets\":65537", "not whole", STK_ERR_CORRUPT},
        {"\"type\":\"int16\"", "\"type\":\"complex\"", "type 'complex'", STK_ERR_VERSION},
        {"\"type\":\"int16\"", "\"type\":16", "not whole", STK_ERR_CORRUPT},
        {"\"items\":3", "\"items\":4294967295", "contradicts", STK_ERR_CORRUPT},
        {"\"name\":\"flag\"", "\"name\":\"\"", "not whole", STK_ERR_CORRUPT},
        {"\"name\":\"flag\"", "\"name\":\"a\\u0000b\"", "not whole", STK_ERR_CORRUPT},
        {"\"name\":\"flag\"", "\"name\":\"\\udcff\"", "not whole", STK_ERR_CORRUPT},
        {"\"classes\":[", "\"classes\":[7,", "class 0", STK_ERR_CORRUPT},
        {"\"labels\":true", "\"labels\":1", "'labels'", STK_ERR_CORRUPT},
        {"\"later\":1", "\"later\":2", "", STK_OK},
    };
    stk_buffer text = {0};
    CHECK_OK(stk_file_read_all(in_folder(STK_FOLDER_MANIFEST), 1 << 20, &text, &error));
    text.n_bytes -= 29;
    /* A member that this version does not know is not its business. */
    CHECK_OK(stk_buffer_printf(&text, &error, ",\"later\":1"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(open_replaced(&text, cases[i].from, cases[i].to), cases[i].status);
        bool said = cases[i].status == STK_OK || strstr(error.text, cases[i].part) != NULL;
        if (!said) fprintf(stderr, "%s: %s\n", cases[i].to, error.text);
        CHECK(said);
    }
    stk_buffer_free(&text);
    make_folder();
}

static void same_folder_same_text(void)
{
    stk_buffer a = {0}, b = {0};
    CHECK_OK(stk_file_read_all(in_folder(STK_FOLDER_MANIFEST), 1 << 20, &a, &error));
    make_folder();
    CHECK_OK(stk_file_read_all(in_folder(STK_FOLDER_MANIFEST), 1 << 20, &b, &error));
    CHECK(a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0);
    stk_json *root = NULL;
    CHECK_OK(stk_json_parse((const char *)a.data, a.n_bytes, &root, &error));
    CHECK_EQ(stk_json_len(stk_json_get(root, "shards")), SHARDS);
    stk_json_close(&root);
    stk_buffer_free(&a);
    stk_buffer_free(&b);
}

static void writer_refuses_nonsense(void)
{
    stk_buffer text = {0};
    char id[33];
    stk_folder_shard shard = {.file = "a/b.stk", .id = "00000000000000000000000000000000"};
    stk_folder_info info = {.shards = &shard, .n_shards = 1, .metadata = "{}"};
    CHECK_STATUS(stk_folder_manifest(&info, &text, id, &error), STK_ERR_ARGUMENT);
    shard.file = "b.stk";
    shard.id = "0000000000000000000000000000000G";
    CHECK_STATUS(stk_folder_manifest(&info, &text, id, &error), STK_ERR_ARGUMENT);
    CHECK_EQ(text.n_bytes, 0);
}

int main(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", temporary("set"));
    folder = path;
    if (mkdir(folder, 0700) != 0) return 1;
    make_folder();
    RUN(reads_as_one);
    RUN(trailing_slashes);
    RUN(shards_are_opened_lazily);
    RUN(swapped_shards_are_refused);
    RUN(not_a_data_set);
    RUN(every_manifest_byte_counts);
    RUN(same_folder_same_text);
    RUN(hostile_manifests);
    RUN(writer_refuses_nonsense);
    return check_exit();
}
