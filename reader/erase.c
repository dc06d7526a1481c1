/* SPDX-License-Identifier: Apache-2.0
 *
 * Random values are a function of the element's number within the sample's boxes (channel, row, column): normal_values.h
 * says how. */
#include "reader/erase.h"

#include <string.h>

#include "codec/normalise.h"

void stk_erase_rule_init(stk_erase_rule *rule, const stk_step *step, stk_dtype dtype, stk_layout layout,
                         uint32_t channels, const float *mean, const float *std)
{
    *rule = (stk_erase_rule){.step = *step, .dtype = dtype, .layout = layout, .channels = channels};
    memcpy(rule->mean, mean, sizeof rule->mean);
    memcpy(rule->std, std, sizeof rule->std);
    stk_normal_fill(rule->normal);
}

/* ---- Writing. */

static void store(const stk_erase_rule *rule, void *pixels, size_t at, uint32_t c, float value, bool random)
{
    switch (rule->dtype) {
    case STK_DTYPE_U8:
        if (random) value = 255.0f * (rule->mean[c] + rule->std[c] * value);
        ((uint8_t *)pixels)[at] = stk_px_level(value);
        return;
    case STK_DTYPE_F16: ((uint16_t *)pixels)[at] = stk_float_to_f16(value); return;
    case STK_DTYPE_BF16: ((uint16_t *)pixels)[at] = stk_float_to_bf16(value); return;
    case STK_DTYPE_F32: ((float *)pixels)[at] = value; return;
    }
}

void stk_erase_boxes(const stk_erase_rule *rule, const stk_draw_key *key, const stk_drawn_steps *plan, void *pixels,
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
            if (what == STK_ERASE_COLOR) value = stk_normal_at(rule->normal, stream, number++);
            for (int32_t y = 0; y < box->height; y++) {
                size_t at = ((size_t)(box->y + y) * width + (size_t)box->x) * step + c * plane;
                for (int32_t x = 0; x < box->width; x++, at += step) {
                    if (what == STK_ERASE_PIXEL) value = stk_normal_at(rule->normal, stream, number++);
                    store(rule, pixels, at, c, value, what != STK_ERASE_CONSTANT);
                }
            }
        }
    }
}
