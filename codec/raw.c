/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/raw.h"

#include "codec/color.h"
#include "common/checked.h"
#include "common/fail.h"

/* The needed part as a picture inside the payload. */
static stk_status view(const stk_render_job *job, const stk_render_plan *plan, stk_image *out, stk_error *error)
{
    uint32_t width = plan->turn.transpose ? job->height : job->width;
    uint32_t height = plan->turn.transpose ? job->width : job->height;
    size_t stride = (size_t)width * job->channels, n_bytes;
    if (!stk_mul_size(stride, height, &n_bytes) || n_bytes != job->n_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "raw record of %zu bytes is not %ux%u pixels of %u channels",
                        job->n_bytes, width, height, job->channels);
    const stk_box *b = &plan->part;
    const uint8_t *first = job->data + (size_t)b->y * stride + (size_t)b->x * job->channels;
    *out = (stk_image){.pixels = (uint8_t *)first, .stride = stride, .width = (uint32_t)b->width,
                       .height = (uint32_t)b->height, .channels = job->channels};
    return STK_OK;
}

static stk_status to_grey(stk_codec_ctx *ctx, stk_image *image, stk_error *error)
{
    size_t n_bytes = (size_t)image->width * image->height;
    uint8_t *grey;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_PIXELS, n_bytes, &grey, error));
    for (uint32_t y = 0; y < image->height; y++)
        stk_rgb_to_l_row(image->pixels + y * image->stride, image->width, grey + y * (size_t)image->width);
    *image = (stk_image){.pixels = grey, .stride = image->width, .width = image->width, .height = image->height,
                         .channels = 1};
    return STK_OK;
}

stk_status stk_raw_render(stk_codec_ctx *ctx, const stk_render_job *job, const stk_render_plan *plan,
                          stk_error *error)
{
    stk_image image;
    STK_TRY(view(job, plan, &image, error));
    if (job->out_channels == 1 && image.channels == 3) STK_TRY(to_grey(ctx, &image, error));
    return stk_render_image_reference(ctx, &image, job, plan, error);
}
