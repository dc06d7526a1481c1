/* SPDX-License-Identifier: Apache-2.0
 *
 * The context and what holds for all formats: scratch memory, sniffing, refusals by name, boxes, truncated rows,
 * and that one picture leaves nothing behind for the next. */
#include <stoker/stoker.h>

#include "codec/codec.h"
#include "codec/kernels.h"
#include "support/check.h"

static stk_codec_ctx *ctx;
static stk_error error;

static uint8_t *scratch(int area, size_t n)
{
    uint8_t *p = NULL;
    CHECK_OK(stk_codec_scratch(ctx, area, n, &p, &error));
    CHECK_EQ((uintptr_t)p % 64, 0);
    return p;
}

static void test_scratch_keeps_contents(void)
{
    uint8_t *p = scratch(STK_SCRATCH_OUTPUT, 1000);
    memset(p, 7, 1000 + 64); /* the slack may be read; here it is written to show that it is there */
    CHECK(scratch(STK_SCRATCH_OUTPUT, 500) == p);
    CHECK(scratch(STK_SCRATCH_OUTPUT, 1000) == p);
    CHECK_EQ(p[999], 7);
    CHECK(scratch(STK_SCRATCH_TURN, 1000) != p);
}

static void test_scratch_gives_outliers_back(void)
{
    const size_t mib = (size_t)1 << 20;
    uint8_t *p = scratch(STK_SCRATCH_COEFS, 70 * mib);
    p[10] = 42;
    p = scratch(STK_SCRATCH_COEFS, 100); /* 70 MiB are given back, the contents stay */
    CHECK_EQ(p[10], 42);
    p = scratch(STK_SCRATCH_COEFS, 70 * mib);
    p[70 * mib - 1] = 1;
}

static void test_impossible_size(void)
{
    uint8_t *p;
    CHECK_STATUS(stk_codec_scratch(ctx, STK_SCRATCH_COEFS, SIZE_MAX - 3, &p, &error), STK_ERR_MEMORY);
    CHECK(scratch(STK_SCRATCH_COEFS, 10) != NULL);
}

static void test_kernels_of_the_family(void)
{
    CHECK(stk_codec_kernels(ctx) != NULL);
    const char *name;
    CHECK_OK(stk_cpu_family(&name, &error));
    CHECK(strcmp(stk_family_name(stk_codec_kernels(ctx)->family), name) == 0);
}

static stk_encoding sniff(const char *bytes, size_t n)
{
    return stk_codec_sniff((const uint8_t *)bytes, n);
}

static void test_sniff(void)
{
    CHECK_EQ(sniff("\xff\xd8\xff\xe0", 4), STK_ENCODING_JPEG);
    CHECK_EQ(sniff("\x89PNG\r\n\x1a\n", 8), STK_ENCODING_PNG);
    CHECK_EQ(sniff("RIFF\1\2\3\4WEBPVP8X", 16), STK_ENCODING_WEBP);
    CHECK_EQ(sniff("II*\0\x08\0\0\0", 8), STK_ENCODING_TIFF);
    CHECK_EQ(sniff("MM\0+\0\x08\0\0", 8), STK_ENCODING_TIFF);
    CHECK_EQ(sniff("BM............(\0\0\0", 18), STK_ENCODING_BMP);
    CHECK_EQ(sniff("P6\n# c\n2 2 255\n", 15), STK_ENCODING_PNM);
    CHECK_EQ(sniff("GIF89a", 6), STK_ENCODING_GIF);
    CHECK_EQ(sniff("P6 is a printer", 15), STK_ENCODING_UNKNOWN);
    CHECK_EQ(sniff("BMW makes cars and more", 23), STK_ENCODING_UNKNOWN);
    CHECK_EQ(sniff("RIFF\1\2\3\4WAVEfmt ", 16), STK_ENCODING_UNKNOWN);
    CHECK_EQ(sniff("", 0), STK_ENCODING_UNKNOWN);
}

static void expect_refusal(const char *bytes, size_t n, stk_status want, const char *words, bool picture)
{
    stk_image_info info;
    CHECK_STATUS(stk_codec_probe(ctx, (const uint8_t *)bytes, n, &info, &error), want);
    CHECK(strstr(error.text, words) != NULL);
    CHECK_EQ(stk_codec_is_picture((const uint8_t *)bytes, n), picture);
}

