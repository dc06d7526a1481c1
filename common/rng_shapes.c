/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rng_shapes.h"

#include <math.h>

#include "common/exact_math.h"

double stk_rng_between(stk_rng *rng, double low, double high)
{
    return low + (high - low) * stk_rng_double(rng);
}

/* In (0, 1]: safe for a logarithm. */
static double above_zero(stk_rng *rng)
{
    return 1.0 - stk_rng_double(rng);
}

double stk_rng_normal(stk_rng *rng)
{
    double radius = sqrt(-2.0 * stk_exact_log(above_zero(rng)));
    return radius * stk_exact_cos(2.0 * 3.14159265358979323846 * stk_rng_double(rng));
}

/* Marsaglia and Tsang (2000) for alpha >= 1; below, a draw of alpha + 1 times u^(1 / alpha), in logarithms, since
 * both draws of a small alpha may be too small for a double. */
static double log_gamma_draw(stk_rng *rng, double alpha)
{
    double boost = 0;
    if (alpha < 1) {
        boost = stk_exact_log(above_zero(rng)) / alpha;
        alpha += 1;
    }
    double d = alpha - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = stk_rng_normal(rng), v = 1.0 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (stk_exact_log(above_zero(rng)) < 0.5 * x * x + d - d * v + d * stk_exact_log(v))
            return stk_exact_log(d * v) + boost;
    }
}

double stk_rng_beta(stk_rng *rng, double alpha)
{
    double a = log_gamma_draw(rng, alpha), b = log_gamma_draw(rng, alpha);
    return 1.0 / (1.0 + stk_exact_exp(b - a));
}
