/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/planes.h"

#include "codec/color.h"
#include "codec/kernels.h"
#include "codec/render_plan.h"
#include "codec/upsample.h"
#include "common/checked.h"
#include "common/fail.h"

/* That the planes hold all samples which the pixels of `box` need. A decoder that gives less is at fault. */
static stk_status check_cover(const stk_planes *planes, stk_box box, stk_error *error)
{
    if (planes->n_components != 1 && planes->n_components != 3)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a picture of %u components cannot be rendered",
                        planes->n_components);
    if (!stk_sampling_integral(planes))
        return stk_fail(error, STK_ERR_UNSUPPORTED, "its sampling factors do not divide each other");
    if (box.x < 0 || box.y < 0 || box.width < 1 || box.height < 1 ||
        (int64_t)box.x + box.width > planes->image_width || (int64_t)box.y + box.height > planes->image_height)
        return stk_fail(error, STK_ERR_CORRUPT, "is %ux%u pixels, other than its index says", planes->image_width,
                        planes->image_height);
    for (unsigned c = 0; c < planes->n_components; c++) {
        uint32_t left, right, top, bottom;
        stk_upsample_columns(planes, c, (uint32_t)box.x, (uint32_t)box.width, &left, &right);
        stk_upsample_rows(planes, c, (uint32_t)box.y, (uint32_t)box.height, &top, &bottom);
        if (left < planes->x0[c] || right > planes->x0[c] + planes->width[c] || top < planes->y0[c] ||
            bottom > planes->y0[c] + planes->height[c] || planes->stride[c] < (size_t)planes->width[c] + 64)
            return stk_fail(error, STK_ERR_INTERNAL, "the decoded planes do not cover the crop");
    }
    return STK_OK;
}

stk_status stk_planes_to_image(stk_codec_ctx *ctx, const stk_planes *planes, stk_box box, stk_image *out,
                               stk_error *error)
{
    STK_TRY(check_cover(planes, box, error));
    uint32_t x = (uint32_t)box.x, n = (uint32_t)box.width;
    uint8_t channels = (uint8_t)planes->n_components;
    size_t stride = (size_t)n * channels, n_bytes;
    /* Three full-size rows of samples come first, the picture after them. */
    if (!stk_mul_size(stride, (size_t)box.height + 1, &n_bytes)) return stk_fail_memory(error, "an image");
    uint8_t *rows, *pixels;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_PIXELS, n_bytes, &rows, error));
    pixels = rows + stride;
    for (uint32_t i = 0; i < (uint32_t)box.height; i++) {
        for (unsigned c = 0; c < channels; c++)
            stk_upsample_row(planes, c, x, (uint32_t)box.y + i, n,
                             channels == 1 ? pixels + i * stride : rows + c * n);
        if (channels == 3) stk_ycc_to_rgb_row(rows, rows + n, rows + 2 * (size_t)n, n, pixels + i * stride);
    }
    *out = (stk_image){.pixels = pixels, .stride = stride, .width = n, .height = (uint32_t)box.height,
                       .channels = channels};
    return STK_OK;
}

/* Fancy upsampling repeats the last real sample of a line at the image's edges. Writing it beside the line spares
 * the kernels a special case. Only lines and edges that the part touches. */
static void repeat_edges(const stk_planes *planes, stk_box part)
{
    for (unsigned c = 1; c < planes->n_components; c++) {
        uint32_t left, right, top, bottom, width = stk_component_width(planes, c);
        stk_upsampling method = stk_upsampling_of(planes, c);
        if (method != STK_UPSAMPLE_H2V1 && method != STK_UPSAMPLE_H2V2) continue;
        stk_upsample_columns(planes, c, (uint32_t)part.x, (uint32_t)part.width, &left, &right);
        stk_upsample_rows(planes, c, (uint32_t)part.y, (uint32_t)part.height, &top, &bottom);
        if (left != 0 && right != width) continue;
        uint8_t *row = planes->data[c] + (size_t)(top - planes->y0[c]) * planes->stride[c];
        for (uint32_t y = top; y < bottom; y++, row += planes->stride[c]) {
            if (left == 0) row[-1] = row[0];
            if (right == width) row[width - planes->x0[c]] = row[width - planes->x0[c] - 1];
        }
    }
}

stk_status stk_planes_render(stk_codec_ctx *ctx, const stk_planes *planes, const stk_render_job *job,
                             stk_error *error)
{
    stk_render_plan plan;
    STK_TRY(stk_render_check(job, error));
    stk_render_plan_make(job, &plan);
    stk_render_fill(job, &plan);
    if (!plan.visible) return STK_OK;
    STK_TRY(check_cover(planes, plan.part, error));
    if (stk_codec_kernels(ctx)->tail != NULL) {
        repeat_edges(planes, plan.part);
        return stk_render_planes_tail(ctx, planes, job, &plan, error);
    }
    stk_image image;
    STK_TRY(stk_planes_to_image(ctx, planes, plan.part, &image, error));
    return stk_render_image_reference(ctx, &image, job, &plan, error);
}
