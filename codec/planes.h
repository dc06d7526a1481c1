/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoded component planes of a part of a JPEG (what the IDCT writes), and the tail that turns them into
 * finished pixels: fancy upsampling, colour, resample, flip. */
#ifndef STK_CODEC_PLANES_H
#define STK_CODEC_PLANES_H

#include <stddef.h>
#include <stdint.h>

#include "codec/render.h"

/* A window of whole MCUs, in memory of the context (STK_SCRATCH_PLANES). Vector code reads past the ends of rows
 * and writes repeated edge samples there: the 64 bytes before data[c] belong to the same memory, and
 * stride[c] >= width[c] + 64, also after the last row. Sample (i, j) of component c (column i, row j of the plane)
 * is the image's sample (x0[c] + i, y0[c] + j) of that component. All coordinates are stored ones (before
 * orientation). */
typedef struct stk_planes {
    uint32_t n_components; /* 1 or 3 */
    uint8_t *data[3];
    size_t stride[3];
    uint32_t width[3], height[3]; /* samples present in the plane (block padding included) */
    uint32_t x0[3], y0[3];
    uint8_t h_factor[3], v_factor[3]; /* sampling factors; h_max = max */
    uint8_t h_max, v_max;
    uint32_t image_width, image_height; /* of the whole image, pixels */
    /* The last real sample of component c is ceil(image_width * h / h_max) - 1: fancy upsampling replicates
     * it at the image's edge, not the block padding. */
} stk_planes;

/* Upsamples and colour-converts the rectangle `box` (stored coordinates; the planes hold it and one chroma
 * sample more on each side where the image has one) into interleaved RGB (or L for one component). Equal to
 * libjpeg-turbo's output with fancy upsampling. Scalar reference. */
stk_status stk_planes_to_image(stk_codec_ctx *ctx, const stk_planes *planes, stk_box box, stk_image *out,
                               stk_error *error);

/* The whole tail for one job: upsampling, colour, turn, resample, window, fill and flip into job->out; fused and
 * vectorised where the context's family can, equal bytes always. The planes must hold what the job's visible part
 * depends on (stk_render_plan says what that is); job->data is not looked at. */
stk_status stk_planes_render(stk_codec_ctx *ctx, const stk_planes *planes, const stk_render_job *job,
                             stk_error *error);

#endif
