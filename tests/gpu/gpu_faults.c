/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_faults DATASET [cuda]: a real device's failures: no pinned memory, no device memory, and, last, a kernel that faults
 * and takes the context with it. Each is a status with a text; what can be used afterwards works. Ends with "ok" or
 * "FAIL". The dummy back end plays the same for test_gpu_faults; here it can only play the first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

#include "gpu_upload/device_memory.h"

enum { SIDE = 64, BATCH = 16, LEFT = 48 << 20, HOGS = 64 };

static int failures;
static stk_error error;
static int n_lines;

static void take_line(void *user, const char *line)
{
    (void)user;
    n_lines++;
    printf("     log: %s\n", line);
}

static void check(bool good, const char *what)
{
    printf("%s %s%s%s\n", good ? "ok  " : "FAIL", what, good ? "" : ": ", good ? "" : error.text);
    fflush(stdout);
    if (!good) failures++;
}

static void loader_options(const stk_dataset *d, stk_loader_options *o)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o->transform.out_width = o->transform.out_height = SIDE;
    o->batch_size = stk_dataset_len(d) < BATCH ? (uint32_t)stk_dataset_len(d) : BATCH;
    o->on_bad = STK_ON_BAD_SKIP;
    o->log = take_line;
}

static stk_uploader *open_uploader(const stk_dataset *d, const char *backend)
{
    stk_loader_options o;
    stk_uploader_options u;
    stk_uploader *out = NULL;
    loader_options(d, &o);
    stk_uploader_options_init(&u);
    u.backend = backend;
    u.decode = STK_DECODE_GPU;
    return stk_uploader_open(d, &o, &u, &out, &error) == STK_OK ? out : NULL;
}

/* Up to n batches against the plain loader's. */
static bool same_as_loader(const stk_dataset *d, stk_uploader *u, int n)
{
    static uint8_t got[BATCH * SIDE * SIDE * 3];
    stk_loader_options o;
    stk_loader *l = NULL;
    bool same = true;
    loader_options(d, &o);
    if (stk_loader_open(d, &o, &l, &error) != STK_OK) return false;
    for (int i = 0; i < n && same; i++) {
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        stk_status s = stk_loader_next(l, -1, &a, &error), r = stk_uploader_next(u, NULL, -1, &b, &error);
        same = s == r;
        if (s == STK_OK && r == STK_OK)
            same = stk_device_batch_read(b, b->data, got, a->data_bytes, &error) == STK_OK && memcmp(got, a->data, a->data_bytes) == 0;
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
    }
    stk_loader_close(&l);
    return same;
}

static void without_pinned_memory(const stk_dataset *d, const char *backend)
{
    stk_uploader_stats stats = {0};
    const bool cuda = strcmp(backend, "cuda") == 0;
    if (cuda) setenv("STOKER_CUDA_PINNED", "off", 1);
    stk_uploader *u = open_uploader(d, cuda ? backend : "dummy:pinned=1");
    bool good = u != NULL && same_as_loader(d, u, 20);
    if (u != NULL) stk_uploader_get_stats(u, &stats);
    unsetenv("STOKER_CUDA_PINNED");
    check(good && stats.pageable_bytes > 0 && stats.pinned_bytes == 0 && n_lines == 1, "the same bytes through pageable memory, one warning");
    stk_uploader_close(&u);
}

/* Takes the device's memory until little is left. */
static int hog(const stk_gpu_backend *k, stk_gpu_device *device, uint64_t free_bytes, void *blocks[HOGS])
{
    int n = 0;
    for (uint64_t size = free_bytes; size > LEFT / 2 && n < HOGS;) {
        if (k->device_alloc(device, (size_t)size, &blocks[n], NULL) == STK_OK) n++;
        else size /= 2;
    }
    return n;
}

