/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar reference of resampling: two passes over whole pictures, as Pillow does them. What the vector
 * families compute is compared with this. */
#include "codec/resample.h"

#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

/* Memory for both axes and the picture between the passes, of one scratch area. */
typedef struct workspace {
    stk_axis across, down;
    bool need_across, need_down;
    uint32_t top, bottom; /* input rows that the window depends on, box coordinates */
    uint8_t *between;
} workspace;

static uint8_t clip8(int32_t sum)
{
    int32_t v = sum >> STK_WEIGHT_BITS;
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

void stk_resample_across(const stk_axis *axis, const uint8_t *in, size_t in_stride, uint32_t n_rows,
                         uint32_t channels, uint8_t *out, size_t out_stride)
{
    for (uint32_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        for (uint32_t i = 0; i < axis->n_out; i++) {
            const int32_t *w = axis->weights + (size_t)i * axis->n_taps;
            const uint8_t *from = in + (size_t)axis->start[i] * channels;
            for (uint32_t c = 0; c < channels; c++) {
                int32_t sum = 1 << (STK_WEIGHT_BITS - 1);
                for (int32_t k = 0; k < axis->count[i]; k++) sum += from[(size_t)k * channels + c] * w[k];
                out[(size_t)i * channels + c] = clip8(sum);
            }
        }
    }
}

void stk_resample_down(const stk_axis *axis, const uint8_t *in, size_t in_stride, size_t n_bytes, uint8_t *out,
                       size_t out_stride)
{
    for (uint32_t i = 0; i < axis->n_out; i++, out += out_stride) {
        const int32_t *w = axis->weights + (size_t)i * axis->n_taps;
        const uint8_t *from = in + (size_t)axis->start[i] * in_stride;
        for (size_t x = 0; x < n_bytes; x++) {
            int32_t sum = 1 << (STK_WEIGHT_BITS - 1);
            for (int32_t k = 0; k < axis->count[i]; k++) sum += from[(size_t)k * in_stride + x] * w[k];
            out[x] = clip8(sum);
        }
    }
}

static size_t rounded(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static stk_status prepare(stk_codec_ctx *ctx, const stk_resampling *job, size_t row_bytes, bool down_first,
                          workspace *w, stk_error *error)
{
    w->need_across = job->box_width != job->full_width;
    w->need_down = job->box_height != job->full_height;
    stk_axis_span(job->box_height, job->full_height, job->y, job->height, job->filter, &w->top, &w->bottom);
    size_t a = w->need_across ? stk_axis_bytes(job->box_width, job->full_width, job->width, job->filter) : 0;
    size_t d = w->need_down ? stk_axis_bytes(job->box_height, job->full_height, job->height, job->filter) : 0;
    size_t rows = down_first ? job->height : w->bottom - w->top, between = 0, total;
    if (w->need_across && w->need_down && !stk_mul_size(row_bytes, rows, &between))
        return stk_fail_memory(error, "resampling");
    if (a > SIZE_MAX / 4 || d > SIZE_MAX / 4 || !stk_add_size(rounded(a) + rounded(d), between, &total))
        return stk_fail_memory(error, "resampling coefficients");
    uint8_t *memory;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_RESAMPLE, total, &memory, error));
    if (w->need_across)
        stk_axis_compute(&w->across, memory, job->box_width, job->full_width, job->x, job->width, job->filter);
    if (w->need_down)
        stk_axis_compute(&w->down, memory + rounded(a), job->box_height, job->full_height, job->y, job->height,
                         job->filter);
    w->between = memory + rounded(a) + rounded(d);
    return STK_OK;
}

/* Starts relative to the part of the box that is at hand. */
static void move_origin(stk_axis *axis, uint32_t origin)
{
    for (uint32_t i = 0; i < axis->n_out; i++) axis->start[i] -= (int32_t)origin;
}

static void copy_rows(const uint8_t *in, size_t in_stride, size_t n_bytes, uint32_t n_rows, uint8_t *out,
                      size_t out_stride)
{
    for (uint32_t y = 0; y < n_rows; y++) memcpy(out + y * out_stride, in + y * in_stride, n_bytes);
}

/* Horizontal, then vertical. `in` starts at the window's first needed row when only one pass runs. */
static void across_then_down(const workspace *w, const stk_image *in, const stk_resampling *job, uint8_t *out,
                             size_t out_stride)
{
    uint32_t n_rows = w->bottom - w->top;
    const uint8_t *rows = in->pixels + (w->top - job->in_y) * in->stride;
    size_t row_bytes = (size_t)job->width * in->channels;
    if (!w->need_down) {
        stk_resample_across(&w->across, rows, in->stride, n_rows, in->channels, out, out_stride);
        return;
    }
    stk_resample_across(&w->across, rows, in->stride, n_rows, in->channels, w->between, row_bytes);
    stk_resample_down(&w->down, w->between, row_bytes, row_bytes, out, out_stride);
}

static void down_then_across(const workspace *w, const stk_image *in, const stk_resampling *job, uint8_t *out,
                             size_t out_stride)
{
    size_t row_bytes = (size_t)in->width * in->channels;
    stk_resample_down(&w->down, in->pixels, in->stride, row_bytes, w->between, row_bytes);
    stk_resample_across(&w->across, w->between, row_bytes, job->height, in->channels, out, out_stride);
}

stk_status stk_resample_reference(stk_codec_ctx *ctx, const stk_image *in, const stk_resampling *job, uint8_t *out,
                                  size_t out_stride, stk_error *error)
{
    workspace w;
    bool down_first = stk_vertical_first(job->pixels, job->box_width, job->box_height, job->full_width,
                                         job->full_height);
    size_t widest = in->width > job->width ? in->width : job->width;
    STK_TRY(prepare(ctx, job, widest * in->channels, down_first, &w, error));
    if (w.need_across) move_origin(&w.across, job->in_x);
    const uint8_t *columns = in->pixels + (size_t)(w.need_across ? 0 : job->x - job->in_x) * in->channels;
    size_t out_bytes = (size_t)job->width * in->channels;
    if (!w.need_across && !w.need_down) {
        copy_rows(columns + (job->y - job->in_y) * in->stride, in->stride, out_bytes, job->height, out,
                  out_stride);
    } else if (!w.need_across) {
        move_origin(&w.down, job->in_y);
        stk_resample_down(&w.down, columns, in->stride, out_bytes, out, out_stride);
    } else if (w.need_down && down_first) {
        move_origin(&w.down, job->in_y);
        down_then_across(&w, in, job, out, out_stride);
    } else {
        if (w.need_down) move_origin(&w.down, w.top);
        across_then_down(&w, in, job, out, out_stride);
    }
    return STK_OK;
}
