/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of one thread in the kernels of gpu_steps.h: the arithmetic of codec/pixel_ops*.c, reader/erase.c and
 * reader/batch_mix.c on single pixels and elements. Compile with contraction off (-ffp-contract=off, nvcc -fmad=false). */
#ifndef STK_GPU_HD_STEPS_H
#define STK_GPU_HD_STEPS_H

#include <stoker/transform.h>
#include <stoker/types.h>

#include "common/normal_values.h"
#include "common/pixel_tables.h"
#include "gpu_upload/gpu_steps.h"
#include "gpu_upload/hd_base.h"
#include "gpu_upload/hd_stages.h"

STK_HD uint32_t stk_hd_pixels(const stk_gpu_output *o) { return o->width * o->height; }

/* ---- Pixels by themselves. */

/* The table of one channel of a picture that was counted. */
STK_HD void stk_hd_counted_table(const stk_gpu_op *op, const stk_gpu_output *o, stk_gpu_counted *counted, uint32_t c)
{
    uint8_t *table = counted->table[c];
    if (op->kind == STK_GPU_OP_AUTOCONTRAST) {
        stk_px_autocontrast(counted->counts[c], table);
    } else if (op->kind == STK_GPU_OP_EQUALIZE) {
        stk_px_equalize(counted->counts[c], table);
    } else {
        const uint8_t mean = stk_px_mean(counted->luma, stk_hd_pixels(o));
        for (uint32_t v = 0; v < 256; v++) table[v] = stk_px_blend(mean, (uint8_t)v, op->alpha);
    }
}

STK_HD uint8_t stk_hd_byte(const stk_gpu_op *op, uint8_t v)
{
    switch (op->kind) {
    case STK_GPU_OP_BRIGHTNESS: return stk_px_blend(0, v, op->alpha);
    case STK_GPU_OP_SOLARIZE: return (uint8_t)(v < op->whole ? v : 255 - v);
    case STK_GPU_OP_MASK: return (uint8_t)(v & op->whole);
    case STK_GPU_OP_SOLARIZE_ADD: return (uint8_t)(v >= 128 ? v : stk_hd_min((int32_t)(v + op->whole), 255));
    default: return v;
    }
}

/* One pixel, in place. counted: of the operation's picture, where its class is that. */
STK_HD void stk_hd_point(const stk_gpu_op *op, const stk_gpu_counted *counted, uint32_t channels, uint8_t *pixel)
{
    if (op->kind <= STK_GPU_OP_EQUALIZE) {
        for (uint32_t c = 0; c < channels; c++) pixel[c] = counted->table[c][pixel[c]];
    } else if (op->kind <= STK_GPU_OP_SOLARIZE_ADD) {
        for (uint32_t c = 0; c < channels; c++) pixel[c] = stk_hd_byte(op, pixel[c]);
    } else if (op->kind == STK_GPU_OP_HUE) {
        stk_px_shift_hue(&pixel[0], &pixel[1], &pixel[2], (uint8_t)op->whole);
    } else {
        const uint8_t grey = stk_px_luma(pixel[0], pixel[1], pixel[2]);
        const bool saturate = op->kind == STK_GPU_OP_SATURATION;
        for (int c = 0; c < 3; c++) pixel[c] = saturate ? stk_px_blend(grey, pixel[c], op->alpha) : grey;
    }
}

/* ---- Pixels out of others. */

/* By 16.16 fixed point. */
STK_HD bool stk_hd_fixed_place(const stk_gpu_op *op, const stk_gpu_output *o, uint32_t x, uint32_t y, uint32_t *sx, uint32_t *sy)
{
    const int64_t *f = op->map.fixed;
    const int64_t u = f[2] + (int64_t)x * f[0] + (int64_t)y * f[1], v = f[5] + (int64_t)x * f[3] + (int64_t)y * f[4];
    if (u < 0 || v < 0 || u >= (int64_t)o->width << 16 || v >= (int64_t)o->height << 16) return false;
    *sx = (uint32_t)(u >> 16);
    *sy = (uint32_t)(v >> 16);
    return true;
}

