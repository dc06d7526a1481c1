/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes after decoding, in every kernel family of this CPU: microseconds an image of the tail (upsampling,
 * colour, both resampling passes, flip) for RandomResizedCrop(224) of tiles records, of resampling raw records, of
 * plain raw crops beside memcpy, and of normalising. One thread; decoding is done, and not timed, before each
 * image, so that the planes are as warm as in a loader.
 *
 *   micro_tail FILE.jpg ...   e.g. $(find $STOKER_CORPUS/photos -name '*.JPEG')
 *
 * Photographs: each image's lowest time of all rounds, and in brackets the median round's mean. Others: the lowest
 * mean of 32 images in a row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/kernels.h"
#include "codec/planes.h"
#include "codec/render_plan.h"
#include "common/file.h"
#include "common/rng.h"
#include "micro_crop.h"

enum { ROUNDS = 9, SIDE = 224 };

typedef struct image {
    stk_buffer tiles;
    uint32_t width, height;
    uint8_t channels;
    stk_box box;
} image;

static uint8_t output[64 * SIDE * SIDE * 3];

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(stk_status status, const stk_error *error, const char *what)
{
    if (status == STK_OK) return;
    fprintf(stderr, "micro_tail: %s: %s\n", what, error->text);
    exit(1);
}

/* Files that cannot become tiles are left out; n_images counts the others. */
static image *load(stk_codec_ctx *ctx, char **paths, int n_paths, int *n_images)
{
    stk_rng rng = stk_rng_for(5, 0, 0, 0, 0, STK_PURPOSE_CROP);
    image *images = calloc((size_t)n_paths + 1, sizeof *images);
    double area = 0;
    int n = 0;
    for (int i = 0; i < n_paths; i++) {
        stk_error error;
        stk_buffer jpeg = {0};
        stk_tile_options options = {.tile_pixels = 32};
        stk_tile_info info;
        image *it = &images[n];
        check(stk_file_read_all(paths[i], UINT64_C(1) << 28, &jpeg, &error), &error, paths[i]);
        stk_status status = stk_tiles_from_jpeg(ctx, jpeg.data, jpeg.n_bytes, &options, &it->tiles, &error);
        stk_buffer_free(&jpeg);
        if (status == STK_ERR_UNSUPPORTED) continue;
        check(status, &error, paths[i]);
        check(stk_tiles_probe(it->tiles.data, it->tiles.n_bytes, &info, &error), &error, paths[i]);
        it->width = info.width;
        it->height = info.height;
        it->channels = info.channels;
        it->box = random_crop(info.width, info.height, &rng);
        area += (double)it->box.width * it->box.height;
        n++;
    }
    *n_images = n;
    printf("%d images, mean crop %.0f pixels\n", n, n == 0 ? 0 : area / n);
    return images;
}

