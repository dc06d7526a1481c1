/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain way to feed images, as a yardstick: open each JPEG file of a folder, read it, decode it whole with
 * libjpeg-turbo (its default settings: slow-integer IDCT, fancy upsampling) to RGB. No crop, no resize, no
 * batch: a real loader on plain files does all of this and more, so it cannot be faster.
 *
 * Usage: folder_baseline [--json] [--seconds S] [--threads N] FOLDER */
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

typedef struct path_list {
    char **items;
    size_t n, capacity;
} path_list;

/* nftw's callback has no user pointer. */
static path_list found;

typedef struct work {
    const path_list *paths;
    double end_s;
    _Atomic size_t next; /* counts on over epochs */
    _Atomic uint64_t images, bytes, failed;
} work;

typedef struct jump_error {
    struct jpeg_error_mgr base;
    jmp_buf jump;
} jump_error;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int collect(const char *path, const struct stat *status, int kind, struct FTW *info)
{
    (void)status;
    (void)info;
    unsigned char magic[3] = {0};
    if (kind != FTW_F) return 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    bool is_jpeg = fread(magic, 1, 3, file) == 3 && magic[0] == 0xff && magic[1] == 0xd8 && magic[2] == 0xff;
    fclose(file);
    if (!is_jpeg) return 0;
    if (found.n == found.capacity) {
        found.capacity = found.capacity == 0 ? 1024 : found.capacity * 2;
        char **grown = realloc(found.items, found.capacity * sizeof *grown);
        if (grown == NULL) return 1;
        found.items = grown;
    }
    found.items[found.n] = strdup(path);
    return found.items[found.n++] == NULL;
}

static void on_error(j_common_ptr cinfo)
{
    longjmp(((jump_error *)(void *)cinfo->err)->jump, 1);
}

static void on_message(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* Reads a whole file into a buffer that grows and stays. Returns its size, 0 on failure. */
static size_t read_file(const char *path, unsigned char **buffer, size_t *capacity)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 0;
    size_t n = 0;
    while (true) {
        if (n == *capacity) {
            *capacity = *capacity == 0 ? 1 << 18 : *capacity * 2;
            unsigned char *grown = realloc(*buffer, *capacity);
            if (grown == NULL) break;
            *buffer = grown;
        }
        size_t got = fread(*buffer + n, 1, *capacity - n, file);
        n += got;
        if (got == 0) break;
    }
    fclose(file);
    return n;
}

typedef struct decoder {
    struct jpeg_decompress_struct jpeg;
    jump_error error;
    unsigned char *pixels, *file;
    size_t capacity, file_capacity;
} decoder;

static bool decode(decoder *d, const unsigned char *bytes, size_t n_bytes)
{
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    if (setjmp(d->error.jump) != 0) {
        jpeg_abort_decompress(jpeg);
        return false;
    }
    jpeg_mem_src(jpeg, bytes, (unsigned long)n_bytes);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->num_components != 4) jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    size_t row_bytes = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    if (row_bytes * jpeg->output_height > d->capacity) {
        free(d->pixels);
        d->capacity = row_bytes * jpeg->output_height;
        d->pixels = malloc(d->capacity);
        if (d->pixels == NULL) longjmp(d->error.jump, 1);
    }
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = d->pixels + row_bytes * jpeg->output_scanline;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

static void *run_thread(void *argument)
{
    work *w = argument;
    decoder d;
    memset(&d, 0, sizeof d);
    d.jpeg.err = jpeg_std_error(&d.error.base);
    d.error.base.error_exit = on_error;
    d.error.base.output_message = on_message;
    if (setjmp(d.error.jump) != 0) return NULL; /* out of memory */
    jpeg_create_decompress(&d.jpeg);
    while (now_s() < w->end_s) {
        size_t i = atomic_fetch_add(&w->next, 1) % w->paths->n;
        size_t n = read_file(w->paths->items[i], &d.file, &d.file_capacity);
        if (n > 0 && decode(&d, d.file, n)) {
            atomic_fetch_add(&w->images, 1);
            atomic_fetch_add(&w->bytes, n);
        } else
            atomic_fetch_add(&w->failed, 1);
    }
    jpeg_destroy_decompress(&d.jpeg);
    free(d.pixels);
    free(d.file);
    return NULL;
}

static int measure(work *w, int n_threads, double seconds, bool json)
{
    pthread_t threads[256];
    int started = 0;
    double start = now_s();
    w->end_s = start + seconds;
    while (started < n_threads && pthread_create(&threads[started], NULL, run_thread, w) == 0) started++;
    for (int t = 0; t < started; t++) pthread_join(threads[t], NULL);
    double s = now_s() - start;
    if (started != n_threads) {
        fputs("folder_baseline: could not start the threads\n", stderr);
        return 1;
    }
    uint64_t images = atomic_load(&w->images), bytes = atomic_load(&w->bytes), failed = atomic_load(&w->failed);
    printf(json ? "{\"images_per_s\": %.1f, \"mb_per_s\": %.2f, \"threads\": %d, \"files\": %zu, \"failed\": %" PRIu64
                  ", \"seconds\": %.3f}\n"
                : "images/s     %.1f\nMB/s         %.1f read\nthreads      %d\nfiles        %zu\nfailed       %" PRIu64
                  "\nseconds      %.2f\n",
           (double)images / s, (double)bytes / s / 1e6, n_threads, w->paths->n, failed, s);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = 5;
    int n_threads = 1;
    bool json = false;
    const char *folder = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            n_threads = (int)strtol(argv[++i], NULL, 10);
        else
            folder = argv[i];
    }
    if (folder == NULL || n_threads < 1 || n_threads > 256 || !(seconds > 0)) {
        fputs("Usage: folder_baseline [--json] [--seconds S] [--threads N] FOLDER\n", stderr);
        return 64;
    }
    if (nftw(folder, collect, 32, 0) != 0 || found.n == 0) {
        fprintf(stderr, "folder_baseline: %s: no JPEG files found\n", folder);
        return 1;
    }
    work w = {.paths = &found};
    int code = measure(&w, n_threads, seconds, json);
    for (size_t i = 0; i < found.n; i++) free(found.items[i]);
    free(found.items);
    return code;
}
