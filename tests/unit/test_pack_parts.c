/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts packed apart and merged are, byte for byte, the whole; parts that do not make one are refused by name. */
#include <fcntl.h>

#include <stoker/merge.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static void make_source(tree *t)
{
    tree_make(t);
    for (int i = 0; i < 61; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/k\xe9\"%d/%02d.%s", i % 4, i, i % 3 == 0 ? "ppm" : "jpg");
        if (i % 10 == 7) tree_text(t, name, "broken");
        else picture_file(t, name, i % 2 == 0 ? 90 : 200, 120, (uint64_t)i, 1);
        struct timespec times[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
        CHECK(utimensat(AT_FDCWD, tree_path(t, name), times, 0) == 0);
    }
}

/* Packs n parts to p<k>.stk or p<k>/, and lists them from the last to the first. */
static void make_parts(const tree *t, const char *source, uint32_t n, bool folder, const stk_pack_options *options,
                       char paths[][600], const char **list)
{
    for (uint32_t k = 1; k <= n; k++) {
        stk_pack_options o = *options;
        o.part = k;
        o.n_parts = n;
        o.force = true;
        snprintf(paths[n - k], 600, "%s/p%u%s", t->root, k, folder ? "/" : ".stk");
        CHECK_OK(stk_pack(tree_path(t, source), paths[n - k], &o, NULL, &error));
        list[n - k] = paths[n - k];
    }
}

static void test_parts_equal_the_whole(void)
{
    tree t;
    make_source(&t);
    char paths[80][600];
    const char *list[80];
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        stk_pack_options options;
        stk_pack_options_init(&options);
        options.force = true;
        options.shuffle = shuffle == 1;
        options.shuffle_seed = 5;
        options.shard_bytes = 150000;
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "whole.stk"), &options, NULL, &error));
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "whole/"), &options, NULL, &error));
        static const uint32_t COUNTS[] = {1, 2, 3, 7, 70};
        for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
            stk_merge_options merge;
            stk_merge_report report;
            stk_merge_options_init(&merge);
            merge.force = true;
            merge.shard_bytes = options.shard_bytes;
            make_parts(&t, "s", COUNTS[c], c % 2 == 1, &options, paths, list);
            CHECK_OK(stk_merge(list, COUNTS[c], tree_path(&t, "m.stk"), &merge, &report, &error));
            CHECK_EQ(report.records, 55);
            CHECK(same_files(tree_path(&t, "m.stk"), tree_path(&t, "whole.stk")));
            CHECK(same_files(tree_path(&t, "m.stk.sources"), tree_path(&t, "whole.stk.sources")));
            CHECK(same_files(tree_path(&t, "m.stk.report.jsonl"), tree_path(&t, "whole.stk.report.jsonl")));
            CHECK_OK(stk_merge(list, COUNTS[c], tree_path(&t, "m/"), &merge, &report, &error));
            char command[1200];
            snprintf(command, sizeof command, "diff -r '%s/m' '%s/whole' >&2", t.root, t.root);
            CHECK(system(command) == 0);
        }
    }
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

static void test_manifest_parts(void)
{
    tree t;
    make_source(&t);
    char text[8192] = "path,label,score,note,box\n";
    for (int i = 0; i < 61; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%02d,%s,%s,note %d,\"%d,2\"\n", i, i % 2 == 0 ? "x" : "y",
                 i % 5 == 0 ? "" : "0.5", i % 3, i);
    }
    tree_text(&t, "s/m.csv", text);
    stk_pack_options options;
    stk_pack_options_init(&options);
    static const char *const TYPES[] = {"box:float32[]"};
    options.column_types = TYPES;
    options.n_column_types = 1;
    char paths[4][600];
    const char *list[4];
    CHECK_OK(stk_pack(tree_path(&t, "s/m.csv"), tree_path(&t, "whole.stk"), &options, NULL, &error));
    make_parts(&t, "s/m.csv", 4, false, &options, paths, list);
    CHECK_OK(stk_merge(list, 4, tree_path(&t, "m.stk"), NULL, NULL, &error));
    CHECK(same_files(tree_path(&t, "m.stk"), tree_path(&t, "whole.stk")));
    CHECK(same_files(tree_path(&t, "m.stk.report.jsonl"), tree_path(&t, "whole.stk.report.jsonl")));
    tree_remove(&t);
}

