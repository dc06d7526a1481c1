/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves rows through the two passes of a family's kernels, a few at a time. Everything runs in the stored
 * picture's orientation: mirroring is in the axes and in the writing of rows, and under transpose the passes
 * change places. */
#include "codec/tail.h"

#include <string.h>

#include "codec/kernels.h"
#include "codec/tail_rows.h"
#include "common/checked.h"
#include "common/fail.h"

/* Rows that go through the horizontal pass together: enough to use indices and weights in registers many times,
 * few enough to stay in the first-level cache (4, 8, 16 and 32 measured alike). Under strong reduction the kernels
 * work on 16 lines at once, and three lines of 16 rows waste none of them. */
enum { BLOCK = 8, LARGE_BLOCK = STK_COLUMN_LINES };

typedef struct tail {
    const stk_tail_ops *ops;
    const stk_tail_job *job;
    uint32_t channels;          /* lines a row, after RGB -> L */
    uint32_t block_rows;        /* BLOCK or LARGE_BLOCK */
    uint32_t n_in_x, n_in_y;    /* the part's size, stored */
    uint32_t n_out_x, n_out_y;  /* the visible result's, stored */
    bool need_x, need_y, y_first;
    stk_axis_request request_x, request_y;
    stk_vector_axis x, y;
    stk_row_feed feed;          /* planar source rows */
    stk_row_window rows;        /* what the second pass looks at */
    size_t out_pitch;           /* of lines that are n_out_x wide */
    uint8_t *block;             /* block_rows rows between the feed or the first pass and what follows */
    uint8_t *line;              /* one finished row */
    stk_row_sink sink;
} tail;

