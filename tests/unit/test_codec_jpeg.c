/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG: boxes equal the full decode, a check finds what a decode finds, hostile files are bounded, the encoder
 * round-trips. Over real photographs and the odd files of the corpus. */
#include <stoker/stoker.h>

#include "codec/codec.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/rng.h"
#include "support/check.h"
#include "support/corpus.h"

static stk_codec_ctx *ctx;
static stk_error error;

static bool same_box(const stk_image *whole, stk_box box, const stk_image *part)
{
    if (part->width != (uint32_t)box.width || part->height != (uint32_t)box.height) return false;
    if (part->channels != whole->channels) return false;
    for (uint32_t y = 0; y < part->height; y++) {
        const uint8_t *want =
            whole->pixels + ((size_t)box.y + y) * whole->stride + (size_t)box.x * whole->channels;
        if (memcmp(part->pixels + y * part->stride, want, (size_t)part->width * part->channels) != 0)
            return false;
    }
    return true;
}

/* Sizes and places of all kinds: single pixels, edges, narrow strips, nearly all. */
static stk_box random_box(stk_rng *rng, uint32_t width, uint32_t height)
{
    stk_box box;
    uint64_t kind = stk_rng_below(rng, 4);
    uint32_t max_w = kind == 0 && width > 8 ? 8 : width, max_h = kind == 1 && height > 20 ? 20 : height;
    box.width = 1 + (int32_t)stk_rng_below(rng, max_w);
    box.height = 1 + (int32_t)stk_rng_below(rng, max_h);
    box.x = (int32_t)stk_rng_below(rng, width - (uint32_t)box.width + 1);
    box.y = (int32_t)stk_rng_below(rng, height - (uint32_t)box.height + 1);
    return box;
}

static uint64_t boxes_compared;

static void compare_boxes(const stk_buffer *file, stk_mode mode, int n_boxes, stk_rng *rng, const char *path)
{
    stk_image whole, part;
    stk_damage_report damage;
    if (stk_codec_decode(ctx, STK_ENCODING_JPEG, file->data, file->n_bytes, mode, &whole, &damage, NULL) !=
        STK_OK) {
        return; /* what cannot be decoded is test_odd's subject */
    }
    size_t n_bytes = whole.stride * whole.height;
    uint8_t *kept = malloc(n_bytes);
    CHECK(kept != NULL);
    if (kept == NULL) return;
    memcpy(kept, whole.pixels, n_bytes);
    whole.pixels = kept;
    for (int i = 0; i < n_boxes; i++) {
        stk_box box = random_box(rng, whole.width, whole.height);
        CHECK_OK(stk_codec_decode_box(ctx, STK_ENCODING_JPEG, file->data, file->n_bytes, mode, box, &part,
                                      &damage, &error));
        boxes_compared++;
        if (!same_box(&whole, box, &part)) {
            fprintf(stderr, "%s: box %d,%d %dx%d of %ux%u differs\n", path, box.x, box.y, box.width, box.height,
                    whole.width, whole.height);
            CHECK(false && "the box equals the full decode");
        }
    }
    free(kept);
}

static void boxes_of(const char *folder, size_t step, int n_boxes)
{
    corpus_list files = corpus_files(folder);
    for (size_t i = 0; i < files.n; i += step) {
        stk_buffer file = {0};
        CHECK_OK(stk_file_read_all(files.paths[i], 1 << 30, &file, &error));
        stk_rng rng = stk_rng_for(7, 0, i, 0, 0, STK_PURPOSE_CROP);
        if (stk_codec_sniff(file.data, file.n_bytes) == STK_ENCODING_JPEG) {
            compare_boxes(&file, STK_MODE_RGB, n_boxes, &rng, files.paths[i]);
            if (i % 5 == 0) compare_boxes(&file, STK_MODE_L, 2, &rng, files.paths[i]);
        }
        stk_buffer_free(&file);
    }
    corpus_free(&files);
}

static void test_boxes_of_photos(void)
{
    boxes_of("photos", 5, 12);
}

static void test_boxes_of_odd_files(void)
{
    boxes_of("odd", 1, 25);
    printf("     %llu boxes compared\n", (unsigned long long)boxes_compared);
    CHECK(boxes_compared > 2000);
}

static void compare_check(const uint8_t *data, size_t n_bytes, const char *path, const char *what)
{
    stk_image image;
    stk_damage_report by_decode, by_check;
    stk_status decoded =
        stk_codec_decode(ctx, STK_ENCODING_JPEG, data, n_bytes, STK_MODE_RGB, &image, &by_decode, NULL);
    stk_status checked = stk_codec_check(ctx, STK_ENCODING_JPEG, data, n_bytes, &by_check, NULL);
    if (decoded == checked && by_decode.kinds == by_check.kinds && strcmp(by_decode.text, by_check.text) == 0)
        return;
    fprintf(stderr, "%s, %s: decode %s %x '%s', check %s %x '%s'\n", path, what, stk_status_name(decoded),
            (unsigned)by_decode.kinds, by_decode.text, stk_status_name(checked), (unsigned)by_check.kinds,
            by_check.text);
    CHECK(false && "check finds what decode finds");
}

