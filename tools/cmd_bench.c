/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker bench: the real loader, on this machine, over this data set. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/cpu.h>
#include <stoker/loader.h>

#include "bench_feed.h"
#include "class_mix.h"
#include "cli_value.h"
#include "commands.h"
#include "json_out.h"
#include "progress.h"

/* The transforms by the names of the command line; the loader's kinds in that order. */
typedef enum bench_transform {
    BENCH_TRAIN,
    BENCH_EVAL,
    BENCH_RESIZE,
    BENCH_PAD_CROP,
    BENCH_NONE
} bench_transform;
enum { BENCH_UNSAID = -1 }; /* train, or none for arrays */

typedef struct bench_args {
    stk_loader_options loader;
    stk_dataset_options dataset;
    stk_uploader_options uploader;
    uint32_t width, height; /* 0 = the transform's default */
    int transform;
    double seconds;
    const char *device;
    bool json;
} bench_args;

typedef struct bench_result {
    uint64_t images, batches, epochs;
    double seconds, first_batch_s;
    uint64_t first_epoch_images; /* of those, within the first epoch; 0 seconds when it did not end */
    double first_epoch_s;
    uint64_t delivered_bytes;
    uint32_t batch_size;
    bench_feed_stats stats;
    bool arrays;
    char array[200]; /* what they are */
    class_mix mix;
    double exact_mix; /* < 0: not known */
    const char *cpu;
} bench_result;

static const cli_choice transform_words[] = {{"train", BENCH_TRAIN},   {"eval", BENCH_EVAL},
                                             {"resize", BENCH_RESIZE}, {"pad-crop", BENCH_PAD_CROP},
                                             {"none", BENCH_NONE},     {NULL, 0}};
static const cli_choice order_words[] = {{"shuffle", STK_ORDER_SHUFFLE},
                                         {"page", STK_ORDER_PAGE},
                                         {"sequential", STK_ORDER_SEQUENTIAL},
                                         {NULL, 0}};
static const cli_choice io_words[] = {
    {"auto", STK_IO_AUTO}, {"mmap", STK_IO_MMAP}, {"pread", STK_IO_PREAD}, {NULL, 0}};
static const cli_choice dtype_words[] = {{"uint8", STK_DTYPE_U8},
                                         {"float16", STK_DTYPE_F16},
                                         {"bfloat16", STK_DTYPE_BF16},
                                         {"float32", STK_DTYPE_F32},
                                         {NULL, 0}};
static const cli_choice layout_words[] = {{"NHWC", STK_LAYOUT_NHWC}, {"NCHW", STK_LAYOUT_NCHW}, {NULL, 0}};
static const cli_choice verify_words[] = {
    {"first", STK_VERIFY_FIRST}, {"always", STK_VERIFY_ALWAYS}, {"off", STK_VERIFY_OFF}, {NULL, 0}};
static const cli_choice bad_words[] = {
    {"error", STK_ON_BAD_ERROR}, {"skip", STK_ON_BAD_SKIP}, {"substitute", STK_ON_BAD_SUBSTITUTE}, {NULL, 0}};

static const cli_choice decode_words[] = {
    {"auto", STK_DECODE_AUTO}, {"cpu", STK_DECODE_CPU}, {"gpu", STK_DECODE_GPU}, {NULL, 0}};
static const cli_choice resident_words[] = {
    {"auto", STK_RESIDENT_AUTO}, {"on", STK_RESIDENT_ON}, {"off", STK_RESIDENT_OFF}, {NULL, 0}};

static const char *parse_size(void *args, const char *value)
{
    bench_args *a = args;
    if (cli_to_u32(value, &a->width) && a->width > 0 && a->width <= 65535) {
        a->height = a->width;
        return NULL;
    }
    return cli_to_size(value, &a->width, &a->height) && a->width <= 65535 && a->height <= 65535
               ? NULL
               : "is not N or WxH (pixels)";
}

