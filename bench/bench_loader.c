/* SPDX-License-Identifier: Apache-2.0
 *
 * The real loader's rate beside this machine's memcpy rate, in one run.
 *
 * Usage: bench_loader [options] DATASET...
 *   DATASET          a packed data set, or "raw32" / "raw256": synthetic raw records, made below --into first
 *   --transform T    train (RandomResizedCrop 224 + flip), cifar (pad 4, crop 32, flip), crop (crop 224 + flip),
 *                    eval (resize 256, centre crop 224). Default: cifar for raw32, crop for raw256, else train
 *   --threads N      1
 *   --batch N        256 (raw32), else 64
 *   --order O        shuffle, sequential, page
 *   --seconds S      measured after the first epoch; 3
 *   --repeats N      measurements, of which the median and the range are told; 5
 *   --io auto|mmap|pread
 *   --cold           forget the page cache before each epoch and measure whole epochs
 *   --into DIR       /dev/shm
 *
 * One line a data set: images/s of the first epoch (with checksums) and of later ones, output bytes/s as a share
 * of memcpy's for pieces of the same size at random places, the loader's own share of the threads' time. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <stoker/stoker.h>

enum { MAX_REPEATS = 101, SLOTS = 5 };

typedef struct settings {
    const char *transform, *into;
    uint32_t threads, batch;
    stk_order order;
    stk_io io;
    double seconds;
    int repeats;
    bool cold;
} settings;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const stk_error *error)
{
    fprintf(stderr, "bench_loader: %s: %s\n", what, error != NULL ? error->text : strerror(errno));
    exit(1);
}

/* ---- Synthetic data. */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void write_picture(const char *path, uint32_t side, uint64_t *state)
{
    size_t n = (size_t)side * side * 3;
    uint8_t *pixels = malloc(n + 8);
    FILE *file = fopen(path, "wb");
    if (pixels == NULL || file == NULL) die(path, NULL);
    for (size_t k = 0; k < n; k += 8) {
        uint64_t r = next_random(state);
        memcpy(pixels + k, &r, 8);
    }
    fprintf(file, "P6\n%u %u\n255\n", side, side);
    if (fwrite(pixels, 1, n, file) != n || fclose(file) != 0) die(path, NULL);
    free(pixels);
}

static void make_raw(const char *path, const char *into, uint32_t side, uint32_t n)
{
    char folder[512], picture[600];
    stk_error error;
    uint64_t state = 88172645463325252u;
    snprintf(folder, sizeof folder, "%s/stoker-bench-%ld", into, (long)getpid());
    if (mkdir(folder, 0700) != 0) die(folder, NULL);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(picture, sizeof picture, "%s/%06u.ppm", folder, i);
        write_picture(picture, side, &state);
    }
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.encode = STK_ENCODE_RAW;
    options.check = STK_CHECK_HEADER;
    if (stk_pack(folder, path, &options, NULL, &error) != STK_OK) die(path, &error);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(picture, sizeof picture, "%s/%06u.ppm", folder, i);
        unlink(picture);
    }
    rmdir(folder);
}

/* The data set's path; "raw32" and "raw256" are made when they are not there. */
static const char *data_path(const char *name, const settings *s, char *buffer, size_t capacity)
{
    bool small = strcmp(name, "raw32") == 0;
    if (!small && strcmp(name, "raw256") != 0) return name;
    snprintf(buffer, capacity, "%s/stoker-bench-%s.stk", s->into, name);
    if (access(buffer, R_OK) != 0) make_raw(buffer, s->into, small ? 32 : 256, small ? 50000 : 3000);
    return buffer;
}

/* ---- memcpy. */