/* Truncations and byte changes anywhere, headers included. */
static void damage_and_compare(stk_buffer *file, const char *path, int n, stk_rng *rng)
{
    compare_check(file->data, file->n_bytes, path, "as it is");
    for (int i = 0; i < n && file->n_bytes > 0; i++) {
        size_t at = (size_t)stk_rng_below(rng, file->n_bytes);
        if (i % 4 == 0) {
            compare_check(file->data, at, path, "truncated");
            continue;
        }
        if (i % 4 == 1) at = (size_t)stk_rng_below(rng, file->n_bytes < 700 ? file->n_bytes : 700);
        uint8_t old = file->data[at];
        file->data[at] = i % 4 == 2 ? 0xff : (uint8_t)stk_rng_u64(rng);
        compare_check(file->data, file->n_bytes, path, "one byte changed");
        file->data[at] = old;
    }
}

static void checks_of(const char *folder, size_t step, int n)
{
    corpus_list files = corpus_files(folder);
    for (size_t i = 0; i < files.n; i += step) {
        stk_buffer file = {0};
        CHECK_OK(stk_file_read_all(files.paths[i], 1 << 30, &file, &error));
        stk_rng rng = stk_rng_for(8, 0, i, 0, 0, STK_PURPOSE_CROP);
        if (stk_codec_sniff(file.data, file.n_bytes) == STK_ENCODING_JPEG && file.n_bytes < 300000) {
            damage_and_compare(&file, files.paths[i], n, &rng);
        }
        stk_buffer_free(&file);
    }
    corpus_free(&files);
}

static void test_check_finds_what_decode_finds(void)
{
    checks_of("photos", 25, 12);
    checks_of("odd", 1, 12);
}

static const char PROGRESSIVE[] = "zune__jpeg-component-ids-0-1-2__weird_components.jpg";

static void read_odd(const char *name, stk_buffer *file)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/odd/%s", getenv("STOKER_CORPUS"), name);
    CHECK_OK(stk_file_read_all(path, 1 << 30, file, &error));
}

/* The first marker 0xff `code` at or after `from`. */
static size_t find_marker(const stk_buffer *file, size_t from, uint8_t code)
{
    for (size_t i = from; i + 1 < file->n_bytes; i++) {
        if (file->data[i] == 0xff && file->data[i + 1] == code) return i;
    }
    return file->n_bytes;
}

/* A file whose second scan is there 600 times would cost 600 passes. */
static void test_scans_are_bounded(void)
{
    stk_buffer file = {0}, bomb = {0};
    read_odd(PROGRESSIVE, &file);
    size_t first = find_marker(&file, find_marker(&file, 0, 0xda) + 2, 0xda), next = first + 2;
    while (next + 1 < file.n_bytes && !(file.data[next] == 0xff && file.data[next + 1] != 0)) next++;
    CHECK(next < file.n_bytes);
    CHECK_OK(stk_buffer_append(&bomb, file.data, first, &error));
    for (int i = 0; i < 600; i++) CHECK_OK(stk_buffer_append(&bomb, file.data + first, next - first, &error));
    CHECK_OK(stk_buffer_append(&bomb, file.data + next, file.n_bytes - next, &error));
    stk_image image;
    stk_damage_report damage;
    CHECK_STATUS(
        stk_codec_decode(ctx, STK_ENCODING_JPEG, bomb.data, bomb.n_bytes, STK_MODE_RGB, &image, &damage, &error),
        STK_ERR_LIMIT);
    CHECK(strstr(error.text, "scans") != NULL);
    CHECK_STATUS(stk_codec_check(ctx, STK_ENCODING_JPEG, bomb.data, bomb.n_bytes, &damage, &error),
                 STK_ERR_LIMIT);
    stk_buffer_free(&file);
    stk_buffer_free(&bomb);
}

static void test_max_pixels(void)
{
    stk_codec_ctx *small;
    stk_codec_limits limits = {.max_pixels = 960 * 876 - 1};
    CHECK_OK(stk_codec_ctx_open(&limits, &small, &error));
    stk_buffer file = {0};
    read_odd(PROGRESSIVE, &file);
    stk_image_info info;
    stk_image image;
    CHECK_STATUS(stk_codec_probe(small, file.data, file.n_bytes, &info, &error), STK_ERR_LIMIT);
    CHECK(strstr(error.text, "max_pixels") != NULL);
    CHECK_STATUS(
        stk_codec_decode(small, STK_ENCODING_JPEG, file.data, file.n_bytes, STK_MODE_RGB, &image, NULL, &error),
        STK_ERR_LIMIT);
    CHECK_OK(stk_codec_probe(ctx, file.data, file.n_bytes, &info, &error));
    CHECK_EQ(info.width, 960);
    CHECK_EQ(info.height, 876);
    CHECK_EQ(info.channels, 3);
    CHECK(info.tileable);
    stk_buffer_free(&file);
    stk_codec_ctx_close(&small);
}

