/* SPDX-License-Identifier: Apache-2.0
 *
 * The uploader behind four plain functions, for training loops in Python by ctypes (train_resnet.py): what a framework's
 * binding does, and nothing of its own. Build as a shared object against libstoker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

typedef struct feed {
    stk_dataset *dataset;
    stk_uploader *uploader;
    stk_device_batch *held; /* the batch in use */
} feed;

/* keys: "backend batch size threads resident streams ahead seed decode" as integers in this order, backend 1 = dummy,
 * decode as stk_decode numbers it. */
feed *feed_open(const char *path, const int *keys, char *text, size_t text_size)
{
    stk_error error = {0};
    stk_loader_options lo;
    stk_uploader_options uo;
    feed *f = calloc(1, sizeof *f);
    if (f == NULL) return NULL;
    stk_loader_options_init(&lo);
    stk_transform_init(&lo.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    lo.batch_size = (uint32_t)keys[1];
    lo.transform.out_width = lo.transform.out_height = (uint32_t)keys[2];
    lo.n_threads = (uint32_t)keys[3];
    lo.dtype = STK_DTYPE_BF16;
    lo.repeats = 64;
    lo.seed = (uint64_t)keys[7];
    stk_uploader_options_init(&uo);
    uo.backend = keys[0] == 1 ? "dummy" : "cuda";
    uo.resident = keys[4] ? STK_RESIDENT_ON : STK_RESIDENT_OFF;
    uo.n_streams = (uint32_t)keys[5];
    uo.n_ahead = (uint32_t)keys[6];
    uo.decode = (stk_decode)keys[8];
    stk_status s = stk_dataset_open(path, NULL, &f->dataset, &error);
    if (s == STK_OK) s = stk_uploader_open(f->dataset, &lo, &uo, &f->uploader, &error);
    if (s == STK_OK) return f;
    snprintf(text, text_size, "%s", error.text);
    stk_dataset_close(&f->dataset);
    free(f);
    return NULL;
}

/* The next batch's tensor (N, H, W, C bfloat16) for work that is queued on `stream` after the call. The batch before it
 * goes back: `stream` has been given all its work. NULL: an error. */
void *feed_next(feed *f, void *stream, const int64_t **labels)
{
    stk_error error = {0};
    stk_status s;
    stk_device_batch_release(f->held, stream);
    f->held = NULL;
    do s = stk_uploader_next(f->uploader, stream, -1, &f->held, &error);
    while (s == STK_END);
    if (s != STK_OK) {
        fprintf(stderr, "feed: %s\n", error.text);
        return NULL;
    }
    *labels = f->held->labels;
    return f->held->data;
}

void feed_close(feed *f, void *stream)
{
    if (f == NULL) return;
    stk_device_batch_release(f->held, stream);
    stk_uploader_stats u;
    stk_uploader_get_stats(f->uploader, &u);
    fprintf(stderr, "feed: %llu batches, upload %.3f ms, decode %.3f ms a batch, next() waited %.3f ms a batch; %s, %s\n",
            (unsigned long long)u.batches, u.upload_ms / (double)u.batches, u.decode_ms / (double)u.batches,
            (double)u.consumer_wait_ns * 1e-6 / (double)u.batches, u.decode, u.fast_kernel ? "fast kernel" : "plain kernel");
    stk_uploader_close(&f->uploader);
    stk_dataset_close(&f->dataset);
    free(f);
}