/* Bytes/s of copying pieces of this size from random places of `span` bytes into a ring of batches. */
static double memcpy_rate(size_t piece, size_t span, uint32_t batch)
{
    size_t ring = piece * batch * SLOTS, at = 0;
    if (span < 8 * piece) span = 8 * piece;
    uint8_t *from = malloc(span), *to = malloc(ring);
    if (from == NULL || to == NULL) die("memcpy", NULL);
    memset(from, 1, span);
    memset(to, 2, ring);
    uint64_t state = 1234567, n = 0;
    double start = now_s(), took;
    do {
        for (int k = 0; k < 64; k++, n++) {
            memcpy(to + at, from + next_random(&state) % (span - piece), piece);
            at = at + 2 * piece <= ring ? at + piece : 0;
        }
        took = now_s() - start;
    } while (took < 0.5);
    free(from);
    free(to);
    return (double)n * (double)piece / took;
}

/* ---- The loader. */

static void set_transform(stk_loader_options *o, const char *name)
{
    if (strcmp(name, "cifar") == 0) {
        stk_transform_init(&o->transform, STK_TRANSFORM_PAD_CROP);
        o->transform.out_width = o->transform.out_height = 32;
    } else if (strcmp(name, "crop") == 0) {
        stk_transform_init(&o->transform, STK_TRANSFORM_PAD_CROP);
        o->transform.pad = 0;
    } else if (strcmp(name, "eval") == 0) {
        stk_transform_init(&o->transform, STK_TRANSFORM_RESIZE_CENTER_CROP);
    } else if (strcmp(name, "train") == 0) {
        stk_transform_init(&o->transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    } else {
        fprintf(stderr, "bench_loader: unknown transform '%s'\n", name);
        exit(64);
    }
}

static void forget_cache(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) die(path, NULL);
    close(fd);
}

/* Images until the epoch ends, or until `seconds` have passed (0: no limit). */
static uint64_t take(stk_loader *l, double seconds, size_t *sample_bytes)
{
    stk_error error;
    uint64_t n = 0;
    double start = now_s();
    for (;;) {
        stk_batch *b;
        stk_status status = stk_loader_next(l, -1, &b, &error);
        if (status == STK_END && seconds <= 0) return n;
        if (status == STK_END) continue;
        if (status != STK_OK) die("loading", &error);
        n += b->n;
        *sample_bytes = b->sample_bytes;
        stk_batch_release(b);
        if (seconds > 0 && now_s() - start > seconds) return n;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, const char *path, const settings *s, const char *transform, uint32_t batch)
{
    stk_error error;
    stk_dataset_options so;
    stk_dataset *d;
    stk_loader *l;
    stk_loader_options o;
    double rates[MAX_REPEATS], first_batch;
    size_t sample_bytes = 0;
    stk_dataset_options_init(&so);
    so.io = s->io;
    stk_loader_options_init(&o);
    set_transform(&o, transform);
    o.n_threads = s->threads;
    o.order = s->order;
    o.batch_size = batch;
    if (s->cold) forget_cache(path);
    double start = now_s();
    if (stk_dataset_open(path, &so, &d, &error) != STK_OK) die(path, &error);
    if (o.batch_size > stk_dataset_len(d)) o.batch_size = (uint32_t)stk_dataset_len(d);
    if (stk_loader_open(d, &o, &l, &error) != STK_OK) die(path, &error);
    stk_batch *b;
    if (stk_loader_next(l, -1, &b, &error) != STK_OK) die(path, &error);
    first_batch = now_s() - start;
    uint64_t n = b->n;
    stk_batch_release(b);
    n += take(l, 0, &sample_bytes);
    double first = (double)n / (now_s() - start);
    stk_loader_stats before, after;
    stk_loader_get_stats(l, &before);
    double begun = now_s();
    for (int r = 0; r < s->repeats; r++) {
        if (s->cold) {
            /* A new loader: the old one has read ahead into the next epoch. */
            stk_loader_close(&l);
            stk_dataset_close(&d);
            forget_cache(path);
            begun = start = now_s();
            if (stk_dataset_open(path, &so, &d, &error) != STK_OK) die(path, &error);
            if (stk_loader_open(d, &o, &l, &error) != STK_OK) die(path, &error);
            before = (stk_loader_stats){0};
        }
        start = now_s();
        n = take(l, s->cold ? 0 : s->seconds / s->repeats, &sample_bytes);
        rates[r] = (double)n / (now_s() - start);
    }
    double took = now_s() - begun;
    stk_loader_get_stats(l, &after);
    stk_loader_close(&l);
    double busy = took * after.n_threads * 1e9 - (double)(after.worker_wait_ns - before.worker_wait_ns);
    double work = (double)(after.decode_ns - before.decode_ns);
    qsort(rates, (size_t)s->repeats, sizeof *rates, by_value);
    double median = rates[s->repeats / 2],
           copy = memcpy_rate(sample_bytes, (size_t)stk_dataset_bytes(d), o.batch_size);
    double stored = (double)stk_dataset_bytes(d) / (double)stk_dataset_len(d);
    printf("%-10s %s, %u thread%s, batch %u, %s: %.0f images/s (%.0f .. %.0f)%s, first epoch %.0f, first batch "
           "%.1f ms; "
           "out %.2f GB/s = %.0f %% of memcpy's %.2f; stored %.0f MB/s; not decoding %.1f %%\n",
           name, transform, after.n_threads, after.n_threads == 1 ? "" : "s", o.batch_size, stk_dataset_road(d),
           median, rates[0], rates[s->repeats - 1], s->cold ? " cold" : "", first, first_batch * 1e3,
           median * (double)sample_bytes * 1e-9, 100 * median * (double)sample_bytes / copy, copy * 1e-9,
           median * stored * 1e-6, 100 * (busy - work) / busy);
    stk_dataset_close(&d);
}

static int one_of(const char *value, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(value, names[i]) == 0) return i;
    fprintf(stderr, "bench_loader: unknown value '%s'\n", value);
    exit(64);
}

