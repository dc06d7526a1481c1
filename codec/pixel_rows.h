/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of stk_row_ops, written so that a compiler can turn them into vector code, and included by one file a
 * kernel family. Every element is computed by the same IEEE operations in the same order whatever the vectors'
 * width, so the families agree by construction. */
#ifndef STK_CODEC_PIXEL_ROWS_H
#define STK_CODEC_PIXEL_ROWS_H

#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "codec/pixel_rows_affine.h"
#include "common/pixel_math.h"

static void rows_blend_constant(uint8_t from, float alpha, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) bytes[i] = stk_px_blend(from, bytes[i], alpha);
}

static void rows_blend(const uint8_t *restrict from, float alpha, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) bytes[i] = stk_px_blend(from[i], bytes[i], alpha);
}

static void rows_solarize(int32_t threshold, uint8_t *bytes, size_t n)
{
    if (threshold <= 0 || threshold > 255) { /* all or none */
        uint8_t mask = threshold <= 0 ? 255 : 0;
        for (size_t i = 0; i < n; i++) bytes[i] ^= mask;
        return;
    }
    const uint8_t limit = (uint8_t)threshold;
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(bytes[i] < limit ? bytes[i] : 255 - bytes[i]);
}

static void rows_smooth(const uint8_t *restrict above, const uint8_t *restrict here, const uint8_t *restrict below,
                        size_t step, uint8_t *restrict out, size_t n)
{
    /* The distance is a constant in each loop. */
    if (step == 1)
        for (size_t i = 0; i < n; i++) out[i] = stk_px_smooth(above + i, here + i, below + i, 1);
    else
        for (size_t i = 0; i < n; i++) out[i] = stk_px_smooth(above + i, here + i, below + i, 3);
}

static void rows_box(const uint8_t *restrict in, size_t step, const stk_box_weights *w, uint8_t *restrict out, size_t n)
{
    const size_t far_end = (2 * (size_t)w->radius + 2) * step;
    for (size_t at = 0; at < n; at += STK_BOX_LANES) {
        const size_t lanes = n - at < STK_BOX_LANES ? n - at : STK_BOX_LANES;
        const uint8_t *from = in + at;
        uint32_t sum[STK_BOX_LANES] = {0};
        for (uint32_t k = 1; k <= 2 * w->radius + 1; k++)
            for (size_t j = 0; j < lanes; j++) sum[j] += from[k * step + j];
        for (size_t j = 0; j < lanes; j++) {
            uint32_t ends = (uint32_t)from[j] + from[far_end + j];
            out[at + j] = (uint8_t)((sum[j] * w->whole + ends * w->part + (1u << 23)) >> 24);
        }
    }
}

/* Sums of 64 neighbours at a time, which stay in registers over all taps. */
enum { STK_BLUR_LANES = 64 };

static void rows_blur_across(const uint8_t *restrict in, const float *restrict weights, uint32_t n_weights,
                             size_t step, float *restrict out, size_t n)
{
    size_t at = 0;
    for (; at + STK_BLUR_LANES <= n; at += STK_BLUR_LANES) {
        float sum[STK_BLUR_LANES] = {0};
        for (uint32_t k = 0; k < n_weights; k++) {
            const uint8_t *from = in + at + k * step;
            for (size_t j = 0; j < STK_BLUR_LANES; j++) sum[j] += weights[k] * (float)from[j];
        }
        memcpy(out + at, sum, sizeof sum);
    }
    for (; at < n; at++) {
        float sum = 0;
        for (uint32_t k = 0; k < n_weights; k++) sum += weights[k] * (float)in[at + k * step];
        out[at] = sum;
    }
}

static void rows_blur_down(const float *const *rows, const float *restrict weights, uint32_t n_weights,
                           uint8_t *restrict out, size_t n)
{
    size_t at = 0;
    for (; at + STK_BLUR_LANES <= n; at += STK_BLUR_LANES) {
        float sum[STK_BLUR_LANES] = {0};
        for (uint32_t k = 0; k < n_weights; k++) {
            const float *from = rows[k] + at;
            for (size_t j = 0; j < STK_BLUR_LANES; j++) sum[j] += weights[k] * from[j];
        }
        for (size_t j = 0; j < STK_BLUR_LANES; j++) out[at + j] = stk_px_nearest(sum[j]);
    }
    for (; at < n; at++) {
        float sum = 0;
        for (uint32_t k = 0; k < n_weights; k++) sum += weights[k] * rows[k][at];
        out[at] = stk_px_nearest(sum);
    }
}

/* ---- Colour: channels taken apart, worked on, put together. */

typedef struct rows_lines {
    uint8_t r[STK_ROWS_BLOCK], g[STK_ROWS_BLOCK], b[STK_ROWS_BLOCK];
} rows_lines;

static void rows_split(const uint8_t *restrict rgb, size_t n, rows_lines *restrict l)
{
    for (size_t i = 0; i < n; i++) {
        l->r[i] = rgb[3 * i];
        l->g[i] = rgb[3 * i + 1];
        l->b[i] = rgb[3 * i + 2];
    }
}

