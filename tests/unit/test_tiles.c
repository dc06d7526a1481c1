/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of made JPEGs: every sampling and size, every kind of JPEG, all tile widths and kernel families,
 * whole and in odd rectangles, against libjpeg-turbo's raw planes; extraction back to JPEG; what must be
 * refused. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/planes.h"
#include "codec/tile_layout.h"
#include "codec/tiles.h"
#include "common/buffer.h"
#include "support/check.h"
#include "support/families.h"
#include "support/jpeg_maker.h"

static families f;

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* The samples that fancy upsampling of [at, at + n) looks at: one more on each side where there is one. */
static void needed(uint32_t at, uint32_t n, uint32_t factor, uint32_t max, uint32_t size, uint32_t *first,
                   uint32_t *end)
{
    uint32_t low = at * factor / max, high = (at + n - 1) * factor / max;
    bool subsampled = factor != max;
    *first = subsampled && low > 0 ? low - 1 : low;
    *end = high + 1 + (subsampled ? 1 : 0);
    if (*end > size) *end = size;
}

/* True when the decoded window holds what the box needs, and equals the reference there. */
static bool planes_equal(const stk_planes *got, const jpeg_planes *want, stk_box box)
{
    if ((int)got->n_components != want->n || got->image_width != want->image_width) return false;
    for (uint32_t c = 0; c < got->n_components; c++) {
        uint32_t x0, x1, y0, y1;
        if (ceil_div(got->image_width * got->h_factor[c], got->h_max) != want->wide[c]) return false;
        needed((uint32_t)box.x, (uint32_t)box.width, got->h_factor[c], got->h_max, want->wide[c], &x0, &x1);
        needed((uint32_t)box.y, (uint32_t)box.height, got->v_factor[c], got->v_max, want->high[c], &y0, &y1);
        if (x0 < got->x0[c] || x1 > got->x0[c] + got->width[c]) return false;
        if (y0 < got->y0[c] || y1 > got->y0[c] + got->height[c]) return false;
        for (uint32_t y = y0; y < y1; y++) {
            const uint8_t *a = got->data[c] + (y - got->y0[c]) * got->stride[c] + (x0 - got->x0[c]);
            if (memcmp(a, want->data[c] + y * want->stride[c] + x0, x1 - x0) != 0) return false;
        }
    }
    return true;
}

static stk_box some_box(uint32_t width, uint32_t height, stk_rng *rng)
{
    uint32_t w = 1 + (uint32_t)stk_rng_below(rng, width), h = 1 + (uint32_t)stk_rng_below(rng, height);
    return (stk_box){.x = (int32_t)stk_rng_below(rng, width - w + 1),
                     .y = (int32_t)stk_rng_below(rng, height - h + 1),
                     .width = (int32_t)w,
                     .height = (int32_t)h};
}

/* Decodes tiles in every family, whole and in some rectangles. Returns the number of comparisons that failed.
 */
static int compare_families(const stk_buffer *tiles, const stk_tile_tables *tables, const jpeg_planes *want,
                            int n_boxes, stk_rng *rng)
{
    int failed = 0;
    for (int b = 0; b <= n_boxes; b++) {
        stk_box box = {0, 0, (int32_t)want->image_width, (int32_t)want->image_height};
        if (b > 0) box = some_box(want->image_width, want->image_height, rng);
        for (int i = 0; i < f.n; i++) {
            stk_error error = {0};
            stk_planes planes;
            stk_status status =
                stk_tiles_decode_box(f.ctx[i], tiles->data, tiles->n_bytes, tables, box, &planes, &error);
            if (status == STK_OK && planes_equal(&planes, want, box)) continue;
            fprintf(stderr, "%s, %ux%u, box %dx%d at %d,%d: %s\n", f.name[i], want->image_width,
                    want->image_height, box.width, box.height, box.x, box.y,
                    status == STK_OK ? "samples differ" : error.text);
            failed++;
        }
    }
    return failed;
}

