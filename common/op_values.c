/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_values.h"

#include <math.h>

#include "common/exact_math.h"
#include "common/exact_sine.h"

/* Python's round(x, 15) for |x| <= 1: the double nearest to the nearest 15-digit decimal, ties to even. */
static double round_15(double x)
{
    stk_dd scaled = stk_two_product(x, 1e15);
    double whole = stk_nearest(scaled.hi), rest = (scaled.hi - whole) + scaled.lo;
    bool odd = fmod(whole, 2.0) != 0.0;
    if (rest > 0.5 || (rest == 0.5 && odd)) whole += 1;
    if (rest < -0.5 || (rest == -0.5 && odd)) whole -= 1;
    return whole / 1e15;
}

double stk_op_degrees(double angle)
{
    double rest = fmod(angle, 360.0);
    return rest < 0 ? rest + 360.0 : rest == 0 ? 0.0 : rest;
}

void stk_op_rotation(uint32_t width, uint32_t height, double angle, double m[6])
{
    double turned = -(angle * (3.14159265358979323846 / 180.0)), x = width / 2.0, y = height / 2.0;
    double c = round_15(stk_exact_cos(turned)), s = round_15(stk_exact_sin(turned));
    m[0] = c;
    m[1] = s;
    m[3] = -s;
    m[4] = c;
    m[2] = m[0] * -x + m[1] * -y + 0.0;
    m[5] = m[3] * -x + m[4] * -y + 0.0;
    m[2] += x;
    m[5] += y;
}

static bool corner_fits(const double m[6], double x, double y)
{
    return fabs(x * m[0] + y * m[1] + m[2]) < 32768.0 && fabs(x * m[3] + y * m[4] + m[5]) < 32768.0;
}

bool stk_op_fits_fixed(const double m[6], uint32_t width, uint32_t height)
{
    double w = width, h = height;
    return corner_fits(m, 0, 0) && corner_fits(m, w, h) && corner_fits(m, 0, h) && corner_fits(m, w, 0);
}

static int64_t fixed(double v) { return (int64_t)floor(v * 65536.0 + 0.5); }

void stk_op_fixed(const double m[6], int64_t f[6])
{
    f[0] = fixed(m[0]);
    f[1] = fixed(m[1]);
    f[2] = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5);
    f[3] = fixed(m[3]);
    f[4] = fixed(m[4]);
    f[5] = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
}

int32_t stk_op_threshold(double threshold)
{
    if (!(threshold > 0)) return 0;
    if (threshold > 255) return 256;
    int32_t whole = (int32_t)threshold;
    return whole + ((double)whole < threshold ? 1 : 0);
}

void stk_op_gaussian(uint32_t n, double sigma, float *weights)
{
    double all[STK_BLUR_MAX], sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        double x = ((double)k - (double)(n - 1) / 2) / sigma;
        all[k] = stk_exact_exp(-0.5 * x * x);
        sum += all[k];
    }
    for (uint32_t k = 0; k < n; k++) weights[k] = (float)(all[k] / sum);
}

/* _gaussian_blur_radius, its numbers in the same types. */
static float box_radius(float radius)
{
    float sigma2 = radius * radius / STK_BOX_PASSES;
    float length = (float)sqrt(12.0 * (double)sigma2 + 1.0);
    float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * sigma2);
    part /= 6 * (sigma2 - (whole + 1) * (whole + 1));
    return whole + part;
}

bool stk_op_box(float radius, stk_box_weights *w)
{
    const float box = box_radius(radius);
    w->radius = (uint32_t)box;
    w->whole = (uint32_t)((float)(1u << 24) / (box * 2 + 1));
    w->part = ((1u << 24) - (w->radius * 2 + 1) * w->whole) / 2;
    return box != 0;
}
