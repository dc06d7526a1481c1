/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end without a device: "device" memory is host memory, streams run at once, and the kernels' own code
 * (hd_*.h) runs in loops. For tests, and for machines without a GPU to see that everything around it works. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stoker/types.h>

#include "common/fail.h"
#include "gpu_upload/dummy_device.h"
#include "gpu_upload/dummy_steps.h"
#include "gpu_upload/hd_decode.h"
#include "gpu_upload/hd_stages.h"
#include "gpu_upload/host_axis.h"

static stk_status dummy_handle(stk_gpu_device *device, void **out, stk_error *error)
{
    *out = NULL;
    STK_TRY(stk_dummy_alive(device, error));
    stk_dummy_handle *h = calloc(1, sizeof *h);
    if (h == NULL) return stk_fail_memory(error, "a dummy stream");
    h->device = device;
    *out = h;
    return STK_OK;
}

static void dummy_handle_close(stk_gpu_device *device, void *handle)
{
    (void)device;
    free(handle);
}

static stk_status dummy_record(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    (void)stream; /* may be a consumer's own, of which nothing is known */
    STK_TRY(stk_dummy_owns(device, event, error));
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ((stk_dummy_handle *)event)->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    return STK_OK;
}

static stk_status dummy_wait(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    (void)stream;
    return stk_dummy_owns(device, event, error);
}

static stk_status dummy_done(stk_gpu_device *device, void *event, bool *done, stk_error *error)
{
    *done = true;
    return stk_dummy_owns(device, event, error);
}

static stk_status dummy_sync(stk_gpu_device *device, void *event, stk_error *error)
{
    return stk_dummy_owns(device, event, error);
}

static stk_status dummy_ms(stk_gpu_device *device, void *from, void *to, float *ms, stk_error *error)
{
    *ms = 0;
    STK_TRY(stk_dummy_owns(device, from, error));
    STK_TRY(stk_dummy_owns(device, to, error));
    *ms = (float)(((stk_dummy_handle *)to)->ms - ((stk_dummy_handle *)from)->ms);
    return STK_OK;
}

static stk_status dummy_copy(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream,
                             stk_error *error)
{
    STK_TRY(stk_dummy_owns(device, stream, error));
    memcpy(to, from, n_bytes);
    return STK_OK;
}

static stk_status dummy_clear(stk_gpu_device *device, void *memory, size_t n_bytes, void *stream, stk_error *error)
{
    STK_TRY(stk_dummy_owns(device, stream, error));
    memset(memory, 0, n_bytes);
    return STK_OK;
}

static void dummy_costs(stk_gpu_device *device, stk_gpu_costs *costs)
{
    const stk_dummy_faults *f = &device->faults;
    if (f->cpu_ns != 0 || f->gather_ns != 0 || f->gpu_ns != 0) costs->cpu_upload_ns = costs->gather_upload_ns = 0;
    if (f->cpu_ns != 0) costs->cpu_ns = (double)f->cpu_ns;
    if (f->gather_ns != 0) costs->gather_ns = (double)f->gather_ns;
    if (f->gpu_ns != 0) costs->gpu_ns = (double)f->gpu_ns;
}

/* ---- The stages. */

static void natural_order(uint8_t natural_of[64])
{
    for (int n = 0; n < 64; n++) natural_of[stk_hd_zigzag_of(n)] = (uint8_t)n;
}

static void run_axis(const stk_gpu_group *g, const stk_hd_axis *a)
{
    if (stk_host_axis_needed(a->filter)) return;
    for (uint32_t o = 0; o < a->n_out; o++) stk_hd_axis_output(a, o, g->axes + a->at);
}

static void run_axes(const stk_gpu_group *g, const stk_gpu_image *im)
{
    if (im->fused.on) {
        run_axis(g, &im->fused.first);
        run_axis(g, &im->fused.second);
    }
    if (im->first.on) run_axis(g, &im->first.axis);
    if (im->second.on) run_axis(g, &im->second.axis);
}

static void say_bad(const stk_gpu_group *g, uint32_t image)
{
    const uint32_t entry = g->images[image].entry, view = entry % g->n_views;
    /* In the device's memory, which is its to write. */
    stk_gpu_image *views = (stk_gpu_image *)(uintptr_t)&g->images[image - view];
    for (uint32_t v = 0; v < g->n_views; v++) {
        views[v].bad = 1;
        g->status[entry - view + v] = 1;
    }
}

