/* SPDX-License-Identifier: Apache-2.0
 *
 * torchvision's RandAugment, TrivialAugmentWide and AutoAugment (torchvision/transforms/autoaugment.py 0.28). */
#include <math.h>

#include "reader/augment_internal.h"

/* torch.linspace in float32, one element at a time (torch's vector code rounds the last bit by its CPU's rules). */
static float linspace(float start, float end, uint32_t n, uint32_t i)
{
    float step = (end - start) / (float)(n - 1);
    return i < n / 2 ? start + step * (float)i : end - step * (float)(n - 1 - i);
}

/* 8 minus an even spread over 0 .. `most` bits, rounded half to even. */
static double posterize_bits(double most, uint32_t n, uint32_t i)
{
    return 8.0 - (double)rintf((float)i / (float)((double)(n - 1) / most));
}

/* A row of _augmentation_space: magnitudes from `from` to `to`, negated half of the time when `has_sign`. */
typedef struct space_row {
    stk_op_kind op;
    double from, to;
    bool has_sign;
    bool has_magnitude;
} space_row;

#define SIGNED_ROWS(shear, translate, rotate, factor)                                                           \
    {STK_OP_SHEAR_X, 0, shear, true, true}, {STK_OP_SHEAR_Y, 0, shear, true, true},                             \
        {STK_OP_TRANSLATE_X, 0, translate, true, true}, {STK_OP_TRANSLATE_Y, 0, translate, true, true},         \
        {STK_OP_ROTATE, 0, rotate, true, true}, {STK_OP_BRIGHTNESS, 0, factor, true, true},                     \
        {STK_OP_SATURATION, 0, factor, true, true}, {STK_OP_CONTRAST, 0, factor, true, true},                   \
        {STK_OP_SHARPNESS, 0, factor, true, true}
/* POSTERIZE's `to` is how many bits go at most. */
#define OTHER_ROWS(bits)                                                                                        \
    {STK_OP_POSTERIZE, 0, bits, false, true}, {STK_OP_SOLARIZE, 255, 0, false, true},                           \
        {STK_OP_AUTOCONTRAST, 0, 0, false, false}, {STK_OP_EQUALIZE, 0, 0, false, false}

enum { N_ROWS = 14 };

/* TRANSLATE: a share of the side in the first, pixels in the second. */
static const space_row NARROW[N_ROWS] = {
    {STK_OP_IDENTITY, 0, 0, false, false}, SIGNED_ROWS(0.3, 150.0 / 331.0, 30, 0.9), OTHER_ROWS(4)};
static const space_row WIDE[N_ROWS] = {
    {STK_OP_IDENTITY, 0, 0, false, false}, SIGNED_ROWS(0.99, 32, 135, 0.99), OTHER_ROWS(6)};

/* _apply_op: from a magnitude to the operation's value. */
static double value_of(stk_op_kind op, double magnitude)
{
    switch (op) {
    case STK_OP_TRANSLATE_X:
    case STK_OP_TRANSLATE_Y: return trunc(magnitude);
    case STK_OP_BRIGHTNESS:
    case STK_OP_SATURATION:
    case STK_OP_CONTRAST:
    case STK_OP_SHARPNESS: return 1.0 + magnitude;
    default: return magnitude;
    }
}

/* `side`: what a TRANSLATE's share is of; 1 when magnitudes are pixels. */
static double magnitude_of(const space_row *row, double side, uint32_t n_bins, uint32_t bin)
{
    if (!row->has_magnitude) return 0;
    if (row->op == STK_OP_POSTERIZE) return posterize_bits(row->to, n_bins, bin);
    return linspace((float)row->from, (float)(row->to * side), n_bins, bin);
}

static double side_of(stk_op_kind op, uint32_t width, uint32_t height)
{
    return op == STK_OP_TRANSLATE_X ? width : op == STK_OP_TRANSLATE_Y ? height : 1;
}

