/* SPDX-License-Identifier: Apache-2.0
 *
 * Method: reduce the argument to a small interval as an unevaluated sum of two doubles ("double-double",
 * Dekker 1971), take the leading terms of the Taylor series in that form and the small rest in plain double.
 * The rest is at most 2^-6 of the result, so its rounding errors hardly reach the last place. */
#include "common/exact_math.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "stoker needs doubles that are computed as doubles (x86: -mfpmath=sse)"
#endif

typedef struct dd {
    double hi, lo;
} dd;

/* a + b exactly, |a| >= |b|. */
static inline dd quick_two_sum(double a, double b)
{
    double s = a + b;
    return (dd){s, b - (s - a)};
}

/* a + b exactly (Knuth). */
static inline dd two_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (dd){s, (a - (s - t)) + (b - t)};
}

/* The upper 26 bits of a (Veltkamp). |a| < 2^990. */
static inline double upper_half(double a)
{
    double t = 134217729.0 * a;
    return t - (t - a);
}

/* a * b exactly (Dekker); no fused multiply-add, which not every machine has. */
static inline dd two_product(double a, double b)
{
    double p = a * b, ah = upper_half(a), al = a - ah, bh = upper_half(b), bl = b - bh;
    return (dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline dd dd_add(dd a, dd b)
{
    dd s = two_sum(a.hi, b.hi);
    return quick_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

static inline dd dd_mul(dd a, dd b)
{
    dd p = two_product(a.hi, b.hi);
    return quick_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* Nearest integer of |x| < 2^51 in the default rounding mode. */
static inline double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* x - n * pi/2, |result| <= pi/4 and a bit. pi/2 in three pieces of 33 bits (their products with n < 2^20 are
 * exact) and a rest. */
static dd reduce_half_pi(double x, double n)
{
    dd r = two_sum(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
    r = dd_add(r, two_sum(-(n * 0x1.3198a2ep-69), -(n * 0x1.b839a252049c1p-104)));
    return r;
}

/* sin(r), |r| <= pi/4: r - r^3/6 in double-double, the terms from r^5/120 on in double. */
static double sin_small(dd r)
{
    static const dd MINUS_SIXTH = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
    dd r2 = dd_mul(r, r), cubic = dd_mul(dd_mul(r2, r), MINUS_SIXTH);
    double z = r2.hi;
    double rest = 1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                  z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0))))));
    dd sum = dd_add(r, cubic);
    return sum.hi + (sum.lo + z * z * r.hi * rest);
}

/* cos(r), |r| <= pi/4: 1 - r^2/2 + r^4/24 in double-double, the terms from r^6/720 on in double. */
static double cos_small(dd r)
{
    static const dd ONE = {1.0, 0.0}, MINUS_HALF = {-0.5, 0.0}, TWENTY_FOURTH = {0x1.5555555555555p-5,
                                                                                0x1.5555555555555p-59};
    dd r2 = dd_mul(r, r);
    double z = r2.hi;
    double rest = -1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600 +
                  z * (-1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0)))));
    dd sum = dd_add(dd_add(ONE, dd_mul(r2, MINUS_HALF)), dd_mul(dd_mul(r2, r2), TWENTY_FOURTH));
    return sum.hi + (sum.lo + z * z * z * rest);
}

static const double TRIG_LIMIT = 1048576.0; /* 2^20 */

/* sin(x + quarter_turns * pi/2). */
static double sin_shifted(double x, unsigned quarter_turns)
{
    if (!(x >= -TRIG_LIMIT && x <= TRIG_LIMIT)) return (double)NAN;
    double n = nearest(x * 0x1.45f306dc9c883p-1);
    dd r = reduce_half_pi(x, n);
    unsigned quadrant = ((unsigned)(int64_t)n + quarter_turns) & 3;
    double y = quadrant & 1 ? cos_small(r) : sin_small(r);
    return quadrant & 2 ? -y : y;
}

double stk_exact_sin(double x)
{
    return x == 0.0 ? x : sin_shifted(x, 0);
}

double stk_exact_cos(double x)
{
    return sin_shifted(x, 1);
}

static const dd LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

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
static dd log_near_one(double m)
{
    double a = m - 1.0; /* exact here */
    dd b = two_sum(m, 1.0);
    double s = a / b.hi;
    dd back = two_product(s, b.hi);
    double s_lo = (((a - back.hi) - back.lo) - s * b.lo) / b.hi;
    double z = s * s, series = 0.0;
    for (int k = 27; k >= 3; k -= 2) series = series * z + 1.0 / k;
    return quick_two_sum(2.0 * s, 2.0 * (s_lo + s * z * series));
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
    dd e = {(double)exponent, 0.0};
    dd sum = dd_add(dd_mul(e, LN2), log_near_one(m));
    return sum.hi + sum.lo;
}

/* x - k * ln 2. ln 2 in pieces of 42 and 42 bits (exact products with |k| < 2^11) and a rest. */
static dd reduce_ln2(double x, double k)
{
    dd r = two_sum(x - k * 0x1.62e42fefa38p-1, -(k * 0x1.ef35793c76p-45));
    return quick_two_sum(r.hi, r.lo - k * 0x1.cc01f97b57a08p-87);
}

double stk_exact_exp(double x)
{
    static const dd ONE = {1.0, 0.0}, HALF = {0.5, 0.0};
    if (x != x) return x;
    if (x > 709.782712893384) return (double)INFINITY;
    if (x < -745.1332191019412) return 0.0;
    double k = nearest(x * 0x1.71547652b82fep+0);
    dd r = reduce_ln2(x, k), r2 = dd_mul(r, r);
    double z = r.hi, rest = 0.0;
    static const double FACTORIALS[] = {6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0,
                                        39916800.0, 479001600.0, 6227020800.0, 87178291200.0};
    for (int i = 11; i >= 0; i--) rest = rest * z + 1.0 / FACTORIALS[i];
    dd sum = dd_add(dd_add(ONE, r), dd_mul(r2, HALF));
    double y = sum.hi + (sum.lo + r2.hi * z * rest);
    /* Two factors, so that neither leaves the range of normal numbers. */
    int n = (int)k, first = n / 2;
    return y * power_of_two(first) * power_of_two(n - first);
}