/* Where columns and rows stay what they are, the host has looked the places up. Numbers of pixels are exact as floats. */
STK_HD bool stk_hd_listed_place(const stk_gpu_op *op, const float *weights, const stk_gpu_output *o, uint32_t x, uint32_t y,
                                uint32_t *sx, uint32_t *sy)
{
    const int32_t u = (int32_t)weights[op->weights + x], v = (int32_t)weights[op->weights + o->width + y];
    *sx = (uint32_t)u;
    *sy = (uint32_t)v;
    return u >= 0 && v >= 0;
}

/* Pillow's way where 16.16 does not hold the positions (a shear by hundreds): each is the one before it and a step. So
 * far outside hardly anything is left of a picture, and a thread may take the steps again for each pixel. */
STK_HD bool stk_hd_walk_place(const stk_gpu_op *op, const stk_gpu_output *o, uint32_t x, uint32_t y, uint32_t *sx, uint32_t *sy)
{
    const double *m = op->map.m;
    double u = m[2] + m[1] * 0.5 + m[0] * 0.5, v = m[5] + m[4] * 0.5 + m[3] * 0.5;
    for (uint32_t i = 0; i < y; i++) {
        u += m[1];
        v += m[4];
    }
    for (uint32_t j = 0; j < x; j++) {
        u += m[0];
        v += m[3];
    }
    if (u < 0.0 || v < 0.0 || u >= (double)o->width || v >= (double)o->height) return false;
    *sx = (uint32_t)u;
    *sy = (uint32_t)v;
    return true;
}

/* Where pixel (x, y) comes from, a half further up and left, and the rest to there. */
typedef struct stk_hd_place {
    int32_t x, y;
    double dx, dy;
} stk_hd_place;

STK_HD int32_t stk_hd_floor(double v)
{
    const int32_t whole = (int32_t)v;
    return whole - ((double)whole > v ? 1 : 0);
}

STK_HD bool stk_hd_locate(const stk_gpu_op *op, const stk_gpu_output *o, uint32_t x, uint32_t y, stk_hd_place *p)
{
    const double *m = op->map.m;
    const double xo = (double)(int32_t)x + 0.5, yo = (double)(int32_t)y + 0.5;
    double u = m[0] * xo + m[1] * yo + m[2], v = m[3] * xo + m[4] * yo + m[5];
    if (u < 0.0 || u >= (double)o->width || v < 0.0 || v >= (double)o->height) return false;
    u -= 0.5;
    v -= 0.5;
    p->x = stk_hd_floor(u);
    p->y = stk_hd_floor(v);
    p->dx = u - (double)p->x;
    p->dy = v - (double)p->y;
    return true;
}

STK_HD uint32_t stk_hd_inside(int32_t v, uint32_t size) { return v < 0 ? 0 : (uint32_t)v < size ? (uint32_t)v : size - 1; }

/* Cut off, and clipped. */
STK_HD uint8_t stk_hd_cut(double v) { return stk_hd_clip8((int32_t)v); }

STK_HD void stk_hd_bilinear(const uint8_t *from, const stk_gpu_output *o, const stk_hd_place *p, uint8_t *out)
{
    const uint32_t n = o->channels, pitch = o->width * n;
    const uint32_t x0 = stk_hd_inside(p->x, o->width) * n, x1 = stk_hd_inside(p->x + 1, o->width) * n;
    const uint8_t *up = from + (uint64_t)stk_hd_inside(p->y, o->height) * pitch;
    /* Below the last row: that one again. */
    const uint8_t *down = p->y < (int32_t)o->height - 1 ? from + (uint64_t)(uint32_t)(p->y + 1) * pitch : up;
    for (uint32_t c = 0; c < n; c++) {
        const double v = stk_px_linear((double)up[x0 + c], (double)up[x1 + c], p->dx);
        const double w = stk_px_linear((double)down[x0 + c], (double)down[x1 + c], p->dx);
        out[c] = stk_hd_cut(stk_px_linear(v, w, p->dy));
    }
}

