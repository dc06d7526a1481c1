/* SPDX-License-Identifier: Apache-2.0
 *
 * Random values are a function of the element's number within the sample's boxes (channel, row, column), so that
 * they can be computed in any order, on a device too. A normal value is looked up: 12 random bits choose one of 4,096
 * equally likely intervals of the distribution, 20 more a place in it. That takes 1 ns, where Box and Muller's
 * method with our own logarithm and cosine takes 60, and a third of an image has 50,000 elements. */
#include "reader/erase.h"

#include <math.h>
#include <string.h>

#include "codec/normalise.h"
#include "common/exact_math.h"
#include "common/rng.h"

/* ---- The table. */

/* Quantile of the standard normal distribution, 0 < p < 1; P. J. Acklam's rational approximation, relative error
 * below 1.2e-9. */
static double quantile(double p)
{
    if (p > 0.5) return -quantile(1 - p);
    if (p < 0.02425) {
        double q = sqrt(-2 * stk_exact_log(p));
        double top = ((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q -
                       2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783;
        return top / ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q +
                       3.754408661907416) * q + 1);
    }
    double q = p - 0.5, r = q * q;
    double top = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
                    1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239) * q;
    return top / (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
                    6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1);
}

void stk_erase_rule_init(stk_erase_rule *rule, const stk_step *step, stk_dtype dtype, stk_layout layout,
                         uint32_t channels, const float *mean, const float *std)
{
    *rule = (stk_erase_rule){.step = *step, .dtype = dtype, .layout = layout, .channels = channels};
    memcpy(rule->mean, mean, sizeof rule->mean);
    memcpy(rule->std, std, sizeof rule->std);
    for (int i = 1; i < STK_NORMAL_BINS; i++) rule->normal[i] = (float)quantile((double)i / STK_NORMAL_BINS);
    /* The outermost intervals have no end; with this one the variance is 1 to within 0.01 %. */
    rule->normal[STK_NORMAL_BINS] = 4.1f;
    rule->normal[0] = -4.1f;
}

/* Normal value number i of a stream. */
static float normal_at(const stk_erase_rule *rule, uint64_t key, uint64_t i)
{
    stk_rng rng = {.key = key, .counter = i / 2};
    uint32_t bits = (uint32_t)(stk_rng_u64(&rng) >> (32 * (i % 2)));
    const float *low = &rule->normal[bits >> 20];
    return low[0] + (float)(bits & 0xfffff) * 0x1p-20f * (low[1] - low[0]);
}

/* ---- Writing. */

static uint8_t level_of(float x)
{
    x = rintf(x);
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

static void store(const stk_erase_rule *rule, void *pixels, size_t at, uint32_t c, float value, bool random)
{
    switch (rule->dtype) {
    case STK_DTYPE_U8:
        if (random) value = 255.0f * (rule->mean[c] + rule->std[c] * value);
        ((uint8_t *)pixels)[at] = level_of(value);
        return;
    case STK_DTYPE_F16: ((uint16_t *)pixels)[at] = stk_float_to_f16(value); return;
    case STK_DTYPE_BF16: ((uint16_t *)pixels)[at] = stk_float_to_bf16(value); return;
    case STK_DTYPE_F32: ((float *)pixels)[at] = value; return;
    }
}

void stk_erase_boxes(const stk_erase_rule *rule, const stk_draw_key *key, const stk_augment_plan *plan, void *pixels,
                     uint32_t width, uint32_t height)
{
    const stk_erase_value what = rule->step.erase_value;
    uint64_t stream = stk_rng_for(key->seed, key->epoch, key->sample, key->occurrence, key->view,
                                  STK_PURPOSE_ERASED).key;
    uint64_t number = 0; /* of the next random value */
    bool planar = rule->layout == STK_LAYOUT_NCHW;
    size_t step = planar ? 1 : rule->channels, plane = planar ? (size_t)width * height : 1;
    for (uint32_t b = 0; b < plan->n_boxes; b++) {
        const stk_box *box = &plan->boxes[b];
        for (uint32_t c = 0; c < rule->channels; c++) {
            float value = rule->step.erase_constant[c];
            if (what == STK_ERASE_COLOR) value = normal_at(rule, stream, number++);
            for (int32_t y = 0; y < box->height; y++) {
                size_t at = ((size_t)(box->y + y) * width + (size_t)box->x) * step + c * plane;
                for (int32_t x = 0; x < box->width; x++, at += step) {
                    if (what == STK_ERASE_PIXEL) value = normal_at(rule, stream, number++);
                    store(rule, pixels, at, c, value, what != STK_ERASE_CONSTANT);
                }
            }
        }
    }
}
