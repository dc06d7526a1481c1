/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/host_axis.h"

#include <stdlib.h>

#include "common/exact_math.h"
#include "common/fail.h"

static const double PI = 3.14159265358979323846;

bool stk_host_axis_needed(int filter)
{
    return filter == STK_HD_HAMMING || filter == STK_HD_LANCZOS || filter == STK_HD_NEAREST;
}

static double sinc(double x)
{
    if (x == 0.0) return 1.0;
    x = x * PI;
    return stk_exact_sin(x) / x;
}

static double weight(int filter, double x)
{
    if (filter == STK_HD_LANCZOS) return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    x = x < 0 ? -x : x;
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x = x * PI;
    return stk_exact_sin(x) / x * ((double)0.54f + (double)0.46f * stk_exact_cos(x));
}

static void bounds(const stk_hd_axis *a, uint32_t i, double *center, int32_t *start, int32_t *end)
{
    stk_hd_scale s = stk_hd_scale_of(a);
    *center = (double)0.0f + ((a->first + i) + 0.5) * s.scale;
    double low = *center - s.support + 0.5, high = *center + s.support + 0.5;
    *start = low < 0 ? 0 : (int32_t)low;
    *end = high > a->in_size ? (int32_t)a->in_size : (int32_t)high;
}

/* Pillow steps through the source by repeated addition. */
static void fill_nearest(const stk_hd_axis *a, int32_t *table)
{
    double step = (double)(float)a->in_size / a->out_size, position = step * 0.5;
    for (uint32_t i = 0; i < a->first + a->n_out; i++, position += step) {
        if (i < a->first) continue;
        uint32_t source = (uint32_t)position, k = i - a->first;
        table[k] = (int32_t)(source < a->in_size ? source : a->in_size - 1);
        table[a->n_out + k] = 1;
        table[2 * a->n_out + k] = 1 << STK_HD_WEIGHT_BITS;
    }
}

stk_status stk_host_axis_fill(const stk_hd_axis *a, int32_t *table, stk_error *error)
{
    if (a->filter == STK_HD_NEAREST) {
        fill_nearest(a, table);
        return STK_OK;
    }
    double *w = malloc((a->n_taps + (size_t)1) * sizeof *w);
    if (w == NULL) return stk_fail_memory(error, "resampling coefficients");
    stk_hd_scale s = stk_hd_scale_of(a);
    for (uint32_t i = 0; i < a->n_out; i++) {
        double center, sum = 0.0;
        int32_t start, end, x;
        bounds(a, i, &center, &start, &end);
        int32_t count = stk_hd_min(end - start, (int32_t)a->n_taps), *weights = table + 2 * a->n_out + i;
        for (x = 0; x < count; x++) {
            w[x] = weight(a->filter, (x + start - center + 0.5) * s.inverse);
            sum += w[x];
        }
        for (x = 0; x < count; x++) weights[(uint32_t)x * a->n_out] = stk_hd_fixed(sum != 0.0 ? w[x] / sum : w[x]);
        for (; x < (int32_t)a->n_taps; x++) weights[(uint32_t)x * a->n_out] = 0;
        table[i] = start;
        table[a->n_out + i] = count;
    }
    free(w);
    return STK_OK;
}

void stk_host_axis_span(const stk_hd_axis *a, uint32_t *low, uint32_t *high)
{
    if (a->filter == STK_HD_NEAREST) {
        /* One more on each side covers what repeated addition may round. */
        double step = (double)(float)a->in_size / a->out_size, b = step * (a->first + 0.5);
        double e = step * (a->first + a->n_out - 0.5);
        *low = b < 1.0 ? 0 : (uint32_t)b - 1;
        *high = e + 2.0 > a->in_size ? a->in_size : (uint32_t)(e + 2.0);
        return;
    }
    double center;
    int32_t start, end;
    bounds(a, 0, &center, &start, &end);
    *low = (uint32_t)start;
    bounds(a, a->n_out - 1, &center, &start, &end);
    *high = (uint32_t)end;
}
