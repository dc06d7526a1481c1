/* SPDX-License-Identifier: Apache-2.0
 *
 * An open data set: what it says of itself and its records, single images, extraction, verification. */
#include <stoker/stoker.h>

#include <fcntl.h>
#include <unistd.h>

#include "codec/codec.h"
#include "common/buffer.h"
#include "format/array_layout.h"
#include "support/damage.h"
#include "support/image_shard.h"
#include "support/temporary.h"

enum { N = 50, W = 20, H = 10 };

static stk_error error;
static char path[512];
static stk_dataset *dataset;

static void description(void)
{
    CHECK_EQ(stk_dataset_len(dataset), N);
    CHECK_EQ(strlen(stk_dataset_id(dataset)), 32);
    CHECK(strcmp(stk_dataset_container(dataset), "stk") == 0);
    CHECK_EQ(stk_dataset_classes(dataset), 10);
    CHECK(strcmp(stk_dataset_class_name(dataset, 3), "d") == 0);
    CHECK(stk_dataset_class_name(dataset, 10) == NULL);
    CHECK(stk_dataset_has_labels(dataset));
    CHECK(strstr(stk_dataset_metadata(dataset), "classes") != NULL);
    CHECK(stk_dataset_bytes(dataset) > N * W * H * 3);
    stk_record_info info;
    CHECK_OK(stk_dataset_record(dataset, 7, &info, &error));
    CHECK(info.width == W && info.height == H && info.channels == 3 && info.label == 7);
    CHECK(info.encoding == STK_ENCODING_RAW && info.n_bytes == W * H * 3 && info.orientation == 1);
    CHECK_STATUS(stk_dataset_record(dataset, N, &info, &error), STK_ERR_ARGUMENT);
}

static void values(void)
{
    CHECK_EQ(stk_dataset_columns(dataset), IMAGE_COLUMNS);
    CHECK_EQ(stk_dataset_find_column(dataset, "box"), IMAGE_COLUMN_BOX);
    CHECK_EQ(stk_dataset_find_column(dataset, "none"), UINT32_MAX);
    stk_column column;
    CHECK_OK(stk_dataset_column(dataset, IMAGE_COLUMN_BOX, &column, &error));
    CHECK(column.type == STK_TYPE_I32 && column.n_items == 4);
    CHECK_STATUS(stk_dataset_column(dataset, 9, &column, &error), STK_ERR_ARGUMENT);
    char text[64];
    stk_value value;
    CHECK_OK(stk_dataset_value(dataset, IMAGE_COLUMN_PATH, 12, text, sizeof text, &value, &error));
    CHECK(value.n_bytes == 18 && memcmp(value.data, "class2/image12.png", 18) == 0);
    CHECK_STATUS(stk_dataset_value(dataset, IMAGE_COLUMN_PATH, 12, text, 3, &value, &error), STK_ERR_LIMIT);
    CHECK_EQ(value.n_bytes, 18);
    CHECK_OK(stk_dataset_value(dataset, IMAGE_COLUMN_SCORE, 3, text, sizeof text, &value, &error));
    CHECK(value.is_null);
    CHECK_STATUS(stk_dataset_value(dataset, IMAGE_COLUMN_SCORE, N, text, sizeof text, &value, &error),
                 STK_ERR_ARGUMENT);
}

static void images(void)
{
    stk_buffer out = {0};
    uint32_t w, h, c;
    CHECK_OK(stk_dataset_image(dataset, 5, NULL, &out, &w, &h, &c, &error));
    CHECK(w == W && h == H && c == 3 && out.n_bytes == W * H * 3);
    uint8_t want[W * H * 3];
    image_fill(5, W, H, 3, want);
    CHECK(memcmp(out.data, want, sizeof want) == 0);
    stk_image_request r;
    stk_image_request_init(&r);
    r.box = (stk_box){3, 2, 8, 5};
    r.flip_horizontal = true;
    r.color = STK_COLOR_BGR;
    CHECK_OK(stk_dataset_image(dataset, 5, &r, &out, &w, &h, &c, &error));
    CHECK(w == 8 && h == 5);
    for (uint32_t y = 0; y < 5; y++)
        for (uint32_t x = 0; x < 8; x++)
            for (uint32_t k = 0; k < 3; k++)
                CHECK_EQ(out.data[(y * 8 + x) * 3 + k], image_byte(5, 3 + 7 - x, 2 + y, 2 - k));
    r.box = (stk_box){15, 2, 8, 5};
    CHECK_STATUS(stk_dataset_image(dataset, 5, &r, &out, &w, &h, &c, &error), STK_ERR_ARGUMENT);
    stk_image_request_init(&r);
    r.out_width = r.out_height = 100000;
    CHECK_STATUS(stk_dataset_image(dataset, 5, &r, &out, &w, &h, &c, &error), STK_ERR_LIMIT);
    stk_buffer_free(&out);
}

