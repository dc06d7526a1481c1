/* SPDX-License-Identifier: Apache-2.0
 *
 * What a back end is asked to run: gathered entries -> finished tensors. Plain data that travels to the device as it
 * is. Made and validated by gpu_plan.c; kernels trust it and guard only against what the entropy-coded bits say.
 *
 * Stages, each reading what the one before wrote into one scratch memory:
 *   decode   segments -> block-linear planes            (tiles)
 *   front    planes or rows -> colour and the first pass of the resampling, eight lines at a time -> middle
 *   back     middle -> the second pass, flip, table, layout -> the tensor
 * and, for pictures that do not fill the output or are too large for the two (`fused.on` = 0):
 *   color    planes or rows -> source picture: planar bytes, turned, the crop only
 *   first    source -> middle or result                 (one pass of the resampling)
 *   second   middle -> result                           (the other)
 *   finish   result -> flip, fill, table, layout -> the tensor */
#ifndef STK_GPU_BATCH_H
#define STK_GPU_BATCH_H

#include <stdint.h>

#include "gpu_upload/hd_color.h"
#include "gpu_upload/hd_resample.h"

/* Planar bytes in the scratch: channel c's row y, column x at `at + c * plane + y * stride + x`. */
typedef struct stk_gpu_picture {
    uint64_t at;
    uint32_t width, height, stride;
    uint32_t plane;
} stk_gpu_picture;

/* One pass. Output column/row i takes inputs start[i] - shift ... of the axis. */
typedef struct stk_gpu_pass {
    uint32_t on;
    uint32_t vertical;
    stk_hd_axis axis;
    stk_gpu_picture in, out;
    int32_t shift; /* first input column (horizontal) or row (vertical) that `in` holds for this pass */
    int32_t along; /* added to the other coordinate: output row r reads input row r + along */
} stk_gpu_pass;

/* The fused way: lines of the (turned) crop run along the axis whose pass comes first: rows, or columns where `across`.
 * A pass that would change nothing is run with weights of one, which is exact. The middle picture is made of words of
 * four neighbouring lines: word w (lines 4 w ... 4 w + 3), channel c, output i of the first pass lie at
 * middle + ((w * channels + c) * first.n_out + i) * 4. */
typedef struct stk_gpu_fused {
    uint32_t on;
    uint32_t across;
    uint32_t words; /* 1: lines come as whole 8x8 blocks of three planes or one, not turned */
    uint32_t line;  /* pixels of a line that `first` reads */
    uint32_t line_bytes; /* of a line in shared memory: with what lies before and what words read past its end */
    int32_t lead;   /* pixels that lie before them in a line: up to the border of a block */
    int32_t line0;  /* the first line, in the turned crop; negative where lines begin at the border of a block */
    uint32_t n_lines, n_strips; /* strips of eight lines */
    uint32_t first_strip;       /* of the group's list of its width */
    uint32_t wide;              /* STK_GPU_NARROW or STK_GPU_WIDE */
    uint64_t middle;
    stk_hd_axis first, second;
} stk_gpu_fused;

typedef struct stk_gpu_image {
    uint32_t kind;  /* STK_GATHER_... */
    uint32_t entry; /* of the batch: place of its output and status */
    uint32_t bad;   /* set by the decode stage where bits of any of the sample's views were invalid: the pixels are zero
                       then */
    /* tiles */
    uint64_t tables;   /* stk_gather_tables, then offsets and lengths of n_listed segments */
    uint64_t segments; /* what offsets count from */
    uint32_t resident; /* 1: `tables` and `segments`, or `raw`, count from the resident memory, else from the batch */
    uint32_t n_listed, first_listed, listed_stride; /* segment (row, tile) of the window is first + row * stride + tile */
    uint32_t n_segments, n_tiles, tile_mcus, mcu_blocks, n_components;
    uint8_t block_component[12], block_x[12], block_y[12]; /* of an MCU: component, place in the MCU in blocks */
    uint8_t h[4], v[4];
    stk_hd_plane planes[3];
    /* rows */
    uint64_t raw;
    uint32_t raw_stride;
    /* the crop, stored coordinates; for planes within the image, for rows within `raw` */
    int32_t crop_x, crop_y, crop_width, crop_height;
    uint32_t orientation;
    uint32_t channels; /* of the rows: 1 or 3 */
    uint32_t picture_channels; /* of the source picture: 1 where the output is grey (RGB becomes L before resampling) */
    stk_gpu_picture source;
    stk_gpu_pass first, second;
    stk_gpu_picture result;
    int32_t result_x, result_y; /* of the result's pixel 0,0 in the picture behind the window */
    int32_t out_x, out_y;       /* where that part lies in the output (before the flip) */
    uint32_t shown_width, shown_height;
    uint32_t flip;
    uint8_t fill[4];
    stk_gpu_fused fused;
} stk_gpu_image;

/* A stretch of segments of one image: one block of threads. */
typedef struct stk_gpu_item {
    uint32_t image, first, n;
} stk_gpu_item;

/* A strip of lines for the front: made on the device, from what the images say of theirs. */
typedef struct stk_gpu_strip {
    uint32_t image, strip;
} stk_gpu_strip;

/* Stages whose blocks are (some rows, image); an image's own row count may be less than the group's greatest. */
enum { STK_GPU_COLOR, STK_GPU_FIRST, STK_GPU_SECOND, STK_GPU_STAGES };
/* Strips of wide lines need more shared memory and take longer: they are launched apart, and first. */
enum { STK_GPU_NARROW, STK_GPU_WIDE, STK_GPU_WIDTHS };
enum {
    STK_GPU_SEGMENTS_PER_ITEM = 128,
    STK_GPU_ROWS_PER_BLOCK = 8,
    STK_GPU_STRIP_LINES = 8,
    STK_GPU_NARROW_LINE = 944, /* bytes */
    STK_GPU_WIDEST_LINE = 1968, /* bytes of a line that the fused way takes: eight, of three channels, in 48 KB */
    STK_GPU_FUSED_SIDE = 640,   /* of an output, likewise */
    STK_GPU_MAX_SIDE = 16384 /* of an output */
};

/* The tensor. */
typedef struct stk_gpu_output {
    uint32_t width, height, channels;
    uint32_t dtype;  /* stk_dtype */
    uint32_t layout; /* stk_layout */
    uint32_t bgr;
    uint64_t image_bytes;
} stk_gpu_output;

/* A group of images whose scratch fits. Pointers are in the back end's memory. */
typedef struct stk_gpu_group {
    const uint8_t *bytes;    /* the batch */
    const uint8_t *resident; /* may be NULL */
    uint64_t bytes_size, resident_size; /* for clamping reads that follow garbage */
    const stk_gpu_image *images;
    uint32_t n_images, n_views; /* of a sample: its images are neighbours, and never in different groups */
    const stk_gpu_item *decode_items;
    uint32_t n_decode_items;
    const uint32_t *others; /* numbers of the images that are not fused */
    uint32_t n_others;
    uint32_t rows[STK_GPU_STAGES]; /* most rows of one of the others in the stage; 0: none needs it */
    stk_gpu_strip *strips;         /* wide ones, then narrow ones; written by the device */
    uint32_t n_strips[STK_GPU_WIDTHS], widest_line;
    int32_t *axes; /* tables of all passes; those marked on the host are there already */
    uint8_t *scratch;
    const void *norm; /* [3][256] elements of the dtype; unused for uint8 */
    uint8_t *out;     /* of the whole batch */
    int32_t *status;  /* [entries]: set to 1 where bits were invalid, for all views of the sample */
    stk_gpu_output output;
} stk_gpu_group;

#endif
