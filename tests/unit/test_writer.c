/* SPDX-License-Identifier: Apache-2.0
 *
 * The sample-by-sample writer against stk_pack of the same files, and what it refuses. */
#include <stoker/writer.h>

#include <dirent.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

enum { N_SMALL = 40 };

static stk_error error;

/* Two classes: photos of two sizes, small JPEGs that share tables, grey, PNG. */
static void make_source(tree *t)
{
    tree_make(t);
    picture_file(t, "s/cat/big.jpg", 300, 200, 1, 1);
    picture_file(t, "s/cat/turned.jpg", 300, 200, 2, 6);
    for (int i = 0; i < N_SMALL; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/dog/%03d.jpg", i);
        picture_file(t, name, 100, 80, (uint64_t)i + 10, 1);
    }
    picture_file(t, "s/dog/grey.pgm", 100, 80, 4, 1);
    picture_file(t, "s/dog/pic.png", 90, 70, 5, 1);
}

/* Adds every file of a packed folder, in its order, under its name and label. */
static void add_all(stk_writer *w, const tree *t, const char *packed)
{
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(packed, NULL, &d, &error));
    for (uint64_t i = 0; i < stk_dataset_len(d); i++) {
        stk_record_info info;
        char path[512], name[600];
        size_t n;
        CHECK_OK(stk_dataset_record(d, i, &info, &error));
        snprintf(path, sizeof path, "%.500s", record_path(d, i));
        snprintf(name, sizeof name, "s/%.500s", path);
        char *bytes = file_bytes(tree_path(t, name), &n);
        stk_item item = {.path = path, .data = bytes, .n_bytes = n, .label = info.label};
        CHECK_OK(stk_writer_add(w, &item, &error));
        free(bytes);
    }
    CHECK_EQ(stk_writer_len(w), stk_dataset_len(d));
    stk_dataset_close(&d);
}

static void check_same_bytes(const tree *t, const stk_pack_options *pack, const char *a, const char *b,
                             const char *const *files)
{
    static const char *const CLASSES[] = {"cat", "dog"};
    char packed[2048], written[2048];
    stk_writer_options options;
    stk_writer *w = NULL;
    stk_pack_report want, got;
    snprintf(packed, sizeof packed, "%s", tree_path(t, a));
    snprintf(written, sizeof written, "%s", tree_path(t, b));
    CHECK_OK(stk_pack(tree_path(t, "s"), packed, pack, &want, &error));
    stk_writer_options_init(&options);
    options.pack = pack;
    options.class_names = CLASSES;
    options.n_classes = 2;
    CHECK_OK(stk_writer_open(written, &options, &w, &error));
    add_all(w, t, packed);
    CHECK_OK(stk_writer_finish(w, &got, &error));
    stk_writer_close(&w);
    CHECK_EQ(got.records, want.records);
    CHECK(strcmp(got.dataset_id, want.dataset_id) == 0);
    for (; *files != NULL; files++) {
        char x[4096], y[4096];
        snprintf(x, sizeof x, "%s%s", packed, *files);
        snprintf(y, sizeof y, "%s%s", written, *files);
        CHECK(same_files(x, y));
    }
}

static void test_same_bytes(void)
{
    static const char *const ONE[] = {"", NULL};
    static const char *const SHARDS[] = {"00000.stk", "00001.stk", "dataset.json", NULL};
    tree t;
    make_source(&t);
    stk_pack_options pack;
    stk_pack_options_init(&pack);
    pack.force = true;
    for (int encode = STK_ENCODE_AUTO; encode <= STK_ENCODE_TILES; encode++) {
        pack.encode = (stk_encode)encode;
        check_same_bytes(&t, &pack, "a.stk", "b.stk", ONE);
    }
    pack.encode = STK_ENCODE_AUTO;
    pack.n_threads = 3;
    pack.shard_bytes = 1 << 16;
    check_same_bytes(&t, &pack, "a/", "b/", SHARDS);
    pack.resize = STK_RESIZE_EXACT;
    pack.resize_width = pack.resize_height = 48;
    check_same_bytes(&t, &pack, "a.stk", "b.stk", ONE);
    tree_remove(&t);
}

