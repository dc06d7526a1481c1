/* SPDX-License-Identifier: Apache-2.0
 *
 * Where bench's batches come from: the loader, or the uploader with its batches on a device. */
#ifndef STK_TOOLS_BENCH_FEED_H
#define STK_TOOLS_BENCH_FEED_H

#include <stoker/gpu_upload.h>
#include <stoker/loader.h>

typedef struct bench_feed {
    stk_loader *loader; /* one of these two */
    stk_uploader *uploader;
    stk_batch *batch;
    stk_device_batch *device_batch;
    /* of the batch at hand */
    uint32_t n, n_valid;
    size_t n_bytes;
    const int64_t *labels;
    const stk_array *array; /* NULL: images */
} bench_feed;

typedef struct bench_feed_stats {
    stk_loader_stats loader;
    stk_uploader_stats uploader; /* zero for the loader */
} bench_feed_stats;

/* device "cpu": the loader. Else the uploader's back end ("cuda", "cuda:1", "dummy"); `uploader` says how. */
stk_status bench_feed_open(bench_feed *feed, const stk_dataset *dataset, const stk_loader_options *loader,
                           const char *device, const stk_uploader_options *uploader, stk_error *error);
/* Gives the last batch back and takes the next. As stk_loader_next. */
stk_status bench_feed_next(bench_feed *feed, stk_error *error);
/* Waits until the device has finished the batch at hand. */
stk_status bench_feed_finish(bench_feed *feed, stk_error *error);
void bench_feed_get_stats(bench_feed *feed, bench_feed_stats *out);
/* Copes with a feed that was not opened. */
void bench_feed_close(bench_feed *feed);

#endif