/* Verbatim bytes as they were; raw as a PNG with the same pixels; arrays as .npy. */
static void extraction(void)
{
    char mixed[512];
    snprintf(mixed, sizeof mixed, "%s", temporary("mixed.stk"));
    uint8_t pixels[W * H * 3];
    image_fill(1, W, H, 3, pixels);
    stk_codec_ctx *codec = NULL;
    CHECK_OK(stk_codec_ctx_open(NULL, &codec, &error));
    stk_image image = {.pixels = pixels, .stride = W * 3, .width = W, .height = H, .channels = 3};
    stk_buffer png = {0}, array = {0}, out = {0};
    CHECK_OK(stk_codec_encode_png(codec, &image, &png, &error));
    static const uint64_t shape[] = {2, 3};
    static const float items[] = {1, 2, 3, 4, 5, 6.5f};
    CHECK_OK(stk_array_put_header(STK_TYPE_F32, 2, shape, &array, &error));
    while (array.n_bytes % 64 != 0) {
        uint8_t zero = 0;
        CHECK_OK(stk_buffer_append(&array, &zero, 1, &error));
    }
    CHECK_OK(stk_buffer_append(&array, items, sizeof items, &error));
    stk_shard_writer *writer = image_shard_begin(mixed);
    image_add(writer, 0, W, H, 3, STK_ENCODING_RAW, pixels, sizeof pixels);
    image_add(writer, 1, W, H, 3, STK_ENCODING_PNG, png.data, png.n_bytes);
    image_add(writer, 2, 0, 0, 0, STK_ENCODING_ARRAY, array.data, array.n_bytes);
    image_shard_end(writer);
    stk_dataset *d = NULL;
    const char *extension;
    CHECK_OK(stk_dataset_open(mixed, NULL, &d, &error));
    CHECK_OK(stk_dataset_extract(d, 0, &out, &extension, &error));
    CHECK(strcmp(extension, "png") == 0);
    stk_image decoded;
    stk_damage_report damage;
    CHECK_OK(
        stk_codec_decode(codec, STK_ENCODING_PNG, out.data, out.n_bytes, STK_MODE_RGB, &decoded, &damage, &error));
    CHECK(decoded.width == W && decoded.height == H && damage.kinds == 0);
    for (uint32_t y = 0; y < H; y++)
        CHECK(memcmp(decoded.pixels + y * decoded.stride, pixels + (size_t)y * W * 3, W * 3) == 0);
    CHECK_OK(stk_dataset_extract(d, 1, &out, &extension, &error));
    CHECK(strcmp(extension, "png") == 0 && out.n_bytes == png.n_bytes &&
          memcmp(out.data, png.data, png.n_bytes) == 0);
    CHECK_OK(stk_dataset_extract(d, 2, &out, &extension, &error));
    CHECK(strcmp(extension, "npy") == 0 && out.n_bytes == 128 + sizeof items);
    CHECK(memcmp(out.data, "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,), }",
                 70) == 0);
    CHECK(out.data[127] == '\n' && memcmp(out.data + 128, items, sizeof items) == 0);
    CHECK_STATUS(stk_dataset_image(d, 2, NULL, &out, NULL, NULL, NULL, &error), STK_ERR_UNSUPPORTED);
    stk_dataset_close(&d);
    stk_buffer_free(&png);
    stk_buffer_free(&array);
    stk_buffer_free(&out);
    stk_codec_ctx_close(&codec);
}

typedef struct findings {
    uint64_t n, records[16];
    char last[700];
    uint64_t progress_done;
    int calls;
    bool go_on;
} findings;

