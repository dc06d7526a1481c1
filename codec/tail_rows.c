/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/tail_rows.h"

#include <string.h>

#include "codec/transpose.h"

/* One method for both chroma components and a luma of full size: the kernels know these. */
static stk_upsampling common_chroma(const stk_planes *planes)
{
    stk_upsampling u = stk_upsampling_of(planes, 1);
    bool same = u == stk_upsampling_of(planes, 2) && stk_upsampling_of(planes, 0) == STK_UPSAMPLE_NONE;
    return same ? u : STK_UPSAMPLE_REPEAT;
}

void stk_row_feed_open(stk_row_feed *feed, const stk_tail_ops *ops, const stk_tail_source *source,
                       uint8_t out_channels)
{
    uint32_t channels = source->planes != NULL ? source->planes->n_components : source->image->channels;
    feed->ops = ops;
    feed->source = source;
    feed->to_grey = channels == 3 && out_channels == 1;
    feed->channels = feed->to_grey ? 1 : channels;
    feed->offset = 0;
    feed->chroma = STK_UPSAMPLE_NONE;
    if (source->planes == NULL || channels == 1) return;
    feed->chroma = common_chroma(source->planes);
    for (unsigned c = 0; c < 3; c++) feed->last_row[c] = stk_component_height(source->planes, c) - 1;
    if (feed->chroma == STK_UPSAMPLE_H2V1 || feed->chroma == STK_UPSAMPLE_H2V2)
        feed->offset = (uint32_t)source->part.x & 1;
}

/* Line of component c that holds image row y's samples from image column x on. */
static const uint8_t *plane_line(const stk_planes *p, unsigned c, uint32_t x, uint32_t y)
{
    return p->data[c] + (size_t)(y - p->y0[c]) * p->stride[c] + (x - p->x0[c]);
}

/* The row beside `near` that the image row y leans towards, within the image. */
static uint32_t far_row(uint32_t y, uint32_t last)
{
    uint32_t near = y >> 1;
    if (y & 1) return near < last ? near + 1 : near;
    return near > 0 ? near - 1 : near;
}

static void color_row(const stk_row_feed *feed, uint32_t y, uint8_t *lines)
{
    const stk_planes *p = feed->source->planes;
    uint32_t x = (uint32_t)feed->source->part.x - feed->offset,
             n = (uint32_t)feed->source->part.width + feed->offset;
    if (feed->chroma == STK_UPSAMPLE_REPEAT) {
        /* Rare samplings: full-size lines by the reference, colour by the kernel. */
        uint8_t *spare = feed->spare;
        for (unsigned c = 0; c < 3; c++) stk_upsample_row(p, c, x, y, n, spare + c * feed->line_pitch);
        stk_ycc_row row = {
            .y = spare, .cb_near = spare + feed->line_pitch, .cr_near = spare + 2 * feed->line_pitch};
        feed->ops->ycc_row(&row, STK_UPSAMPLE_NONE, n, lines, feed->line_pitch);
        return;
    }
    bool wide = feed->chroma == STK_UPSAMPLE_H2V1 || feed->chroma == STK_UPSAMPLE_H2V2;
    bool tall = feed->chroma == STK_UPSAMPLE_H2V2 || feed->chroma == STK_UPSAMPLE_H1V2;
    uint32_t cx = wide ? x >> 1 : x, near = tall ? y >> 1 : y, far_b = tall ? far_row(y, feed->last_row[1]) : y,
             far_r = tall ? far_row(y, feed->last_row[2]) : y;
    stk_ycc_row row = {.y = plane_line(p, 0, x, y), .cb_near = plane_line(p, 1, cx, near),
                       .cb_far = plane_line(p, 1, cx, far_b), .cr_near = plane_line(p, 2, cx, near),
                       .cr_far = plane_line(p, 2, cx, far_r), .lower = y & 1};
    feed->ops->ycc_row(&row, feed->chroma, n, lines, feed->line_pitch);
}