static size_t rounded(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The requests for both stored axes out of the turned resampling. */
static void request_axes(tail *t)
{
    const stk_resampling *r = &t->job->resample;
    const stk_turn turn = t->job->turn;
    stk_axis_request across = {.in_size = r->box_width,
                               .out_size = r->full_width,
                               .first = r->x,
                               .n_out = r->width,
                               .origin = r->in_x,
                               .filter = r->filter};
    stk_axis_request down = {.in_size = r->box_height,
                             .out_size = r->full_height,
                             .first = r->y,
                             .n_out = r->height,
                             .origin = r->in_y,
                             .filter = r->filter};
    bool down_first = stk_vertical_first(r->pixels, r->box_width, r->box_height, r->full_width, r->full_height);
    t->request_x = turn.transpose ? down : across;
    t->request_y = turn.transpose ? across : down;
    t->request_x.mirror = turn.mirror_x;
    t->request_y.mirror = turn.mirror_y;
    t->n_in_x = t->request_x.n_in = (uint32_t)t->job->source.part.width;
    t->n_in_y = t->request_y.n_in = (uint32_t)t->job->source.part.height;
    t->n_out_x = t->request_x.n_out;
    t->n_out_y = t->request_y.n_out;
    t->need_x = t->request_x.in_size != t->request_x.out_size;
    t->need_y = t->request_y.in_size != t->request_y.out_size;
    t->y_first = turn.transpose ? !down_first : down_first;
    t->block_rows = t->request_x.in_size / 3 > t->request_x.out_size ? LARGE_BLOCK : BLOCK;
}

/* Rows of the window: what one output and the block that was fed last can need, twice, so that sliding is rare; never
 * more than there are. */
static size_t window_rows(const tail *t)
{
    size_t taps = stk_axis_max_taps(t->request_y.in_size, t->request_y.out_size, t->request_y.filter);
    size_t rows = 2 * (taps + t->block_rows) + 32, all = (size_t)t->n_in_y + t->block_rows;
    return rows < all ? rows : all;
}

/* One scratch area, cut up. Sizes first, pointers after: run twice, with base NULL the first time. */
typedef struct cutter {
    uint8_t *base;
    size_t used;
    bool fits;
} cutter;

static uint8_t *cut(cutter *c, size_t n_rows, size_t row_bytes)
{
    size_t n_bytes;
    /* 64 bytes before the first row and 256 after the last may be touched by kernels. */
    if (!stk_mul_size(n_rows, row_bytes, &n_bytes) || n_bytes > SIZE_MAX / 16 || c->used > SIZE_MAX / 4)
        c->fits = false;
    if (!c->fits) return NULL;
    uint8_t *p = c->base == NULL ? NULL : c->base + c->used + 64;
    c->used += rounded(n_bytes, 64) + 64 + 256;
    return p;
}

static void cut_all(tail *t, cutter *c)
{
    size_t axis_x = t->need_x ? stk_vector_axis_bytes(&t->request_x) : 0;
    size_t axis_y = t->need_y ? stk_vector_axis_bytes(&t->request_y) : 0;
    uint8_t *x = cut(c, 1, axis_x), *y = cut(c, 1, axis_y);
    if (x != NULL && t->need_x) stk_vector_axis_place(&t->x, &t->request_x, x);
    if (y != NULL && t->need_y) stk_vector_axis_place(&t->y, &t->request_y, y);

    size_t in_pitch = rounded((size_t)t->n_in_x + 1, 64) + 64;
    t->out_pitch = rounded(t->n_out_x, 32);
    t->feed.line_pitch = in_pitch;
    t->feed.spare = cut(c, 6, in_pitch);
    /* Rows wait in the window as the first pass leaves them. */
    bool across_first = t->need_x && t->need_y && !t->y_first;
    t->rows.line_pitch = across_first ? t->out_pitch : in_pitch;
    t->rows.row_bytes = t->channels * t->rows.line_pitch;
    t->rows.capacity = t->need_y ? window_rows(t) : t->block_rows;
    t->rows.data = cut(c, t->rows.capacity, t->rows.row_bytes);
    t->block = cut(c, (size_t)t->block_rows * t->channels, in_pitch);
    t->line = cut(c, (size_t)t->block_rows * t->channels, t->out_pitch > in_pitch ? t->out_pitch : in_pitch);
    if (!t->job->turn.transpose) return;
    t->sink.store_pitch = rounded(t->n_out_x, 64);
    t->sink.store = cut(c, (size_t)t->n_out_y * t->channels + 15, t->sink.store_pitch);
    t->sink.strip_pitch = rounded(t->n_out_y, 64);
    t->sink.strip = cut(c, 16 * (size_t)t->channels, t->sink.strip_pitch);
}

static stk_status take_memory(stk_codec_ctx *ctx, tail *t, stk_error *error)
{
    cutter c = {.fits = true};
    cut_all(t, &c);
    if (!c.fits) return stk_fail_memory(error, "resampling");
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_RESAMPLE, c.used, &c.base, error));
    c.used = 0;
    cut_all(t, &c);
    return STK_OK;
}

/* Source rows up to `end` into the window. */
static void feed_window(tail *t, uint32_t keep_from, uint32_t end)
{
    while (t->rows.end < end) {
        uint32_t n = t->n_in_y - t->rows.end < t->block_rows ? t->n_in_y - t->rows.end : t->block_rows;
        uint8_t *to = stk_row_window_append(&t->rows, keep_from, n);
        stk_row_feed_next(&t->feed, t->rows.end - n, n, to);
    }
}

static void across_then_down(tail *t)
{
    size_t row_bytes = t->rows.row_bytes, n_bytes = t->channels * t->out_pitch;
    uint32_t o = 0;
    for (uint32_t r = 0; r < t->n_in_y && o < t->n_out_y; r += t->block_rows) {
        uint32_t n = t->n_in_y - r < t->block_rows ? t->n_in_y - r : t->block_rows;
        stk_row_feed_next(&t->feed, r, n, t->block);
        uint8_t *to = stk_row_window_append(&t->rows, (uint32_t)t->y.start[o], n);
        t->ops->across(&t->x, t->block + t->feed.offset, t->feed.line_pitch, (size_t)n * t->channels, to,
                       t->out_pitch);
        for (; o < t->n_out_y && (uint32_t)(t->y.start[o] + t->y.count[o]) <= r + n; o++) {
            t->ops->down(&t->y, o, stk_row_window_origin(&t->rows), row_bytes, n_bytes, t->line);
            stk_row_sink_put(&t->sink, o, t->line, t->out_pitch);
        }
    }
}