static void test_refusals_by_name(void)
{
    expect_refusal("", 0, STK_ERR_IMAGE, "empty", false);
    expect_refusal("hello, world of images", 22, STK_ERR_IMAGE, "not an image", false);
    expect_refusal("\0\0\0\x18"
                   "ftypheic\0\0\0\0",
                   16, STK_ERR_UNSUPPORTED, "HEIF", true);
    expect_refusal("\0\0\0\x1c"
                   "ftypavif\0\0\0\0",
                   16, STK_ERR_UNSUPPORTED, "AVIF", true);
    expect_refusal("\x89PNG\r\r\n\x1a\r\n\0\0\0\rIHDR", 20, STK_ERR_IMAGE, "text mode", true);
    stk_image image;
    CHECK_STATUS(
        stk_codec_decode(ctx, STK_ENCODING_TILES, (const uint8_t *)"x", 1, STK_MODE_RGB, &image, NULL, &error),
        STK_ERR_IMAGE);
}

/* A PNM of 4 x 3 pixels, value = 10 y + x. */
static const char PNM[] = "P5 4 3 255\n\0\1\2\3\12\13\14\15\24\25\26\27";

static void test_box_of_a_whole_decode(void)
{
    stk_image image;
    stk_box box = {.x = 1, .y = 1, .width = 2, .height = 2}, outside = {.x = 3, .y = 0, .width = 2, .height = 1};
    const uint8_t *data = (const uint8_t *)PNM;
    CHECK_OK(
        stk_codec_decode_box(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1, STK_MODE_L, box, &image, NULL, &error));
    CHECK_EQ(image.width, 2);
    CHECK_EQ(image.height, 2);
    CHECK_EQ(image.pixels[0], 11);
    CHECK_EQ(image.pixels[1], 12);
    CHECK_EQ(image.pixels[image.stride + 1], 22);
    CHECK_STATUS(stk_codec_decode_box(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1, STK_MODE_L, outside, &image,
                                      NULL, &error),
                 STK_ERR_ARGUMENT);
}

static void test_missing_rows(void)
{
    stk_image image;
    stk_damage_report damage;
    const uint8_t *data = (const uint8_t *)PNM;
    CHECK_OK(
        stk_codec_decode(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1 - 2, STK_MODE_L, &image, &damage, &error));
    CHECK_EQ(damage.kinds, STK_DAMAGE_TRUNCATED);
    CHECK(strstr(damage.text, "row 2 of 3") != NULL);
    CHECK_EQ(image.pixels[image.stride + 3], 13);
    CHECK_EQ(image.pixels[2 * image.stride], 0);
    CHECK_STATUS(
        stk_codec_decode(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1 - 9, STK_MODE_L, &image, &damage, &error),
        STK_ERR_IMAGE);
    CHECK_OK(stk_codec_check(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1 - 2, &damage, &error));
    CHECK_EQ(damage.kinds, STK_DAMAGE_TRUNCATED);
    CHECK_OK(stk_codec_check(ctx, STK_ENCODING_PNM, data, sizeof PNM - 1, &damage, &error));
    CHECK_EQ(damage.kinds, 0);
}

/* Huffman and quantisation tables of one JPEG must not serve the next, which has none. */
static void test_tables_are_not_carried_over(void)
{
    static uint8_t pixels[16 * 16];
    stk_image image = {.pixels = pixels, .stride = 16, .width = 16, .height = 16, .channels = 1}, out;
    stk_buffer jpeg = {0};
    stk_damage_report damage;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 7);
    CHECK_OK(stk_codec_encode_jpeg(ctx, &image, 90, false, 1, &jpeg, &error));
    CHECK_OK(
        stk_codec_decode(ctx, STK_ENCODING_JPEG, jpeg.data, jpeg.n_bytes, STK_MODE_L, &out, &damage, &error));
    for (size_t i = 0; i + 1 < jpeg.n_bytes; i++) {
        if (jpeg.data[i] == 0xff && jpeg.data[i + 1] == 0xdb) jpeg.data[i + 1] = 0xe5; /* DQT becomes APP5 */
    }
    CHECK_STATUS(
        stk_codec_decode(ctx, STK_ENCODING_JPEG, jpeg.data, jpeg.n_bytes, STK_MODE_L, &out, &damage, &error),
        STK_ERR_IMAGE);
    stk_buffer_free(&jpeg);
}

int main(void)
{
    CHECK_OK(stk_codec_ctx_open(NULL, &ctx, &error));
    RUN(test_scratch_keeps_contents);
    RUN(test_scratch_gives_outliers_back);
    RUN(test_impossible_size);
    RUN(test_kernels_of_the_family);
    RUN(test_sniff);
    RUN(test_refusals_by_name);
    RUN(test_box_of_a_whole_decode);
    RUN(test_missing_rows);
    RUN(test_tables_are_not_carried_over);
    stk_codec_ctx_close(&ctx);
    CHECK(ctx == NULL);
    return check_exit();
}
