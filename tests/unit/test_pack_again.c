/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing again: what has not changed is taken from the output that is there, and the result is, byte for byte,
 * that of a fresh pack. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

/* Sets a file's time to long ago, `age` seconds apart, so that it tells. */
static void make_old(const tree *t, const char *name, int age)
{
    struct timespec times[2] = {{.tv_sec = 1600000000 - age}, {.tv_sec = 1600000000 - age}};
    CHECK(utimensat(AT_FDCWD, tree_path(t, name), times, 0) == 0);
}

static void put_picture(const tree *t, const char *name, uint32_t width, uint32_t height, uint64_t seed, int age)
{
    picture_file(t, name, width, height, seed, 1);
    make_old(t, name, age);
}

/* 90 files: large and small JPEGs, PPMs, a broken one, a text. */
static void make_source(tree *t)
{
    tree_make(t);
    char name[64];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "s/a/%02d.jpg", i);
        put_picture(t, name, 300, 200, (uint64_t)i, i);
        snprintf(name, sizeof name, "s/b/%02d.jpg", i);
        put_picture(t, name, 90, 80, (uint64_t)i + 100, i);
        snprintf(name, sizeof name, "s/c/%02d.ppm", i);
        put_picture(t, name, 40, 30, (uint64_t)i + 200, i);
    }
    tree_text(t, "s/c/broken.jpg", "\xff\xd8\xff\xe0 nothing more");
    make_old(t, "s/c/broken.jpg", 1);
    tree_text(t, "s/c/readme.txt", "text");
    make_old(t, "s/c/readme.txt", 1);
}

static stk_pack_report pack_as(const tree *t, const char *dst, const stk_pack_options *options)
{
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(t, "s"), tree_path(t, dst), options, &report, &error));
    return report;
}

/* Packs to o.stk (again) and to a new file, and compares. */
static stk_pack_report pack_and_compare(const tree *t, const stk_pack_options *options)
{
    stk_pack_options fresh = *options;
    fresh.resume = false;
    stk_pack_report report = pack_as(t, "o.stk", options);
    stk_pack_report from_nothing = pack_as(t, "fresh.stk", &fresh);
    CHECK_EQ(from_nothing.reused, 0);
    CHECK(same_files(tree_path(t, "o.stk"), tree_path(t, "fresh.stk")));
    CHECK(same_files(tree_path(t, "o.stk.report.jsonl"), tree_path(t, "fresh.stk.report.jsonl")));
    CHECK(same_files(tree_path(t, "o.stk.sources"), tree_path(t, "fresh.stk.sources")));
    return report;
}

static void test_changes(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 90);

    put_picture(&t, "s/a/03.jpg", 310, 200, 999, 50); /* other content */
    put_picture(&t, "s/a/99.jpg", 300, 200, 998, 50); /* new */
    unlink(tree_path(&t, "s/c/07.ppm"));
    put_picture(&t, "s/c/broken.jpg", 50, 50, 997, 50); /* mended */
    stk_pack_report report = pack_and_compare(&t, &options);
    CHECK_EQ(report.records, 91);
    CHECK_EQ(report.reused, 88);
    CHECK_EQ(report.skipped, 0);

    /* A file only touched is known by its content. */
    make_old(&t, "s/a/04.jpg", 1234);
    make_old(&t, "s/b/04.jpg", 1234);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 91);

    /* Another file among those that the shared tables are made of: then all small tiles are made anew. */
    put_picture(&t, "s/b/05.jpg", 91, 80, 12345, 60);
    report = pack_and_compare(&t, &options);
    CHECK_EQ(report.reused, 61);
    tree_remove(&t);
}

/* Unchanged size and time mean unchanged content, so files are not even opened, unless rehash asks. */
static void test_rehash(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    pack_as(&t, "o.stk", &options);
    size_t n;
    char *before = file_bytes(tree_path(&t, "o.stk"), &n);
    free(before);
    int fd = open(tree_path(&t, "s/c/03.ppm"), O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, "\x01\x02\x03", 3, 100) == 3);
    close(fd);
    make_old(&t, "s/c/03.ppm", 3);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "again.stk"), &options, NULL, &error));
    stk_pack_report report = pack_as(&t, "o.stk", &options);
    CHECK_EQ(report.reused, 90);
    CHECK(!same_files(tree_path(&t, "o.stk"), tree_path(&t, "again.stk")));
    options.rehash = true;
    CHECK_EQ(pack_and_compare(&t, &options).reused, 89);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "again.stk")));
    tree_remove(&t);
}

/* A file changed just now may change again without its time telling: the content decides next time. */
static void test_fresh_files(void)
{
    tree t;
    tree_make(&t);
    picture_file(&t, "s/1.ppm", 40, 30, 1, 1);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    pack_as(&t, "o.stk", &options);
    struct stat st;
    CHECK(stat(tree_path(&t, "s/1.ppm"), &st) == 0);
    picture_file(&t, "s/1.ppm", 40, 30, 2, 1);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    CHECK(utimensat(AT_FDCWD, tree_path(&t, "s/1.ppm"), times, 0) == 0);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    tree_remove(&t);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL);
    if (f == NULL) return;
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 0x55, f);
    fclose(f);
}

/* Nothing damaged is carried over. */
static void test_distrust(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    pack_as(&t, "o.stk", &options);
    stk_dataset *d;
    stk_record_info info;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &d, &error));
    CHECK_OK(stk_dataset_record(d, 42, &info, &error));
    stk_dataset_close(&d);
    flip_byte(tree_path(&t, "o.stk"), (long)info.offset + 10);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 89);

    flip_byte(tree_path(&t, "o.stk.sources"), 2000);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    flip_byte(tree_path(&t, "o.stk"), -1);
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    unlink(tree_path(&t, "o.stk.sources"));
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);

    stk_pack_options other = options;
    other.encode = STK_ENCODE_KEEP;
    CHECK_EQ(pack_and_compare(&t, &other).reused, 0);
    CHECK_EQ(pack_and_compare(&t, &other).reused, 90);
    /* A source list of another output. */
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    rename(tree_path(&t, "fresh.stk"), tree_path(&t, "x.stk"));
    put_picture(&t, "s/a/03.jpg", 310, 200, 999, 50);
    pack_as(&t, "fresh.stk", &options);
    rename(tree_path(&t, "fresh.stk.sources"), tree_path(&t, "o.stk.sources"));
    CHECK_EQ(pack_and_compare(&t, &options).reused, 0);
    tree_remove(&t);
}

static void test_folder_and_shuffle(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    options.shard_bytes = 200000;
    options.shuffle = true;
    options.shuffle_seed = 3;
    CHECK_EQ(pack_as(&t, "o/", &options).reused, 0);
    CHECK_EQ(pack_as(&t, "o/", &options).reused, 90);
    put_picture(&t, "s/a/zz.jpg", 200, 200, 5, 9);
    CHECK_EQ(pack_as(&t, "o/", &options).reused, 90);
    options.resume = false;
    CHECK_EQ(pack_as(&t, "f/", &options).reused, 0);
    CHECK(same_files(tree_path(&t, "o/dataset.json"), tree_path(&t, "f/dataset.json")));
    CHECK(same_files(tree_path(&t, "o/00003.stk"), tree_path(&t, "f/00003.stk")));
    tree_remove(&t);
}

int main(void)
{
    RUN(test_changes);
    RUN(test_rehash);
    RUN(test_fresh_files);
    RUN(test_distrust);
    RUN(test_folder_and_shuffle);
    return check_exit();
}
