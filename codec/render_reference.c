/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar tail, one plain step after the other, each a whole picture: RGB -> L, turn, resample, then
 * channels, colour order and flip. What the fused vector tails compute is compared with this. */
#include "codec/color.h"
#include "codec/render_plan.h"
#include "common/checked.h"
#include "common/fail.h"

static stk_status scratch_image(stk_codec_ctx *ctx, int area, uint32_t width, uint32_t height, uint8_t channels,
                                stk_image *out, stk_error *error)
{
    size_t stride = (size_t)width * channels, n_bytes;
    if (!stk_mul_size(stride, height, &n_bytes)) return stk_fail_memory(error, "an image");
    *out = (stk_image){.stride = stride, .width = width, .height = height, .channels = channels};
    return stk_codec_scratch(ctx, area, n_bytes, &out->pixels, error);
}

static stk_status to_grey(stk_codec_ctx *ctx, int area, const stk_image *in, stk_image *out, stk_error *error)
{
    STK_TRY(scratch_image(ctx, area, in->width, in->height, 1, out, error));
    for (uint32_t y = 0; y < in->height; y++)
        stk_rgb_to_l_row(in->pixels + y * in->stride, in->width, out->pixels + y * out->stride);
    return STK_OK;
}

static void finish_row(const stk_render_job *job, const uint8_t *in, uint32_t n, uint8_t channels, uint8_t *out)
{
    bool swap = job->color == STK_COLOR_BGR && channels == 3;
    for (uint32_t x = 0; x < n; x++) {
        const uint8_t *p = in + (size_t)(job->flip ? n - 1 - x : x) * channels;
        uint8_t *q = out + (size_t)x * job->out_channels;
        for (uint32_t c = 0; c < job->out_channels; c++) q[c] = p[channels == 1 ? 0 : swap ? 2 - c : c];
    }
}

stk_status stk_render_image_reference(stk_codec_ctx *ctx, const stk_image *image, const stk_render_job *job,
                                      const stk_render_plan *plan, stk_error *error)
{
    stk_image current = *image, next;
    const stk_resampling *r = &plan->resample;
    bool turned = plan->turn.transpose || plan->turn.mirror_x || plan->turn.mirror_y;
    if (job->out_channels == 1 && current.channels == 3) {
        /* OUTPUT is free until the turned picture exists. */
        STK_TRY(to_grey(ctx, turned ? STK_SCRATCH_OUTPUT : STK_SCRATCH_TURN, &current, &next, error));
        current = next;
    }
    if (turned) {
        bool swap = plan->turn.transpose;
        STK_TRY(scratch_image(ctx, STK_SCRATCH_TURN, swap ? current.height : current.width,
                              swap ? current.width : current.height, current.channels, &next, error));
        stk_turn_pixels(plan->turn, &current, next.pixels, next.stride);
        current = next;
    }
    STK_TRY(scratch_image(ctx, STK_SCRATCH_OUTPUT, r->width, r->height, current.channels, &next, error));
    STK_TRY(stk_resample_reference(ctx, &current, r, next.pixels, next.stride, error));
    for (uint32_t y = 0; y < r->height; y++)
        finish_row(job, next.pixels + y * next.stride, r->width, next.channels,
                   job->out + (plan->out_y + y) * job->out_stride + (size_t)plan->out_x * job->out_channels);
    return STK_OK;
}
