/* SPDX-License-Identifier: Apache-2.0
 *
 * Where things lie in one render job: what of the output is visible, which part of the box that depends on,
 * and where that part is in the stored picture. Shared by the reference path and the fused tail. */
#ifndef STK_CODEC_RENDER_PLAN_H
#define STK_CODEC_RENDER_PLAN_H

#include "codec/render.h"
#include "codec/resample.h"
#include "codec/turn.h"

typedef struct stk_render_plan {
    stk_turn turn;
    bool visible;           /* false: the window misses the picture, all is fill */
    stk_resampling resample; /* turned coordinates; in_x, in_y = the needed part's place in the box */
    stk_box part;           /* the needed part in stored coordinates of the record */
    uint32_t out_x, out_y;  /* top left of the visible rectangle in the output, flip considered */
} stk_render_plan;

/* STK_ERR_ARGUMENT when the job contradicts itself (empty sizes, box outside, channels). */
stk_status stk_render_check(const stk_render_job *job, stk_error *error);

void stk_render_plan_make(const stk_render_job *job, stk_render_plan *plan);

/* Writes the fill colour to the part of the output that the picture does not cover. */
void stk_render_fill(const stk_render_job *job, const stk_render_plan *plan);

/* From pixels to the output: image holds plan->part (stored orientation) in 1 or 3 channels. Turn, resample, then
 * channels, colour order and flip into job->out. image may lie in STK_SCRATCH_PIXELS or outside the scratch; it is
 * not changed, and nothing outside its rows is read. By the context's kernel family; the second one is scalar. */
stk_status stk_render_image(stk_codec_ctx *ctx, const stk_image *image, const stk_render_job *job,
                            const stk_render_plan *plan, stk_error *error);
stk_status stk_render_image_reference(stk_codec_ctx *ctx, const stk_image *image, const stk_render_job *job,
                                      const stk_render_plan *plan, stk_error *error);

/* The same from JPEG planes whose edge samples are repeated, by the family's fused tail (it must have one). */
struct stk_planes;
stk_status stk_render_planes_tail(stk_codec_ctx *ctx, const struct stk_planes *planes, const stk_render_job *job,
                                  const stk_render_plan *plan, stk_error *error);

#endif