static void test_refusals(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    char paths[8][600], other[600];
    const char *list[8];
    make_parts(&t, "s", 8, false, &options, paths, list);
    const char *dst = tree_path(&t, "m.stk");
    static char m[600];
    snprintf(m, sizeof m, "%s", dst);

    CHECK_STATUS(stk_merge(list, 7, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "of 8 parts: part 1 is missing") != NULL);
    CHECK_STATUS(stk_merge(list + 3, 5, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "parts 6 to 8 are missing") != NULL);
    const char *doubled[] = {list[0], list[2], list[2], list[4], list[5], list[6], list[7]};
    CHECK_STATUS(stk_merge(doubled, 7, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "part 5 is missing") != NULL && strstr(error.text, "part 7 is missing") != NULL &&
          strstr(error.text, "part 6 is there twice") != NULL);

    /* Another source list, other parameters, no part at all. */
    stk_pack_options o = options;
    o.part = 3;
    o.n_parts = 8;
    o.encode = STK_ENCODE_KEEP;
    snprintf(other, sizeof other, "%s/other.stk", t.root);
    CHECK_OK(stk_pack(tree_path(&t, "s"), other, &o, NULL, &error));
    const char *right = list[5];
    list[5] = other;
    CHECK_STATUS(stk_merge(list, 8, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "not parts of the same pack") != NULL && strstr(error.text, "other.stk") != NULL);
    o = options;
    o.force = true;
    CHECK_OK(stk_pack(tree_path(&t, "s"), other, &o, NULL, &error));
    CHECK_STATUS(stk_merge(list, 8, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "other.stk: is no part") != NULL);
    o.part = 3;
    o.n_parts = 8;
    tree_text(&t, "s/k\xe9\"1/new.txt", "one file more");
    CHECK_OK(stk_pack(tree_path(&t, "s"), other, &o, NULL, &error));
    CHECK_STATUS(stk_merge(list, 8, m, NULL, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "other.stk") != NULL);
    list[5] = right;

    CHECK(!tree_has(&t, "m.stk"));
    tree_text(&t, "m.stk", "mine");
    CHECK_STATUS(stk_merge(list, 8, m, NULL, NULL, &error), STK_ERR_EXISTS);
    unlink(m);

    /* A damaged record is not copied. */
    stk_dataset *d;
    stk_record_info info;
    CHECK_OK(stk_dataset_open(list[2], NULL, &d, &error));
    CHECK_OK(stk_dataset_record(d, 1, &info, &error));
    stk_dataset_close(&d);
    int fd = open(list[2], O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, "?!", 2, (off_t)info.offset + 20) == 2);
    close(fd);
    CHECK_STATUS(stk_merge(list, 8, m, NULL, NULL, &error), STK_ERR_CHECKSUM);
    CHECK(strstr(error.text, "p6.stk: record 1") != NULL);
    CHECK(!tree_has(&t, "m.stk"));
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

/* Without the parts' lists the records are merged all the same, and no list of another output stays beside. */
static void test_without_lists(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    char paths[3][600];
    const char *list[3];
    make_parts(&t, "s", 3, false, &options, paths, list);
    unlink(tree_path(&t, "p2.stk.sources"));
    tree_text(&t, "m.stk.sources", "of something else");
    CHECK_OK(stk_merge(list, 3, tree_path(&t, "m.stk"), NULL, NULL, &error));
    CHECK(!tree_has(&t, "m.stk.sources"));
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "whole.stk"), &options, NULL, &error));
    CHECK(same_files(tree_path(&t, "m.stk"), tree_path(&t, "whole.stk")));
    tree_remove(&t);
}

int main(void)
{
    RUN(test_parts_equal_the_whole);
    RUN(test_manifest_parts);
    RUN(test_refusals);
    RUN(test_without_lists);
    return check_exit();
}
