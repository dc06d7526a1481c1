/* SPDX-License-Identifier: Apache-2.0
 *
 * timm's RandAugment and AutoAugment variants (timm/data/auto_augment.py 1.0.31): the same operations by other
 * scales of magnitude, 0 .. 10. */
#include <math.h>

#include "common/rng_shapes.h"
#include "reader/augment_internal.h"

/* timm's names for an operation with its scale. */
typedef enum timm_op {
    AUTO_CONTRAST, EQUALIZE, INVERT, ROTATE, POSTERIZE, SOLARIZE, SOLARIZE_ADD, COLOR, CONTRAST, BRIGHTNESS, SHARPNESS,
    SHEAR_X, SHEAR_Y, TRANSLATE_X, TRANSLATE_Y, N_RAND, /* _RAND_TRANSFORMS, in its order */
    POSTERIZE_MORE, POSTERIZE_ORIGINAL, SOLARIZE_MORE, COLOR_MORE, CONTRAST_MORE, BRIGHTNESS_MORE, SHARPNESS_MORE
} timm_op;

/* _RAND_INCREASING_TRANSFORMS: those that grow stronger with the magnitude. */
static timm_op increasing(timm_op op)
{
    switch ((int)op) {
    case POSTERIZE: return POSTERIZE_MORE;
    case SOLARIZE: return SOLARIZE_MORE;
    case COLOR: return COLOR_MORE;
    case CONTRAST: return CONTRAST_MORE;
    case BRIGHTNESS: return BRIGHTNESS_MORE;
    case SHARPNESS: return SHARPNESS_MORE;
    default: return op;
    }
}

static double draw_magnitude(const stk_step *s, stk_rng *rng, double magnitude)
{
    if (s->magnitude_std > 100) magnitude = stk_rng_between(rng, 0, magnitude);
    else if (s->magnitude_std > 0) magnitude += s->magnitude_std * stk_rng_normal(rng);
    return magnitude < 0 ? 0 : magnitude > s->magnitude_max ? s->magnitude_max : magnitude;
}

static double factor(double level) { return level * 1.8 + 0.1; }

static double factor_more(double level, bool negative)
{
    double f = 1.0 + (negative ? -(level * 0.9) : level * 0.9);
    return f < 0.1 ? 0.1 : f;
}

/* The level functions; level is magnitude / 10. Bits stay within what there is, as Pillow before 13 had it. */
static double value_of(timm_op op, double level, bool negative, uint32_t width, uint32_t height)
{
    double sign = negative ? -1.0 : 1.0, bits = trunc(level * 4), threshold = fmin(256, trunc(level * 256));
    switch ((int)op) {
    case ROTATE: return sign * (level * 30.0);
    case POSTERIZE: return fmin(bits, 8);
    case POSTERIZE_MORE: return fmax(4 - bits, 0);
    case POSTERIZE_ORIGINAL: return fmin(bits + 4, 8);
    case SOLARIZE: return threshold;
    case SOLARIZE_MORE: return 256 - threshold;
    case SOLARIZE_ADD: return fmin(128, trunc(level * 110));
    case COLOR:
    case CONTRAST:
    case BRIGHTNESS:
    case SHARPNESS: return factor(level);
    case COLOR_MORE:
    case CONTRAST_MORE:
    case BRIGHTNESS_MORE:
    case SHARPNESS_MORE: return factor_more(level, negative);
    case SHEAR_X:
    case SHEAR_Y: return sign * (level * 0.3);
    /* timm names where a pixel comes from, STK_OP_TRANSLATE where it goes. */
    case TRANSLATE_X: return -(sign * (level * 0.45) * width);
    case TRANSLATE_Y: return -(sign * (level * 0.45) * height);
    default: return 0;
    }
}

