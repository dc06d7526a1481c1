/* SPDX-License-Identifier: Apache-2.0
 *
 * Pillow's resampling coefficients and convolution (codec/resample_axis.c says where they come from). Compile with
 * contraction off (-ffp-contract=off, nvcc -fmad=false): the doubles are rounded in Pillow's order. */
#ifndef STK_GPU_HD_RESAMPLE_H
#define STK_GPU_HD_RESAMPLE_H

#include "gpu_upload/hd_base.h"

/* stk_filter's numbers; hamming and lanczos need sines and are computed on the host only. */
enum { STK_HD_BILINEAR = 0, STK_HD_BICUBIC = 1, STK_HD_BOX = 2, STK_HD_HAMMING = 3, STK_HD_LANCZOS = 4,
       STK_HD_NEAREST = 5, STK_HD_WEIGHT_BITS = 22 };

STK_HD double stk_hd_support(int filter)
{
    return filter == STK_HD_BICUBIC ? 2.0 : filter == STK_HD_BOX ? 0.5 : filter == STK_HD_LANCZOS ? 3.0 : 1.0;
}

STK_HD double stk_hd_weight(int filter, double x)
{
    if (filter == STK_HD_BOX) return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    x = x < 0 ? -x : x;
    if (filter != STK_HD_BICUBIC) return x < 1.0 ? 1.0 - x : 0.0;
    if (x < 1.0) return ((-0.5 + 2.0) * x - (-0.5 + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * -0.5;
    return 0.0;
}

/* What all outputs of an axis share. */
typedef struct stk_hd_axis {
    uint32_t in_size, out_size; /* the whole axis */
    uint32_t first, n_out;      /* the outputs that are computed */
    uint32_t n_taps;            /* at most, an output */
    uint32_t at;                /* first int32 of its table: start[n_out], count[n_out], weight[n_taps][n_out] */
    int32_t filter;
} stk_hd_axis;

typedef struct stk_hd_scale {
    double scale, support, inverse;
} stk_hd_scale;

STK_HD stk_hd_scale stk_hd_scale_of(const stk_hd_axis *a)
{
    stk_hd_scale s;
    double wide;
    s.scale = (double)(float)a->in_size / a->out_size;
    wide = s.scale < 1.0 ? 1.0 : s.scale;
    s.support = stk_hd_support(a->filter) * wide;
    s.inverse = 1.0 / wide;
    return s;
}

/* Upper bound of the taps of an output: an interval of length l holds at most ceil(l) of the numbers i + 1/2; a
 * little more guards against the rounding of its ends. */
STK_HD uint32_t stk_hd_axis_taps(uint32_t in_size, uint32_t out_size, int filter)
{
    double scale = (double)(float)in_size / out_size;
    double length = 2.0 * stk_hd_support(filter) * (scale < 1.0 ? 1.0 : scale) + 1e-6;
    uint32_t whole = (uint32_t)length, taps = whole + ((double)whole < length ? 1u : 0u);
    if (filter == STK_HD_NEAREST) return 1;
    return taps < in_size ? taps : in_size;
}

/* For dot products of bytes, the weights are also kept as digits: a word of four taps' digits each, three words (and
 * one unused) for every four taps and output, [quads][n_out][4], behind the weights. */
STK_HD uint32_t stk_hd_axis_quads(uint32_t n_taps) { return (n_taps + 3) / 4; }
STK_HD uint32_t stk_hd_axis_digits_at(uint32_t n_out, uint32_t n_taps) { return (n_out * (2 + n_taps) + 3) / 4 * 4; }

/* int32 words of an axis's table. */
STK_HD uint32_t stk_hd_axis_words(uint32_t n_out, uint32_t n_taps)
{
    return stk_hd_axis_digits_at(n_out, n_taps) + stk_hd_axis_quads(n_taps) * n_out * 4;
}

/* Filters without negative weights: sums stay within a byte's range. */
STK_HD int stk_hd_positive(int filter) { return filter != STK_HD_BICUBIC && filter != STK_HD_LANCZOS; }

STK_HD int32_t stk_hd_fixed(double w)
{
    double v = w * (1 << STK_HD_WEIGHT_BITS);
    return (int32_t)(w < 0 ? -0.5 + v : 0.5 + v);
}

/* Output i (0 .. n_out-1) of the axis into its table. */
STK_HD void stk_hd_axis_output(const stk_hd_axis *a, uint32_t i, int32_t *table)
{
    stk_hd_scale s = stk_hd_scale_of(a);
    double center = (double)0.0f + ((a->first + i) + 0.5) * s.scale, sum = 0.0;
    double low = center - s.support + 0.5, high = center + s.support + 0.5;
    int32_t start = low < 0 ? 0 : (int32_t)low, end = high > a->in_size ? (int32_t)a->in_size : (int32_t)high;
    int32_t count = end - start, x;
    int32_t *weights = table + 2 * a->n_out + i;
    for (x = 0; x < count; x++) sum += stk_hd_weight(a->filter, (x + start - center + 0.5) * s.inverse);
    for (x = 0; x < count && x < (int32_t)a->n_taps; x++) {
        double w = stk_hd_weight(a->filter, (x + start - center + 0.5) * s.inverse);
        weights[(uint32_t)x * a->n_out] = stk_hd_fixed(sum != 0.0 ? w / sum : w);
    }
    for (; x < (int32_t)a->n_taps; x++) weights[(uint32_t)x * a->n_out] = 0;
    table[i] = start;
    table[a->n_out + i] = count < (int32_t)a->n_taps ? count : (int32_t)a->n_taps;
}

/* Rounds and clips a sum of byte times weight that began with STK_HD_ROUND. */
#define STK_HD_ROUND (1 << (STK_HD_WEIGHT_BITS - 1))
STK_HD uint8_t stk_hd_result(int32_t sum) { return stk_hd_clip8(sum >> STK_HD_WEIGHT_BITS); }

#endif
