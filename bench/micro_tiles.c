/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tiles record costs: bytes against the source, milliseconds to make, microseconds to decode the part
 * under a RandomResizedCrop, split into head + tables, Huffman, and the rest (DC sums, inverse DCT). One
 * thread, files in memory, no I/O timed.
 *
 *   micro_tiles [--tile 16|32|64] FILE.jpg ...   e.g. $(find $STOKER_CORPUS/photos -name '*.JPEG')
 *   STOKER_CPU=avx2 micro_tiles ...              another kernel family
 *
 * Each figure is the median of the rounds' means; [lowest, highest] follows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codec/planes.h"
#include "codec/tiles_internal.h"
#include "common/file.h"
#include "common/rng.h"
#include "micro_crop.h"

enum { ROUNDS = 9 };

typedef struct image {
    stk_buffer jpeg, tiles;
    uint32_t width, height;
    stk_box box;
} image;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* other processes do not count */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(stk_status status, const stk_error *error, const char *what)
{
    if (status == STK_OK) return;
    fprintf(stderr, "micro_tiles: %s: %s\n", what, error->text);
    exit(1);
}

/* The stages, each with all before it. Every stage is timed over all images in turn, so that each image's
 * bytes are as cold as in a loader (500 photographs are 55 MB). */
typedef enum stage { STAGE_OPEN, STAGE_HUFFMAN, STAGE_ALL, N_STAGES } stage;

/* The crop's segments, in the bands that decode_box uses. */
static void decode_segments(stk_codec_ctx *ctx, const image *im, const stk_tile_source *source)
{
    stk_error error;
    stk_tile_window w;
    stk_tile_window_of(&source->head.g, (uint32_t)im->box.x, (uint32_t)im->box.y, (uint32_t)im->box.width,
                       (uint32_t)im->box.height, &w);
    stk_tile_part part = {.tile = w.tile_x0, .n_tiles = w.tile_x1 - w.tile_x0};
    uint32_t step = stk_tile_band_rows(&source->head.g, part.n_tiles);
    for (part.row = w.mcu_y0; part.row < w.mcu_y1; part.row += step) {
        int16_t *coefs;
        part.n_rows = w.mcu_y1 - part.row < step ? w.mcu_y1 - part.row : step;
        check(stk_tile_source_coefs(ctx, source, part, &coefs, &error), &error, "segments");
    }
}

static void decode(stk_codec_ctx *ctx, const image *im, stage until)
{
    stk_error error;
    stk_tile_source source;
    stk_planes planes;
    if (until == STAGE_ALL) {
        check(stk_tiles_decode_box(ctx, im->tiles.data, im->tiles.n_bytes, NULL, im->box, &planes, &error),
              &error, "decode");
        return;
    }
    check(stk_tile_source_open(ctx, im->tiles.data, im->tiles.n_bytes, NULL, &source, &error), &error,
          "open");
    if (until == STAGE_HUFFMAN) decode_segments(ctx, im, &source);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_figure(const char *name, double *values, double scale)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    printf("  %-14s %8.1f us  [%.1f, %.1f]\n", name, values[ROUNDS / 2] * scale, values[0] * scale,
           values[ROUNDS - 1] * scale);
}

static void bench_decode(stk_codec_ctx *ctx, const image *images, int n)
{
    double spent[N_STAGES][ROUNDS], huffman[ROUNDS], rest[ROUNDS];
    for (int round = -1; round < ROUNDS; round++) { /* the first one warms up */
        for (stage until = STAGE_OPEN; until < N_STAGES; until++) {
            double start = seconds();
            for (int i = 0; i < n; i++)
                decode(ctx, &images[i], until);
            if (round >= 0) spent[until][round] = seconds() - start;
        }
        if (round < 0) continue;
        huffman[round] = spent[STAGE_HUFFMAN][round] - spent[STAGE_OPEN][round];
        rest[round] = spent[STAGE_ALL][round] - spent[STAGE_HUFFMAN][round];
    }
    print_figure("head + tables", spent[STAGE_OPEN], 1e6 / n);
    print_figure("Huffman", huffman, 1e6 / n);
    print_figure("DC + IDCT", rest, 1e6 / n);
    print_figure("decode_box", spent[STAGE_ALL], 1e6 / n);
}

