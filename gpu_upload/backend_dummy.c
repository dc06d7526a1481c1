/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end without a device: "device" memory is host memory, streams run at once, and the kernels' own code
 * (hd_*.h) runs in loops. For tests, and for machines without a GPU to see that everything around it works. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stoker/types.h>

#include "common/fail.h"
#include "gpu_upload/backend.h"
#include "gpu_upload/hd_decode.h"
#include "gpu_upload/hd_stages.h"
#include "gpu_upload/host_axis.h"

struct stk_gpu_device {
    int number;
};

typedef struct dummy_event {
    double ms;
} dummy_event;

enum { DUMMY_ALIGN = 256 };

static stk_status dummy_open(int device, stk_gpu_device **out, stk_gpu_device_info *info, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "a dummy device");
    (*out)->number = device;
    *info = (stk_gpu_device_info){.name = "dummy (host memory)", .number = device, .memory_bytes = (uint64_t)1 << 33,
                                  .free_bytes = (uint64_t)1 << 33};
    return STK_OK;
}

static void dummy_close(stk_gpu_device *device)
{
    free(device);
}

static stk_status dummy_alloc(stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error)
{
    (void)device;
    *out = NULL;
    if (n_bytes > SIZE_MAX - DUMMY_ALIGN) return stk_fail_memory(error, "dummy device memory");
    *out = aligned_alloc(DUMMY_ALIGN, (n_bytes + DUMMY_ALIGN) / DUMMY_ALIGN * DUMMY_ALIGN);
    return *out != NULL ? STK_OK : stk_fail_memory(error, "dummy device memory");
}