static void find(void *user, const stk_verify_issue *issue)
{
    findings *f = user;
    if (f->n < 16) f->records[f->n++] = issue->record;
    snprintf(f->last, sizeof f->last, "%s|%s|%s", issue->file, issue->path, issue->reason);
}

static bool progress(void *user, uint64_t done, uint64_t total, uint64_t bytes)
{
    findings *f = user;
    (void)total, (void)bytes;
    CHECK(done >= f->progress_done);
    f->progress_done = done;
    f->calls++;
    return f->go_on;
}

static void verification(void)
{
    char big[512];
    snprintf(big, sizeof big, "%s", temporary("big.stk"));
    enum { MANY = 3000 };
    image_shard(big, MANY, 8, 8, 3);
    stk_verify_options o;
    stk_verify_options_init(&o);
    stk_verify_report report;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        findings f = {.go_on = true};
        o.n_threads = threads;
        o.issue = find;
        o.progress = progress;
        o.user = &f;
        o.deep = threads > 1;
        CHECK_OK(stk_verify(big, &o, &report, &error));
        CHECK_EQ(f.n, 0);
        CHECK_EQ(report.records, MANY);
        CHECK_EQ(report.bytes, MANY * 192);
    }
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(big, NULL, &d, &error));
    static const uint64_t bad[] = {0, 1, 255, 256, 1777, 2999};
    for (int k = 0; k < 6; k++) damage_record(big, d, bad[k]);
    stk_dataset_close(&d);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        findings f = {.go_on = true};
        o.n_threads = threads;
        o.user = &f;
        CHECK_STATUS(stk_verify(big, &o, &report, &error), STK_ERR_CHECKSUM);
        CHECK_EQ(report.bad, 6);
        CHECK_EQ(f.n, 6);
        for (int k = 0; k < 6; k++) CHECK_EQ(f.records[k], bad[k]); /* in order */
        CHECK(strstr(f.last, big) != NULL && strstr(f.last, "|class9/image2999.png|") != NULL);
    }
    CHECK_STATUS(stk_verify(temporary("absent.stk"), NULL, &report, &error), STK_ERR_NOT_FOUND);
}

/* Deep: the checksum is right, the picture is not. */
static void deep_verification(void)
{
    char deep[512];
    snprintf(deep, sizeof deep, "%s", temporary("deep.stk"));
    static uint8_t payload[100];
    stk_shard_writer *writer = image_shard_begin(deep);
    image_add(writer, 0, 5, 5, 3, STK_ENCODING_RAW, payload, 75);
    image_add(writer, 1, 5, 5, 3, STK_ENCODING_JPEG, (const uint8_t *)"\xff\xd8\xff nothing", 10);
    image_add(writer, 2, 5, 5, 3, STK_ENCODING_TILES, payload, 100);
    image_shard_end(writer);
    stk_verify_options o;
    stk_verify_options_init(&o);
    findings f = {.go_on = true};
    o.issue = find;
    o.user = &f;
    CHECK_OK(stk_verify(deep, &o, NULL, &error));
    o.deep = true;
    CHECK_STATUS(stk_verify(deep, &o, NULL, &error), STK_ERR_CHECKSUM);
    CHECK(f.n == 2 && f.records[0] == 1 && f.records[1] == 2);
}

static void refusals(void)
{
    stk_dataset *d;
    CHECK_STATUS(stk_dataset_open(temporary("absent.stk"), NULL, &d, &error), STK_ERR_NOT_FOUND);
    CHECK(d == NULL && strstr(error.text, "absent.stk") != NULL);
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.struct_size = 3;
    CHECK_STATUS(stk_dataset_open(path, &o, &d, &error), STK_ERR_ARGUMENT);
    CHECK_STATUS(stk_dataset_open(NULL, NULL, &d, &error), STK_ERR_ARGUMENT);
    stk_dataset_close(&d);
    stk_dataset_close(NULL);
}

int main(void)
{
    snprintf(path, sizeof path, "%s", temporary("images.stk"));
    image_shard(path, N, W, H, 3);
    CHECK_OK(stk_dataset_open(path, NULL, &dataset, &error));
    if (dataset == NULL) return 1;
    RUN(description);
    RUN(values);
    RUN(images);
    RUN(extraction);
    RUN(verification);
    RUN(deep_verification);
    RUN(refusals);
    stk_dataset_close(&dataset);
    return check_exit();
}