/* Makes the records; prints size and time. */
static void bench_transcode(stk_codec_ctx *ctx, image *images, int n, uint32_t tile)
{
    stk_tile_options options = {.tile_pixels = tile, .tables_id = UINT32_MAX};
    stk_error error;
    double best = 1e9, source = 0, tiles = 0;
    for (int round = 0; round < 3; round++) {
        double start = seconds();
        source = tiles = 0;
        for (int i = 0; i < n; i++) {
            check(stk_tiles_from_jpeg(ctx, images[i].jpeg.data, images[i].jpeg.n_bytes, &options,
                                      &images[i].tiles, &error),
                  &error, "transcode");
            source += (double)images[i].jpeg.n_bytes;
            tiles += (double)images[i].tiles.n_bytes;
        }
        double spent = seconds() - start;
        best = spent < best ? spent : best;
    }
    printf("tile %u px: %+.2f %% of %.1f KB; transcode and verify %.2f ms an image (best of 3)\n", tile,
           100 * (tiles / source - 1), source / n / 1000, 1e3 * best / n);
}

static int load(stk_codec_ctx *ctx, image *images, int n_files, char **files)
{
    int n = 0;
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_CROP);
    stk_tile_options options = {.tile_pixels = 32, .tables_id = UINT32_MAX};
    for (int i = 0; i < n_files; i++) {
        stk_error error;
        stk_tile_info info;
        image im = {{0}, {0}, 0, 0, {0, 0, 0, 0}};
        check(stk_file_read_all(files[i], UINT64_C(1) << 32, &im.jpeg, &error), &error, files[i]);
        if (stk_tiles_from_jpeg(ctx, im.jpeg.data, im.jpeg.n_bytes, &options, &im.tiles, &error) != STK_OK) {
            fprintf(stderr, "micro_tiles: %s left out: %s\n", files[i], error.text);
            stk_buffer_free(&im.jpeg);
            continue;
        }
        check(stk_tiles_probe(im.tiles.data, im.tiles.n_bytes, &info, &error), &error, files[i]);
        im.box = random_crop(info.width, info.height, &rng);
        images[n++] = im;
    }
    return n;
}

int main(int argc, char **argv)
{
    static const uint32_t tiles[] = {16, 32, 64};
    stk_error error;
    stk_codec_ctx *ctx;
    const char *family;
    uint32_t only = 0; /* tile width; 0 = all */
    if (argc > 3 && strcmp(argv[1], "--tile") == 0) {
        only = (uint32_t)atoi(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: micro_tiles [--tile 16|32|64] FILE.jpg ...\n");
        return 64;
    }
    check(stk_codec_ctx_open(NULL, &ctx, &error), &error, "context");
    check(stk_cpu_family(&family, &error), &error, "STOKER_CPU");
    image *images = calloc((size_t)argc, sizeof *images);
    if (images == NULL) return 1;
    int n = load(ctx, images, argc - 1, argv + 1);
    printf("%d images, family %s, RandomResizedCrop boxes\n", n, family);
    for (size_t i = 0; n > 0 && i < sizeof tiles / sizeof tiles[0]; i++) {
        if (only != 0 && tiles[i] != only) continue;
        bench_transcode(ctx, images, n, tiles[i]);
        bench_decode(ctx, images, n);
    }
    for (int i = 0; i < n; i++) {
        stk_buffer_free(&images[i].jpeg);
        stk_buffer_free(&images[i].tiles);
    }
    free(images);
    stk_codec_ctx_close(&ctx);
    return 0;
}
