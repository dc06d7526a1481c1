/* SPDX-License-Identifier: Apache-2.0
 *
 * Coefficients of one axis. The double operations and their order are those of Pillow's precompute_coeffs and
 * normalize_coeffs_8bpc (src/libImaging/Resample.c), and for nearest of ImagingScaleAffine (Geometry.c). */
#include <math.h>

#include "codec/resample.h"
#include "common/checked.h"
#include "common/exact_math.h"

static const double PI = 3.14159265358979323846;

static double box_filter(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double bilinear_filter(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Pillow's constants are floats here: 0.54f and 0.46f, widened. */
static double hamming_filter(double x)
{
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x = x * PI;
    return stk_exact_sin(x) / x * ((double)0.54f + (double)0.46f * stk_exact_cos(x));
}

static double bicubic_filter(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x)
{
    if (x == 0.0) return 1.0;
    x = x * PI;
    return stk_exact_sin(x) / x;
}

static double lanczos_filter(double x)
{
    return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

typedef struct filter_spec {
    double (*weight)(double x);
    double support;
} filter_spec;

static filter_spec spec_of(stk_filter filter)
{
    switch (filter) {
    case STK_FILTER_BICUBIC: return (filter_spec){bicubic_filter, 2.0};
    case STK_FILTER_BOX: return (filter_spec){box_filter, 0.5};
    case STK_FILTER_HAMMING: return (filter_spec){hamming_filter, 1.0};
    case STK_FILTER_LANCZOS: return (filter_spec){lanczos_filter, 3.0};
    default: return (filter_spec){bilinear_filter, 1.0};
    }
}

/* The numbers that all outputs of an axis share. Pillow's box is a float. */
typedef struct axis_scale {
    double scale, support, inverse;
    uint32_t max_taps;
} axis_scale;

static axis_scale scale_of(uint32_t in_size, uint32_t out_size, double filter_support)
{
    double scale = (double)(float)in_size / out_size, filter_scale = scale < 1.0 ? 1.0 : scale;
    axis_scale s = {.scale = scale, .support = filter_support * filter_scale, .inverse = 1.0 / filter_scale};
    double taps = ceil(s.support) * 2 + 1;
    s.max_taps = taps < in_size ? (uint32_t)taps : in_size;
    return s;
}

static void bounds_of(const axis_scale *s, uint32_t in_size, uint32_t i, double *center, int32_t *start,
                      int32_t *end)
{
    *center = (double)0.0f + (i + 0.5) * s->scale;
    double low = *center - s->support + 0.5, high = *center + s->support + 0.5;
    *start = low < 0 ? 0 : (int32_t)low;
    *end = high > in_size ? (int32_t)in_size : (int32_t)high;
}

uint32_t stk_axis_max_taps(uint32_t in_size, uint32_t out_size, stk_filter filter)
{
    return filter == STK_FILTER_NEAREST ? 1 : scale_of(in_size, out_size, spec_of(filter).support).max_taps;
}

size_t stk_axis_bytes(uint32_t in_size, uint32_t out_size, uint32_t n_out, stk_filter filter)
{
    uint32_t taps = stk_axis_max_taps(in_size, out_size, filter);
    size_t row, all, temporary;
    if (!stk_mul_size(taps, sizeof(int32_t), &row) || !stk_add_size(row, 2 * sizeof(int32_t), &row) ||
        !stk_mul_size(row, n_out, &all) || !stk_mul_size(taps, sizeof(double), &temporary) ||
        !stk_add_size(all, temporary, &all))
        return SIZE_MAX;
    return all;
}

/* Pillow steps through the source by repeated addition; so do we, for the same rounding. */
static void nearest_starts(stk_axis *axis, uint32_t in_size, uint32_t out_size, uint32_t first)
{
    double step = (double)(float)in_size / out_size, position = step * 0.5;
    for (uint32_t i = 0; i < first + axis->n_out; i++, position += step) {
        if (i < first) continue;
        uint32_t source = (uint32_t)position;
        axis->start[i - first] = (int32_t)(source < in_size ? source : in_size - 1);
        axis->count[i - first] = 1;
        axis->weights[i - first] = 1 << STK_WEIGHT_BITS;
    }
}

/* Doubles to 22-bit fixed point, rounded half away from zero. */
static int32_t fixed_point(double w)
{
    double v = w * (1 << STK_WEIGHT_BITS);
    return (int32_t)(w < 0 ? -0.5 + v : 0.5 + v);
}

void stk_axis_compute(stk_axis *axis, void *memory, uint32_t in_size, uint32_t out_size, uint32_t first,
                      uint32_t n_out, stk_filter filter)
{
    filter_spec spec = spec_of(filter);
    axis_scale s = scale_of(in_size, out_size, spec.support);
    double *w = memory;
    axis->n_out = n_out;
    axis->n_taps = filter == STK_FILTER_NEAREST ? 1 : s.max_taps;
    axis->start = (int32_t *)(w + axis->n_taps);
    axis->count = axis->start + n_out;
    axis->weights = axis->count + n_out;
    if (filter == STK_FILTER_NEAREST) {
        nearest_starts(axis, in_size, out_size, first);
        return;
    }
    for (uint32_t i = 0; i < n_out; i++) {
        double center, sum = 0.0;
        int32_t start, end;
        bounds_of(&s, in_size, first + i, &center, &start, &end);
        int32_t count = end - start, *row = axis->weights + (size_t)i * axis->n_taps;
        for (int32_t x = 0; x < count; x++) {
            w[x] = spec.weight((x + start - center + 0.5) * s.inverse);
            sum += w[x];
        }
        for (int32_t x = 0; x < count; x++) row[x] = fixed_point(sum != 0.0 ? w[x] / sum : w[x]);
        for (uint32_t x = (uint32_t)count; x < axis->n_taps; x++) row[x] = 0;
        axis->start[i] = start;
        axis->count[i] = count;
    }
}

void stk_axis_span(uint32_t in_size, uint32_t out_size, uint32_t first, uint32_t n_out, stk_filter filter,
                   uint32_t *low, uint32_t *high)
{
    *low = first;
    *high = first + n_out;
    if (in_size == out_size) return;
    if (filter == STK_FILTER_NEAREST) {
        /* One more on each side than the plain product says covers what repeated addition may round. */
        double step = (double)(float)in_size / out_size, a = step * (first + 0.5),
               b = step * (first + n_out - 0.5);
        *low = a < 1.0 ? 0 : (uint32_t)a - 1;
        *high = b + 2.0 > in_size ? in_size : (uint32_t)(b + 2.0);
        return;
    }
    axis_scale s = scale_of(in_size, out_size, spec_of(filter).support);
    double center;
    int32_t start, end;
    bounds_of(&s, in_size, first, &center, &start, &end);
    *low = (uint32_t)start;
    bounds_of(&s, in_size, first + n_out - 1, &center, &start, &end);
    *high = (uint32_t)end;
}

bool stk_vertical_first(stk_pixels pixels, uint32_t in_w, uint32_t in_h, uint32_t out_w, uint32_t out_h)
{
    int64_t dw = (int64_t)in_w - out_w, dh = (int64_t)in_h - out_h;
    if (pixels == STK_PIXELS_PILLOW12) return in_h > 100 * (uint64_t)in_w && out_h < in_h;
    return dh > 0 && dh > 2 * dw;
}
