/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_uploader DATASET [key=value ...]: images a second out of the uploader, consumer idle. Keys: backend, threads,
 * batch, size, seconds, dtype (u8|f16|bf16|f32), filter (bilinear|bicubic), resident (0|1), decode (auto|cpu|gpu),
 * transform (rrc|padcrop), steps (none|jitter|rand|blur|erase|mix|all), ahead, streams. Prints one JSON object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stoker/stoker.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *key(int argc, char **argv, const char *name, const char *fallback)
{
    size_t n = strlen(name);
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=') return argv[i] + n + 1;
    return fallback;
}

/* What people train with: ColorJitter, RandAugment, GaussianBlur, RandomErasing, MixUp with CutMix; all: RandAugment,
 * RandomErasing and both mixings, timm's usual. */
static void set_steps(const char *name, stk_transform *t)
{
    static stk_step steps[2];
    const bool all = strcmp(name, "all") == 0, erases = all || strcmp(name, "erase") == 0;
    stk_step_kind first = STK_STEP_NONE;
    if (strcmp(name, "jitter") == 0) first = STK_STEP_COLOR_JITTER;
    if (strcmp(name, "blur") == 0) first = STK_STEP_BLUR;
    if (all || strcmp(name, "rand") == 0) first = STK_STEP_RAND_AUGMENT;
    t->steps = steps;
    if (first != STK_STEP_NONE) stk_step_init(&steps[t->n_steps++], first);
    for (int i = 0; first == STK_STEP_COLOR_JITTER && i < 2; i++) {
        steps[0].brightness[i] = steps[0].contrast[i] = steps[0].saturation[i] = i == 0 ? 0.6 : 1.4;
        steps[0].hue[i] = i == 0 ? -0.1 : 0.1;
    }
    if (erases) {
        stk_step_init(&steps[t->n_steps], STK_STEP_ERASE);
        steps[t->n_steps++].erase_value = STK_ERASE_PIXEL;
    }
    if (all || strcmp(name, "mix") == 0) t->mix.mixup_alpha = t->mix.cutmix_alpha = 1;
}

static void set_loader(int argc, char **argv, stk_loader_options *o)
{
    const char *dtype = key(argc, argv, "dtype", "bf16");
    bool pad = strcmp(key(argc, argv, "transform", "rrc"), "padcrop") == 0;
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, pad ? STK_TRANSFORM_PAD_CROP : STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o->transform.out_width = o->transform.out_height = (uint32_t)atoi(key(argc, argv, "size", pad ? "32" : "224"));
    o->transform.filter = strcmp(key(argc, argv, "filter", "bilinear"), "bicubic") == 0 ? STK_FILTER_BICUBIC : STK_FILTER_BILINEAR;
    set_steps(key(argc, argv, "steps", "none"), &o->transform);
    o->batch_size = (uint32_t)atoi(key(argc, argv, "batch", "256"));
    o->n_threads = (uint32_t)atoi(key(argc, argv, "threads", "0"));
    o->dtype = strcmp(dtype, "u8") == 0 ? STK_DTYPE_U8 : strcmp(dtype, "f16") == 0 ? STK_DTYPE_F16 : strcmp(dtype, "f32") == 0 ? STK_DTYPE_F32 : STK_DTYPE_BF16;
    o->repeats = (uint32_t)atoi(key(argc, argv, "repeats", "16")); /* small data sets: epochs long enough */
}

int main(int argc, char **argv)
{
    stk_dataset *d = NULL;
    stk_uploader *u = NULL;
    stk_loader_options o;
    stk_uploader_options uo;
    stk_error error = {0};
    double seconds = atof(key(argc, argv, "seconds", "2"));
    const char *decode = key(argc, argv, "decode", "auto");
    if (argc < 2) return 64;
    set_loader(argc, argv, &o);
    stk_uploader_options_init(&uo);
    uo.backend = key(argc, argv, "backend", "cuda");
    uo.resident = atoi(key(argc, argv, "resident", "0")) != 0 ? STK_RESIDENT_ON : STK_RESIDENT_OFF;
    uo.n_ahead = (uint32_t)atoi(key(argc, argv, "ahead", "0"));
    uo.n_streams = (uint32_t)atoi(key(argc, argv, "streams", "0"));
    uo.decode = strcmp(decode, "cpu") == 0 ? STK_DECODE_CPU : strcmp(decode, "gpu") == 0 ? STK_DECODE_GPU : STK_DECODE_AUTO;
    if (stk_dataset_open(argv[1], NULL, &d, &error) != STK_OK || stk_uploader_open(d, &o, &uo, &u, &error) != STK_OK) {
        fprintf(stderr, "bench_uploader: %s\n", error.text);
        return 1;
    }
    double begin = 0, cpu = 0, opened = now();
    uint64_t images = 0;
    stk_uploader_stats first, last;
    for (uint64_t batches = 0;; batches++) {
        stk_device_batch *b = NULL;
        stk_status s = stk_uploader_next(u, NULL, -1, &b, &error);
        if (s == STK_END) continue;
        if (s != STK_OK) {
            fprintf(stderr, "bench_uploader: %s\n", error.text);
            return 1;
        }
        if (begin == 0 && batches >= 8 && now() - opened > 1.0) { /* warm */
            begin = now();
            cpu = cpu_seconds();
            stk_uploader_get_stats(u, &first);
            images = 0;
        }
        images += b->n;
        stk_device_batch_release(b, NULL);
        if (begin != 0 && now() - begin > seconds) break;
    }
    double took = now() - begin;
    stk_uploader_get_stats(u, &last);
    double n = (double)(last.batches - first.batches) * o.batch_size, ms = last.decode_ms - first.decode_ms, up = last.upload_ms - first.upload_ms;
    printf("{\"images_per_s\": %.0f, \"gpu_images_per_s\": %.0f, \"gpu_ms_per_batch\": %.4f, \"upload_gb_per_s\": %.1f, "
           "\"bytes_per_image\": %.0f, \"cpu_cores\": %.2f, \"threads\": %u, \"batch\": %u, \"fast\": %d, \"resident\": %llu, "
           "\"decode\": \"%s\", \"device\": \"%s\"}\n",
           (double)images / took, ms > 0 ? n / ms * 1e3 : 0, ms / n * o.batch_size,
           up > 0 ? (double)(last.uploaded_bytes - first.uploaded_bytes) / up * 1e-6 : 0,
           (double)(last.uploaded_bytes - first.uploaded_bytes) / n, (cpu_seconds() - cpu) / took, last.loader.n_threads,
           o.batch_size, last.fast_kernel, (unsigned long long)last.resident_records, last.decode, last.device_name);
    stk_uploader_close(&u);
    stk_dataset_close(&d);
    return 0;
}