static stk_op_kind kind_of(timm_op op)
{
    switch (op) {
    case AUTO_CONTRAST: return STK_OP_AUTOCONTRAST;
    case EQUALIZE: return STK_OP_EQUALIZE;
    case INVERT: return STK_OP_INVERT;
    case ROTATE: return STK_OP_ROTATE;
    case POSTERIZE:
    case POSTERIZE_MORE:
    case POSTERIZE_ORIGINAL: return STK_OP_POSTERIZE;
    case SOLARIZE:
    case SOLARIZE_MORE: return STK_OP_SOLARIZE;
    case SOLARIZE_ADD: return STK_OP_SOLARIZE_ADD;
    case COLOR:
    case COLOR_MORE: return STK_OP_SATURATION;
    case CONTRAST:
    case CONTRAST_MORE: return STK_OP_CONTRAST;
    case BRIGHTNESS:
    case BRIGHTNESS_MORE: return STK_OP_BRIGHTNESS;
    case SHARPNESS:
    case SHARPNESS_MORE: return STK_OP_SHARPNESS;
    case SHEAR_X: return STK_OP_SHEAR_X;
    case SHEAR_Y: return STK_OP_SHEAR_Y;
    case TRANSLATE_X: return STK_OP_TRANSLATE_X;
    case TRANSLATE_Y: return STK_OP_TRANSLATE_Y;
    case N_RAND: break;
    }
    return STK_OP_IDENTITY;
}

static void draw_op(const stk_step *s, stk_rng *rng, timm_op op, double probability, double magnitude,
                    uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    bool taken = stk_rng_double(rng) < probability, negative = stk_rng_below(rng, 2) != 0;
    double level = draw_magnitude(s, rng, magnitude) / 10.0;
    if (taken) stk_plan_add(plan, s, rng, kind_of(op), value_of(op, level, negative, width, height));
}

void stk_draw_timm_rand(const stk_step *s, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    for (uint32_t i = 0; i < s->n_ops; i++) {
        timm_op op = (timm_op)stk_rng_below(rng, N_RAND);
        draw_op(s, rng, s->increasing ? increasing(op) : op, s->op_probability, s->magnitude, width, height, plan);
    }
}

/* ---- Learnt policies: (operation, probability in tenths, magnitude). */

typedef struct policy_op {
    uint8_t op, tenths, magnitude;
} policy_op;

enum { N_PAIRS = 25 };

static const policy_op V0[N_PAIRS][2] = {
    {{EQUALIZE, 8, 1}, {SHEAR_Y, 8, 4}},     {{COLOR, 4, 9}, {EQUALIZE, 6, 3}},
    {{COLOR, 4, 1}, {ROTATE, 6, 8}},         {{SOLARIZE, 8, 3}, {EQUALIZE, 4, 7}},
    {{SOLARIZE, 4, 2}, {SOLARIZE, 6, 2}},    {{COLOR, 2, 0}, {EQUALIZE, 8, 8}},
    {{EQUALIZE, 4, 8}, {SOLARIZE_ADD, 8, 3}}, {{SHEAR_X, 2, 9}, {ROTATE, 6, 8}},
    {{COLOR, 6, 1}, {EQUALIZE, 10, 2}},      {{INVERT, 4, 9}, {ROTATE, 6, 0}},
    {{EQUALIZE, 10, 9}, {SHEAR_Y, 6, 3}},    {{COLOR, 4, 7}, {EQUALIZE, 6, 0}},
    {{POSTERIZE, 4, 6}, {AUTO_CONTRAST, 4, 7}}, {{SOLARIZE, 6, 8}, {COLOR, 6, 9}},
    {{SOLARIZE, 2, 4}, {ROTATE, 8, 9}},      {{ROTATE, 10, 7}, {TRANSLATE_Y, 8, 9}},
    {{SHEAR_X, 0, 0}, {SOLARIZE, 8, 4}},     {{SHEAR_Y, 8, 0}, {COLOR, 6, 4}},
    {{COLOR, 10, 0}, {ROTATE, 6, 2}},        {{EQUALIZE, 8, 4}, {EQUALIZE, 0, 8}},
    {{EQUALIZE, 10, 4}, {AUTO_CONTRAST, 6, 2}}, {{SHEAR_Y, 4, 7}, {SOLARIZE_ADD, 6, 7}},
    {{POSTERIZE, 8, 2}, {SOLARIZE, 6, 10}},  {{SOLARIZE, 6, 8}, {EQUALIZE, 6, 1}},
    {{COLOR, 8, 6}, {ROTATE, 4, 5}},
};