STK_HD void stk_hd_bicubic(const uint8_t *from, const stk_gpu_output *o, const stk_hd_place *p, uint8_t *out)
{
    const uint32_t n = o->channels, pitch = o->width * n;
    for (uint32_t c = 0; c < n; c++) {
        const uint8_t *row = from;
        double v[4];
        for (int32_t k = 0; k < 4; k++) {
            const int32_t y = p->y - 1 + k;
            double a[4];
            /* Pillow takes the row before in place of one outside, which at the top is row 0 itself. */
            if (k == 0 || (y >= 0 && (uint32_t)y < o->height)) row = from + (uint64_t)stk_hd_inside(y, o->height) * pitch;
            for (int32_t i = 0; i < 4; i++) a[i] = (double)row[stk_hd_inside(p->x - 1 + i, o->width) * n + c];
            v[k] = stk_px_cubic(a[0], a[1], a[2], a[3], p->dx);
        }
        out[c] = stk_hd_cut(stk_px_cubic(v[0], v[1], v[2], v[3], p->dy));
    }
}

/* The border keeps its pixels: SMOOTH leaves it alone, and so the blend does. */
STK_HD void stk_hd_sharpen(const stk_gpu_op *op, const uint8_t *from, const stk_gpu_output *o, uint32_t x, uint32_t y, uint8_t *out)
{
    const uint32_t n = o->channels, pitch = o->width * n;
    const uint8_t *here = from + (uint64_t)y * pitch + (uint64_t)x * n;
    const bool border = x == 0 || y == 0 || x + 1 >= o->width || y + 1 >= o->height;
    for (uint32_t c = 0; c < n; c++)
        out[c] = border ? here[c]
                        : stk_px_blend(stk_px_smooth(here - pitch + c, here + c, here + pitch + c, (int32_t)n), here[c], op->alpha);
}

/* One pass of a box blur: 2 radius + 1 pixels whole, the two beyond in part; the border's pixels go on outside. */
STK_HD void stk_hd_box(const stk_gpu_op *op, const uint8_t *from, const stk_gpu_output *o, uint32_t x, uint32_t y, uint8_t *out)
{
    const uint32_t n = o->channels, pitch = o->width * n, down = op->map.box.down;
    const int32_t at = (int32_t)(down ? y : x), radius = (int32_t)op->map.box.radius;
    const uint32_t size = down ? o->height : o->width, step = down ? pitch : n;
    const uint8_t *line = from + (down ? (uint64_t)x * n : (uint64_t)y * pitch);
    const uint8_t *before = line + (uint64_t)stk_hd_inside(at - radius - 1, size) * step;
    const uint8_t *behind = line + (uint64_t)stk_hd_inside(at + radius + 1, size) * step;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t sum = 0;
        for (int32_t k = -radius; k <= radius; k++) sum += line[(uint64_t)stk_hd_inside(at + k, size) * step + c];
        sum = sum * op->map.box.whole + ((uint32_t)before[c] + behind[c]) * op->map.box.part;
        out[c] = (uint8_t)((sum + (1u << 23)) >> 24);
    }
}

/* Nearest neighbour: where pixel (x, y) comes from; false: from outside. */
STK_HD bool stk_hd_nearest_place(const stk_gpu_op *op, const float *weights, const stk_gpu_output *o, uint32_t x, uint32_t y,
                                 uint32_t *sx, uint32_t *sy)
{
    if (op->kind == STK_GPU_OP_FIXED) return stk_hd_fixed_place(op, o, x, y, sx, sy);
    if (op->kind == STK_GPU_OP_PLACES) return stk_hd_listed_place(op, weights, o, x, y, sx, sy);
    return stk_hd_walk_place(op, o, x, y, sx, sy);
}