/* The source's own channels. */
static void source_row(const stk_row_feed *feed, uint32_t y, uint8_t *lines)
{
    const stk_tail_source *s = feed->source;
    uint32_t n = (uint32_t)s->part.width;
    if (s->planes != NULL && s->planes->n_components == 1) {
        memcpy(lines, plane_line(s->planes, 0, (uint32_t)s->part.x, (uint32_t)s->part.y + y), n);
    } else if (s->planes != NULL) {
        color_row(feed, (uint32_t)s->part.y + y, lines);
    } else if (s->image->channels == 1) {
        memcpy(lines, s->image->pixels + y * s->image->stride, n);
    } else {
        feed->ops->split_row(s->image->pixels + y * s->image->stride, n, lines, feed->line_pitch);
    }
}

void stk_row_feed_next(const stk_row_feed *feed, uint32_t y, uint32_t n, uint8_t *lines)
{
    for (uint32_t i = 0; i < n; i++, lines += feed->channels * feed->line_pitch) {
        if (!feed->to_grey) {
            source_row(feed, y + i, lines);
            continue;
        }
        uint8_t *rgb = feed->spare + 3 * feed->line_pitch;
        source_row(feed, y + i, rgb);
        feed->ops->grey_row(rgb, feed->line_pitch, (size_t)feed->source->part.width + feed->offset, lines);
    }
}

uint8_t *stk_row_window_append(stk_row_window *window, uint32_t keep_from, uint32_t n)
{
    size_t n_rows = window->end - window->first;
    if (n_rows + n > window->capacity) {
        uint32_t drop = keep_from > window->first ? keep_from - window->first : 0;
        if (drop > n_rows) drop = (uint32_t)n_rows;
        memmove(window->data, window->data + drop * window->row_bytes, (n_rows - drop) * window->row_bytes);
        window->first += drop;
        n_rows -= drop;
    }
    window->end += n;
    return window->data + n_rows * window->row_bytes;
}

void stk_row_sink_open(stk_row_sink *sink, const stk_tail_ops *ops, const stk_tail_job *job, uint32_t channels,
                       uint32_t n_x, uint32_t n_y)
{
    *sink = (stk_row_sink){
        .ops = ops, .turn = job->turn, .out = job->out, .out_stride = job->out_stride, .n_x = n_x, .n_y = n_y};
    bool mirror = job->turn.transpose ? job->turn.mirror_y : job->turn.mirror_x;
    sink->format = (stk_pixel_format){.in_channels = (uint8_t)channels, .out_channels = job->out_channels,
                                      .mirror = mirror != job->flip, .swap_red_blue = job->swap_red_blue};
}

void stk_row_sink_put(const stk_row_sink *sink, uint32_t row, const uint8_t *lines, size_t line_pitch)
{
    if (!sink->turn.transpose) {
        uint32_t y = sink->turn.mirror_y ? sink->n_y - 1 - row : row;
        sink->ops->join_row(sink->format, lines, line_pitch, sink->n_x, sink->out + y * sink->out_stride);
        return;
    }
    for (uint32_t c = 0; c < sink->format.in_channels; c++)
        memcpy(sink->store + ((size_t)c * sink->n_y + row) * sink->store_pitch, lines + c * line_pitch, sink->n_x);
}

/* Columns of the stored result are rows of the turned one. */
void stk_row_sink_finish(const stk_row_sink *sink)
{
    if (!sink->turn.transpose) return;
    size_t channels = sink->format.in_channels, strip_row = channels * sink->strip_pitch;
    for (uint32_t x = 0; x < sink->n_x; x += 16) {
        uint32_t n = sink->n_x - x < 16 ? sink->n_x - x : 16;
        for (size_t c = 0; c < channels; c++)
            stk_transpose_strip(sink->store + c * sink->n_y * sink->store_pitch + x, sink->store_pitch, sink->n_y,
                                sink->strip + c * sink->strip_pitch, strip_row);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t y = sink->turn.mirror_x ? sink->n_x - 1 - (x + i) : x + i;
            sink->ops->join_row(sink->format, sink->strip + i * strip_row, sink->strip_pitch, sink->n_y,
                                sink->out + y * sink->out_stride);
        }
    }
}
