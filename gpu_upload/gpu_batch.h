/* SPDX-License-Identifier: Apache-2.0
 *
 * What a back end is asked to run: gathered entries -> finished tensors. Plain data that travels to the device as it
 * is. Made and validated by gpu_plan.c; kernels trust it and guard only against what the entropy-coded bits say.
 *
 * Stages, each reading what the one before wrote into one scratch memory:
 *   decode   segments -> block-linear planes            (tiles)
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

typedef struct stk_gpu_image {
    uint32_t kind;  /* STK_GATHER_... */
    uint32_t entry; /* of the batch: place of its output and status */
    /* tiles */
    uint64_t tables;   /* stk_gather_tables, then offsets: in the batch's bytes */
    uint64_t segments; /* what offsets count from */
    uint32_t resident; /* 1: `segments` or `raw` counts from the resident memory */
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
    uint32_t fused_front; /* color and the first, horizontal pass in one: the source picture is never stored */
    uint32_t fused_back;  /* the last, vertical pass and the finish in one: the result is never stored */
    uint32_t flip;
    uint8_t fill[4];
} stk_gpu_image;

/* A stretch of segments of one image: one block of threads. */
typedef struct stk_gpu_item {
    uint32_t image, first, n;
} stk_gpu_item;

/* Stages whose blocks are (some rows, image); an image's own row count may be less than the group's greatest. */
enum { STK_GPU_COLOR, STK_GPU_FIRST, STK_GPU_SECOND, STK_GPU_FRONT, STK_GPU_STAGES };
enum {
    STK_GPU_SEGMENTS_PER_ITEM = 128,
    STK_GPU_ROWS_PER_BLOCK = 8,
    STK_GPU_FRONT_WIDTH = 2000, /* widest source picture that the fused front takes */
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
    uint32_t n_images;
    const stk_gpu_item *decode_items;
    uint32_t n_decode_items;
    uint32_t rows[STK_GPU_STAGES]; /* most rows of an image in the stage; 0: no image needs it */
    uint32_t front_width;          /* widest source picture of a fused front */
    uint32_t any_back, any_finish; /* images with and without fused_back */
    int32_t *axes; /* tables of all passes; those marked on the host are there already */
    uint8_t *scratch;
    const void *norm; /* [3][256] elements of the dtype; unused for uint8 */
    uint8_t *out;     /* of the whole batch */
    int32_t *status;  /* [entries]: set to 1 where bits were invalid */
    stk_gpu_output output;
    uint32_t plain; /* 1: the decode kernel for old devices */
} stk_gpu_group;

#endif