/* JPEG -> tiles of each width -> planes and JPEG again. */
static int check_jpeg(const jpeg_bytes *jpeg, int n_boxes, stk_rng *rng)
{
    static const uint32_t widths[] = {16, 32, 64};
    stk_buffer tiles = {0}, extracted = {0};
    jpeg_planes want = jpeg_decode_planes(jpeg->data, jpeg->n_bytes);
    int failed = 0;
    for (int t = 0; t < 3; t++) {
        stk_error error = {0};
        stk_tile_options options = {.tile_pixels = widths[t], .tables_id = UINT32_MAX};
        stk_codec_ctx *ctx = f.ctx[t % f.n];
        if (stk_tiles_from_jpeg(ctx, jpeg->data, jpeg->n_bytes, &options, &tiles, &error) != STK_OK ||
            stk_tiles_to_jpeg(ctx, tiles.data, tiles.n_bytes, NULL, 1, &extracted, &error) != STK_OK) {
            fprintf(stderr, "%ux%u: %s\n", want.image_width, want.image_height, error.text);
            failed++;
            continue;
        }
        failed += compare_families(&tiles, NULL, &want, n_boxes, rng);
        jpeg_planes again = jpeg_decode_planes(extracted.data, extracted.n_bytes);
        for (int c = 0; c < want.n; c++) {
            bool equal = again.n == want.n && again.wide[c] == want.wide[c] && again.high[c] == want.high[c];
            for (uint32_t y = 0; equal && y < want.high[c]; y++)
                equal = memcmp(again.data[c] + y * again.stride[c], want.data[c] + y * want.stride[c],
                               want.wide[c]) == 0;
            if (!equal)
                fprintf(stderr, "%ux%u: extracted JPEG differs\n", want.image_width, want.image_height);
            failed += !equal;
        }
        jpeg_planes_free(&again);
    }
    jpeg_planes_free(&want);
    stk_buffer_free(&tiles);
    stk_buffer_free(&extracted);
    return failed;
}

static const struct sampling {
    int h[3], v[3];
} SAMPLINGS[] = {
    {{1, 1, 1}, {1, 1, 1}}, {{2, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {2, 1, 1}}, {{2, 1, 1}, {2, 1, 1}},
    {{4, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {4, 1, 1}}, {{4, 1, 1}, {2, 1, 1}}, {{2, 1, 1}, {4, 1, 1}},
    {{2, 2, 1}, {2, 1, 2}}, {{1, 2, 2}, {1, 2, 2}}, {{2, 2, 2}, {1, 1, 1}}, {{1, 2, 1}, {1, 1, 2}},
};

static void test_samplings_and_sizes(void)
{
    stk_rng rng = stk_rng_for(7, 0, 0, 0, 0, STK_PURPOSE_CROP);
    int n = 0;
    for (size_t s = 0; s < sizeof SAMPLINGS / sizeof SAMPLINGS[0]; s++) {
        jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .quality = 85};
        memcpy(kind.h, SAMPLINGS[s].h, sizeof SAMPLINGS[s].h);
        memcpy(kind.v, SAMPLINGS[s].v, sizeof SAMPLINGS[s].v);
        for (uint32_t w = 1; w <= 40; w++)
            for (uint32_t step = 0; step < 3; step++) {
                uint32_t h = step == 0 ? w : (w * (7 + 4 * step)) % 40 + 1;
                jpeg_bytes jpeg = jpeg_make(&kind, w, h, s);
                CHECK_EQ(check_jpeg(&jpeg, 2, &rng), 0);
                free(jpeg.data);
                n++;
            }
    }
    printf("%d pictures of 12 samplings\n", n);
}

static void test_larger_pictures(void)
{
    stk_rng rng = stk_rng_for(8, 0, 0, 0, 0, STK_PURPOSE_CROP);
    for (size_t s = 0; s < sizeof SAMPLINGS / sizeof SAMPLINGS[0]; s++) {
        jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .quality = 92};
        memcpy(kind.h, SAMPLINGS[s].h, sizeof SAMPLINGS[s].h);
        memcpy(kind.v, SAMPLINGS[s].v, sizeof SAMPLINGS[s].v);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t w = 60 + (uint32_t)stk_rng_below(&rng, 400), h = 60 + (uint32_t)stk_rng_below(&rng, 300);
            jpeg_bytes jpeg = jpeg_make(&kind, w, h, s + i);
            CHECK_EQ(check_jpeg(&jpeg, 12, &rng), 0);
            free(jpeg.data);
        }
    }
}

static void test_qualities(void)
{
    stk_rng rng = stk_rng_for(9, 0, 0, 0, 0, STK_PURPOSE_CROP);
    for (int quality = 1; quality <= 100; quality += quality < 90 ? 9 : 1) {
        jpeg_kind kind = {
            .channels = 3, .stored = JCS_YCbCr, .h = {2, 1, 1}, .v = {2, 1, 1}, .quality = quality};
        jpeg_bytes jpeg = jpeg_make(&kind, 131, 77, (uint64_t)quality);
        CHECK_EQ(check_jpeg(&jpeg, 4, &rng), 0);
        free(jpeg.data);
        kind = (jpeg_kind){.channels = 1, .stored = JCS_GRAYSCALE, .quality = quality};
        jpeg = jpeg_make(&kind, 77, 131, (uint64_t)quality);
        CHECK_EQ(check_jpeg(&jpeg, 4, &rng), 0);
        free(jpeg.data);
    }
}

