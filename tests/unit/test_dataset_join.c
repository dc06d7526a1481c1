/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets over other data sets, and over files that are not packed. */
#include <stoker/convert.h>
#include <stoker/loader.h>
#include <stoker/verify.h>
#include <stoker/writer.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static stk_dataset *packed(const tree *t, const char *from, const char *to)
{
    stk_dataset *d = NULL;
    CHECK_OK(stk_pack(tree_path(t, from), tree_path(t, to), NULL, NULL, &error));
    CHECK_OK(stk_dataset_open(tree_path(t, to), NULL, &d, &error));
    return d;
}

static uint64_t count_samples(const stk_dataset *d)
{
    stk_loader_options options;
    stk_loader *loader = NULL;
    stk_batch *batch;
    uint64_t n = 0;
    stk_loader_options_init(&options);
    options.batch_size = 3;
    options.n_threads = 2;
    CHECK_OK(stk_loader_open(d, &options, &loader, &error));
    while (stk_loader_next(loader, -1, &batch, &error) == STK_OK) {
        n += batch->n_valid;
        stk_batch_release(batch);
    }
    stk_loader_close(&loader);
    return n;
}

static void make_pictures(tree *t)
{
    tree_make(t);
    picture_file(t, "s/cat/1.jpg", 120, 90, 1, 1);
    picture_file(t, "s/dog/1.jpg", 100, 80, 2, 6);
    picture_file(t, "s/dog/2.ppm", 20, 10, 3, 1);
    picture_file(t, "u/ant/1.png", 90, 70, 4, 1);
    picture_file(t, "u/dog/1.jpg", 90, 70, 5, 1);
}

static void test_concat(void)
{
    tree t;
    make_pictures(&t);
    stk_dataset *parts[3] = {packed(&t, "s", "s.stk"), packed(&t, "u", "u.stk"), NULL}, *whole = NULL;
    parts[2] = parts[0];
    CHECK_OK(stk_dataset_concat((const stk_dataset *const *)parts, 3, &whole, &error));
    CHECK_EQ(stk_dataset_len(whole), 8);
    CHECK_EQ(stk_dataset_classes(whole), 3);
    CHECK(strcmp(stk_dataset_class_name(whole, 2), "ant") == 0);
    static const int64_t LABELS[] = {0, 1, 1, 2, 1, 0, 1, 1};
    for (uint64_t i = 0; i < 8; i++) {
        stk_record_info info;
        CHECK_OK(stk_dataset_record(whole, i, &info, &error));
        CHECK_EQ(info.label, LABELS[i]);
    }
    CHECK(strcmp(record_path(whole, 3), "ant/1.png") == 0);
    CHECK_EQ(count_samples(whole), 8);
    stk_dataset_close(&whole);
    CHECK_STATUS(stk_dataset_concat(NULL, 0, &whole, &error), STK_ERR_ARGUMENT);
    stk_dataset_close(&parts[0]);
    stk_dataset_close(&parts[1]);
    tree_remove(&t);
}

