/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/raw.h"

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

stk_status stk_raw_render(stk_codec_ctx *ctx, const stk_render_job *job, const stk_render_plan *plan,
                          stk_error *error)
{
    stk_image image;
    STK_TRY(view(job, plan, &image, error));
    return stk_render_image(ctx, &image, job, plan, error);
}