static void test_box_outside_is_refused(void)
{
    stk_buffer file = {0};
    read_odd("pillow__jpeg-plain-reference__hopper.jpg", &file); /* 128x128 */
    static const stk_box boxes[] = {{-1, 0, 4, 4},  {0, -1, 4, 4},  {0, 0, 0, 4},         {0, 0, 4, 0},
                                    {1, 0, 128, 1}, {0, 127, 1, 2}, {INT32_MAX, 0, 2, 2}, {0, 0, 4, -4}};
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        stk_image image;
        CHECK_STATUS(stk_codec_decode_box(ctx, STK_ENCODING_JPEG, file.data, file.n_bytes, STK_MODE_RGB, boxes[i],
                                          &image, NULL, &error),
                     STK_ERR_ARGUMENT);
    }
    stk_buffer_free(&file);
}

/* Smooth enough for JPEG to keep it close. */
static void fill_gradient(stk_image *image, uint8_t *pixels)
{
    image->pixels = pixels;
    image->stride = (size_t)image->width * image->channels;
    for (uint32_t y = 0; y < image->height; y++) {
        for (uint32_t x = 0; x < image->width; x++) {
            for (uint32_t c = 0; c < image->channels; c++) {
                pixels[y * image->stride + x * image->channels + c] = (uint8_t)(40 + 2 * x + y + 20 * c);
            }
        }
    }
}

static int largest_difference(const stk_image *a, const stk_image *b)
{
    int largest = 0;
    for (uint32_t y = 0; y < a->height; y++) {
        for (size_t i = 0; i < (size_t)a->width * a->channels; i++) {
            int d = a->pixels[y * a->stride + i] - b->pixels[y * b->stride + i];
            largest = abs(d) > largest ? abs(d) : largest;
        }
    }
    return largest;
}

static void test_encode_round_trip(void)
{
    static uint8_t pixels[61 * 47 * 3];
    for (int kind = 0; kind < 3; kind++) {
        stk_image image = {.width = 61, .height = 47, .channels = kind == 0 ? 1 : 3}, back;
        fill_gradient(&image, pixels);
        stk_buffer jpeg = {0};
        uint8_t orientation = (uint8_t)(kind == 0 ? 1 : 4 + kind);
        CHECK_OK(stk_codec_encode_jpeg(ctx, &image, 95, kind == 2, orientation, &jpeg, &error));
        stk_image_info info;
        CHECK_OK(stk_codec_probe(ctx, jpeg.data, jpeg.n_bytes, &info, &error));
        CHECK_EQ(info.width, 61);
        CHECK_EQ(info.height, 47);
        CHECK_EQ(info.channels, image.channels);
        CHECK_EQ(info.orientation, orientation);
        stk_damage_report damage;
        CHECK_OK(stk_codec_decode(ctx, STK_ENCODING_JPEG, jpeg.data, jpeg.n_bytes,
                                  kind == 0 ? STK_MODE_L : STK_MODE_RGB, &back, &damage, &error));
        CHECK_EQ(damage.kinds, 0);
        CHECK(largest_difference(&image, &back) <= 6);
        stk_buffer_free(&jpeg);
    }
}

static void test_encode_refuses(void)
{
    static uint8_t pixels[3];
    stk_image image = {.pixels = pixels, .stride = 3, .width = 1, .height = 1, .channels = 3};
    stk_buffer jpeg = {0};
    CHECK_STATUS(stk_codec_encode_jpeg(ctx, &image, 0, false, 1, &jpeg, &error), STK_ERR_ARGUMENT);
    CHECK_STATUS(stk_codec_encode_jpeg(ctx, &image, 101, false, 1, &jpeg, &error), STK_ERR_ARGUMENT);
    image.width = 70000;
    CHECK_STATUS(stk_codec_encode_jpeg(ctx, &image, 90, false, 1, &jpeg, &error), STK_ERR_UNSUPPORTED);
    stk_buffer_free(&jpeg);
}

int main(void)
{
    CHECK_OK(stk_codec_ctx_open(NULL, &ctx, &error));
    RUN(test_encode_round_trip);
    RUN(test_encode_refuses);
    RUN(test_boxes_of_photos);
    RUN(test_boxes_of_odd_files);
    RUN(test_check_finds_what_decode_finds);
    RUN(test_scans_are_bounded);
    RUN(test_max_pixels);
    RUN(test_box_outside_is_refused);
    stk_codec_ctx_close(&ctx);
    return check_exit();
}