static void run_decode(const stk_gpu_group *g, const stk_gpu_item *item)
{
    const stk_gpu_image *im = &g->images[item->image];
    const stk_gather_tables *t = (const stk_gather_tables *)(const void *)((im->resident ? g->resident : g->bytes) + im->tables);
    const uint32_t *offsets = (const uint32_t *)(const void *)(t + 1);
    const uint8_t *base = (im->resident ? g->resident : g->bytes) + im->segments;
    uint64_t readable = (im->resident ? g->resident_size : g->bytes_size) - im->segments;
    uint8_t natural_of[64];
    stk_hd_tables tables;
    natural_order(natural_of);
    for (int k = 0; k < 4; k++) stk_hd_long_build(t->counts[k], &tables.longs[k]);
    for (uint32_t s = item->first; s < item->first + item->n; s++)
        if (!stk_hd_segment(im, t, &tables, offsets, base, readable, s, natural_of, g->scratch)) say_bad(g, item->image);
}

static const uint8_t *rows_of(const stk_gpu_group *g, const stk_gpu_image *im)
{
    return im->kind == 2 ? (im->resident ? g->resident : g->bytes) + im->raw : NULL;
}

static void run_color(const stk_gpu_group *g, const stk_gpu_image *im)
{
    if (im->kind == 0) return;
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

static void store_as(uint32_t dtype, const void *norm, uint8_t *image, uint64_t element, uint32_t channel, uint8_t byte)
{
    switch (dtype) {
    case STK_DTYPE_U8: image[element] = byte; return;
    case STK_DTYPE_F32: memcpy(image + element * 4, (const float *)norm + channel * 256 + byte, 4); return;
    default: memcpy(image + element * 2, (const uint16_t *)norm + channel * 256 + byte, 2); return;
    }
}

static void store(const stk_gpu_group *g, uint8_t *image, uint64_t element, uint32_t channel, uint8_t byte)
{
    store_as(g->output.dtype, g->norm, image, element, channel, byte);
}

static void run_finish(const stk_gpu_group *g, const stk_gpu_image *im)
{
    const stk_gpu_output *o = &g->output;
    uint8_t *image = g->out + im->entry * o->image_bytes;
    if (im->kind == 0 || im->bad != 0) { /* a bad sample is zero in every dtype, not the table's value for black */
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

/* ---- The fused way, a line at a time: the same places in the same memory as the kernels'. */

static void front_line(const stk_gpu_group *g, const stk_gpu_image *im, uint32_t line, uint8_t *pixels)
{
    const stk_gpu_fused *f = &im->fused;
    int32_t along = f->line0 + (int32_t)line;
    if (along < 0) return; /* before the crop, on the device for the sake of whole blocks */
    for (int32_t i = 0; i < (int32_t)f->line; i++)
        stk_hd_color(im, rows_of(g, im), g->scratch, f->across ? along : i, f->across ? i : along, pixels + i, f->line);
    for (uint32_t c = 0; c < im->picture_channels; c++)
        for (uint32_t o = 0; o < f->first.n_out; o++)
            g->scratch[stk_hd_middle_at(im, line, c, o)] =
                stk_hd_convolve(&f->first, g->axes, o, pixels + (size_t)c * f->line, 1, 0);
}

static uint8_t back_byte(const stk_gpu_group *g, const stk_gpu_image *im, uint32_t c, uint32_t i, uint32_t o)
{
    const stk_gpu_fused *f = &im->fused;
    const int32_t *table = g->axes + f->second.at;
    uint32_t first = (uint32_t)(table[o] - f->line0);
    int32_t sum = STK_HD_ROUND;
    for (int32_t t = 0; t < table[f->second.n_out + o]; t++)
        sum += g->scratch[stk_hd_middle_at(im, first + (uint32_t)t, c, i)] *
               table[2 * f->second.n_out + (uint32_t)t * f->second.n_out + o];
    return stk_hd_result(sum);
}

static void back_pixel(const stk_gpu_group *g, const stk_gpu_image *im, uint32_t x, uint32_t y, uint8_t *image)
{
    const stk_gpu_output *o = &g->output;
    uint32_t i = im->fused.across ? y : x, k = im->fused.across ? x : y;
    uint8_t bytes[3] = {back_byte(g, im, 0, i, k), 0, 0};
    bytes[1] = im->picture_channels == 3 ? back_byte(g, im, 1, i, k) : bytes[0];
    bytes[2] = im->picture_channels == 3 ? back_byte(g, im, 2, i, k) : bytes[0];
    if (im->flip) x = o->width - 1 - x;
    for (uint32_t c = 0; c < o->channels; c++)
        store(g, image, stk_hd_element(o, c, x, y), c, bytes[o->bgr && o->channels == 3 ? 2 - c : c]);
}

static stk_status run_fused(const stk_gpu_group *g, const stk_gpu_image *im, stk_error *error)
{
    if (im->bad != 0) {
        memset(g->out + im->entry * g->output.image_bytes, 0, (size_t)g->output.image_bytes);
        return STK_OK;
    }
    uint8_t *pixels = malloc((size_t)im->fused.line * 3);
    if (pixels == NULL) return stk_fail_memory(error, "a line of pixels");
    for (uint32_t line = 0; line < im->fused.n_lines; line++) front_line(g, im, line, pixels);
    free(pixels);
    for (uint32_t y = 0; y < g->output.height; y++)
        for (uint32_t x = 0; x < g->output.width; x++) back_pixel(g, im, x, y, g->out + im->entry * g->output.image_bytes);
    return STK_OK;
}

/* Whether there is anything to be run. */
static stk_status begin_run(stk_gpu_device *device, const void *stream, bool *idle, stk_error *error)
{
    *idle = false;
    STK_TRY(stk_dummy_owns(device, stream, error));
    if (device == NULL) return STK_OK;
    atomic_fetch_add(&device->groups_run, 1);
    *idle = device->faults.idle != 0;
    return stk_dummy_alive(device, error);
}

static stk_status dummy_run(stk_gpu_device *device, const stk_gpu_group *g, void *stream, stk_error *error)
{
    bool idle;
    STK_TRY(begin_run(device, stream, &idle, error));
    if (idle) return STK_OK;
    for (uint32_t i = 0; i < g->n_decode_items; i++) run_decode(g, &g->decode_items[i]);
    for (uint32_t i = 0; i < g->n_images; i++) {
        const stk_gpu_image *im = &g->images[i];
        run_axes(g, im);
        if (im->fused.on) {
            STK_TRY(run_fused(g, im, error));
            continue;
        }
        run_color(g, im);
        run_pass(g, im, &im->first);
        run_pass(g, im, &im->second);
        run_finish(g, im);
    }
    return STK_OK;
}

static void direct_image(const stk_gpu_direct *d, uint32_t entry)
{
    const stk_gpu_output *o = &d->output;
    uint8_t *image = d->out + entry * o->image_bytes, bytes[3];
    stk_hd_view v = stk_hd_direct_view(d, entry);
    if (v.rows == NULL) {
        memset(image, 0, (size_t)o->image_bytes);
        return;
    }
    for (uint32_t y = 0; y < o->height; y++)
        for (uint32_t x = 0; x < o->width; x++) {
            stk_hd_direct_pixel(d, &v, (int32_t)x, (int32_t)y, bytes);
            for (uint32_t c = 0; c < o->channels; c++)
                store_as(o->dtype, d->norm, image, stk_hd_element(o, c, x, y), c, bytes[c]);
        }
}

static stk_status dummy_run_direct(stk_gpu_device *device, const stk_gpu_direct *d, void *stream, stk_error *error)
{
    bool idle;
    STK_TRY(begin_run(device, stream, &idle, error));
    for (uint32_t i = 0; i < d->n && !idle; i++) direct_image(d, i);
    return STK_OK;
}

static stk_status dummy_run_steps(stk_gpu_device *device, const stk_gpu_steps *steps, void *stream, stk_error *error)
{
    bool idle;
    STK_TRY(begin_run(device, stream, &idle, error));
    if (!idle) stk_dummy_steps(steps);
    return STK_OK;
}

static void dummy_range_push(const char *name) { (void)name; }
static void dummy_range_pop(void) {}

const stk_gpu_backend stk_gpu_dummy_backend = {
    .version = STK_GPU_BACKEND_VERSION,
    .struct_size = sizeof(stk_gpu_backend),
    .name = "dummy",
    .open = stk_dummy_open,
    .close = stk_dummy_close,
    .pinned_alloc = stk_dummy_pinned_alloc,
    .pinned_free = stk_dummy_pinned_free,
    .device_alloc = stk_dummy_alloc,
    .device_free = stk_dummy_free,
    .stream_open = dummy_handle,
    .stream_open_beside = dummy_handle,
    .stream_close = dummy_handle_close,
    .event_open = dummy_handle,
    .event_close = dummy_handle_close,
    .event_record = dummy_record,
    .event_wait = dummy_wait,
    .event_done = dummy_done,
    .event_sync = dummy_sync,
    .event_ms = dummy_ms,
    .copy_in = dummy_copy,
    .copy_out = dummy_copy,
    .clear = dummy_clear,
    .run = dummy_run,
    .run_direct = dummy_run_direct,
    .run_steps = dummy_run_steps,
    .costs = dummy_costs,
    .range_push = dummy_range_push,
    .range_pop = dummy_range_pop,
};