static void without_device_memory(const stk_dataset *d)
{
    stk_gpu_share *s = NULL;
    void *blocks[HOGS];
    stk_uploader *before = open_uploader(d, "cuda");
    bool good = before != NULL && same_as_loader(d, before, 3) && stk_gpu_share_open("cuda", 0, (stk_gpu_log){NULL, NULL}, &s, &error) == STK_OK;
    if (!good) {
        check(false, "a full device");
        return;
    }
    int n = hog(s->backend, s->device, s->info.free_bytes, blocks);
    void *more = NULL;
    check(s->backend->device_alloc(s->device, (size_t)1 << 30, &more, &error) == STK_ERR_MEMORY, "allocating on a full device is STK_ERR_MEMORY");
    printf("     %s\n", error.text);
    stk_loader_options o;
    stk_uploader_options uo;
    stk_uploader *u = NULL;
    loader_options(d, &o);
    o.transform.out_width = o.transform.out_height = 1024;
    stk_uploader_options_init(&uo);
    uo.decode = STK_DECODE_GPU;
    stk_status status = stk_uploader_open(d, &o, &uo, &u, &error);
    stk_device_batch *b = NULL;
    if (status == STK_OK) status = stk_uploader_next(u, NULL, -1, &b, &error);
    check(status == STK_ERR_MEMORY, "an uploader on a full device says STK_ERR_MEMORY");
    printf("     %s\n", error.text);
    for (int i = 0; i < n; i++) s->backend->device_free(s->device, blocks[i]);
    if (u != NULL) {
        do status = stk_uploader_next(u, NULL, -1, &b, &error);
        while (status == STK_ERR_MEMORY); /* those prepared meanwhile */
        check(status == STK_OK, "it goes on when there is room again");
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&u);
    stk_uploader_close(&before);
    before = open_uploader(d, "cuda");
    check(before != NULL && same_as_loader(d, before, 20), "and so does the next one");
    stk_uploader_close(&before);
    stk_gpu_share_drop(s);
}

/* A kernel that reads where nothing is. */
static void a_lost_device(const stk_dataset *d)
{
    stk_gpu_share *s = NULL;
    stk_uploader *u = open_uploader(d, "cuda");
    bool good = u != NULL && same_as_loader(d, u, 3) && stk_gpu_share_open("cuda", 0, (stk_gpu_log){NULL, NULL}, &s, &error) == STK_OK;
    if (!good) {
        check(false, "a lost device");
        return;
    }
    void *stream = NULL;
    stk_gpu_direct nonsense = {.resident = (const uint8_t *)8, .places = (const uint64_t *)8, .ids = (const uint64_t *)8,
                               .occurrences = (const uint32_t *)8, .n = 1, .n_views = 1, .out = (uint8_t *)8};
    nonsense.output.width = nonsense.output.height = 1;
    nonsense.output.channels = 3;
    if (s->backend->stream_open(s->device, &stream, &error) == STK_OK)
        (void)s->backend->run_direct(s->device, &nonsense, stream, &error);
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        stk_device_batch *b = NULL;
        stk_status status = stk_uploader_next(u, NULL, -1, &b, &error);
        if (status == STK_ERR_DEVICE) failed++;
        stk_device_batch_release(b, NULL);
    }
    check(failed > 0, "a lost device is STK_ERR_DEVICE");
    printf("     %s\n", error.text);
    stk_uploader_close(&u);
    u = open_uploader(d, "cuda");
    check(u == NULL && error.status == STK_ERR_DEVICE, "and so is opening another uploader");
    printf("     %s\n", error.text);
    stk_uploader_close(&u);
    s->backend->stream_close(s->device, stream);
    stk_gpu_share_drop(s);
}

int main(int argc, char **argv)
{
    stk_dataset *d = NULL;
    const char *backend = argc > 2 ? argv[2] : "dummy";
    if (argc < 2 || stk_dataset_open(argv[1], NULL, &d, &error) != STK_OK) {
        fprintf(stderr, "gpu_faults: %s\n", argc < 2 ? "usage: gpu_faults DATASET [dummy|cuda]" : error.text);
        return 64;
    }
    without_pinned_memory(d, backend);
    if (strcmp(backend, "cuda") == 0) {
        without_device_memory(d);
        a_lost_device(d);
    }
    stk_dataset_close(&d);
    printf("%s\n", failures == 0 ? "ok" : "FAIL");
    return failures != 0;
}
