/* SPDX-License-Identifier: Apache-2.0
 *
 * RandomResizedCrop(224) + flip from JPEG photographs, all routes side by side in one run, one thread:
 *
 *   full    libjpeg-turbo decodes the whole picture, then crop and our fast exact resize (what a good C loader does)
 *   keep    a verbatim JPEG record through stk_render: only what the crop needs is decoded (ROI)
 *   tiles   a tiles record through stk_render
 *   loader  the same tiles through the real loader, batch 64, one worker thread
 *
 *   micro_routes [--tile 16|32|64] [--filter bilinear|bicubic] [--rounds N] FILE.jpg ...
 *   STOKER_CPU=scalar|avx2|avx512 chooses the kernel family of everything but libjpeg-turbo.
 *
 * Routes take turns, 25 images at a time; a figure is the median of the rounds, and [lowest, highest]. Bare routes are
 * timed by the thread's CPU clock, the loader by the process's less what the main thread used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <stoker/stoker.h>

#include "codec/render.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/rng.h"
#include "micro_crop.h"
#include "format/shard_writer.h"

#include "common/hash.h"

enum { SIZE = 224, TURN = 25, MAX_ROUNDS = 99, BATCH = 64, LOADER_BATCHES = 48 /* long against the few that are ready ahead */ };
typedef enum route { ROUTE_FULL, ROUTE_KEEP, ROUTE_TILES, ROUTE_LOADER, N_ROUTES } route;
static const char *const NAMES[N_ROUTES] = {"full", "keep", "tiles", "loader"};

typedef struct picture {
    stk_buffer jpeg, tiles;
    stk_image_info info;
    stk_box box;
    bool flip;
} picture;

typedef struct bench {
    stk_codec_ctx *ctx;
    picture *pictures;
    size_t n;
    stk_filter filter;
    uint8_t out[SIZE * SIZE * 3];
    stk_dataset *dataset;
    stk_loader *loader;
} bench;