/* POSTERIZE stands for the original's scale, or for the increasing one. */
static const policy_op ORIGINAL[N_PAIRS][2] = {
    {{POSTERIZE, 4, 8}, {ROTATE, 6, 9}},     {{SOLARIZE, 6, 5}, {AUTO_CONTRAST, 6, 5}},
    {{EQUALIZE, 8, 8}, {EQUALIZE, 6, 3}},    {{POSTERIZE, 6, 7}, {POSTERIZE, 6, 6}},
    {{EQUALIZE, 4, 7}, {SOLARIZE, 2, 4}},    {{EQUALIZE, 4, 4}, {ROTATE, 8, 8}},
    {{SOLARIZE, 6, 3}, {EQUALIZE, 6, 7}},    {{POSTERIZE, 8, 5}, {EQUALIZE, 10, 2}},
    {{ROTATE, 2, 3}, {SOLARIZE, 6, 8}},      {{EQUALIZE, 6, 8}, {POSTERIZE, 4, 6}},
    {{ROTATE, 8, 8}, {COLOR, 4, 0}},         {{ROTATE, 4, 9}, {EQUALIZE, 6, 2}},
    {{EQUALIZE, 0, 7}, {EQUALIZE, 8, 8}},    {{INVERT, 6, 4}, {EQUALIZE, 10, 8}},
    {{COLOR, 6, 4}, {CONTRAST, 10, 8}},      {{ROTATE, 8, 8}, {COLOR, 10, 2}},
    {{COLOR, 8, 8}, {SOLARIZE, 8, 7}},       {{SHARPNESS, 4, 7}, {INVERT, 6, 8}},
    {{SHEAR_X, 6, 5}, {EQUALIZE, 10, 9}},    {{COLOR, 4, 0}, {EQUALIZE, 6, 3}},
    {{EQUALIZE, 4, 7}, {SOLARIZE, 2, 4}},    {{SOLARIZE, 6, 5}, {AUTO_CONTRAST, 6, 5}},
    {{INVERT, 6, 4}, {EQUALIZE, 10, 8}},     {{COLOR, 6, 4}, {CONTRAST, 10, 8}},
    {{EQUALIZE, 8, 8}, {EQUALIZE, 6, 3}},
};

static timm_op posterize_of(stk_policy policy)
{
    if (policy == STK_POLICY_TIMM_V0) return POSTERIZE;
    return policy == STK_POLICY_TIMM_ORIGINAL ? POSTERIZE_ORIGINAL : POSTERIZE_MORE;
}

/* auto_augment_policy_3a: threshold 128, all colour gone, a radius drawn evenly. */
static void draw_one_of_three(const stk_step *s, stk_rng *rng, stk_drawn_steps *plan)
{
    uint64_t choice = stk_rng_below(rng, 3);
    double radius = stk_rng_between(rng, 0.1, 2.0);
    if (choice == 0) stk_plan_add(plan, s, rng, STK_OP_SOLARIZE, 128);
    else if (choice == 1) stk_plan_add(plan, s, rng, STK_OP_GRAYSCALE, 0);
    else stk_plan_add(plan, s, rng, STK_OP_BOX_BLUR, radius);
}

void stk_draw_timm_auto(const stk_step *s, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    if (s->policy == STK_POLICY_TIMM_3A) {
        draw_one_of_three(s, rng, plan);
        return;
    }
    bool v0 = s->policy == STK_POLICY_TIMM_V0 || s->policy == STK_POLICY_TIMM_V0R;
    const policy_op *pair = (v0 ? V0 : ORIGINAL)[stk_rng_below(rng, N_PAIRS)];
    for (int i = 0; i < 2; i++) {
        timm_op op = (timm_op)pair[i].op;
        if (op == POSTERIZE) op = posterize_of(s->policy);
        draw_op(s, rng, op, pair[i].tenths / 10.0, pair[i].magnitude, width, height, plan);
    }
}
