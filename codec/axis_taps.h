/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis coefficients for the vector families: loops over all outputs that the compiler turns into vector code, so
 * this header is compiled once in each family's own file. Per output, the double operations are those of
 * resample_axis.c in the same order; only outputs are computed side by side. A table for 224 outputs takes about
 * half a microsecond; caching tables was measured to be slower, as they push other data out of the caches. */
#ifndef STK_CODEC_AXIS_TAPS_H
#define STK_CODEC_AXIS_TAPS_H

#include <string.h>

#include "codec/resample.h"
#include "codec/vector_axis.h"
#include "common/exact_sine.h"

/* Of one tap of one output: x is the distance from the output's centre. */
static inline __attribute__((always_inline)) double stk_tap_bilinear(double x)
{
    x = x < 0 ? -x : x;
    return x < 1.0 ? 1.0 - x : 0.0;
}

static inline __attribute__((always_inline)) double stk_tap_bicubic(double x)
{
    const double a = -0.5;
    x = x < 0 ? -x : x;
    double inner = ((a + 2.0) * x - (a + 3.0)) * x * x + 1, outer = (((x - 5) * x + 8) * x - 4) * a;
    double w = x < 1.0 ? inner : outer;
    return x < 2.0 ? w : 0.0;
}

static inline __attribute__((always_inline)) double stk_tap_box(double x)
{
    double w = x > -0.5 ? 1.0 : 0.0;
    return x <= 0.5 ? w : 0.0;
}

static inline __attribute__((always_inline)) double stk_sinc(double x)
{
    double p = x * 3.14159265358979323846, y = stk_sine(p, 0) / p;
    return x == 0.0 ? 1.0 : y;
}

static inline __attribute__((always_inline)) double stk_tap_lanczos(double x)
{
    double w = stk_sinc(x) * stk_sinc(x / 3);
    w = x >= -3.0 ? w : 0.0;
    return x < 3.0 ? w : 0.0;
}

static inline __attribute__((always_inline)) double stk_tap_hamming(double x)
{
    x = x < 0 ? -x : x;
    double p = x * 3.14159265358979323846;
    double w = stk_sine(p, 0) / p * ((double)0.54f + (double)0.46f * stk_sine(p, 1));
    w = x == 0.0 ? 1.0 : w;
    return x < 1.0 ? w : 0.0;
}

/* start, count and centres of all outputs; returns the largest count. Padding outputs repeat the last one. */
static inline uint32_t stk_taps_bounds(stk_vector_axis *axis, const stk_axis_request *r, double support,
                                       double *restrict centre)
{
    double scale = (double)(float)(int32_t)r->in_size / (int32_t)r->out_size;
    double reach = support * (scale < 1.0 ? 1.0 : scale);
    int32_t *restrict start = axis->start, *restrict count = axis->count;
    int32_t in_size = (int32_t)r->in_size, first = (int32_t)r->first, last = (int32_t)(r->n_out - 1), most = 0;
    const int32_t pitch = (int32_t)axis->pitch;
    for (int32_t i = 0; i < pitch; i++) {
        double c = 0.0 + ((first + (i < last ? i : last)) + 0.5) * scale;
        int32_t low = (int32_t)(c - reach + 0.5), high = (int32_t)(c + reach + 0.5);
        low = low < 0 ? 0 : low;
        high = high > in_size ? in_size : high;
        centre[i] = c;
        start[i] = low;
        count[i] = high - low;
        most = most < high - low ? high - low : most;
    }
    return (uint32_t)most;
}

/* One row of unnormalised weights a tap. `filter` is a constant where this is inlined. */
static inline __attribute__((always_inline)) void stk_taps_weigh(stk_vector_axis *axis, double inverse,
                                                                 double (*filter)(double),
                                                                 const double *restrict centre,
                                                                 double *restrict sum)
{
    int32_t pitch = (int32_t)axis->pitch;
    const int32_t *restrict start = axis->start, *restrict count = axis->count;
    for (int32_t k = 0; k < (int32_t)axis->n_taps; k++) {
        double *restrict w = axis->work + (size_t)k * axis->pitch;
        for (int32_t i = 0; i < pitch; i++) {
            double v = filter((k + start[i] - centre[i] + 0.5) * inverse);
            v = k < count[i] ? v : 0.0;
            w[i] = v;
            sum[i] += v;
        }
    }
}

static inline void stk_taps_round(stk_vector_axis *axis, const double *restrict sum)
{
    int32_t pitch = (int32_t)axis->pitch;
    for (uint32_t k = 0; k < axis->n_taps; k++) {
        const double *restrict w = axis->work + (size_t)k * axis->pitch;
        int32_t *restrict out = axis->weights + (size_t)k * axis->pitch;
        for (int32_t i = 0; i < pitch; i++) {
            /* Pillow divides only by sums other than 0; dividing by 1 instead changes nothing. */
            double v = w[i] / (sum[i] == 0.0 ? 1.0 : sum[i]) * (1 << STK_WEIGHT_BITS);
            out[i] = (int32_t)(v + (v < 0 ? -0.5 : 0.5));
        }
    }
    memset(axis->weights + (size_t)axis->n_taps * axis->pitch, 0,
           (axis->n_rows - axis->n_taps) * axis->pitch * sizeof(int32_t));
}

/* Half the width of a filter in units of its scale. */
static inline double stk_filter_support(stk_filter filter)
{
    switch (filter) {
    case STK_FILTER_BICUBIC: return 2.0;
    case STK_FILTER_BOX: return 0.5;
    case STK_FILTER_LANCZOS: return 3.0;
    default: return 1.0;
    }
}

/* start, count and weights as stk_axis_compute gives them, oriented as asked. */
static inline void stk_axis_taps(stk_vector_axis *axis, const stk_axis_request *r)
{
    double scale = (double)(float)(int32_t)r->in_size / (int32_t)r->out_size,
           inverse = 1.0 / (scale < 1.0 ? 1.0 : scale);
    if (r->filter != STK_FILTER_NEAREST) {
        uint32_t most_rows = (stk_axis_max_taps(r->in_size, r->out_size, r->filter) + 3) & ~3u;
        double *centre = axis->work + (size_t)most_rows * axis->pitch, *sum = centre + axis->pitch;
        axis->n_taps = stk_taps_bounds(axis, r, stk_filter_support(r->filter), centre);
        axis->n_rows = (axis->n_taps + 3) & ~3u;
        memset(sum, 0, axis->pitch * sizeof *sum);
        switch (r->filter) {
        case STK_FILTER_BICUBIC: stk_taps_weigh(axis, inverse, stk_tap_bicubic, centre, sum); break;
        case STK_FILTER_BOX: stk_taps_weigh(axis, inverse, stk_tap_box, centre, sum); break;
        case STK_FILTER_HAMMING: stk_taps_weigh(axis, inverse, stk_tap_hamming, centre, sum); break;
        case STK_FILTER_LANCZOS: stk_taps_weigh(axis, inverse, stk_tap_lanczos, centre, sum); break;
        default: stk_taps_weigh(axis, inverse, stk_tap_bilinear, centre, sum); break;
        }
        stk_taps_round(axis, sum);
    } else {
        stk_vector_axis_from_scalar(axis, r);
    }
    stk_vector_axis_orient(axis, r);
}

#endif
