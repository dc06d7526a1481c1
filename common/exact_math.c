/* SPDX-License-Identifier: Apache-2.0 */
#include "common/exact_math.h"

#include <math.h>

#include "common/exact_sine.h"

static const double TRIG_LIMIT = 1048576.0; /* 2^20 */

static double sine_within_limit(double x, uint64_t quarter_turns)
{
    return x >= -TRIG_LIMIT && x <= TRIG_LIMIT ? stk_sine(x, quarter_turns) : (double)NAN;
}

double stk_exact_sin(double x)
{
    return x == 0.0 ? x : sine_within_limit(x, 0);
}

double stk_exact_cos(double x)
{
    return sine_within_limit(x, 1);
}

static const stk_dd LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^k, -1022 <= k <= 1023. */
static inline double power_of_two(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* log m, sqrt(1/2) <= m < sqrt(2), as 2 atanh(s) with s = (m - 1) / (m + 1): 2s in double-double, the rest
 * 2 s^3 (1/3 + s^2/5 + ...) in double. */
static stk_dd log_near_one(double m)
{
    double a = m - 1.0; /* exact here */
    stk_dd b = stk_two_sum(m, 1.0);
    double s = a / b.hi;
    stk_dd back = stk_two_product(s, b.hi);
    double s_lo = (((a - back.hi) - back.lo) - s * b.lo) / b.hi;
    double z = s * s, series = 0.0;
    for (int k = 27; k >= 3; k -= 2) series = series * z + 1.0 / k;
    return stk_quick_two_sum(2.0 * s, 2.0 * (s_lo + s * z * series));
}

double stk_exact_log(double x)
{
    if (x != x) return x;
    if (x < 0.0) return (double)NAN;
    if (x == 0.0) return -(double)INFINITY;
    if (x > DBL_MAX) return x;
    int exponent = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        exponent = -54;
    }
    uint64_t bits = bits_of(x);
    exponent += (int)(bits >> 52) - 1023;
    double m;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m);
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    stk_dd e = {(double)exponent, 0.0};
    stk_dd sum = stk_dd_add(stk_dd_mul(e, LN2), log_near_one(m));
    return sum.hi + sum.lo;
}

/* x - k * ln 2. ln 2 in pieces of 42 and 42 bits (exact products with |k| < 2^11) and a rest. */
static stk_dd reduce_ln2(double x, double k)
{
    stk_dd r = stk_two_sum(x - k * 0x1.62e42fefa38p-1, -(k * 0x1.ef35793c76p-45));
    return stk_quick_two_sum(r.hi, r.lo - k * 0x1.cc01f97b57a08p-87);
}

double stk_exact_exp(double x)
{
    static const stk_dd ONE = {1.0, 0.0}, HALF = {0.5, 0.0};
    if (x != x) return x;
    if (x > 709.782712893384) return (double)INFINITY;
    if (x < -745.1332191019412) return 0.0;
    double k = stk_nearest(x * 0x1.71547652b82fep+0);
    stk_dd r = reduce_ln2(x, k), r2 = stk_dd_mul(r, r);
    double z = r.hi, rest = 0.0;
    static const double FACTORIALS[] = {6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0,
                                        39916800.0, 479001600.0, 6227020800.0, 87178291200.0};
    for (int i = 11; i >= 0; i--) rest = rest * z + 1.0 / FACTORIALS[i];
    stk_dd sum = stk_dd_add(stk_dd_add(ONE, r), stk_dd_mul(r2, HALF));
    double y = sum.hi + (sum.lo + r2.hi * z * rest);
    /* Two factors, so that neither leaves the range of normal numbers. */
    int n = (int)k, first = n / 2;
    return y * power_of_two(first) * power_of_two(n - first);
}
