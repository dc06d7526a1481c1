/* SPDX-License-Identifier: Apache-2.0
 *
 * The fused tail: rows come out of a source (JPEG planes, interleaved pixels) as planar lines, pass through the
 * two resampling passes a few rows at a time, so that everything between stays in the first-level caches, and
 * leave interleaved, flipped and turned. All arithmetic is in a family's stk_tail_ops; tail.c only moves rows. */
#ifndef STK_CODEC_TAIL_H
#define STK_CODEC_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/planes.h"
#include "codec/resample.h"
#include "codec/turn.h"
#include "codec/upsample.h"
#include "codec/vector_axis.h"

/* Rows of two chroma components that one image row is made of: the near and the far one (equal without vertical
 * upsampling). All pointers stand at the line's first column; 1 sample before and 64 after the last are readable.
 */
typedef struct stk_ycc_row {
    const uint8_t *y, *cb_near, *cb_far, *cr_near, *cr_far;
    bool lower; /* odd image row: rounding of the vertical step differs */
} stk_ycc_row;

/* How finished lines become output pixels. */
typedef struct stk_pixel_format {
    uint8_t in_channels, out_channels;
    bool mirror;        /* the row runs right to left */
    bool swap_red_blue;
} stk_pixel_format;

/* One family's operations. Lines are planar rows of bytes. Kernels may read and write up to 64 bytes past the end
 * of a line and read as many before its start, except where "exactly" is said. */

typedef struct stk_tail_ops {
    /* Computes an axis placed by stk_vector_axis_place, family tables included. */
    void (*prepare_axis)(stk_vector_axis *axis, const stk_axis_request *request);
    /* Horizontal pass over n_lines lines, pitches apart. Output lines are n_out rounded up to 32 long. Up to 256
     * bytes past the last input line are read. */
    void (*across)(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines, uint8_t *out,
                   size_t out_pitch);
    /* Vertical pass: output row i from rows that are pitch apart, `in` being the axis's input row 0. */
    void (*down)(const stk_vector_axis *axis, uint32_t i, const uint8_t *in, size_t pitch, size_t n_bytes,
                 uint8_t *out);
    /* n pixels of YCbCr -> three lines R, G, B, line_pitch apart. */
    void (*ycc_row)(const stk_ycc_row *row, stk_upsampling chroma, size_t n, uint8_t *lines, size_t line_pitch);
    /* n interleaved RGB pixels -> three lines. Reads exactly. */
    void (*split_row)(const uint8_t *rgb, size_t n, uint8_t *lines, size_t line_pitch);
    /* Lines R, G, B -> another line L. */
    void (*grey_row)(const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *grey);
    /* Lines -> n output pixels. Writes exactly. */
    void (*join_row)(stk_pixel_format format, const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *out);
    /* A rectangle of interleaved pixels -> output pixels; rows run backwards in memory when in_stride is negative.
     * Reads and writes exactly. */
    void (*copy_pixels)(stk_pixel_format format, const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows,
                        uint8_t *out, size_t out_stride);
} stk_tail_ops;

/* Where rows come from: exactly one of planes and image is set. */
typedef struct stk_tail_source {
    const stk_planes *planes; /* with edge samples repeated (stk_planes_repeat_edges) */
    const stk_image *image;   /* interleaved; its pixel (0, 0) is the part's */
    stk_box part;             /* stored coordinates of the record */
} stk_tail_source;

typedef struct stk_tail_job {
    stk_tail_source source;
    stk_resampling resample; /* turned coordinates */
    stk_turn turn;
    bool flip, swap_red_blue;
    uint8_t out_channels;
    uint8_t *out; /* the visible rectangle's first byte */
    size_t out_stride;
} stk_tail_job;

/* Runs a job with the context's family, which must have a tail. Intermediates lie in STK_SCRATCH_RESAMPLE. */
stk_status stk_tail_run(stk_codec_ctx *ctx, const stk_tail_job *job, stk_error *error);

#endif
