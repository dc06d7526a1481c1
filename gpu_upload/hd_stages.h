/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of one thread in each stage after decoding. The CUDA kernels call these from their grids, the dummy back
 * end from loops. */
#ifndef STK_GPU_HD_STAGES_H
#define STK_GPU_HD_STAGES_H

#include "gpu_upload/gpu_batch.h"

/* Color: pixel (x, y) of the turned crop to out[0], out[plane], out[2 * plane]. rows: of a RAW entry; else NULL. */
STK_HD void stk_hd_color(const stk_gpu_image *im, const uint8_t *rows, const uint8_t *scratch, int32_t x, int32_t y,
                         uint8_t *out, uint64_t plane)
{
    int32_t sx, sy;
    uint8_t rgb[3] = {0, 0, 0};
    stk_hd_turn(im->orientation, im->crop_width, im->crop_height, x, y, &sx, &sy);
    sx += im->crop_x;
    sy += im->crop_y;
    if (rows != 0) {
        const uint8_t *p = rows + (uint64_t)sy * im->raw_stride + (uint64_t)sx * im->channels;
        rgb[0] = p[0];
        if (im->channels == 3) {
            rgb[1] = p[1];
            rgb[2] = p[2];
        }
    } else if (im->n_components == 1) {
        rgb[0] = (uint8_t)stk_hd_plane_sample(scratch, &im->planes[0], sx, sy);
    } else {
        stk_hd_ycc(stk_hd_upsample(scratch, &im->planes[0], sx, sy), stk_hd_upsample(scratch, &im->planes[1], sx, sy),
                   stk_hd_upsample(scratch, &im->planes[2], sx, sy), rgb);
    }
    if (im->picture_channels == 1) {
        out[0] = im->channels == 1 ? rgb[0] : stk_hd_luma(rgb[0], rgb[1], rgb[2]);
        return;
    }
    for (int c = 0; c < 3; c++) out[(uint64_t)c * plane] = rgb[c];
}

STK_HD void stk_hd_color_pixel(const stk_gpu_image *im, const uint8_t *rows, uint8_t *scratch, int32_t x, int32_t y)
{
    stk_hd_color(im, rows, scratch, x, y, scratch + im->source.at + (uint64_t)y * im->source.stride + (uint32_t)x,
                 im->source.plane);
}

/* Output i of an axis over a line of bytes `step` apart, whose first one is input `shift` of the axis. */
STK_HD uint8_t stk_hd_convolve(const stk_hd_axis *a, const int32_t *axes, uint32_t i, const uint8_t *line, uint64_t step,
                               int32_t shift)
{
    const int32_t *table = axes + a->at, *weights = table + 2 * a->n_out + i;
    int32_t count = table[a->n_out + i], sum = STK_HD_ROUND;
    const uint8_t *in = line + (uint64_t)(uint32_t)(table[i] - shift) * step;
    for (int32_t t = 0; t < count; t++) sum += in[(uint64_t)t * step] * weights[(uint32_t)t * a->n_out];
    return stk_hd_result(sum);
}

/* One pass: output (x, y) of one channel. */
STK_HD void stk_hd_pass_pixel(const stk_gpu_pass *p, const int32_t *axes, uint8_t *scratch, uint32_t channel, uint32_t x,
                              uint32_t y)
{
    const uint8_t *in = scratch + p->in.at + (uint64_t)channel * p->in.plane;
    in += p->vertical ? (uint64_t)(uint32_t)((int32_t)x + p->along)
                      : (uint64_t)((int32_t)y + p->along) * p->in.stride;
    scratch[p->out.at + (uint64_t)channel * p->out.plane + (uint64_t)y * p->out.stride + x] =
        stk_hd_convolve(&p->axis, axes, p->vertical ? y : x, in, p->vertical ? p->in.stride : 1, p->shift);
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

/* Fused: where line `line`'s output i of the first pass lies in the scratch. */
STK_HD uint64_t stk_hd_middle_at(const stk_gpu_image *im, uint32_t line, uint32_t c, uint32_t i)
{
    const stk_gpu_fused *f = &im->fused;
    return f->middle + (((uint64_t)(line >> 2) * im->picture_channels + c) * f->first.n_out + i) * 4 + (line & 3);
}

/* Four taps' digits of output i, for dot products of bytes. Positive filters: 4 w in three unsigned bytes (2^24 - 1 for
 * a weight of one, which gives the same byte), so that a sum's byte is its topmost; others: w in three signed ones. */
STK_HD void stk_hd_axis_digits(const stk_hd_axis *a, uint32_t i, uint32_t quad, const int32_t *table, uint32_t digits[3])
{
    const int32_t *weights = table + 2 * a->n_out + i;
    digits[0] = digits[1] = digits[2] = 0;
    for (uint32_t k = 0; k < 4 && quad * 4 + k < a->n_taps; k++) {
        int32_t w = weights[(quad * 4 + k) * a->n_out], low, middle, high;
        if (stk_hd_positive(a->filter)) {
            w = stk_hd_min(w * 4, (1 << 24) - 1);
            low = w & 255;
            middle = w >> 8 & 255;
            high = w >> 16;
        } else {
            low = (int8_t)w;
            middle = (int8_t)((w - low) >> 8);
            high = (((w - low) >> 8) - middle) >> 8;
        }
        digits[0] |= (uint32_t)(low & 255) << (8 * k);
        digits[1] |= (uint32_t)(middle & 255) << (8 * k);
        digits[2] |= (uint32_t)(high & 255) << (8 * k);
    }
}

/* Element index of (channel, x, y) within an image of the tensor. */
STK_HD uint64_t stk_hd_element(const stk_gpu_output *o, uint32_t c, uint32_t x, uint32_t y)
{
    return o->layout == 0 ? ((uint64_t)y * o->width + x) * o->channels + c
                          : ((uint64_t)c * o->height + y) * o->width + x;
}

#endif