static void add(stk_drawn_steps *plan, const stk_step *step, stk_rng *rng, const space_row *row, double magnitude,
                bool negative)
{
    if (row->has_sign && negative) magnitude *= -1.0;
    stk_plan_add(plan, step, rng, row->op, value_of(row->op, magnitude));
}

void stk_draw_rand_augment(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height,
                           stk_drawn_steps *plan)
{
    for (uint32_t i = 0; i < step->n_ops; i++) {
        const space_row *row = &NARROW[stk_rng_below(rng, N_ROWS)];
        bool negative = stk_rng_below(rng, 2) != 0;
        double magnitude =
            magnitude_of(row, side_of(row->op, width, height), step->n_bins, (uint32_t)step->magnitude);
        add(plan, step, rng, row, magnitude, negative);
    }
}

void stk_draw_trivial_augment(const stk_step *step, stk_rng *rng, stk_drawn_steps *plan)
{
    const space_row *row = &WIDE[stk_rng_below(rng, N_ROWS)];
    uint32_t bin = (uint32_t)stk_rng_below(rng, step->n_bins);
    bool negative = stk_rng_below(rng, 2) != 0;
    add(plan, step, rng, row, magnitude_of(row, 1, step->n_bins, bin), negative);
}

/* ---- AutoAugment: 25 pairs of (operation, probability in tenths, bin of ten). */

typedef struct policy_op {
    uint8_t op, tenths, bin;
} policy_op;

#define SX STK_OP_SHEAR_X
#define SY STK_OP_SHEAR_Y
#define TX STK_OP_TRANSLATE_X
#define TY STK_OP_TRANSLATE_Y
#define RO STK_OP_ROTATE
#define BR STK_OP_BRIGHTNESS
#define CL STK_OP_SATURATION
#define CN STK_OP_CONTRAST
#define SH STK_OP_SHARPNESS
#define PO STK_OP_POSTERIZE
#define SO STK_OP_SOLARIZE
#define AC STK_OP_AUTOCONTRAST
#define EQ STK_OP_EQUALIZE
#define IN STK_OP_INVERT

enum { N_PAIRS = 25 };

static const policy_op IMAGENET[N_PAIRS][2] = {
    {{PO, 4, 8}, {RO, 6, 9}}, {{SO, 6, 5}, {AC, 6, 0}}, {{EQ, 8, 0}, {EQ, 6, 0}}, {{PO, 6, 7}, {PO, 6, 6}},
    {{EQ, 4, 0}, {SO, 2, 4}}, {{EQ, 4, 0}, {RO, 8, 8}}, {{SO, 6, 3}, {EQ, 6, 0}}, {{PO, 8, 5}, {EQ, 10, 0}},
    {{RO, 2, 3}, {SO, 6, 8}}, {{EQ, 6, 0}, {PO, 4, 6}}, {{RO, 8, 8}, {CL, 4, 0}}, {{RO, 4, 9}, {EQ, 6, 0}},
    {{EQ, 0, 0}, {EQ, 8, 0}}, {{IN, 6, 0}, {EQ, 10, 0}}, {{CL, 6, 4}, {CN, 10, 8}}, {{RO, 8, 8}, {CL, 10, 2}},
    {{CL, 8, 8}, {SO, 8, 7}}, {{SH, 4, 7}, {IN, 6, 0}}, {{SX, 6, 5}, {EQ, 10, 0}}, {{CL, 4, 0}, {EQ, 6, 0}},
    {{EQ, 4, 0}, {SO, 2, 4}}, {{SO, 6, 5}, {AC, 6, 0}}, {{IN, 6, 0}, {EQ, 10, 0}}, {{CL, 6, 4}, {CN, 10, 8}},
    {{EQ, 8, 0}, {EQ, 6, 0}},
};

