/* SPDX-License-Identifier: Apache-2.0
 *
 * torchvision's RandomAffine (transforms.py, functional.py _get_inverse_affine_matrix): angle, shift, scale and shear
 * become one matrix, its terms in torchvision's order. */
#include <math.h>

#include "common/exact_math.h"
#include "common/rng_shapes.h"
#include "reader/augment_internal.h"

static bool is_within(const double *range, double low, double high)
{
    return range[0] >= low && range[0] <= range[1] && range[1] <= high;
}

const char *stk_affine_fault(const stk_step *s)
{
    if (!is_within(s->value, -1e6, 1e6)) return "degrees must be min <= max";
    for (int i = 0; i < 2; i++)
        if (!(s->translate[i] >= 0 && s->translate[i] <= 1)) return "translate must be shares, 0 .. 1";
    if (!(s->scale[0] >= 1e-3 && is_within(s->scale, 0, 1e3))) return "scale must be 0.001 <= min <= max <= 1000";
    if (!is_within(s->shear_x, -89, 89) || !is_within(s->shear_y, -89, 89)) return "shear must be within -89 .. 89";
    return NULL;
}

/* torchvision draws float32 numbers. */
static double draw(stk_rng *rng, double low, double high) { return (double)(float)stk_rng_between(rng, low, high); }

static double radians(double degrees) { return degrees * (3.14159265358979323846 / 180.0); }

typedef struct affine_choice {
    double angle, shift_x, shift_y, scale, shear_x, shear_y;
} affine_choice;

static void inverse_matrix(const affine_choice *c, double centre_x, double centre_y, double m[6])
{
    double rot = radians(c->angle), sx = radians(c->shear_x), sy = radians(c->shear_y);
    double cos_sy = stk_exact_cos(sy), tan_sx = stk_exact_sin(sx) / stk_exact_cos(sx);
    double cos_turn = stk_exact_cos(rot - sy), sin_turn = stk_exact_sin(rot - sy);
    double a = cos_turn / cos_sy;
    double b = -cos_turn * tan_sx / cos_sy - stk_exact_sin(rot);
    double below = sin_turn / cos_sy;
    double d = -sin_turn * tan_sx / cos_sy + stk_exact_cos(rot);
    m[0] = d / c->scale;
    m[1] = -b / c->scale;
    m[2] = 0.0 / c->scale;
    m[3] = -below / c->scale;
    m[4] = a / c->scale;
    m[5] = 0.0 / c->scale;
    m[2] += m[0] * (-centre_x - c->shift_x) + m[1] * (-centre_y - c->shift_y);
    m[5] += m[3] * (-centre_x - c->shift_x) + m[4] * (-centre_y - c->shift_y);
    m[2] += centre_x;
    m[5] += centre_y;
}

void stk_draw_affine(const stk_step *s, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    affine_choice c;
    double far_x = s->translate[0] * width, far_y = s->translate[1] * height;
    c.angle = draw(rng, s->value[0], s->value[1]);
    c.shift_x = rint(draw(rng, -far_x, far_x));
    c.shift_y = rint(draw(rng, -far_y, far_y));
    c.scale = draw(rng, s->scale[0], s->scale[1]);
    c.shear_x = draw(rng, s->shear_x[0], s->shear_x[1]);
    c.shear_y = draw(rng, s->shear_y[0], s->shear_y[1]);
    uint32_t before = plan->n_ops;
    stk_plan_add(plan, s, rng, STK_OP_AFFINE, 0);
    if (plan->n_ops > before) inverse_matrix(&c, width * 0.5, height * 0.5, plan->ops[before].matrix);
}