static void rows_join(const rows_lines *restrict l, size_t n, uint8_t *restrict rgb)
{
    for (size_t i = 0; i < n; i++) {
        rgb[3 * i] = l->r[i];
        rgb[3 * i + 1] = l->g[i];
        rgb[3 * i + 2] = l->b[i];
    }
}

static void rows_luma(const rows_lines *restrict l, size_t n, uint8_t *restrict grey)
{
    for (size_t i = 0; i < n; i++) grey[i] = stk_px_luma(l->r[i], l->g[i], l->b[i]);
}

static size_t rows_block(size_t left) { return left < STK_ROWS_BLOCK ? left : STK_ROWS_BLOCK; }

static void rows_saturate(float alpha, uint8_t *rgb, size_t n)
{
    rows_lines l;
    uint8_t grey[STK_ROWS_BLOCK];
    for (size_t m; n > 0; rgb += 3 * m, n -= m) {
        m = rows_block(n);
        rows_split(rgb, m, &l);
        rows_luma(&l, m, grey);
        rows_blend(grey, alpha, l.r, m);
        rows_blend(grey, alpha, l.g, m);
        rows_blend(grey, alpha, l.b, m);
        rows_join(&l, m, rgb);
    }
}

static void rows_grey(uint8_t *rgb, size_t n)
{
    rows_lines l;
    for (size_t m; n > 0; rgb += 3 * m, n -= m) {
        m = rows_block(n);
        rows_split(rgb, m, &l);
        rows_luma(&l, m, l.r);
        memcpy(l.g, l.r, m);
        memcpy(l.b, l.r, m);
        rows_join(&l, m, rgb);
    }
}

static uint64_t rows_luma_sum(const uint8_t *rgb, size_t n)
{
    rows_lines l;
    uint64_t sum = 0;
    for (size_t m; n > 0; rgb += 3 * m, n -= m) {
        uint32_t part = 0;
        m = rows_block(n);
        rows_split(rgb, m, &l);
        for (size_t i = 0; i < m; i++) part += stk_px_luma(l.r[i], l.g[i], l.b[i]);
        sum += part;
    }
    return sum;
}

static void rows_shift_hue(uint8_t shift, uint8_t *rgb, size_t n)
{
    rows_lines l;
    uint8_t hue[STK_ROWS_BLOCK], saturation[STK_ROWS_BLOCK], value[STK_ROWS_BLOCK];
    for (size_t m; n > 0; rgb += 3 * m, n -= m) {
        m = rows_block(n);
        rows_split(rgb, m, &l);
        for (size_t i = 0; i < m; i++) {
            value[i] = stk_px_max(l.r[i], stk_px_max(l.g[i], l.b[i]));
            stk_px_hue_saturation(l.r[i], l.g[i], l.b[i], &hue[i], &saturation[i]);
        }
        for (size_t i = 0; i < m; i++)
            stk_px_hsv_to_rgb((uint8_t)(hue[i] + shift), saturation[i], value[i], &l.r[i], &l.g[i], &l.b[i]);
        rows_join(&l, m, rgb);
    }
}

/* ---- Two batches' elements. */

static void rows_mix_u8(void *x, const void *y, float share, float other, size_t n)
{
    uint8_t *restrict a = x;
    const uint8_t *restrict b = y;
    for (size_t i = 0; i < n; i++) a[i] = stk_px_mix_u8(a[i], b[i], share, other);
}

static void rows_mix_f16(void *x, const void *y, float share, float other, size_t n)
{
    uint16_t *restrict a = x;
    const uint16_t *restrict b = y;
    for (size_t i = 0; i < n; i++) a[i] = stk_px_mix_f16(a[i], b[i], share, other);
}

static void rows_mix_bf16(void *x, const void *y, float share, float other, size_t n)
{
    uint16_t *restrict a = x;
    const uint16_t *restrict b = y;
    for (size_t i = 0; i < n; i++) a[i] = stk_px_mix_bf16(a[i], b[i], share, other);
}

static void rows_mix_f32(void *x, const void *y, float share, float other, size_t n)
{
    float *restrict a = x;
    const float *restrict b = y;
    for (size_t i = 0; i < n; i++) a[i] = stk_px_mix_f32(a[i], b[i], share, other);
}

#define STK_ROW_OPS                                                                                              \
    {                                                                                                            \
        .blend_constant = rows_blend_constant, .blend = rows_blend, .saturate = rows_saturate,                  \
        .shift_hue = rows_shift_hue, .grey = rows_grey, .luma_sum = rows_luma_sum, .smooth = rows_smooth,       \
        .blur_across = rows_blur_across, .blur_down = rows_blur_down, .solarize = rows_solarize,                \
        .mix = {rows_mix_u8, rows_mix_f16, rows_mix_bf16, rows_mix_f32}, .bilinear = rows_bilinear,             \
        .bicubic = rows_bicubic, .box = rows_box                                                                \
    }

#endif