static const policy_op CIFAR10[N_PAIRS][2] = {
    {{IN, 1, 0}, {CN, 2, 6}}, {{RO, 7, 2}, {TX, 3, 9}}, {{SH, 8, 1}, {SH, 9, 3}}, {{SY, 5, 8}, {TY, 7, 9}},
    {{AC, 5, 0}, {EQ, 9, 0}}, {{SY, 2, 7}, {PO, 3, 7}}, {{CL, 4, 3}, {BR, 6, 7}}, {{SH, 3, 9}, {BR, 7, 9}},
    {{EQ, 6, 0}, {EQ, 5, 0}}, {{CN, 6, 7}, {SH, 6, 5}}, {{CL, 7, 7}, {TX, 5, 8}}, {{EQ, 3, 0}, {AC, 4, 0}},
    {{TY, 4, 3}, {SH, 2, 6}}, {{BR, 9, 6}, {CL, 2, 8}}, {{SO, 5, 2}, {IN, 0, 0}}, {{EQ, 2, 0}, {AC, 6, 0}},
    {{EQ, 2, 0}, {EQ, 6, 0}}, {{CL, 9, 9}, {EQ, 6, 0}}, {{AC, 8, 0}, {SO, 2, 8}}, {{BR, 1, 3}, {CL, 7, 0}},
    {{SO, 4, 5}, {AC, 9, 0}}, {{TY, 9, 9}, {TY, 7, 9}}, {{AC, 9, 0}, {SO, 8, 3}}, {{EQ, 8, 0}, {IN, 1, 0}},
    {{TY, 7, 9}, {AC, 9, 0}},
};

static const policy_op SVHN[N_PAIRS][2] = {
    {{SX, 9, 4}, {IN, 2, 0}}, {{SY, 9, 8}, {IN, 7, 0}}, {{EQ, 6, 0}, {SO, 6, 6}}, {{IN, 9, 0}, {EQ, 6, 0}},
    {{EQ, 6, 0}, {RO, 9, 3}}, {{SX, 9, 4}, {AC, 8, 0}}, {{SY, 9, 8}, {IN, 4, 0}}, {{SY, 9, 5}, {SO, 2, 6}},
    {{IN, 9, 0}, {AC, 8, 0}}, {{EQ, 6, 0}, {RO, 9, 3}}, {{SX, 9, 4}, {SO, 3, 3}}, {{SY, 8, 8}, {IN, 7, 0}},
    {{EQ, 9, 0}, {TY, 6, 6}}, {{IN, 9, 0}, {EQ, 6, 0}}, {{CN, 3, 3}, {RO, 8, 4}}, {{IN, 8, 0}, {TY, 0, 2}},
    {{SY, 7, 6}, {SO, 4, 8}}, {{IN, 6, 0}, {RO, 8, 4}}, {{SY, 3, 7}, {TX, 9, 3}}, {{SX, 1, 6}, {IN, 6, 0}},
    {{SO, 7, 2}, {TY, 6, 7}}, {{SY, 8, 4}, {IN, 8, 0}}, {{SX, 7, 9}, {TY, 8, 3}}, {{SY, 8, 5}, {AC, 7, 0}},
    {{SX, 7, 2}, {IN, 1, 0}},
};

/* The narrow space, which has every operation but Invert. */
static const space_row *row_for(uint8_t op)
{
    static const space_row INVERT = {STK_OP_INVERT, 0, 0, false, false};
    for (int i = 0; i < N_ROWS; i++)
        if (NARROW[i].op == (stk_op_kind)op) return &NARROW[i];
    return &INVERT;
}

void stk_draw_auto_augment(const stk_step *step, stk_rng *rng, uint32_t width, uint32_t height,
                           stk_drawn_steps *plan)
{
    const policy_op(*pairs)[2] = step->policy == STK_POLICY_CIFAR10 ? CIFAR10
                                 : step->policy == STK_POLICY_SVHN  ? SVHN
                                                                    : IMAGENET;
    const policy_op *pair = pairs[stk_rng_below(rng, N_PAIRS)];
    for (int i = 0; i < 2; i++) {
        bool taken = stk_rng_double(rng) * 10.0 < pair[i].tenths;
        bool negative = stk_rng_below(rng, 2) == 0;
        const space_row *row = row_for(pair[i].op);
        if (taken)
            add(plan, step, rng, row, magnitude_of(row, side_of(row->op, width, height), 10, pair[i].bin), negative);
    }
}