static stk_render_job crop_job(const image *it, int number, stk_filter filter, stk_pixels pixels,
                               uint8_t orientation)
{
    stk_render_job job = {.data = it->tiles.data, .n_bytes = it->tiles.n_bytes, .encoding = STK_ENCODING_TILES,
                          .width = it->width, .height = it->height, .channels = it->channels,
                          .orientation = orientation, .box = it->box, .full_width = SIDE, .full_height = SIDE,
                          .filter = filter, .pixels = pixels, .out_width = SIDE, .out_height = SIDE,
                          .flip = number & 1, .out_channels = 3, .out = output, .out_stride = 3 * SIDE};
    if (orientation >= 5) {
        job.width = it->height;
        job.height = it->width;
        job.box = (stk_box){it->box.y, it->box.x, it->box.height, it->box.width};
    }
    return job;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tail_of_photographs(stk_codec_ctx *ctx, const image *images, int n, const char *what,
                                stk_filter filter, stk_pixels pixels, uint8_t orientation)
{
    double *lowest = calloc((size_t)n, sizeof *lowest), round[ROUNDS] = {0}, sum = 0;
    for (int r = -1; r < ROUNDS; r++) {
        for (int i = 0; i < n; i++) {
            stk_error error;
            stk_render_plan plan;
            stk_planes planes;
            stk_render_job job = crop_job(&images[i], i, filter, pixels, orientation);
            stk_render_plan_make(&job, &plan);
            check(stk_tiles_decode_box(ctx, job.data, job.n_bytes, NULL, plan.part, &planes, &error), &error,
                  "decode");
            double begin = seconds();
            check(stk_planes_render(ctx, &planes, &job, &error), &error, "render");
            double took = seconds() - begin;
            if (r < 0 || took < lowest[i]) lowest[i] = took;
            if (r >= 0) round[r] += took;
        }
    }
    for (int i = 0; i < n; i++) sum += lowest[i];
    qsort(round, ROUNDS, sizeof round[0], compare_doubles);
    printf("  tail, %-32s %7.2f us (%.2f)  %8.0f images/s\n", what, 1e6 * sum / n, 1e6 * round[ROUNDS / 2] / n,
           n / sum);
    free(lowest);
}

typedef struct raw_case {
    const char *name;
    uint32_t side, out_side, full_side;
    int32_t window_range; /* windows begin at -window_range / 2 ... + window_range / 2 - 1 of the middle */
    int flip;             /* 0 never, 1 always, 2 at random */
    stk_color color;
} raw_case;

static const raw_case RAW[] = {
    {"32x32, padded crop, flips", 32, 32, 32, 8, 2, STK_COLOR_RGB},
    {"256 -> crop 224", 256, SIDE, 256, 32, 0, STK_COLOR_RGB},
    {"256 -> crop 224, flipped", 256, SIDE, 256, 32, 1, STK_COLOR_RGB},
    {"256 -> crop 224, BGR", 256, SIDE, 256, 32, 0, STK_COLOR_BGR},
    {"256 resampled to 224", 256, SIDE, SIDE, 0, 1, STK_COLOR_RGB},
    {"2048 resampled to 224", 2048, SIDE, SIDE, 0, 1, STK_COLOR_RGB},
};

static void raw_records(stk_codec_ctx *ctx)
{
    uint8_t *data = malloc(2048 * 2048 * 3);
    stk_rng rng = stk_rng_for(6, 0, 0, 0, 0, STK_PURPOSE_CROP);
    for (size_t i = 0; i < 2048 * 2048 * 3; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t c = 0; c < sizeof RAW / sizeof RAW[0]; c++) {
        const raw_case *k = &RAW[c];
        double best = 1, copy = 1, end = seconds() + 0.4;
        size_t out_bytes = (size_t)k->out_side * k->out_side * 3;
        while (seconds() < end) {
            double begin = seconds();
            for (int i = 0; i < 32; i++) {
                uint64_t v = stk_rng_u64(&rng);
                int32_t middle = (int32_t)(k->full_side - k->out_side) / 2 - k->window_range / 2;
                stk_render_job job = {
                    .data = data, .n_bytes = (size_t)k->side * k->side * 3, .encoding = STK_ENCODING_RAW,
                    .width = k->side, .height = k->side, .channels = 3, .orientation = 1,
                    .box = {0, 0, (int32_t)k->side, (int32_t)k->side}, .full_width = k->full_side,
                    .full_height = k->full_side,
                    .window_x = middle + (int32_t)(v % (uint64_t)(k->window_range + 1)),
                    .window_y = middle + (int32_t)(v / 64 % (uint64_t)(k->window_range + 1)),
                    .out_width = k->out_side, .out_height = k->out_side,
                    .flip = k->flip == 2 ? v >> 63 : k->flip == 1, .color = k->color, .out_channels = 3,
                    .out = output + (size_t)i * out_bytes, .out_stride = (size_t)k->out_side * 3};
                stk_error error;
                check(stk_render(ctx, &job, NULL, &error), &error, "raw");
            }
            best = fmin(best, (seconds() - begin) / 32);
            begin = seconds();
            for (int i = 0; i < 32; i++)
                memcpy(output + (size_t)i * out_bytes, data + 3 * (stk_rng_u64(&rng) % 64), out_bytes);
            copy = fmin(copy, (seconds() - begin) / 32);
        }
        printf("  raw, %-33s %7.2f us          %8.0f images/s  (memcpy of the output %.2f us)\n", k->name,
               1e6 * best, 1 / best, 1e6 * copy);
    }
    free(data);
}

static void normalising(stk_family family)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    static const char *const dtypes[] = {"uint8", "float16", "bfloat16", "float32"};
    uint8_t *pixels = calloc(SIDE * SIDE, 3);
    float *out = calloc(SIDE * SIDE * 3, sizeof(float));
    for (int d = 0; d < 4; d++) {
        for (int l = 0; l < 2; l++) {
            stk_norm_table table;
            double best = 1;
            stk_norm_table_fill(&table, (stk_dtype)d, 3, mean, std, false);
            for (int r = 0; r < 500; r++) {
                double begin = seconds();
                stk_normalise(family, &table, (stk_layout)l, pixels, SIDE * SIDE, out, SIDE * SIDE);
                best = fmin(best, seconds() - begin);
            }
            printf("  normalise 224, %-8s %-14s %7.2f us\n", dtypes[d], l == STK_LAYOUT_NCHW ? "NCHW" : "NHWC",
                   1e6 * best);
        }
    }
    free(pixels);
    free(out);
}

int main(int argc, char **argv)
{
    for (int f = STK_FAMILY_COUNT - 1; f >= 0; f--) {
        if (!stk_family_available((stk_family)f)) continue;
        stk_error error;
        stk_codec_ctx *ctx;
        int n;
        setenv("STOKER_CPU", stk_family_name((stk_family)f), 1);
        check(stk_codec_ctx_open(NULL, &ctx, &error), &error, "context");
        printf("%s: ", stk_family_name((stk_family)f));
        image *images = load(ctx, argv + 1, argc - 1, &n);
        if (n > 0) {
            tail_of_photographs(ctx, images, n, "bilinear", STK_FILTER_BILINEAR, STK_PIXELS_PILLOW13, 1);
            tail_of_photographs(ctx, images, n, "bilinear, pillow12", STK_FILTER_BILINEAR, STK_PIXELS_PILLOW12, 1);
            tail_of_photographs(ctx, images, n, "bicubic", STK_FILTER_BICUBIC, STK_PIXELS_PILLOW13, 1);
            tail_of_photographs(ctx, images, n, "lanczos", STK_FILTER_LANCZOS, STK_PIXELS_PILLOW13, 1);
            tail_of_photographs(ctx, images, n, "bilinear, turned (orientation 6)", STK_FILTER_BILINEAR,
                                STK_PIXELS_PILLOW13, 6);
        }
        raw_records(ctx);
        normalising((stk_family)f);
        for (int i = 0; i < n; i++) stk_buffer_free(&images[i].tiles);
        free(images);
        stk_codec_ctx_close(&ctx);
    }
    return 0;
}
