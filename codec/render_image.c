/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses how decoded pixels become output: plain copying, the family's fused tail, or the scalar reference. */
#include "codec/kernels.h"
#include "codec/render_plan.h"
#include "codec/tail.h"
#include "common/fail.h"

static uint8_t *visible_output(const stk_render_job *job, const stk_render_plan *plan)
{
    return job->out + plan->out_y * job->out_stride + (size_t)plan->out_x * job->out_channels;
}

static bool same_size(const stk_resampling *r)
{
    return r->box_width == r->full_width && r->box_height == r->full_height;
}

/* No resampling and no transposing: rows are copied, mirrored and swapped in one go. */
static void copy(const stk_tail_ops *ops, const stk_image *image, const stk_render_job *job,
                 const stk_render_plan *plan)
{
    stk_pixel_format format = {.in_channels = image->channels, .out_channels = job->out_channels,
                               .mirror = plan->turn.mirror_x != job->flip,
                               .swap_red_blue = job->color == STK_COLOR_BGR};
    const uint8_t *first = image->pixels;
    ptrdiff_t stride = (ptrdiff_t)image->stride;
    if (plan->turn.mirror_y) {
        first += (size_t)(image->height - 1) * image->stride;
        stride = -stride;
    }
    ops->copy_pixels(format, first, stride, plan->resample.width, plan->resample.height, visible_output(job, plan),
                     job->out_stride);
}

static stk_tail_job tail_job(const stk_render_job *job, const stk_render_plan *plan)
{
    return (stk_tail_job){.source.part = plan->part, .resample = plan->resample, .turn = plan->turn,
                          .flip = job->flip, .swap_red_blue = job->color == STK_COLOR_BGR,
                          .out_channels = job->out_channels, .out = visible_output(job, plan),
                          .out_stride = job->out_stride};
}

stk_status stk_render_image(stk_codec_ctx *ctx, const stk_image *image, const stk_render_job *job,
                            const stk_render_plan *plan, stk_error *error)
{
    const stk_tail_ops *ops = stk_codec_kernels(ctx)->tail;
    if (ops == NULL) return stk_render_image_reference(ctx, image, job, plan, error);
    bool to_grey = image->channels == 3 && job->out_channels == 1;
    if (same_size(&plan->resample) && !plan->turn.transpose && !to_grey) {
        copy(ops, image, job, plan);
        return STK_OK;
    }
    stk_tail_job tail = tail_job(job, plan);
    tail.source.image = image;
    return stk_tail_run(ctx, &tail, error);
}

stk_status stk_render_planes_tail(stk_codec_ctx *ctx, const stk_planes *planes, const stk_render_job *job,
                                  const stk_render_plan *plan, stk_error *error)
{
    stk_tail_job tail = tail_job(job, plan);
    tail.source.planes = planes;
    return stk_tail_run(ctx, &tail, error);
}

stk_status stk_resample(stk_codec_ctx *ctx, const stk_image *in, uint32_t full_w, uint32_t full_h,
                        stk_filter filter, stk_pixels pixels, uint32_t wx, uint32_t wy, uint32_t ww, uint32_t wh,
                        uint8_t *out, size_t out_stride, stk_error *error)
{
    stk_render_job job = {.width = in->width, .height = in->height, .channels = in->channels, .orientation = 1,
                          .box = {0, 0, (int32_t)in->width, (int32_t)in->height}, .full_width = full_w,
                          .full_height = full_h, .filter = filter, .pixels = pixels, .window_x = (int32_t)wx,
                          .window_y = (int32_t)wy, .out_width = ww, .out_height = wh, .out_channels = in->channels,
                          .out = out, .out_stride = out_stride};
    stk_render_plan plan;
    STK_TRY(stk_render_check(&job, error));
    stk_render_plan_make(&job, &plan);
    const stk_image part = {.pixels = in->pixels + (size_t)plan.part.y * in->stride +
                                      (size_t)plan.part.x * in->channels,
                            .stride = in->stride, .width = (uint32_t)plan.part.width,
                            .height = (uint32_t)plan.part.height, .channels = in->channels};
    return stk_render_image(ctx, &part, &job, &plan, error);
}
