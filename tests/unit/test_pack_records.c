/* SPDX-License-Identifier: Apache-2.0
 *
 * What pack makes of files: which form each record gets, sizes, orientation, labels, columns, and the pixels
 * that come back. */
#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static void make_source(tree *t)
{
    tree_make(t);
    picture_file(t, "s/cat/big.jpg", 300, 200, 1, 1);
    picture_file(t, "s/cat/turned.jpg", 300, 200, 2, 6);
    picture_file(t, "s/cat/small.jpg", 64, 64, 3, 1);
    picture_file(t, "s/dog/grey.pgm", 100, 80, 4, 1);
    picture_file(t, "s/dog/pic.png", 90, 70, 5, 1);
    picture_file(t, "s/dog/tiny.ppm", 20, 10, 6, 1);
    tree_text(t, "s/dog/notes.txt", "not an image");
    tree_text(t, "s/dog/.DS_Store", "\1Bud1");
}

static void test_forms(void)
{
    static const struct {
        stk_encode encode;
        const char *listing;
    } CASES[] = {
        {STK_ENCODE_AUTO, "0 cat/big.jpg tiles 300x200/1*3\n0 cat/small.jpg raw 64x64/1*3\n"
                          "0 cat/turned.jpg tiles 200x300/6*3\n1 dog/grey.pgm pnm 100x80/1*1\n"
                          "1 dog/pic.png png 90x70/1*3\n1 dog/tiny.ppm raw 20x10/1*3\n"},
        {STK_ENCODE_KEEP, "0 cat/big.jpg jpeg 300x200/1*3\n0 cat/small.jpg jpeg 64x64/1*3\n"
                          "0 cat/turned.jpg jpeg 200x300/6*3\n1 dog/grey.pgm pnm 100x80/1*1\n"
                          "1 dog/pic.png png 90x70/1*3\n1 dog/tiny.ppm pnm 20x10/1*3\n"},
        {STK_ENCODE_RAW, "0 cat/big.jpg raw 300x200/1*3\n0 cat/small.jpg raw 64x64/1*3\n"
                         "0 cat/turned.jpg raw 200x300/1*3\n1 dog/grey.pgm raw 100x80/1*1\n"
                         "1 dog/pic.png raw 90x70/1*3\n1 dog/tiny.ppm raw 20x10/1*3\n"},
        {STK_ENCODE_TILES, "0 cat/big.jpg tiles 300x200/1*3\n0 cat/small.jpg tiles 64x64/1*3\n"
                           "0 cat/turned.jpg tiles 200x300/6*3\n1 dog/grey.pgm tiles 100x80/1*1\n"
                           "1 dog/pic.png tiles 90x70/1*3\n1 dog/tiny.ppm tiles 20x10/1*3\n"},
    };
    tree t;
    make_source(&t);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        stk_pack_options options;
        stk_pack_report report;
        stk_pack_options_init(&options);
        options.encode = CASES[i].encode;
        options.force = true;
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
        CHECK_LISTING(tree_path(&t, "o.stk"), CASES[i].listing);
        CHECK_EQ(report.files, 8);
        CHECK_EQ(report.records, 6);
        CHECK_EQ(report.ignored, 2);
        CHECK_EQ(report.skipped, 0);
        CHECK_EQ(report.reencoded, CASES[i].encode == STK_ENCODE_TILES ? 3 : 0);
        stk_verify_options deep;
        stk_verify_options_init(&deep);
        deep.deep = true;
        CHECK_OK(stk_verify(tree_path(&t, "o.stk"), &deep, NULL, &error));
    }
    tree_remove(&t);
}

/* All lossless forms deliver the same pixels. */
static void test_pixels_agree(void)
{
    static const stk_encode ENCODES[] = {STK_ENCODE_KEEP, STK_ENCODE_AUTO, STK_ENCODE_RAW};
    tree t;
    make_source(&t);
    stk_dataset *d[3];
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%d.stk", i);
        stk_pack_options options;
        stk_pack_options_init(&options);
        options.encode = ENCODES[i];
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, name), &options, NULL, &error));
        CHECK_OK(stk_dataset_open(tree_path(&t, name), NULL, &d[i], &error));
    }
    for (uint64_t k = 0; k < 6; k++) {
        stk_buffer pixels[3] = {{0}, {0}, {0}};
        uint32_t w[3], h[3], c[3];
        for (int i = 0; i < 3; i++) {
            CHECK_OK(stk_dataset_image(d[i], k, NULL, &pixels[i], &w[i], &h[i], &c[i], &error));
            CHECK(w[i] == w[0] && h[i] == h[0] && c[i] == c[0] && pixels[i].n_bytes == pixels[0].n_bytes);
            CHECK(memcmp(pixels[i].data, pixels[0].data, pixels[0].n_bytes) == 0);
        }
        for (int i = 0; i < 3; i++) stk_buffer_free(&pixels[i]);
    }
    for (int i = 0; i < 3; i++) stk_dataset_close(&d[i]);
    tree_remove(&t);
}

