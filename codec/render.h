/* SPDX-License-Identifier: Apache-2.0
 *
 * The one per-sample operation of the reader: a record's bytes -> a rectangle of finished pixels.
 *
 *   decode -> turn (orientation) -> box -> resample to full size -> window of that (with fill) -> flip
 *
 * The window makes "resize, then centre crop" and "pad, then crop" the same operation, computing only what
 * is visible. Pixels equal Pillow's for the same steps, byte for byte, in every kernel family. */
#ifndef STK_CODEC_RENDER_H
#define STK_CODEC_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/types.h>

#include "codec/codec.h"
#include "codec/tiles.h"

typedef struct stk_render_job {
    const uint8_t *data; /* the payload; 64 readable bytes need not follow it */
    size_t n_bytes;
    stk_encoding encoding;
    uint32_t width, height;         /* of the record, turned */
    uint8_t channels;               /* of the record: 1 or 3 */
    uint8_t orientation;            /* 1..8 */
    const stk_tile_tables *tables;  /* tiles with a shared table set; else NULL */
    stk_box box;                    /* turned coordinates, inside the image */
    uint32_t full_width, full_height; /* the box is resampled to this size */
    stk_filter filter;
    stk_pixels pixels;
    int32_t window_x, window_y; /* top left of the output within the resampled picture; may be negative */
    uint32_t out_width, out_height;
    uint8_t fill[4];  /* pixels of the window outside the resampled picture */
    bool flip;        /* mirrored left-right, last */
    stk_color color;
    uint8_t out_channels; /* 3 or 1; grey records are widened for 3; 1 from an RGB record is L as Pillow */
    uint8_t *out;         /* out_height rows of out_width * out_channels bytes */
    size_t out_stride;    /* bytes */
} stk_render_job;

/* Runs one job. damage may be NULL (then any complaint of the decoder is STK_ERR_DAMAGED); otherwise
 * complaints are reported there and the pixels delivered. On failure the output region's content is
 * undefined. The kernel family is the context's. */
stk_status stk_render(stk_codec_ctx *ctx, const stk_render_job *job, stk_damage_report *damage, stk_error *error);

#endif