/* Pixel (x, y) of the picture that an operation of class MOVED makes of `from`. */
STK_HD void stk_hd_moved(const stk_gpu_op *op, const float *weights, const uint8_t *from, const stk_gpu_output *o, uint32_t x,
                         uint32_t y, uint8_t *out)
{
    uint32_t sx = 0, sy = 0;
    stk_hd_place p;
    if (op->kind == STK_GPU_OP_SHARPNESS) {
        stk_hd_sharpen(op, from, o, x, y, out);
        return;
    }
    if (op->kind == STK_GPU_OP_BOX) {
        stk_hd_box(op, from, o, x, y, out);
        return;
    }
    if (op->kind == STK_GPU_OP_BILINEAR || op->kind == STK_GPU_OP_BICUBIC) {
        if (stk_hd_locate(op, o, x, y, &p)) {
            if (op->kind == STK_GPU_OP_BILINEAR) stk_hd_bilinear(from, o, &p, out);
            else stk_hd_bicubic(from, o, &p, out);
            return;
        }
    } else if (stk_hd_nearest_place(op, weights, o, x, y, &sx, &sy)) {
        const uint8_t *pixel = from + ((uint64_t)sy * o->width + sx) * o->channels;
        for (uint32_t c = 0; c < o->channels; c++) out[c] = pixel[c];
        return;
    }
    for (uint32_t c = 0; c < o->channels; c++) out[c] = op->fill[c];
}

/* ---- Blur. */

/* Reflection without the edge repeated, as often as it takes. */
STK_HD uint32_t stk_hd_reflect(int32_t at, uint32_t size)
{
    if (at >= 0 && (uint32_t)at < size) return (uint32_t)at;
    if (size == 1) return 0;
    const int32_t period = 2 * ((int32_t)size - 1);
    at %= period;
    if (at < 0) at += period;
    return (uint32_t)(at < (int32_t)size ? at : period - at);
}

/* Byte i of the picture, over its row. */
STK_HD float stk_hd_blur_across(const stk_gpu_op *op, const float *weights, const uint8_t *from, const stk_gpu_output *o, uint32_t i)
{
    const uint32_t n = o->channels, c = i % n, x = i / n % o->width;
    const uint8_t *row = from + (uint64_t)(i / n / o->width) * o->width * n + c;
    const int32_t first = (int32_t)x - (int32_t)(op->kernel_width / 2);
    const float *w = weights + op->weights;
    float sum = 0;
    for (uint32_t k = 0; k < op->kernel_width; k++)
        sum += w[k] * (float)row[stk_hd_reflect(first + (int32_t)k, o->width) * n];
    return sum;
}

/* Then over the column of what that made. */
STK_HD uint8_t stk_hd_blur_down(const stk_gpu_op *op, const float *weights, const float *plane, const stk_gpu_output *o, uint32_t i)
{
    const uint32_t pitch = o->width * o->channels, y = i / pitch;
    const float *column = plane + i % pitch, *w = weights + op->weights + op->kernel_width;
    const int32_t first = (int32_t)y - (int32_t)(op->kernel_height / 2);
    float sum = 0;
    for (uint32_t k = 0; k < op->kernel_height; k++)
        sum += w[k] * column[(uint64_t)stk_hd_reflect(first + (int32_t)k, o->height) * pitch];
    return stk_px_nearest(sum);
}

/* ---- Elements of the tensor, by their bits. */

STK_HD bool stk_hd_entry_bad(const stk_gpu_steps *s, uint32_t entry)
{
    return s->entries[entry].bad != 0 || (s->images != 0 && s->images[entry].bad != 0);
}

STK_HD uint32_t stk_hd_element_of(const stk_gpu_steps *s, uint32_t c, uint8_t byte)
{
    if (s->output.dtype == STK_DTYPE_U8) return byte;
    if (s->output.dtype == STK_DTYPE_F32) return ((const uint32_t *)s->norm)[c * 256 + byte];
    return ((const uint16_t *)s->norm)[c * 256 + byte];
}

/* An erased one: number `number` of the entry's random values. */
STK_HD uint32_t stk_hd_erased_element(const stk_gpu_steps *s, uint64_t stream, uint64_t number, uint32_t c)
{
    const float x = stk_normal_at(s->normal, stream, number);
    switch (s->output.dtype) {
    case STK_DTYPE_U8: return stk_px_level(255.0f * (s->mean[c] + s->std[c] * x));
    case STK_DTYPE_F16: return stk_px_to_f16(x);
    case STK_DTYPE_BF16: return stk_px_to_bf16(x);
    default: return stk_px_bits(x);
    }
}