static void dummy_free(stk_gpu_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static stk_status dummy_handle(stk_gpu_device *device, void **out, stk_error *error)
{
    (void)device;
    *out = calloc(1, sizeof(dummy_event));
    return *out != NULL ? STK_OK : stk_fail_memory(error, "a dummy stream");
}

static stk_status dummy_record(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    (void)device, (void)stream, (void)error;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ((dummy_event *)event)->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    return STK_OK;
}

static stk_status dummy_wait(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    (void)device, (void)event, (void)stream, (void)error;
    return STK_OK;
}

static stk_status dummy_done(stk_gpu_device *device, void *event, bool *done, stk_error *error)
{
    (void)device, (void)event, (void)error;
    *done = true;
    return STK_OK;
}

static stk_status dummy_sync(stk_gpu_device *device, void *event, stk_error *error)
{
    (void)device, (void)event, (void)error;
    return STK_OK;
}

static stk_status dummy_ms(stk_gpu_device *device, void *from, void *to, float *ms, stk_error *error)
{
    (void)device, (void)error;
    *ms = (float)(((dummy_event *)to)->ms - ((dummy_event *)from)->ms);
    return STK_OK;
}

static stk_status dummy_copy(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream,
                             stk_error *error)
{
    (void)device, (void)stream, (void)error;
    memcpy(to, from, n_bytes);
    return STK_OK;
}

static stk_status dummy_clear(stk_gpu_device *device, void *memory, size_t n_bytes, void *stream, stk_error *error)
{
    (void)device, (void)stream, (void)error;
    memset(memory, 0, n_bytes);
    return STK_OK;
}

/* ---- The stages. */

static void natural_order(uint8_t natural_of[64])
{
    for (int n = 0; n < 64; n++) natural_of[stk_hd_zigzag_of(n)] = (uint8_t)n;
}

static void run_axes(const stk_gpu_group *g)
{
    for (uint32_t i = 0; i < g->n_images; i++) {
        const stk_gpu_pass *passes[2] = {&g->images[i].first, &g->images[i].second};
        for (int k = 0; k < 2; k++) {
            if (!passes[k]->on || stk_host_axis_needed(passes[k]->axis.filter)) continue;
            for (uint32_t o = 0; o < passes[k]->axis.n_out; o++)
                stk_hd_axis_output(&passes[k]->axis, o, g->axes + passes[k]->axis.at);
        }
    }
}

static void run_decode(const stk_gpu_group *g, const stk_gpu_item *item)
{
    const stk_gpu_image *im = &g->images[item->image];
    const stk_gather_tables *t = (const stk_gather_tables *)(const void *)(g->bytes + im->tables);
    const uint32_t *offsets = (const uint32_t *)(const void *)(t + 1);
    const uint8_t *base = (im->resident ? g->resident : g->bytes) + im->segments;
    uint64_t readable = (im->resident ? g->resident_size : g->bytes_size) - im->segments;
    uint8_t natural_of[64];
    stk_hd_tables tables;
    natural_order(natural_of);
    for (int k = 0; k < 4; k++) stk_hd_long_build(t->counts[k], &tables.longs[k]);
    for (uint32_t s = item->first; s < item->first + item->n; s++)
        if (!stk_hd_segment(im, t, &tables, offsets, base, readable, s, natural_of, g->scratch)) g->status[im->entry] = 1;
}

static const uint8_t *rows_of(const stk_gpu_group *g, const stk_gpu_image *im)
{
    return im->kind == 2 ? (im->resident ? g->resident : g->bytes) + im->raw : NULL;
}

static void run_color(const stk_gpu_group *g, const stk_gpu_image *im)
{
    if (im->kind == 0 || im->fused_front) return;
    for (uint32_t y = 0; y < im->source.height; y++)
        for (uint32_t x = 0; x < im->source.width; x++)
            stk_hd_color_pixel(im, rows_of(g, im), g->scratch, (int32_t)x, (int32_t)y);
}

static void run_pass(const stk_gpu_group *g, const stk_gpu_image *im, const stk_gpu_pass *p)
{
    if (!p->on) return;
    for (uint32_t c = 0; c < im->picture_channels; c++)
        for (uint32_t y = 0; y < p->out.height; y++)
            for (uint32_t x = 0; x < p->out.width; x++) stk_hd_pass_pixel(p, g->axes, g->scratch, c, x, y);
}

/* Color and the horizontal pass of one row at a time, as the fused kernel does for a few. */
static stk_status run_front(const stk_gpu_group *g, const stk_gpu_image *im, stk_error *error)
{
    if (!im->fused_front) return STK_OK;
    uint8_t *row = malloc((size_t)im->source.width * 3);
    if (row == NULL) return stk_fail_memory(error, "a row");
    for (uint32_t y = 0; y < im->first.out.height; y++) {
        for (uint32_t x = 0; x < im->source.width; x++)
            stk_hd_color(im, rows_of(g, im), g->scratch, (int32_t)x, (int32_t)y + im->first.along, row + x, im->source.width);
        for (uint32_t c = 0; c < im->picture_channels; c++)
            for (uint32_t x = 0; x < im->first.out.width; x++)
                g->scratch[im->first.out.at + (uint64_t)c * im->first.out.plane + (uint64_t)y * im->first.out.stride + x] =
                    stk_hd_convolve(&im->first.axis, g->axes, x, row + (size_t)c * im->source.width, 1, im->first.shift);
    }
    free(row);
    return STK_OK;
}

static void store(const stk_gpu_group *g, uint8_t *image, uint64_t element, uint32_t channel, uint8_t byte)
{
    switch (g->output.dtype) {
    case STK_DTYPE_U8: image[element] = byte; return;
    case STK_DTYPE_F32: memcpy(image + element * 4, (const float *)g->norm + channel * 256 + byte, 4); return;
    default: memcpy(image + element * 2, (const uint16_t *)g->norm + channel * 256 + byte, 2); return;
    }
}

static void run_finish(const stk_gpu_group *g, const stk_gpu_image *im)
{
    const stk_gpu_output *o = &g->output;
    uint8_t *image = g->out + im->entry * o->image_bytes;
    if (im->kind == 0) { /* a bad sample is zero in every dtype, not the table's value for black */
        memset(image, 0, (size_t)o->image_bytes);
        return;
    }
    for (uint32_t y = 0; y < o->height; y++)
        for (uint32_t x = 0; x < o->width; x++) {
            uint8_t bytes[3];
            stk_hd_finish_pixel(im, o, g->scratch, (int32_t)x, (int32_t)y, bytes);
            for (uint32_t c = 0; c < o->channels; c++) store(g, image, stk_hd_element(o, c, x, y), c, bytes[c]);
        }
}

static stk_status dummy_run(stk_gpu_device *device, const stk_gpu_group *g, void *stream, stk_error *error)
{
    (void)device, (void)stream;
    run_axes(g);
    for (uint32_t i = 0; i < g->n_decode_items; i++) run_decode(g, &g->decode_items[i]);
    for (uint32_t i = 0; i < g->n_images; i++) {
        const stk_gpu_image *im = &g->images[i];
        run_color(g, im);
        STK_TRY(run_front(g, im, error));
        if (!im->fused_front) run_pass(g, im, &im->first);
        run_pass(g, im, &im->second); /* fused_back is a matter of speed on a device; the result is stored here */
        run_finish(g, im);
    }
    return STK_OK;
}

static void dummy_range_push(const char *name) { (void)name; }
static void dummy_range_pop(void) {}

const stk_gpu_backend stk_gpu_dummy_backend = {
    .version = STK_GPU_BACKEND_VERSION,
    .struct_size = sizeof(stk_gpu_backend),
    .name = "dummy",
    .open = dummy_open,
    .close = dummy_close,
    .pinned_alloc = dummy_alloc,
    .pinned_free = dummy_free,
    .device_alloc = dummy_alloc,
    .device_free = dummy_free,
    .stream_open = dummy_handle,
    .stream_close = dummy_free,
    .event_open = dummy_handle,
    .event_close = dummy_free,
    .event_record = dummy_record,
    .event_wait = dummy_wait,
    .event_done = dummy_done,
    .event_sync = dummy_sync,
    .event_ms = dummy_ms,
    .copy_in = dummy_copy,
    .copy_out = dummy_copy,
    .clear = dummy_clear,
    .run = dummy_run,
    .range_push = dummy_range_push,
    .range_pop = dummy_range_pop,
};