int main(int argc, char **argv)
{
    static const char *const orders[] = {"shuffle", "sequential", "page", NULL}, *const roads[] = {"auto", "mmap",
                                                                                                   "pread", NULL};
    settings s = {.into = "/dev/shm", .threads = 1, .seconds = 3, .repeats = 5};
    int n_measured = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(a, "--cold") == 0) {
            s.cold = true;
        } else if (strncmp(a, "--", 2) == 0) {
            i++;
            if (strcmp(a, "--transform") == 0) s.transform = value;
            else if (strcmp(a, "--into") == 0) s.into = value;
            else if (strcmp(a, "--threads") == 0) s.threads = (uint32_t)atoi(value);
            else if (strcmp(a, "--batch") == 0) s.batch = (uint32_t)atoi(value);
            else if (strcmp(a, "--seconds") == 0) s.seconds = atof(value);
            else if (strcmp(a, "--repeats") == 0) s.repeats = atoi(value);
            else if (strcmp(a, "--order") == 0) s.order = (stk_order)one_of(value, orders);
            else if (strcmp(a, "--io") == 0) s.io = (stk_io)one_of(value, roads);
            else one_of(a, orders);
            if (s.repeats < 1 || s.repeats > MAX_REPEATS || s.seconds <= 0) {
                fprintf(stderr, "bench_loader: --repeats must be 1 .. %d, --seconds positive\n", MAX_REPEATS);
                return 64;
            }
        } else {
            char made[600];
            bool small = strcmp(a, "raw32") == 0, large = strcmp(a, "raw256") == 0;
            const char *transform = s.transform != NULL ? s.transform : small ? "cifar" : large ? "crop" : "train";
            const char *slash = strrchr(a, '/');
            measure(slash != NULL ? slash + 1 : a, data_path(a, &s, made, sizeof made), &s, transform,
                    s.batch != 0 ? s.batch : small ? 256 : 64);
            n_measured++;
        }
    }
    if (n_measured > 0) return 0;
    fprintf(stderr, "usage: bench_loader [--threads N] [--transform T] [--cold] ... DATASET|raw32|raw256 ...\n");
    return 64;
}
