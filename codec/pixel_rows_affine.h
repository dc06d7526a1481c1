/* SPDX-License-Identifier: Apache-2.0
 *
 * Bilinear and bicubic sampling for pixel_ops_affine.c, included by one file a kernel family: positions of many pixels
 * at a time, then the channels of one pixel side by side in a vector of four doubles. Geometry.c's operations in
 * its order. */
#ifndef STK_CODEC_PIXEL_ROWS_AFFINE_H
#define STK_CODEC_PIXEL_ROWS_AFFINE_H

#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/pixel_math.h"

/* Passed between inlined functions only, so how an ABI would pass them does not matter (-Wno-psabi). */
typedef double rows_v4 __attribute__((vector_size(32)));
typedef int32_t rows_i4 __attribute__((vector_size(16)));

/* Positions of a stretch of a row; outside[i]: the pixel comes from outside the picture. */
typedef struct rows_places {
    int32_t x[STK_ROWS_BLOCK], y[STK_ROWS_BLOCK];
    double dx[STK_ROWS_BLOCK], dy[STK_ROWS_BLOCK];
    uint8_t outside[STK_ROWS_BLOCK];
} rows_places;

/* floor of |v| < 2^31, as an integer. */
STK_PX int32_t rows_floor(double v)
{
    int32_t whole = (int32_t)v;
    return whole - ((double)whole > v ? 1 : 0);
}

static void rows_locate(const stk_affine *a, uint32_t row, uint32_t first, size_t n, rows_places *restrict p)
{
    const double m0 = a->m[0], m1 = a->m[1], m2 = a->m[2], m3 = a->m[3], m4 = a->m[4], m5 = a->m[5];
    const double width = a->p->width, height = a->p->height, y_out = row + 0.5;
    for (size_t i = 0; i < n; i++) {
        double x_out = (double)(int32_t)(first + (uint32_t)i) + 0.5;
        double x = m0 * x_out + m1 * y_out + m2, y = m3 * x_out + m4 * y_out + m5;
        uint8_t outside = (uint8_t)((x < 0.0) | (x >= width) | (y < 0.0) | (y >= height));
        /* What lies outside may be too large for an integer. */
        x = (outside ? 1.0 : x) - 0.5;
        y = (outside ? 1.0 : y) - 0.5;
        p->x[i] = rows_floor(x);
        p->y[i] = rows_floor(y);
        p->dx[i] = x - (double)p->x[i];
        p->dy[i] = y - (double)p->y[i];
        p->outside[i] = outside;
    }
}

/* Up to three bytes after the pixel are read and not used; the source is followed by more. */
STK_PX rows_v4 rows_pixel(const uint8_t *from)
{
    rows_i4 bytes = {from[0], from[1], from[2], from[3]};
    return __builtin_convertvector(bytes, rows_v4);
}

STK_PX rows_v4 rows_linear(rows_v4 a, rows_v4 b, double at) { return a + (b - a) * at; }

STK_PX rows_v4 rows_cubic(rows_v4 a, rows_v4 b, rows_v4 c, rows_v4 d, double at)
{
    rows_v4 p2 = c - a, p3 = 2.0 * (a - b) + c - d, p4 = b - a - c + d;
    return b + at * (p2 + at * (p3 + at * p4));
}

STK_PX size_t rows_clamp(int32_t v, uint32_t size) { return v < 0 ? 0 : (uint32_t)v < size ? (size_t)v : size - 1; }

STK_PX uint8_t rows_clip(int32_t v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

/* Cut off, and clipped: what is between -1 and 0 is 0 either way. */
STK_PX void rows_put(uint8_t *out, rows_v4 v, uint32_t channels)
{
    rows_i4 whole = __builtin_convertvector(v, rows_i4);
    out[0] = rows_clip(whole[0]);
    if (channels == 3) {
        out[1] = rows_clip(whole[1]);
        out[2] = rows_clip(whole[2]);
    }
}

STK_PX void rows_put_fill(const stk_affine *a, uint8_t *out, uint32_t channels)
{
    for (uint32_t c = 0; c < channels; c++) out[c] = a->fill[c];
}

STK_PX void rows_bilinear_stretch(const stk_affine *a, const rows_places *p, size_t n, uint8_t *out,
                                  const uint32_t channels)
{
    const size_t pitch = (size_t)a->p->width * channels;
    const int32_t last = (int32_t)a->p->height - 1;
    for (size_t i = 0; i < n; i++, out += channels) {
        if (p->outside[i]) {
            rows_put_fill(a, out, channels);
            continue;
        }
        size_t x0 = rows_clamp(p->x[i], a->p->width) * channels, x1 = rows_clamp(p->x[i] + 1, a->p->width) * channels;
        const uint8_t *up = a->from + rows_clamp(p->y[i], a->p->height) * pitch;
        /* Below the last row: that one again. */
        const uint8_t *down = p->y[i] < last ? a->from + (size_t)(p->y[i] + 1) * pitch : up;
        rows_v4 v = rows_linear(rows_pixel(up + x0), rows_pixel(up + x1), p->dx[i]);
        rows_v4 w = rows_linear(rows_pixel(down + x0), rows_pixel(down + x1), p->dx[i]);
        rows_put(out, rows_linear(v, w, p->dy[i]), channels);
    }
}

STK_PX void rows_bicubic_stretch(const stk_affine *a, const rows_places *p, size_t n, uint8_t *out,
                                 const uint32_t channels)
{
    const size_t pitch = (size_t)a->p->width * channels;
    for (size_t i = 0; i < n; i++, out += channels) {
        size_t x[4];
        rows_v4 v[4];
        const uint8_t *row = NULL;
        if (p->outside[i]) {
            rows_put_fill(a, out, channels);
            continue;
        }
        for (int k = 0; k < 4; k++) x[k] = rows_clamp(p->x[i] - 1 + k, a->p->width) * channels;
        for (int k = 0; k < 4; k++) {
            int32_t y = p->y[i] - 1 + k;
            /* Pillow takes the row before in place of one outside, which at the top is row 0 itself. */
            if (k == 0 || (y >= 0 && (uint32_t)y < a->p->height)) row = a->from + rows_clamp(y, a->p->height) * pitch;
            v[k] = rows_cubic(rows_pixel(row + x[0]), rows_pixel(row + x[1]), rows_pixel(row + x[2]),
                              rows_pixel(row + x[3]), p->dx[i]);
        }
        rows_put(out, rows_cubic(v[0], v[1], v[2], v[3], p->dy[i]), channels);
    }
}

/* `stretch` is inlined with a constant number of channels. */
#define STK_ROWS_AFFINE(name, stretch)                                                                          \
    static void name(const stk_affine *a)                                                                       \
    {                                                                                                           \
        rows_places places;                                                                                     \
        uint8_t *out = a->p->pixels;                                                                            \
        for (uint32_t y = 0; y < a->p->height; y++)                                                             \
            for (uint32_t x = 0; x < a->p->width; x += STK_ROWS_BLOCK) {                                        \
                size_t left = a->p->width - x, n = left < STK_ROWS_BLOCK ? left : STK_ROWS_BLOCK;               \
                rows_locate(a, y, x, n, &places);                                                               \
                if (a->p->channels == 3) stretch(a, &places, n, out, 3);                                        \
                else stretch(a, &places, n, out, 1);                                                            \
                out += n * a->p->channels;                                                                      \
            }                                                                                                   \
    }

STK_ROWS_AFFINE(rows_bilinear, rows_bilinear_stretch)
STK_ROWS_AFFINE(rows_bicubic, rows_bicubic_stretch)

#endif
