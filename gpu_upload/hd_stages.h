/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of one thread in each stage after decoding. The CUDA kernels call these from their grids, the dummy back
 * end from loops. */
#ifndef STK_GPU_HD_STAGES_H
#define STK_GPU_HD_STAGES_H

#include "gpu_upload/gpu_batch.h"

/* Color: pixel (x, y) of the source picture. from: planes' scratch, or rows. */
STK_HD void stk_hd_color_pixel(const stk_gpu_image *im, const uint8_t *rows, uint8_t *scratch, int32_t x, int32_t y)
{
    int32_t sx, sy;
    uint8_t *out = scratch + im->source.at + (uint64_t)y * im->source.stride + (uint32_t)x;
    stk_hd_turn(im->orientation, im->crop_width, im->crop_height, x, y, &sx, &sy);
    if (rows != 0) {
        const uint8_t *p = rows + (uint64_t)(im->crop_y + sy) * im->raw_stride + (uint64_t)(im->crop_x + sx) * im->channels;
        if (im->picture_channels == 1) out[0] = im->channels == 1 ? p[0] : stk_hd_luma(p[0], p[1], p[2]);
        else for (uint32_t c = 0; c < 3; c++) out[(uint64_t)c * im->source.plane] = p[c];
        return;
    }
    sx += im->crop_x;
    sy += im->crop_y;
    if (im->n_components == 1) {
        out[0] = (uint8_t)stk_hd_plane_sample(scratch, &im->planes[0], sx, sy);
        return;
    }
    uint8_t rgb[3];
    stk_hd_ycc(stk_hd_upsample(scratch, &im->planes[0], sx, sy), stk_hd_upsample(scratch, &im->planes[1], sx, sy),
               stk_hd_upsample(scratch, &im->planes[2], sx, sy), rgb);
    if (im->picture_channels == 1) {
        out[0] = stk_hd_luma(rgb[0], rgb[1], rgb[2]);
        return;
    }
    out[0] = rgb[0];
    out[im->source.plane] = rgb[1];
    out[2 * (uint64_t)im->source.plane] = rgb[2];
}

/* One pass: output (x, y) of one channel. */
STK_HD void stk_hd_pass_pixel(const stk_gpu_pass *p, const int32_t *axes, uint8_t *scratch, uint32_t channel, uint32_t x,
                              uint32_t y)
{
    const stk_hd_axis *a = &p->axis;
    const int32_t *table = axes + a->at;
    uint32_t i = p->vertical ? y : x;
    int32_t count = table[a->n_out + i], first = table[i] - p->shift, sum = STK_HD_ROUND;
    const int32_t *weights = table + 2 * a->n_out + i;
    uint64_t step = p->vertical ? p->in.stride : 1;
    const uint8_t *in = scratch + p->in.at + (uint64_t)channel * p->in.plane;
    in += p->vertical ? (uint64_t)first * p->in.stride + (uint32_t)((int32_t)x + p->along)
                      : (uint64_t)((int32_t)y + p->along) * p->in.stride + (uint32_t)first;
    for (int32_t t = 0; t < count; t++) sum += in[(uint64_t)t * step] * weights[(uint32_t)t * a->n_out];
    scratch[p->out.at + (uint64_t)channel * p->out.plane + (uint64_t)y * p->out.stride + x] = stk_hd_result(sum);
}

/* Finish: the bytes of output pixel (x, y), in the output's channel order. */
STK_HD void stk_hd_finish_pixel(const stk_gpu_image *im, const stk_gpu_output *o, const uint8_t *scratch, int32_t x,
                                int32_t y, uint8_t out[3])
{
    if (im->flip) x = (int32_t)o->width - 1 - x;
    x -= im->out_x;
    y -= im->out_y;
    out[0] = out[1] = out[2] = 0;
    if (im->kind == 0) return;
    if (x < 0 || y < 0 || x >= (int32_t)im->shown_width || y >= (int32_t)im->shown_height) {
        for (int c = 0; c < 3; c++) out[c] = im->fill[c];
        if (o->channels == 1) out[0] = im->fill[0];
    } else {
        const uint8_t *p = scratch + im->result.at + (uint64_t)(y + im->result_y) * im->result.stride +
                           (uint32_t)(x + im->result_x);
        uint8_t r = p[0], g = r, b = r;
        if (im->picture_channels == 3) {
            g = p[im->result.plane];
            b = p[2 * (uint64_t)im->result.plane];
        }
        out[0] = r;
        out[1] = g;
        out[2] = b;
    }
    if (o->bgr && o->channels == 3) {
        uint8_t t = out[0];
        out[0] = out[2];
        out[2] = t;
    }
}

/* Element index of (channel, x, y) within an image of the tensor. */
STK_HD uint64_t stk_hd_element(const stk_gpu_output *o, uint32_t c, uint32_t x, uint32_t y)
{
    return o->layout == 0 ? ((uint64_t)y * o->width + x) * o->channels + c
                          : ((uint64_t)c * o->height + y) * o->width + x;
}

#endif