static void test_kinds(void)
{
    static const jpeg_kind KINDS[] = {
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80, .progressive = true},
        {.channels = 3, .stored = JCS_YCbCr, .quality = 95, .progressive = true},
        {.channels = 1, .stored = JCS_GRAYSCALE, .quality = 70, .progressive = true},
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80, .arithmetic = true},
        {.channels = 3, .stored = JCS_YCbCr, .quality = 90, .arithmetic = true, .progressive = true},
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80, .restart_mcus = 1},
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {1}, .quality = 80, .restart_mcus = 5},
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80, .separate_scans = true},
        {.channels = 3, .stored = JCS_YCbCr, .h = {4}, .v = {1}, .quality = 88, .separate_scans = true},
        {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quant_scale = 2000},
        {.channels = 3, .stored = JCS_YCbCr, .quant_scale = 5000},
        {.channels = 1, .stored = JCS_GRAYSCALE, .quant_scale = 900},
        {.channels = 1, .stored = JCS_GRAYSCALE, .h = {2}, .v = {2}, .quality = 75},
        {.channels = 3,
         .stored = JCS_YCbCr,
         .h = {2, 2, 2},
         .v = {2, 2, 2},
         .quality = 80,
         .separate_scans = true},
    };
    stk_rng rng = stk_rng_for(10, 0, 0, 0, 0, STK_PURPOSE_CROP);
    for (size_t k = 0; k < sizeof KINDS / sizeof KINDS[0]; k++) {
        jpeg_bytes jpeg = jpeg_make(&KINDS[k], 201, 149, k);
        int failed = check_jpeg(&jpeg, 8, &rng);
        if (failed != 0) fprintf(stderr, "kind %zu\n", k);
        CHECK_EQ(failed, 0);
        free(jpeg.data);
    }
}

static void expect_refused(const jpeg_bytes *jpeg, size_t n_bytes, const char *word)
{
    stk_error error = {0};
    stk_buffer tiles = {0};
    stk_tile_options options = {.tile_pixels = 32, .tables_id = UINT32_MAX};
    CHECK_STATUS(stk_tiles_from_jpeg(f.ctx[0], jpeg->data, n_bytes, &options, &tiles, &error),
                 STK_ERR_UNSUPPORTED);
    if (strstr(error.text, word) == NULL) {
        fprintf(stderr, "refused, but without saying '%s': %s\n", word, error.text);
        CHECK(false);
    }
    stk_buffer_free(&tiles);
}

static void test_refusals(void)
{
    static const jpeg_kind KINDS[] = {
        {.channels = 4, .stored = JCS_CMYK, .quality = 80},
        {.channels = 4, .stored = JCS_YCCK, .quality = 80},
        {.channels = 3, .stored = JCS_RGB, .quality = 80},
    };
    for (size_t k = 0; k < sizeof KINDS / sizeof KINDS[0]; k++) {
        jpeg_bytes jpeg = jpeg_make(&KINDS[k], 50, 40, k);
        expect_refused(&jpeg, jpeg.n_bytes, "grey or YCbCr");
        free(jpeg.data);
    }
    jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80};
    jpeg_bytes jpeg = jpeg_make(&kind, 120, 90, 1);
    expect_refused(&jpeg, jpeg.n_bytes - 300, "remature end");
    free(jpeg.data);
    /* A progressive file without its last scans is what a viewer would smooth. EOI after the first DC scan.
     */
    kind.progressive = true;
    jpeg = jpeg_make(&kind, 120, 90, 1);
    size_t at = 0, scans = 0;
    for (size_t i = 0; i + 1 < jpeg.n_bytes && scans < 2; i++) {
        if (jpeg.data[i] != 0xff || (jpeg.data[i + 1] != 0xda && jpeg.data[i + 1] != 0xc4)) continue;
        if (jpeg.data[i + 1] == 0xda) scans++;
        if (scans == 1 && jpeg.data[i + 1] == 0xc4) break;
        at = i;
    }
    for (size_t i = at + 2; i + 1 < jpeg.n_bytes; i++) {
        if (jpeg.data[i] != 0xff || jpeg.data[i + 1] == 0) continue;
        jpeg.data[i + 1] = 0xd9;
        expect_refused(&jpeg, i + 2, "incomplete progressive");
        break;
    }
    free(jpeg.data);
}