static double cpu(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(stk_status status, const stk_error *error, const char *what)
{
    if (status == STK_OK) return;
    fprintf(stderr, "micro_routes: %s: %s\n", what, error->text);
    exit(1);
}

static void new_boxes(bench *b, uint64_t seed)
{
    for (size_t i = 0; i < b->n; i++) {
        stk_rng rng = stk_rng_for(seed, 0, i, 0, 0, STK_PURPOSE_CROP);
        picture *p = &b->pictures[i];
        p->box = random_crop(p->info.width, p->info.height, &rng);
        p->flip = stk_rng_u64(&rng) & 1;
    }
}

static stk_render_job job_of(bench *b, const picture *p, const stk_buffer *record, stk_encoding encoding)
{
    return (stk_render_job){.data = record->data, .n_bytes = record->n_bytes, .encoding = encoding,
                            .width = p->info.width, .height = p->info.height, .channels = p->info.channels,
                            .orientation = 1, .box = p->box, .full_width = SIZE, .full_height = SIZE,
                            .filter = b->filter, .out_width = SIZE, .out_height = SIZE, .flip = p->flip,
                            .out_channels = 3, .out = b->out, .out_stride = SIZE * 3};
}

static void run_full(bench *b, const picture *p)
{
    stk_error error = {0};
    stk_image whole;
    stk_damage_report damage;
    check(stk_codec_decode(b->ctx, STK_ENCODING_JPEG, p->jpeg.data, p->jpeg.n_bytes, STK_MODE_RGB, &whole, &damage, &error),
          &error, "decode");
    static stk_buffer copy; /* the picture lies in the context's scratch, which rendering uses again */
    check(stk_buffer_resize(&copy, whole.stride * whole.height, &error), &error, "memory");
    /* Not counted as a cost of its own: rows of the crop only. */
    size_t row = (size_t)p->box.width * 3;
    for (int32_t y = 0; y < p->box.height; y++)
        memcpy(copy.data + (size_t)y * row, whole.pixels + (size_t)(p->box.y + y) * whole.stride + (size_t)p->box.x * 3, row);
    copy.n_bytes = row * (size_t)p->box.height;
    stk_render_job job = job_of(b, p, &copy, STK_ENCODING_RAW);
    job.width = (uint32_t)p->box.width;
    job.height = (uint32_t)p->box.height;
    job.channels = 3;
    job.box = (stk_box){0, 0, p->box.width, p->box.height};
    check(stk_render(b->ctx, &job, NULL, &error), &error, "resize");
}

static void run_bare(bench *b, route r, const picture *p)
{
    stk_error error = {0};
    if (r == ROUTE_FULL) {
        run_full(b, p);
        return;
    }
    stk_render_job job = r == ROUTE_KEEP ? job_of(b, p, &p->jpeg, STK_ENCODING_JPEG) : job_of(b, p, &p->tiles, STK_ENCODING_TILES);
    check(stk_render(b->ctx, &job, NULL, &error), &error, NAMES[r]);
}

/* Microseconds an image for one round of the bare routes, in turns of TURN images. */
static void bare_round(bench *b, double *us)
{
    double took[N_ROUTES] = {0};
    for (size_t first = 0; first < b->n; first += TURN)
        for (route r = 0; r < ROUTE_LOADER; r++) {
            double begin = cpu(CLOCK_THREAD_CPUTIME_ID);
            for (size_t i = first; i < first + TURN && i < b->n; i++) run_bare(b, r, &b->pictures[i]);
            took[r] += cpu(CLOCK_THREAD_CPUTIME_ID) - begin;
        }
    for (route r = 0; r < ROUTE_LOADER; r++) us[r] = took[r] / (double)b->n * 1e6;
}

/* The worker's CPU time over at least one epoch's worth of images. The loader runs ahead; rounds are long against that. */
static double loader_round(bench *b)
{
    stk_error error = {0};
    size_t images = 0;
    double process = cpu(CLOCK_PROCESS_CPUTIME_ID), self = cpu(CLOCK_THREAD_CPUTIME_ID);
    while (images < b->n || images < LOADER_BATCHES * BATCH) {
        stk_batch *batch = NULL;
        stk_status s = stk_loader_next(b->loader, -1, &batch, &error);
        if (s == STK_END) continue;
        check(s, &error, "loader");
        images += batch->n;
        stk_batch_release(batch);
    }
    return ((cpu(CLOCK_PROCESS_CPUTIME_ID) - process) - (cpu(CLOCK_THREAD_CPUTIME_ID) - self)) / (double)images * 1e6;
}

static void open_loader(bench *b, const char *path)
{
    stk_error error = {0};
    stk_loader_options o;
    stk_shard_writer *w = NULL;
    stk_shard_writer_options wo = {0};
    char id[33];
    unlink(path);
    check(stk_shard_writer_open(path, &wo, &w, &error), &error, path);
    for (size_t i = 0; i < b->n; i++) {
        const picture *p = &b->pictures[i];
        stk_record r = {.payload = p->tiles.data, .n_bytes = p->tiles.n_bytes, .xxh3 = stk_hash64(p->tiles.data, p->tiles.n_bytes),
                        .label = (int64_t)i, .width = p->info.width, .height = p->info.height, .encoding = STK_ENCODING_TILES,
                        .orientation = 1, .channels = p->info.channels};
        check(stk_shard_writer_add(w, &r, NULL, &error), &error, "write");
    }
    check(stk_shard_writer_finish(w, "{}", id, &error), &error, "write");
    stk_shard_writer_close(&w);
    check(stk_dataset_open(path, NULL, &b->dataset, &error), &error, "open");
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.filter = b->filter;
    o.batch_size = BATCH < b->n ? BATCH : (uint32_t)b->n;
    o.n_threads = 1;
    o.repeats = 16;
    check(stk_loader_open(b->dataset, &o, &b->loader, &error), &error, "loader");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_results(double us[][N_ROUTES], int rounds, const char *family, uint32_t tile, const bench *b)
{
    double full = 0;
    printf("family %s, %zu photographs, tile %u px, %d rounds\n", family, b->n, tile, rounds);
    printf("%-8s %10s %18s %10s %8s\n", "route", "us/image", "[low, high]", "images/s", "x full");
    for (route r = 0; r < N_ROUTES; r++) {
        double v[MAX_ROUNDS];
        for (int i = 0; i < rounds; i++) v[i] = us[i][r];
        qsort(v, (size_t)rounds, sizeof *v, compare);
        double m = v[rounds / 2];
        if (r == ROUTE_FULL) full = m;
        printf("%-8s %10.1f   [%6.1f, %6.1f] %10.0f %8.2f\n", NAMES[r], m, v[0], v[rounds - 1], 1e6 / m, full / m);
    }
}

int main(int argc, char **argv)
{
    bench b = {.filter = STK_FILTER_BILINEAR};
    stk_error error = {0};
    stk_tile_options tiles = {.tile_pixels = 32};
    int rounds = 7, at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--tile") == 0) tiles.tile_pixels = (uint32_t)atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--rounds") == 0) rounds = atoi(argv[at + 1]);
        else if (strcmp(argv[at + 1], "bicubic") == 0) b.filter = STK_FILTER_BICUBIC;
    }
    if (at >= argc || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: micro_routes [--tile N] [--filter NAME] [--rounds N] FILE.jpg ...\n");
        return 64;
    }
    check(stk_codec_ctx_open(NULL, &b.ctx, &error), &error, "context");
    b.pictures = calloc((size_t)(argc - at), sizeof *b.pictures);
    for (; at < argc; at++) {
        picture *p = &b.pictures[b.n];
        check(stk_file_read_all(argv[at], 1u << 30, &p->jpeg, &error), &error, argv[at]);
        if (stk_codec_probe(b.ctx, p->jpeg.data, p->jpeg.n_bytes, &p->info, NULL) != STK_OK) continue;
        if (stk_tiles_from_jpeg(b.ctx, p->jpeg.data, p->jpeg.n_bytes, &tiles, &p->tiles, NULL) == STK_OK) b.n++;
    }
    const char *family = "?";
    check(stk_cpu_family(&family, &error), &error, "STOKER_CPU");
    open_loader(&b, "/dev/shm/micro_routes.stk");
    double us[MAX_ROUNDS][N_ROUTES];
    for (int round = -1; round < rounds; round++) { /* one round to warm up */
        double *row = us[round < 0 ? 0 : round];
        new_boxes(&b, (uint64_t)(round + 1));
        bare_round(&b, row);
        row[ROUTE_LOADER] = loader_round(&b);
    }
    print_results(us, rounds, family, tiles.tile_pixels, &b);
    stk_loader_close(&b.loader);
    stk_dataset_close(&b.dataset);
    stk_codec_ctx_close(&b.ctx);
    unlink("/dev/shm/micro_routes.stk");
    return 0;
}