/* More samples than one batch holds; pixels, arrays and columns of every kind. */
static void test_kinds_and_columns(void)
{
    enum { N = 2500 };
    static const stk_column COLUMNS[] = {
        {.name = "number", .type = STK_TYPE_I32, .n_items = 1},
        {.name = "pair", .type = STK_TYPE_F32, .n_items = 2, .nullable = true},
        {.name = "some", .type = STK_TYPE_U16, .n_items = 0},
        {.name = "text", .type = STK_TYPE_STRING, .n_items = 1, .nullable = true},
    };
    tree t;
    tree_make(&t);
    stk_writer_options options;
    stk_writer *w = NULL;
    stk_writer_options_init(&options);
    options.columns = COLUMNS;
    options.n_columns = 4;
    options.metadata = "{\"made_by\": \"a test\"}";
    CHECK_OK(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error));
    for (int32_t i = 0; i < N; i++) {
        uint8_t pixels[4 * 5 * 3];
        float pair[2] = {(float)i, 0.5f};
        uint16_t some[3] = {(uint16_t)i, 1, 2};
        uint64_t shape[2] = {4, 15};
        memset(pixels, i % 251, sizeof pixels);
        stk_value values[] = {{.n_items = 1, .data = &i},
                              {.n_items = 2, .data = pair, .is_null = i % 7 == 0},
                              {.n_items = (size_t)i % 4, .data = some},
                              {.n_items = 3, .data = "abc", .is_null = i % 2 == 0}};
        stk_item item = {.data = pixels, .n_bytes = sizeof pixels, .label = i % 5 == 0 ? -1 : i, .values = values};
        if (i % 3 == 0) {
            item.kind = STK_ITEM_ARRAY;
            item.dtype = STK_TYPE_U8;
            item.n_dims = 2;
            item.shape = shape;
        } else {
            item.kind = STK_ITEM_PIXELS;
            item.width = 5;
            item.height = 4;
            item.channels = 3;
        }
        CHECK_OK(stk_writer_add(w, &item, &error));
    }
    stk_pack_report report;
    CHECK_OK(stk_writer_finish(w, &report, &error));
    CHECK_EQ(report.records, N);
    stk_writer_close(&w);

    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&t, "x.stk"), NULL, &d, &error));
    CHECK_EQ(stk_dataset_len(d), N);
    CHECK(strstr(stk_dataset_metadata(d), "\"made_by\":\"a test\"") != NULL);
    for (uint64_t i = 0; i < N; i += 7) {
        stk_record_info info;
        stk_value value;
        char path[32];
        int32_t number = -1;
        uint16_t some[4];
        CHECK_OK(stk_dataset_record(d, i, &info, &error));
        CHECK_EQ(info.encoding, i % 3 == 0 ? STK_ENCODING_ARRAY : STK_ENCODING_RAW);
        CHECK_EQ(info.label, i % 5 == 0 ? -1 : (int64_t)i);
        snprintf(path, sizeof path, "%08d", (int)i);
        CHECK(strcmp(record_path(d, i), path) == 0);
        CHECK_OK(stk_dataset_value(d, 1, i, &number, sizeof number, &value, &error));
        CHECK_EQ(number, (int32_t)i);
        CHECK_OK(stk_dataset_value(d, 3, i, some, sizeof some, &value, &error));
        CHECK_EQ(value.n_items, i % 4);
        CHECK(value.n_items == 0 || some[0] == i);
        CHECK_OK(stk_dataset_value(d, 4, i, path, sizeof path, &value, &error));
        CHECK_EQ(value.is_null, i % 2 == 0);
    }
    stk_dataset_close(&d);
    tree_remove(&t);
}

static int entries_in(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Bad items are refused and the writer goes on; what ends it leaves nothing behind. */
static void test_failures(void)
{
    static const char *const CLASSES[] = {"a", "b"};
    static const stk_column COLUMN = {.name = "n", .type = STK_TYPE_I64, .n_items = 1};
    static const stk_column TAKEN = {.name = "path", .type = STK_TYPE_I64, .n_items = 1};
    uint8_t pixels[12] = {0};
    int64_t seven = 7;
    stk_value value = {.n_items = 1, .data = &seven}, null = {.is_null = true}, two = {.n_items = 2, .data = &seven};
    stk_item good = {.kind = STK_ITEM_PIXELS, .data = pixels, .n_bytes = 12, .width = 2, .height = 2, .channels = 3,
                     .label = 1, .values = &value};
    tree t;
    tree_make(&t);
    stk_pack_options pack;
    stk_writer_options options;
    stk_writer *w = NULL;
    stk_pack_options_init(&pack);
    pack.on_bad = STK_BAD_FAIL;
    stk_writer_options_init(&options);
    options.pack = &pack;
    options.columns = &TAKEN;
    options.n_columns = 1;
    CHECK_STATUS(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error), STK_ERR_ARGUMENT);
    options.columns = &COLUMN;
    options.metadata = "{\"encoding\": 3}";
    CHECK_STATUS(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error), STK_ERR_ARGUMENT);
    options.metadata = NULL;
    options.class_names = CLASSES;
    options.n_classes = 2;
    CHECK_OK(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error));
    CHECK_STATUS(stk_writer_open(tree_path(&t, "x.stk"), &options, &(stk_writer *){NULL}, &error), STK_ERR_BUSY);
    stk_item bad[] = {good, good, good, good, good};
    bad[0].n_bytes = 11;
    bad[1].label = 2;
    bad[2].values = &null;
    bad[3].values = &two;
    bad[4].path = "";
    for (int i = 0; i < 5; i++) CHECK_STATUS(stk_writer_add(w, &bad[i], &error), STK_ERR_ARGUMENT);
    CHECK_OK(stk_writer_add(w, &good, &error));
    CHECK_EQ(stk_writer_len(w), 1);
    stk_item text = {.data = "no image", .n_bytes = 8, .path = "letter", .label = -1, .values = &value};
    CHECK_OK(stk_writer_add(w, &text, &error));
    CHECK_STATUS(stk_writer_finish(w, NULL, &error), STK_ERR_IMAGE);
    CHECK(strstr(error.text, "letter") != NULL);
    CHECK_STATUS(stk_writer_add(w, &good, &error), STK_ERR_STATE);
    stk_writer_close(&w);
    CHECK_EQ(entries_in(t.root), 0);

    /* Abandoned, and without a record. */
    CHECK_OK(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error));
    CHECK_OK(stk_writer_add(w, &good, &error));
    stk_writer_close(&w);
    CHECK_OK(stk_writer_open(tree_path(&t, "x.stk"), &options, &w, &error));
    CHECK_STATUS(stk_writer_finish(w, NULL, &error), STK_ERR_NOT_FOUND);
    stk_writer_close(&w);
    CHECK_EQ(entries_in(t.root), 0);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_same_bytes);
    RUN(test_kinds_and_columns);
    RUN(test_failures);
    return check_exit();
}