static void test_resize(void)
{
    static const struct {
        stk_encode encode;
        stk_resize_kind kind;
        uint32_t width, height;
        const char *listing;
    } CASES[] = {
        {STK_ENCODE_AUTO, STK_RESIZE_SHORT, 100, 0, "-1 a.jpg tiles 150x100/1*3\n-1 b.jpg tiles 100x150/1*3\n"},
        {STK_ENCODE_AUTO, STK_RESIZE_SHORT, 50, 0, "-1 a.jpg raw 75x50/1*3\n-1 b.jpg raw 50x75/1*3\n"},
        {STK_ENCODE_KEEP, STK_RESIZE_LONG, 100, 0, "-1 a.jpg jpeg 100x66/1*3\n-1 b.jpg jpeg 66x100/1*3\n"},
        {STK_ENCODE_RAW, STK_RESIZE_EXACT, 40, 60, "-1 a.jpg raw 40x60/1*3\n-1 b.jpg raw 40x60/1*3\n"},
        /* Nothing to do: the source's own coefficients stay. */
        {STK_ENCODE_AUTO, STK_RESIZE_SHORT, 200, 0, "-1 a.jpg tiles 300x200/1*3\n-1 b.jpg tiles 200x300/6*3\n"},
    };
    tree t;
    tree_make(&t);
    picture_file(&t, "s/a.jpg", 300, 200, 1, 1);
    picture_file(&t, "s/b.jpg", 300, 200, 1, 6);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        stk_pack_options options;
        stk_pack_report report;
        stk_pack_options_init(&options);
        options.encode = CASES[i].encode;
        options.resize = CASES[i].kind;
        options.resize_width = CASES[i].width;
        options.resize_height = CASES[i].height;
        options.force = true;
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
        CHECK_LISTING(tree_path(&t, "o.stk"), CASES[i].listing);
        bool raw = strstr(CASES[i].listing, " raw ") != NULL;
        CHECK_EQ(report.reencoded, CASES[i].width == 200 || raw ? 0 : 2);
        CHECK_EQ(report.resampled, CASES[i].width == 200 || !raw ? 0 : 2);
    }
    tree_remove(&t);
}

static void test_mode_and_exif(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.mode = STK_MODE_L;
    options.exif = STK_EXIF_IGNORE;
    options.encode = STK_ENCODE_RAW;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error));
    CHECK_LISTING(tree_path(&t, "o.stk"),
                  "0 cat/big.jpg raw 300x200/1*1\n0 cat/small.jpg raw 64x64/1*1\n"
                  "0 cat/turned.jpg raw 300x200/1*1\n1 dog/grey.pgm raw 100x80/1*1\n"
                  "1 dog/pic.png raw 90x70/1*1\n1 dog/tiny.ppm raw 20x10/1*1\n");
    tree_remove(&t);
}

static void test_manifest_columns(void)
{
    tree t;
    tree_make(&t);
    picture_file(&t, "img/a.jpg", 100, 100, 1, 1);
    picture_file(&t, "img/b.jpg", 100, 100, 2, 1);
    tree_text(&t, "m.csv", "file,label,score,zip\nimg/b,dog,0.5,001\nimg/a.jpg,cat,2,002\nimg/c.jpg,cat,3,003\n");
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(&t, "m.csv"), tree_path(&t, "o.stk"), NULL, &report, &error));
    CHECK_LISTING(tree_path(&t, "o.stk"), "1 img/b.jpg tiles 100x100/1*3\n0 img/a.jpg tiles 100x100/1*3\n");
    CHECK_EQ(report.missing, 1);
    CHECK_EQ(report.skipped, 1);
    stk_dataset *d;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &d, &error));
    CHECK_EQ(stk_dataset_columns(d), 3);
    CHECK_EQ(stk_dataset_classes(d), 2);
    CHECK(strcmp(stk_dataset_class_name(d, 1), "dog") == 0);
    double score = 0;
    char text[16] = "";
    stk_value value;
    CHECK_OK(stk_dataset_value(d, stk_dataset_find_column(d, "score"), 1, &score, sizeof score, &value, &error));
    CHECK(score == 2.0);
    CHECK_OK(stk_dataset_value(d, stk_dataset_find_column(d, "zip"), 0, text, sizeof text, &value, &error));
    CHECK(value.n_bytes == 3 && memcmp(text, "001", 3) == 0);
    stk_dataset_close(&d);
    tree_remove(&t);
}

