/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_compare DATASET [BACKEND [BATCH]]: batches of the uploader against those of the plain loader, byte by byte, over
 * transforms, filters, pass orders, dtypes, layouts, resident and streamed. BACKEND: dummy (default) or cuda. Uses the
 * public API only. Ends with "N passed, N failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

typedef struct test_case {
    const char *name;
    stk_transform_kind kind;
    stk_filter filter;
    stk_pixels pixels;
    stk_dtype dtype;
    stk_layout layout;
    uint32_t size;
    stk_color color;
    stk_resident resident;
    uint64_t scratch;
    stk_decode decode;
} test_case;

static const test_case CASES[] = {
    {"rrc bilinear u8", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear bf16 channels_last", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear f16 nchw", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F16, STK_LAYOUT_NCHW, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear f32 nchw", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F32, STK_LAYOUT_NCHW, 160, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bicubic pillow12", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BICUBIC, STK_PIXELS_PILLOW12, STK_DTYPE_U8, STK_LAYOUT_NHWC, 96, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc lanczos bgr", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_LANCZOS, 0, STK_DTYPE_U8, STK_LAYOUT_NCHW, 64, STK_COLOR_BGR, STK_RESIDENT_OFF, 0, 0},
    {"rrc hamming", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_HAMMING, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 50, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc box", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BOX, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 225, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc nearest", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_NEAREST, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 100, 0, STK_RESIDENT_OFF, 0, 0},
    {"eval 224", STK_TRANSFORM_RESIZE_CENTER_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"resize 17 (20x and more down)", STK_TRANSFORM_RESIZE, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 17, 0, STK_RESIDENT_OFF, 0, 0},
    {"resize 600 (up)", STK_TRANSFORM_RESIZE, STK_FILTER_BICUBIC, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 600, 0, STK_RESIDENT_OFF, 0, 0},
    {"pad crop 48", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F32, STK_LAYOUT_NHWC, 48, 0, STK_RESIDENT_OFF, 0, 0},
    {"pad crop 40 resident", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 40, 0, STK_RESIDENT_ON, 0, 0},
    {"pad crop 33 resident u8 bgr", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NCHW, 33, STK_COLOR_BGR, STK_RESIDENT_ON, 0, 0},
    {"rrc resident", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_ON, 0, 0},
    {"rrc small scratch (many groups)", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 4 << 20, 0},
    {"rrc decode=cpu", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F16, STK_LAYOUT_NHWC, 128, 0, STK_RESIDENT_OFF, 0, STK_DECODE_CPU},
};

static size_t element_bytes(stk_dtype d)
{
    return d == STK_DTYPE_U8 ? 1 : d == STK_DTYPE_F32 ? 4 : 2;
}

static void set_options(const test_case *t, stk_loader_options *o, stk_uploader_options *u, uint32_t batch, const char *backend)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, t->kind);
    o->transform.out_width = o->transform.out_height = t->size;
    if (t->kind == STK_TRANSFORM_PAD_CROP) o->transform.pad = 400; /* more than some pictures have */
    o->transform.filter = t->filter;
    o->transform.pixels = t->pixels;
    o->transform.color = t->color;
    o->transform.fill[0] = 9;
    o->transform.fill[1] = 99;
    o->batch_size = batch;
    o->dtype = t->dtype;
    o->layout = t->layout;
    o->seed = 5;
    o->on_bad = STK_ON_BAD_SKIP;
    stk_uploader_options_init(u);
    u->backend = backend;
    u->resident = t->resident;
    u->decode = t->decode == STK_DECODE_CPU ? STK_DECODE_CPU : STK_DECODE_GPU; /* what is compared must not be measured */
    if (t->scratch != 0) u->scratch_bytes = t->scratch;
}

static long compare_batch(const stk_batch *a, const stk_device_batch *b, const test_case *t, stk_error *error)
{
    size_t image = (size_t)a->width * a->height * a->channels * element_bytes(t->dtype), n = image * a->n;
    uint8_t *got = malloc(n);
    int64_t *labels = malloc(a->n * sizeof *labels);
    long bad = 0;
    if (got == NULL || labels == NULL || b->n != a->n || b->width != a->width || b->height != a->height) bad = 1;
    if (bad == 0 && (stk_device_batch_read(b, b->data, got, n, error) != STK_OK ||
                     stk_device_batch_read(b, b->labels, labels, a->n * sizeof *labels, error) != STK_OK)) {
        printf("   %s\n", error->text);
        bad = 1;
    }
    if (bad == 0) {
        for (uint32_t i = 0; i < a->n; i++)
            if (memcmp(got + i * image, (const uint8_t *)a->data + i * image, image) != 0) {
                if (bad == 0) printf("   first: record %llu\n", (unsigned long long)a->ids[i]);
                bad++;
            }
        if (memcmp(labels, a->labels, a->n * sizeof *labels) != 0) bad++;
        if (memcmp(b->ids, a->ids, a->n * sizeof *a->ids) != 0) bad++;
    }
    free(got);
    free(labels);
    return bad;
}

static long run_case(const stk_dataset *d, const test_case *t, const char *backend, uint32_t batch, long *images)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_loader *loader = NULL;
    stk_uploader *uploader = NULL;
    stk_error error = {0};
    long bad = 0;
    set_options(t, &o, &uo, batch, backend);
    if (stk_loader_open(d, &o, &loader, &error) != STK_OK || stk_uploader_open(d, &o, &uo, &uploader, &error) != STK_OK) {
        printf("   %s\n", error.text);
        bad = 1;
    }
    for (uint64_t i = 0; bad == 0 && i < stk_loader_len(loader) + 1; i++) {
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        stk_status s = stk_loader_next(loader, -1, &a, &error), r = stk_uploader_next(uploader, NULL, -1, &b, &error);
        if (s != r) {
            printf("   loader says %s, uploader %s: %s\n", stk_status_name(s), stk_status_name(r), error.text);
            bad++;
        } else if (s == STK_OK) {
            bad += compare_batch(a, b, t, &error);
            *images += a->n;
        }
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&uploader);
    stk_loader_close(&loader);
    return bad;
}

int main(int argc, char **argv)
{
    const char *backend = argc > 2 ? argv[2] : "dummy";
    uint32_t batch = argc > 3 ? (uint32_t)atoi(argv[3]) : 32;
    stk_dataset *d = NULL;
    stk_error error = {0};
    int passed = 0, failed = 0;
    if (argc < 2 || stk_dataset_open(argv[1], NULL, &d, &error) != STK_OK) {
        fprintf(stderr, "gpu_compare: %s\n", argc < 2 ? "usage: gpu_compare DATASET [dummy|cuda [BATCH]]" : error.text);
        return 64;
    }
    if (batch > stk_dataset_len(d)) batch = (uint32_t)stk_dataset_len(d);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        long images = 0, bad = run_case(d, &CASES[i], backend, batch, &images);
        printf("%s %-34s %ld images, %ld differ\n", bad == 0 ? "ok  " : "FAIL", CASES[i].name, images, bad);
        fflush(stdout);
        if (bad == 0) passed++;
        else failed++;
    }
    stk_dataset_close(&d);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
