/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_feed.h"

#include <stdio.h>
#include <string.h>

#include "cli_value.h"

/* "cuda:1" -> "cuda" and 1. */
static stk_status choose_device(const char *device, char *backend, size_t capacity,
                                stk_uploader_options *options, stk_error *error)
{
    const char *colon = strchr(device, ':');
    uint32_t number = 0;
    snprintf(backend, capacity, "%.*s", (int)(colon != NULL ? colon - device : (long)strlen(device)), device);
    if ((strcmp(backend, "cuda") != 0 && strcmp(backend, "dummy") != 0) ||
        (colon != NULL && (!cli_to_u32(colon + 1, &number) || number > 1023))) {
        snprintf(error->text, sizeof error->text,
                 "--device: there is no device '%s'; use cpu, cuda or cuda:N", device);
        return STK_ERR_ARGUMENT;
    }
    options->backend = backend;
    options->device = (int)number;
    return STK_OK;
}

stk_status bench_feed_open(bench_feed *feed, const stk_dataset *dataset, const stk_loader_options *loader,
                           const char *device, const stk_uploader_options *uploader, stk_error *error)
{
    char backend[16];
    memset(feed, 0, sizeof *feed);
    if (strcmp(device, "cpu") == 0) return stk_loader_open(dataset, loader, &feed->loader, error);
    stk_uploader_options options = *uploader;
    stk_status status = choose_device(device, backend, sizeof backend, &options, error);
    if (status != STK_OK) return status;
    return stk_uploader_open(dataset, loader, &options, &feed->uploader, error);
}

static void give_back(bench_feed *feed)
{
    stk_batch_release(feed->batch);
    feed->batch = NULL;
    if (feed->device_batch != NULL) stk_device_batch_release(feed->device_batch, NULL);
    feed->device_batch = NULL;
}

static size_t element_bytes(stk_dtype dtype)
{
    return dtype == STK_DTYPE_U8 ? 1 : dtype == STK_DTYPE_F32 ? 4 : 2;
}

static stk_status next_on_device(bench_feed *feed, stk_error *error)
{
    stk_status status = stk_uploader_next(feed->uploader, NULL, -1, &feed->device_batch, error);
    if (status != STK_OK) return status;
    const stk_device_batch *b = feed->device_batch;
    feed->n = b->n;
    feed->n_valid = b->n_valid;
    feed->labels = b->host_labels;
    feed->array = b->array;
    feed->n_bytes = b->n * (b->array != NULL ? b->array->n_bytes
                                             : (size_t)b->height * b->width * b->channels * element_bytes(b->dtype));
    return STK_OK;
}

stk_status bench_feed_next(bench_feed *feed, stk_error *error)
{
    give_back(feed);
    if (feed->uploader != NULL) return next_on_device(feed, error);
    stk_status status = stk_loader_next(feed->loader, -1, &feed->batch, error);
    if (status != STK_OK) return status;
    feed->n = feed->batch->n;
    feed->n_valid = feed->batch->n_valid;
    feed->labels = feed->batch->labels;
    feed->n_bytes = feed->batch->data_bytes;
    feed->array = feed->batch->array;
    return STK_OK;
}

stk_status bench_feed_finish(bench_feed *feed, stk_error *error)
{
    char byte;
    if (feed->device_batch == NULL) return STK_OK;
    return stk_device_batch_read(feed->device_batch, feed->device_batch->data, &byte, 1, error);
}

void bench_feed_get_stats(bench_feed *feed, bench_feed_stats *out)
{
    memset(out, 0, sizeof *out);
    if (feed->uploader == NULL) {
        stk_loader_get_stats(feed->loader, &out->loader);
        return;
    }
    stk_uploader_get_stats(feed->uploader, &out->uploader);
    out->loader = out->uploader.loader;
}

void bench_feed_close(bench_feed *feed)
{
    give_back(feed);
    stk_loader_close(&feed->loader);
    stk_uploader_close(&feed->uploader);
}