static void down_then_across(tail *t)
{
    size_t row_bytes = t->rows.row_bytes, n_bytes = row_bytes - 64; /* without the last line's slack */
    for (uint32_t o = 0; o < t->n_out_y; o += t->block_rows) {
        uint32_t n = t->n_out_y - o < t->block_rows ? t->n_out_y - o : t->block_rows, last = o + n - 1;
        for (uint32_t i = 0; i < n; i++) {
            feed_window(t, (uint32_t)t->y.start[o + i], (uint32_t)(t->y.start[o + i] + t->y.count[o + i]));
            t->ops->down(&t->y, o + i, stk_row_window_origin(&t->rows), row_bytes, n_bytes,
                         t->block + i * t->channels * t->feed.line_pitch);
        }
        t->ops->across(&t->x, t->block + t->feed.offset, t->feed.line_pitch, (size_t)n * t->channels, t->line,
                       t->out_pitch);
        for (uint32_t i = o; i <= last; i++)
            stk_row_sink_put(&t->sink, i, t->line + (i - o) * t->channels * t->out_pitch, t->out_pitch);
    }
}

static void across_only(tail *t)
{
    for (uint32_t r = 0; r < t->n_in_y; r += t->block_rows) {
        uint32_t n = t->n_in_y - r < t->block_rows ? t->n_in_y - r : t->block_rows;
        stk_row_feed_next(&t->feed, r, n, t->rows.data);
        t->ops->across(&t->x, t->rows.data + t->feed.offset, t->rows.line_pitch, (size_t)n * t->channels, t->line,
                       t->out_pitch);
        for (uint32_t i = 0; i < n; i++)
            stk_row_sink_put(&t->sink, r + i, t->line + i * t->channels * t->out_pitch, t->out_pitch);
    }
}

static void down_only(tail *t)
{
    size_t row_bytes = t->rows.row_bytes, n_bytes = row_bytes - 64;
    for (uint32_t o = 0; o < t->n_out_y; o++) {
        feed_window(t, (uint32_t)t->y.start[o], (uint32_t)(t->y.start[o] + t->y.count[o]));
        t->ops->down(&t->y, o, stk_row_window_origin(&t->rows), row_bytes, n_bytes, t->line);
        stk_row_sink_put(&t->sink, o, t->line + t->feed.offset, t->rows.line_pitch);
    }
}

static void no_pass(tail *t)
{
    for (uint32_t r = 0; r < t->n_in_y; r++) {
        stk_row_feed_next(&t->feed, r, 1, t->rows.data);
        stk_row_sink_put(&t->sink, r, t->rows.data + t->feed.offset, t->rows.line_pitch);
    }
}

stk_status stk_tail_run(stk_codec_ctx *ctx, const stk_tail_job *job, stk_error *error)
{
    tail t = {.ops = stk_codec_kernels(ctx)->tail, .job = job};
    stk_row_feed_open(&t.feed, t.ops, &job->source, job->out_channels);
    t.channels = t.feed.channels;
    request_axes(&t);
    stk_row_sink_open(&t.sink, t.ops, job, t.channels, t.n_out_x, t.n_out_y);
    STK_TRY(take_memory(ctx, &t, error));
    if (t.need_x) t.ops->prepare_axis(&t.x, &t.request_x);
    if (t.need_y) t.ops->prepare_axis(&t.y, &t.request_y);
    if (t.need_x && t.need_y && t.y_first) down_then_across(&t);
    else if (t.need_x && t.need_y) across_then_down(&t);
    else if (t.need_x) across_only(&t);
    else if (t.need_y) down_only(&t);
    else no_pass(&t);
    stk_row_sink_finish(&t.sink);
    return STK_OK;
}