/* A manifest cannot reach files outside its root, by whatever link. */
static void test_manifest_is_confined(void)
{
    tree t;
    tree_make(&t);
    picture_file(&t, "out/secret.jpg", 50, 50, 1, 1);
    picture_file(&t, "root/ok.jpg", 50, 50, 2, 1);
    tree_link(&t, "../out/secret.jpg", "root/link.jpg");
    tree_link(&t, "../out", "root/folder");
    char absolute[1024];
    snprintf(absolute, sizeof absolute, "%s/root/ok.jpg", t.root);
    tree_link(&t, absolute, "root/inner.jpg");
    tree_text(&t, "root/m.csv", "path\nok.jpg\nlink.jpg\nfolder/secret.jpg\n../out/secret.jpg\ninner.jpg\n");
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(&t, "root/m.csv"), tree_path(&t, "o.stk"), NULL, &report, &error));
    CHECK_LISTING(tree_path(&t, "o.stk"), "-1 ok.jpg raw 50x50/1*3\n-1 inner.jpg raw 50x50/1*3\n");
    CHECK_EQ(report.missing, 3);
    tree_remove(&t);
}

static void test_shuffle_and_parts(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "s/%02d.ppm", i);
        picture_file(&t, name, 8, 8, (uint64_t)i, 1);
    }
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.shuffle = true;
    options.shuffle_seed = 7;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error));
    stk_dataset *d;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &d, &error));
    CHECK_EQ(stk_dataset_len(d), 50);
    bool seen[50] = {0};
    int in_place = 0;
    for (uint64_t i = 0; i < 50; i++) {
        int k = atoi(record_path(d, i));
        CHECK(k >= 0 && k < 50 && !seen[k]);
        seen[k] = true;
        in_place += k == (int)i;
    }
    CHECK(in_place < 10);
    /* The parts, one after the other, hold what the whole holds. */
    uint64_t at = 0;
    for (uint32_t part = 1; part <= 3; part++) {
        char name[16];
        snprintf(name, sizeof name, "p%u.stk", part);
        options.part = part;
        options.n_parts = 3;
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, name), &options, NULL, &error));
        stk_dataset *p;
        CHECK_OK(stk_dataset_open(tree_path(&t, name), NULL, &p, &error));
        for (uint64_t i = 0; i < stk_dataset_len(p); i++, at++) {
            int want = atoi(record_path(d, at));
            CHECK_EQ(atoi(record_path(p, i)), want);
        }
        stk_dataset_close(&p);
    }
    CHECK_EQ(at, 50);
    stk_dataset_close(&d);
    tree_remove(&t);
}

static void test_names_of_any_bytes(void)
{
    tree t;
    tree_make(&t);
    picture_file(&t, "s/\xe9t\xe9/a\nb\t\\.ppm", 9, 9, 1, 1);
    picture_file(&t, "s/z/\xff.ppm", 9, 9, 2, 1);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    CHECK_LISTING(tree_path(&t, "o.stk"), "0 z/\xff.ppm raw 9x9/1*3\n1 \xe9t\xe9/a\nb\t\\.ppm raw 9x9/1*3\n");
    tree_remove(&t);
}

/* 128 x 128 and less: tables live once in the shard. */
static void test_shared_tables(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "s/%02d.jpg", i);
        picture_file(&t, name, 80, 70, (uint64_t)i, 1);
    }
    stk_pack_options options;
    stk_pack_options_init(&options);
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
    CHECK_EQ(report.verbatim, 0);
    stk_verify_options deep;
    stk_verify_options_init(&deep);
    deep.deep = true;
    CHECK_OK(stk_verify(tree_path(&t, "o.stk"), &deep, NULL, &error));
    options.encode = STK_ENCODE_RAW;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "r.stk"), &options, NULL, &error));
    stk_dataset *a, *b;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &a, &error));
    CHECK_OK(stk_dataset_open(tree_path(&t, "r.stk"), NULL, &b, &error));
    for (uint64_t i = 0; i < 40; i++) {
        stk_buffer x = {0}, y = {0};
        uint32_t w, h, c;
        CHECK_OK(stk_dataset_image(a, i, NULL, &x, &w, &h, &c, &error));
        CHECK_OK(stk_dataset_image(b, i, NULL, &y, &w, &h, &c, &error));
        CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
        stk_buffer_free(&x);
        stk_buffer_free(&y);
    }
    stk_dataset_close(&a);
    stk_dataset_close(&b);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_forms);
    RUN(test_pixels_agree);
    RUN(test_resize);
    RUN(test_mode_and_exif);
    RUN(test_manifest_columns);
    RUN(test_manifest_is_confined);
    RUN(test_shuffle_and_parts);
    RUN(test_names_of_any_bytes);
    RUN(test_shared_tables);
    return check_exit();
}