static void test_options(void)
{
    stk_error error;
    stk_buffer tiles = {0};
    jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .quality = 80};
    jpeg_bytes jpeg = jpeg_make(&kind, 30, 20, 1);
    stk_tile_options options = {.tile_pixels = 48, .tables_id = UINT32_MAX};
    CHECK_STATUS(stk_tiles_from_jpeg(f.ctx[0], jpeg.data, jpeg.n_bytes, &options, &tiles, &error),
                 STK_ERR_ARGUMENT);
    options.tile_pixels = 32;
    CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], jpeg.data, jpeg.n_bytes, &options, &tiles, &error));
    static const stk_box OUTSIDE[] = {
        {0, 0, 31, 20}, {-1, 0, 5, 5}, {0, 0, 0, 5}, {29, 19, 1, 2}, {30, 0, 1, 1}};
    stk_planes planes;
    for (size_t i = 0; i < sizeof OUTSIDE / sizeof OUTSIDE[0]; i++) {
        CHECK_STATUS(
            stk_tiles_decode_box(f.ctx[0], tiles.data, tiles.n_bytes, NULL, OUTSIDE[i], &planes, &error),
            STK_ERR_ARGUMENT);
    }
    stk_buffer_free(&tiles);
    free(jpeg.data);
}

static void test_from_image(void)
{
    stk_rng rng = stk_rng_for(11, 0, 0, 0, 0, STK_PURPOSE_CROP);
    for (int k = 0; k < 3; k++) {
        uint8_t channels = k == 2 ? 1 : 3;
        uint32_t w = 61, h = 83;
        uint8_t *pixels = malloc((size_t)w * h * channels);
        for (uint32_t i = 0; i < w * h * channels; i++)
            pixels[i] = jpeg_sample(i % (w * channels), i / w, k & 1, &rng);
        stk_image image = {
            .pixels = pixels, .stride = (size_t)w * channels, .width = w, .height = h, .channels = channels};
        stk_error error;
        stk_buffer tiles = {0}, jpeg = {0};
        stk_tile_options options = {.tile_pixels = 32, .tables_id = UINT32_MAX};
        CHECK_OK(stk_codec_encode_jpeg(f.ctx[0], &image, 90, k == 1, 1, &jpeg, &error));
        CHECK_OK(stk_tiles_from_image(f.ctx[0], &image, 90, k == 1, &options, &tiles, &error));
        jpeg_planes want = jpeg_decode_planes(jpeg.data, jpeg.n_bytes);
        CHECK_EQ(compare_families(&tiles, NULL, &want, 5, &rng), 0);
        jpeg_planes_free(&want);
        stk_buffer_free(&tiles);
        stk_buffer_free(&jpeg);
        free(pixels);
    }
}

static void test_orientation_is_written(void)
{
    stk_error error;
    stk_buffer tiles = {0}, jpeg = {0};
    jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .quality = 80};
    jpeg_bytes source = jpeg_make(&kind, 30, 20, 1);
    stk_tile_options options = {.tile_pixels = 32, .tables_id = UINT32_MAX};
    CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], source.data, source.n_bytes, &options, &tiles, &error));
    for (uint8_t orientation = 1; orientation <= 8; orientation++) {
        stk_image_info info;
        CHECK_OK(stk_tiles_to_jpeg(f.ctx[0], tiles.data, tiles.n_bytes, NULL, orientation, &jpeg, &error));
        CHECK_OK(stk_codec_probe(f.ctx[0], jpeg.data, jpeg.n_bytes, &info, &error));
        CHECK_EQ(info.orientation, orientation);
        CHECK_EQ(info.width, 30);
        CHECK_EQ(info.height, 20);
    }
    stk_buffer_free(&tiles);
    stk_buffer_free(&jpeg);
    free(source.data);
}

/* Same input, same bytes: whatever family, and whatever was coded before with the same context. */
static void test_deterministic(void)
{
    stk_error error;
    stk_buffer first = {0}, again = {0};
    jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80};
    stk_tile_options options = {.tile_pixels = 32, .tables_id = UINT32_MAX};
    for (uint32_t size = 20; size < 300; size += 93) {
        jpeg_bytes jpeg = jpeg_make(&kind, size, 320 - size, 5);
        CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], jpeg.data, jpeg.n_bytes, &options, &first, &error));
        for (int i = 0; i < f.n; i++) {
            CHECK_OK(stk_tiles_from_jpeg(f.ctx[i], jpeg.data, jpeg.n_bytes, &options, &again, &error));
            CHECK(first.n_bytes == again.n_bytes && memcmp(first.data, again.data, first.n_bytes) == 0);
        }
        free(jpeg.data);
    }
    stk_buffer_free(&first);
    stk_buffer_free(&again);
}

int main(void)
{
    f = families_open();
    RUN(test_samplings_and_sizes);
    RUN(test_larger_pictures);
    RUN(test_qualities);
    RUN(test_kinds);
    RUN(test_refusals);
    RUN(test_options);
    RUN(test_from_image);
    RUN(test_orientation_is_written);
    RUN(test_deterministic);
    families_close(&f);
    return check_exit();
}