#define AT(member) .offset = offsetof(bench_args, member)
static const cli_option options[] = {
    {.kind = CLI_CUSTOM,
     .name = "size",
     .argument = "N",
     .parse = parse_size,
     .help = "Pixels of an image in the batch, N or WxH. Default 224; with pad-crop 32."},
    {.letter = 'b',
     .kind = CLI_U32,
     .name = "batch",
     .argument = "N",
     AT(loader.batch_size),
     .min = 1,
     .max = 1e6,
     .help = "Images in a batch. Default 256, or all when there are fewer."},
    {.letter = 'j',
     .kind = CLI_U32,
     .name = "threads",
     .argument = "N",
     AT(loader.n_threads),
     .min = 1,
     .max = 1024,
     .help = "Loader threads. By default one fewer than this process may really use, for the trainer."},
    {.kind = CLI_STRING,
     .name = "device",
     .argument = "NAME",
     AT(device),
     .help = "Where batches go: cpu (default), cuda or cuda:N; dummy runs the device's part on the CPU, for "
             "tests."},
    {.kind = CLI_CHOICE,
     .name = "decode",
     .argument = "WHERE",
     AT(uploader.decode),
     .choices = decode_words,
     .help = "With a device: auto (default; where an image costs least, which is measured first), cpu or gpu."},
    {.kind = CLI_CHOICE,
     .name = "resident",
     .argument = "WHEN",
     AT(uploader.resident),
     .choices = resident_words,
     .help = "With a device: keep the compressed records in its memory: off (default), on or auto."},
    {.letter = 's',
     .kind = CLI_REAL,
     .name = "seconds",
     .argument = "S",
     AT(seconds),
     .min = 0.01,
     .max = 86400,
     .help = "How long to measure, after the first batch. Default 5."},
    {.letter = 't',
     .kind = CLI_CHOICE,
     .name = "transform",
     .argument = "NAME",
     AT(transform),
     .choices = transform_words,
     .help = "train (default): RandomResizedCrop and flip; eval: resize and centre crop; resize: squash; "
             "pad-crop: pad by 4, random crop, flip (CIFAR); none: as stored, all of one size. Arrays are always "
             "delivered as stored."},
    {.kind = CLI_CHOICE,
     .name = "order",
     .argument = "NAME",
     AT(loader.order),
     .choices = order_words,
     .help = "shuffle (default, exact), page (page-local) or sequential."},
    {.kind = CLI_CHOICE,
     .name = "io",
     .argument = "HOW",
     AT(dataset.io),
     .choices = io_words,
     .help = "auto (default), mmap or pread."},
    {.kind = CLI_CHOICE,
     .name = "dtype",
     .argument = "TYPE",
     AT(loader.dtype),
     .choices = dtype_words,
     .help = "uint8 (default), float16, bfloat16 or float32; the float types are normalised."},
    {.kind = CLI_CHOICE,
     .name = "layout",
     .argument = "NAME",
     AT(loader.layout),
     .choices = layout_words,
     .help = "NHWC (default) or NCHW."},
    {.kind = CLI_CHOICE,
     .name = "verify",
     .argument = "WHEN",
     AT(dataset.verify),
     .choices = verify_words,
     .help =
         "When checksums are compared: first (default; the first time a record is touched), always or off."},
    {.kind = CLI_CHOICE,
     .name = "on-bad",
     .argument = "HOW",
     AT(loader.on_bad),
     .choices = bad_words,
     .help = "A record that cannot be read: error (default), skip or substitute."},
    {.kind = CLI_U64,
     .name = "seed",
     .argument = "N",
     AT(loader.seed),
     .help = "Seed of order and crops. Default 0."},
    OPTION_JSON(bench_args, json, "Print the result as one JSON object on stdout."),
    OPTIONS_OPEN(bench_args, dataset),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_bench = {.name = "bench",
                                   .summary = "measure the loader on this machine",
                                   .synopsis = "[OPTION]... DST",
                                   .description =
                                       "Runs the real loader over DST and prints images per second, what "
                                       "its threads did, and how well classes are mixed in a batch. The "
                                       "clock runs from the first batch on; the first batch is timed "
                                       "apart, from before the data set is opened. The first epoch "
                                       "compares checksums and may read from a cold disk, so it is shown "
                                       "apart too when it ended in time.",
                                   .options = options,
                                   .exit_status = "0 done\n1 error\n64 wrong command line",
                                   .examples = "stoker bench --seconds 10 --threads 4 train.stk\n"
                                               "stoker bench --transform pad-crop --size 32 cifar.stk",
                                   .min_operands = 1,
                                   .max_operands = 1,
                                   .run = run};

static void set_transform(bench_args *args)
{
    static const stk_transform_kind kinds[] = {STK_TRANSFORM_RANDOM_RESIZED_CROP,
                                               STK_TRANSFORM_RESIZE_CENTER_CROP, STK_TRANSFORM_RESIZE,
                                               STK_TRANSFORM_PAD_CROP, STK_TRANSFORM_NONE};
    stk_transform *transform = &args->loader.transform;
    stk_transform_init(transform, kinds[args->transform]);
    if (args->width == 0) args->width = args->height = args->transform == BENCH_PAD_CROP ? 32 : 224;
    transform->out_width = args->width;
    transform->out_height = args->height;
    /* torchvision's usual proportion of 256 to 224. */
    uint32_t larger = args->width > args->height ? args->width : args->height;
    transform->resize_short = (uint32_t)(((uint64_t)larger * 8 + 3) / 7);
}

/* Takes batches until the time is over. The clock starts when the first batch is there. */
static stk_status measure(bench_feed *feed, double seconds, double opened_s, bench_result *out,
                          stk_error *error)
{
    double start = 0, now = 0;
    bool started = false;
    do {
        stk_status status = bench_feed_next(feed, error);
        if (status == STK_OK && !started) status = bench_feed_finish(feed, error);
        now = progress_now_s();
        if (status == STK_END) {
            if (out->epochs++ == 0 && started) {
                out->first_epoch_images = out->images;
                out->first_epoch_s = now - start;
            }
            continue;
        }
        if (status != STK_OK) return status;
        if (started) {
            out->images += feed->n_valid;
            out->delivered_bytes += feed->n_bytes;
            out->batches++;
        } else {
            out->first_batch_s = now - opened_s;
            start = now;
            started = true;
            out->arrays = feed->array != NULL;
            if (out->arrays) stk_array_text(feed->array, out->array, sizeof out->array);
        }
        /* The last batch of an epoch is smaller and holds fewer classes, however well it is mixed. */
        if (feed->n == out->batch_size) class_mix_add(&out->mix, feed->labels, feed->n);
    } while (!started || now - start < seconds);
    stk_status status = bench_feed_finish(feed, error);
    out->seconds = progress_now_s() - start;
    bench_feed_get_stats(feed, &out->stats);
    return status;
}

static stk_status no_memory(stk_error *error)
{
    error->status = STK_ERR_MEMORY;
    snprintf(error->text, sizeof error->text, "out of memory for counting labels");
    return STK_ERR_MEMORY;
}

/* The exact shuffle's expectation, from the labels of all records. */
static stk_status expect_mix(const stk_dataset *dataset, bench_result *out, stk_error *error)
{
    uint32_t n_labels = stk_dataset_classes(dataset);
    out->exact_mix = -1;
    if (n_labels == 0) return STK_OK;
    uint64_t *counts = calloc(n_labels, sizeof *counts);
    if (counts == NULL) return no_memory(error);
    stk_status status = STK_OK;
    for (uint64_t i = 0; i < stk_dataset_len(dataset) && status == STK_OK; i++) {
        stk_record_info record;
        status = stk_dataset_record(dataset, i, &record, error);
        if (status == STK_OK && record.label >= 0 && record.label < (int64_t)n_labels) counts[record.label]++;
    }
    if (status == STK_OK) out->exact_mix = class_mix_exact(counts, n_labels, out->batch_size);
    free(counts);
    return status;
}

static double per_thread_share(uint64_t ns, const stk_loader_stats *stats, double seconds)
{
    return 100 * (double)ns * 1e-9 / (seconds * (stats->n_threads > 0 ? stats->n_threads : 1));
}

static void print_device(const stk_uploader_stats *stats)
{
    printf("device       %s; %s\n", stats->device_name, stats->decode);
    printf("uploaded     %.1f MB at %.1f GB/s, decoded in %.1f ms of the device's time; the consumer waited %.1f ms\n",
           (double)stats->uploaded_bytes / 1e6, stats->upload_gb_per_s, stats->decode_ms,
           (double)stats->consumer_wait_ns * 1e-6);
    printf("resident     %" PRIu64 " records, %.1f MB; %.1f MB of device memory in all\n",
           stats->resident_records, (double)stats->resident_bytes / 1e6, (double)stats->device_bytes / 1e6);
}

static void print_head(const char *path, const bench_args *args, const bench_result *r)
{
    if (r->arrays)
        printf("%s: arrays of %s, batch %" PRIu32 ", %s order\n", path, r->array, r->batch_size,
               cli_choice_name(order_words, (int)args->loader.order));
    else
        printf("%s: %s %" PRIu32 "x%" PRIu32 " -> %s %s, batch %" PRIu32 ", %s order\n", path,
           cli_choice_name(transform_words, args->transform), args->width, args->height,
           cli_choice_name(dtype_words, (int)args->loader.dtype),
           cli_choice_name(layout_words, (int)args->loader.layout), r->batch_size,
           cli_choice_name(order_words, (int)args->loader.order));
}

static void print_text(const char *path, const bench_args *args, const bench_result *r)
{
    const stk_loader_stats *stats = &r->stats.loader;
    double whole = r->seconds + r->first_batch_s;
    print_head(path, args, r);
    printf("%s     %.1f\n", r->arrays ? "arrays/s" : "images/s", (double)r->images / r->seconds);
    if (r->first_epoch_images > 0 && r->images > r->first_epoch_images)
        printf("             %.1f in the first epoch, %.1f after it\n",
               (double)r->first_epoch_images / r->first_epoch_s,
               (double)(r->images - r->first_epoch_images) / (r->seconds - r->first_epoch_s));
    printf("MB/s         %.1f read, %.1f delivered\n", (double)stats->bytes_read / whole / 1e6,
           (double)r->delivered_bytes / r->seconds / 1e6);
    printf("threads      %" PRIu32 " (%s kernels)\n", stats->n_threads, r->cpu);
    printf("first batch  %.1f ms after opening\n", r->first_batch_s * 1e3);
    printf(

        "stages       read %.1f %%, decode and resample %.1f %%, no free slot %.1f %% of the threads' "
        "time; the consumer waited %.1f %%\n",
        per_thread_share(stats->read_ns, stats, whole), per_thread_share(stats->decode_ns, stats, whole),
        per_thread_share(stats->worker_wait_ns, stats, whole),
        100 * (double)stats->consumer_wait_ns * 1e-9 / whole);
    if (r->stats.uploader.batches > 0) print_device(&r->stats.uploader);
    if (r->exact_mix >= 0)
        printf("classes      %.2f different ones in a batch on average; an exact shuffle has %.2f\n",
               class_mix_mean(&r->mix), r->exact_mix);
    if (stats->bad_samples > 0) printf("bad          %" PRIu64 " samples\n", stats->bad_samples);
}

static void json_stages(json_out *json, const bench_feed_stats *stats)
{
    const stk_loader_stats *loader = &stats->loader;
    json_begin(json, "stages", '{');
    json_real(json, "read_s", (double)loader->read_ns * 1e-9, 6);
    json_real(json, "decode_s", (double)loader->decode_ns * 1e-9, 6);
    json_real(json, "worker_wait_s", (double)loader->worker_wait_ns * 1e-9, 6);
    json_real(json, "consumer_wait_s", (double)loader->consumer_wait_ns * 1e-9, 6);
    if (stats->uploader.batches > 0) {
        json_real(json, "upload_s", stats->uploader.upload_ms * 1e-3, 6);
        json_real(json, "device_decode_s", stats->uploader.decode_ms * 1e-3, 6);
        json_real(json, "device_wait_s", (double)stats->uploader.consumer_wait_ns * 1e-9, 6);
    }
    json_end(json, '}');
}

static void json_device(json_out *json, const stk_uploader_stats *stats)
{
    json_text(json, "device_name", stats->device_name);
    json_text(json, "decode", stats->decode);
    json_u64(json, "uploaded_bytes", stats->uploaded_bytes);
    json_real(json, "upload_gb_per_s", stats->upload_gb_per_s, 3);
    json_u64(json, "pageable_bytes", stats->pageable_bytes);
    json_u64(json, "resident_records", stats->resident_records);
    json_u64(json, "resident_bytes", stats->resident_bytes);
    json_u64(json, "device_bytes", stats->device_bytes);
}

static void print_json(const bench_args *args, const bench_result *r)
{
    const stk_loader_stats *stats = &r->stats.loader;
    double whole = r->seconds + r->first_batch_s;
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_real(&json, "images_per_s", (double)r->images / r->seconds, 1);
    json_real(&json, "mb_per_s", (double)stats->bytes_read / whole / 1e6, 2);
    json_u64(&json, "threads", stats->n_threads);
    json_text(&json, "cpu", r->cpu);
    json_stages(&json, &r->stats);
    json_text(&json, "device", args->device);
    json_text(&json, "transform", cli_choice_name(transform_words, args->transform));
    json_text(&json, "order", cli_choice_name(order_words, (int)args->loader.order));
    json_text(&json, "dtype", cli_choice_name(dtype_words, (int)args->loader.dtype));
    if (r->arrays) json_text(&json, "array", r->array);
    json_u64(&json, "batch", r->batch_size);
    json_u64(&json, "images", r->images);
    json_real(&json, "seconds", r->seconds, 3);
    json_u64(&json, "epochs", r->epochs);
    json_real(&json, "first_batch_s", r->first_batch_s, 4);
    if (r->first_epoch_images > 0)
        json_real(&json, "first_epoch_images_per_s", (double)r->first_epoch_images / r->first_epoch_s, 1);
    json_u64(&json, "bad_samples", stats->bad_samples);
    json_u64(&json, "slots", stats->slots);
    if (r->stats.uploader.batches > 0) json_device(&json, &r->stats.uploader);
    if (r->exact_mix >= 0) {
        json_real(&json, "classes_per_batch", class_mix_mean(&r->mix), 3);
        json_real(&json, "classes_per_batch_exact", r->exact_mix, 3);
    }
    json_end(&json, '}');
    fputc('\n', stdout);
}

/* As the loader decides: the first record that can be looked at tells. */
static bool begins_with_array(const stk_dataset *dataset)
{
    stk_record_info record;
    uint64_t n = stk_dataset_len(dataset);
    for (uint64_t i = 0; i < n && i < 64; i++)
        if (stk_dataset_record(dataset, i, &record, NULL) == STK_OK) return record.encoding == STK_ENCODING_ARRAY;
    return false;
}

static stk_status bench(bench_args *args, const char *path, bench_result *out, stk_error *error)
{
    stk_dataset *dataset = NULL;
    bench_feed feed = {0};
    double opened_s = progress_now_s();
    stk_status status = stk_cpu_family(&out->cpu, error);
    if (status == STK_OK) status = open_dataset(&command_bench, path, &args->dataset, &dataset, error);
    if (status != STK_OK) goto cleanup;
    if (stk_dataset_slow_pattern(dataset) != NULL && args->loader.order == STK_ORDER_SHUFFLE)
        cli_note(&command_bench, "%s", stk_dataset_slow_pattern(dataset));
    if (args->transform == BENCH_UNSAID) args->transform = begins_with_array(dataset) ? BENCH_NONE : BENCH_TRAIN;
    if (args->transform == BENCH_NONE && args->width != 0)
        cli_note(&command_bench, "--size has no effect here: without a transform images stay as they are");
    set_transform(args);
    uint64_t n = stk_dataset_len(dataset);
    if (args->loader.batch_size == 0) args->loader.batch_size = n < 256 && n > 0 ? (uint32_t)n : 256;
    out->batch_size = args->loader.batch_size;
    if (n > 0 && out->batch_size > n) {
        error->status = status = STK_ERR_ARGUMENT;
        snprintf(error->text, sizeof error->text, "--batch %" PRIu32 ": %s has %" PRIu64 " records; give at most as many, or "
                 "leave --batch out", out->batch_size, path, n);
        goto cleanup;
    }
    if (!class_mix_init(&out->mix, stk_dataset_classes(dataset))) {
        status = no_memory(error);
        goto cleanup;
    }
    status = bench_feed_open(&feed, dataset, &args->loader, args->device, &args->uploader, error);
    if (status == STK_OK) status = measure(&feed, args->seconds, opened_s, out, error);
    if (status == STK_OK) status = expect_mix(dataset, out, error);
cleanup:
    bench_feed_close(&feed);
    stk_dataset_close(&dataset);
    return status;
}

static int run(int argc, char **argv)
{
    bench_args args = {.seconds = 5, .device = "cpu", .transform = BENCH_UNSAID};
    bench_result result = {.exact_mix = -1};
    cli_operands operands;
    stk_error error = {0};
    stk_loader_options_init(&args.loader);
    stk_dataset_options_init(&args.dataset);
    stk_uploader_options_init(&args.uploader);
    args.loader.batch_size = 0;
    int code = cli_parse(&command_bench, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    bool cpu = strcmp(args.device, "cpu") == 0;
    if (cpu && args.uploader.decode == STK_DECODE_GPU)
        return cli_misuse(&command_bench, "--decode gpu is for batches on a device; give --device cuda too");
    if (cpu && args.uploader.resident == STK_RESIDENT_ON)
        return cli_misuse(&command_bench, "--resident on is for batches on a device; give --device cuda too");
    stk_status status = bench(&args, operands.items[0], &result, &error);
    if (status != STK_OK)
        code = cli_fail(&command_bench, status, &error);
    else {
        code = CLI_OK;
        if (args.json)
            print_json(&args, &result);
        else
            print_text(operands.items[0], &args, &result);
    }
    class_mix_free(&result.mix);
    return code;
}