static void test_files(void)
{
    static const char *const PATHS[] = {"cat/1.jpg", "dog/1.jpg", "dog/2.ppm", "dog/none.jpg"};
    static const char *const CLASSES[] = {"cat", "dog"};
    static const int64_t LABELS[] = {0, 1, 1, 1}, WRONG[] = {0, 1, 2, 1};
    tree t;
    make_pictures(&t);
    char root[512];
    snprintf(root, sizeof root, "%.500s", tree_path(&t, "s"));
    stk_file_list list = {
        .root = root, .paths = PATHS, .labels = LABELS, .n = 3, .class_names = CLASSES, .n_classes = 2};
    stk_dataset *d = packed(&t, "s", "s.stk"), *loose = NULL;
    CHECK_OK(stk_dataset_open_files(&list, NULL, &loose, &error));
    CHECK_EQ(stk_dataset_len(loose), 3);
    for (uint64_t i = 0; i < 3; i++) {
        stk_record_info a, b;
        stk_buffer x = {0}, y = {0};
        uint32_t width, height, channels;
        CHECK_OK(stk_dataset_record(d, i, &a, &error));
        CHECK_OK(stk_dataset_record(loose, i, &b, &error));
        CHECK(a.label == b.label && a.width == b.width && a.height == b.height && a.orientation == b.orientation);
        CHECK_OK(stk_dataset_image(d, i, NULL, &x, &width, &height, &channels, &error));
        CHECK_OK(stk_dataset_image(loose, i, NULL, &y, &width, &height, &channels, &error));
        CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
        stk_buffer_free(&x);
        stk_buffer_free(&y);
    }
    CHECK_EQ(count_samples(loose), 3);
    stk_dataset_close(&loose);
    list.n = 4;
    CHECK_OK(stk_dataset_open_files(&list, NULL, &loose, &error));
    stk_buffer out = {0};
    CHECK_STATUS(stk_dataset_payload(loose, 3, &out, &error), STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "none.jpg") != NULL);
    stk_buffer_free(&out);
    stk_dataset_close(&loose);
    list.labels = WRONG;
    CHECK_STATUS(stk_dataset_open_files(&list, NULL, &loose, &error), STK_ERR_ARGUMENT);
    list.n = 0;
    CHECK_STATUS(stk_dataset_open_files(&list, NULL, &loose, &error), STK_ERR_NOT_FOUND);
    list.n = 3;
    list.labels = LABELS;
    list.root = "/nowhere";
    CHECK_STATUS(stk_dataset_open_files(&list, NULL, &loose, &error), STK_ERR_NOT_FOUND);
    stk_dataset_close(&d);
    tree_remove(&t);
}

/* Three arrays of so many float32 values in a file of its own. */
static stk_dataset *arrays(const tree *t, const char *name, uint64_t n_values)
{
    stk_writer_options options;
    stk_writer *w = NULL;
    stk_dataset *d = NULL;
    float values[8];
    stk_writer_options_init(&options);
    CHECK_OK(stk_writer_open(tree_path(t, name), &options, &w, &error));
    for (int i = 0; i < 3; i++) {
        for (uint64_t k = 0; k < n_values; k++) values[k] = (float)i + (float)k / 8;
        stk_item item = {.kind = STK_ITEM_ARRAY, .data = values, .n_bytes = n_values * sizeof *values,
                         .dtype = STK_TYPE_F32, .n_dims = 1, .shape = &n_values, .label = -1};
        CHECK_OK(stk_writer_add(w, &item, &error));
    }
    CHECK_OK(stk_writer_finish(w, NULL, &error));
    stk_writer_close(&w);
    CHECK_OK(stk_dataset_open(tree_path(t, name), NULL, &d, &error));
    return d;
}

/* Arrays of two shapes go into one HDF5 file with a header each, which their own files' checksums leave out. */
static void test_arrays_of_two_files_exported(void)
{
    tree t;
    tree_make(&t);
    stk_dataset *parts[2] = {arrays(&t, "a.h5", 4), arrays(&t, "b.h5", 5)}, *whole = NULL;
    stk_export_options options;
    stk_verify_report report;
    CHECK_OK(stk_dataset_concat((const stk_dataset *const *)parts, 2, &whole, &error));
    stk_export_options_init(&options);
    options.to = STK_EXPORT_HDF5;
    CHECK_OK(stk_export(whole, tree_path(&t, "c.h5"), &options, &error));
    CHECK_OK(stk_verify(tree_path(&t, "c.h5"), NULL, &report, &error));
    CHECK_EQ(report.records, 6);
    CHECK_EQ(report.bad, 0);
    stk_dataset_close(&whole);
    for (int k = 0; k < 2; k++) stk_dataset_close(&parts[k]);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_concat);
    RUN(test_files);
    RUN(test_arrays_of_two_files_exported);
    return check_exit();
}
