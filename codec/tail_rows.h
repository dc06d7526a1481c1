/* SPDX-License-Identifier: Apache-2.0
 *
 * The tail's moving parts: where rows come from, where they wait, where they go. A row is `channels` lines of
 * bytes. */
#ifndef STK_CODEC_TAIL_ROWS_H
#define STK_CODEC_TAIL_ROWS_H

#include "codec/tail.h"

/* Source rows as planar lines. */
typedef struct stk_row_feed {
    const stk_tail_ops *ops;
    const stk_tail_source *source;
    uint32_t channels; /* of the lines that come out */
    uint32_t
        offset; /* the part's first column within a line: 1 where upsampling starts at an even column before it */
    bool to_grey;
    stk_upsampling chroma; /* both components' method, or REPEAT for the general way */
    uint32_t last_row[3];  /* of each component, in the image */
    size_t line_pitch;     /* set by the owner, and so is */
    uint8_t *spare;        /* six lines */
} stk_row_feed;

void stk_row_feed_open(stk_row_feed *feed, const stk_tail_ops *ops, const stk_tail_source *source,
                       uint8_t out_channels);
/* Rows y .. y + n - 1 of the part to `lines`, one after the other, lines line_pitch apart. */
void stk_row_feed_next(const stk_row_feed *feed, uint32_t y, uint32_t n, uint8_t *lines);

/* The last rows of a longer sequence, contiguous in memory. */
typedef struct stk_row_window {
    uint8_t *data;
    size_t row_bytes, line_pitch, capacity;
    uint32_t first, end; /* rows [first, end) are there, at data */
} stk_row_window;

/* Room for n more rows; forgets rows before keep_from when it needs the place. */
uint8_t *stk_row_window_append(stk_row_window *window, uint32_t keep_from, uint32_t n);
/* Where row 0 would be. */
static inline const uint8_t *stk_row_window_origin(const stk_row_window *window)
{
    return window->data - (size_t)window->first * window->row_bytes;
}

/* Finished rows, stored orientation, to their place in the output. */
typedef struct stk_row_sink {
    const stk_tail_ops *ops;
    stk_pixel_format format;
    stk_turn turn;
    uint8_t *out;
    size_t out_stride;
    uint32_t n_x, n_y;    /* of the result, stored orientation */
    uint8_t *store;       /* transpose: the whole result as planes, [channel][row][store_pitch] */
    size_t store_pitch;
    uint8_t *strip;       /* transpose: 16 turned rows, [row][channel][strip_pitch] */
    size_t strip_pitch;
} stk_row_sink;

void stk_row_sink_open(stk_row_sink *sink, const stk_tail_ops *ops, const stk_tail_job *job, uint32_t channels,
                       uint32_t n_x, uint32_t n_y);
void stk_row_sink_put(const stk_row_sink *sink, uint32_t row, const uint8_t *lines, size_t line_pitch);
/* After the last row. */
void stk_row_sink_finish(const stk_row_sink *sink);

#endif