/* Channel c (of the output) of pixel (x, y) of an entry, before mixing. */
STK_HD uint32_t stk_hd_unmixed(const stk_gpu_steps *s, uint32_t entry, uint32_t c, uint32_t x, uint32_t y)
{
    const stk_gpu_entry *e = &s->entries[entry];
    const stk_gpu_output *o = &s->output;
    for (uint32_t b = e->n_boxes; b > 0; b--) { /* later ones lie over earlier ones */
        const stk_gpu_erased *box = &s->boxes[e->first_box + b - 1];
        const uint32_t bx = x - (uint32_t)box->x, by = y - (uint32_t)box->y, w = (uint32_t)box->width, h = (uint32_t)box->height;
        if (bx >= w || by >= h) continue;
        if (s->erase_value == STK_ERASE_CONSTANT) return s->constants[c];
        const uint64_t number = s->erase_value == STK_ERASE_COLOR ? c : ((uint64_t)c * h + by) * w + bx;
        return stk_hd_erased_element(s, e->stream, box->first + number, c);
    }
    const uint32_t k = o->bgr && o->channels == 3 ? 2 - c : c;
    return stk_hd_element_of(s, c, s->pictures[e->picture + ((uint64_t)y * o->width + x) * o->channels + k]);
}

STK_HD uint32_t stk_hd_mix(const stk_gpu_steps *s, const stk_gpu_entry *e, uint32_t a, uint32_t b)
{
    switch (s->output.dtype) {
    case STK_DTYPE_U8: return stk_px_mix_u8((uint8_t)a, (uint8_t)b, e->share, e->other);
    case STK_DTYPE_F16: return stk_px_mix_f16((uint16_t)a, (uint16_t)b, e->share, e->other);
    case STK_DTYPE_BF16: return stk_px_mix_bf16((uint16_t)a, (uint16_t)b, e->share, e->other);
    default: return stk_px_bits(stk_px_mix_f32(stk_px_of_bits(a), stk_px_of_bits(b), e->share, e->other));
    }
}

/* How much of pixel (x, y) is the partner's: none, a part, all. */
enum { STK_HD_OWN, STK_HD_MIXED, STK_HD_PARTNERS };

STK_HD int stk_hd_mixture(const stk_gpu_entry *e, uint32_t x, uint32_t y)
{
    if (!e->cut) return STK_HD_MIXED;
    return x - (uint32_t)e->box_x < (uint32_t)e->box_width && y - (uint32_t)e->box_y < (uint32_t)e->box_height ? STK_HD_PARTNERS
                                                                                                           : STK_HD_OWN;
}

STK_HD void stk_hd_store_element(const stk_gpu_output *o, uint8_t *image, uint64_t element, uint32_t bits)
{
    if (o->dtype == STK_DTYPE_U8) image[element] = (uint8_t)bits;
    else if (o->dtype == STK_DTYPE_F32) ((uint32_t *)image)[element] = bits;
    else ((uint16_t *)image)[element] = (uint16_t)bits;
}

/* Finishes pixel (x, y) of an entry; bad, mixes: what holds for all of it. */
STK_HD void stk_hd_finish_mixed(const stk_gpu_steps *s, uint32_t entry, bool bad, bool mixes, uint32_t x, uint32_t y)
{
    const stk_gpu_output *o = &s->output;
    const stk_gpu_entry *e = &s->entries[entry];
    const int mixture = mixes ? stk_hd_mixture(e, x, y) : STK_HD_OWN;
    for (uint32_t c = 0; c < o->channels; c++) {
        uint32_t bits = 0;
        if (!bad) {
            bits = stk_hd_unmixed(s, mixture == STK_HD_PARTNERS ? e->partner : entry, c, x, y);
            if (mixture == STK_HD_MIXED) bits = stk_hd_mix(s, e, bits, stk_hd_unmixed(s, e->partner, c, x, y));
        }
        stk_hd_store_element(o, s->out + entry * o->image_bytes, stk_hd_element(o, c, x, y), bits);
    }
}

/* Whether an entry is mixed: with another one, neither of them bad. */
STK_HD bool stk_hd_entry_mixes(const stk_gpu_steps *s, uint32_t entry)
{
    const uint32_t partner = s->entries[entry].partner;
    return partner != entry && !stk_hd_entry_bad(s, entry) && !stk_hd_entry_bad(s, partner);
}

#endif
