/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner part of exact_math.c that vector code needs too: a sine without branches, for the compiler to work on
 * many arguments at once. Compiled into scalar and vector code it gives the same bits, since only IEEE additions
 * and multiplications are in it.
 *
 * Method: reduce the argument to a small interval as an unevaluated sum of two doubles ("double-double",
 * Dekker 1971), take the leading terms of the Taylor series in that form and the small rest in plain double.
 * The rest is at most 2^-6 of the result, so its rounding errors hardly reach the last place. */
#ifndef STK_COMMON_EXACT_SINE_H
#define STK_COMMON_EXACT_SINE_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "stoker needs doubles that are computed as doubles (x86: -mfpmath=sse)"
#endif

/* Loops around these become vector code only when everything is inlined. */
#define STK_SINE_INLINE static inline __attribute__((always_inline))

typedef struct stk_dd {
    double hi, lo;
} stk_dd;

/* a + b exactly, |a| >= |b|. */
STK_SINE_INLINE stk_dd stk_quick_two_sum(double a, double b)
{
    double s = a + b;
    return (stk_dd){s, b - (s - a)};
}

/* a + b exactly (Knuth). */
STK_SINE_INLINE stk_dd stk_two_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (stk_dd){s, (a - (s - t)) + (b - t)};
}

/* The upper 26 bits of a (Veltkamp). |a| < 2^990. */
STK_SINE_INLINE double stk_upper_half(double a)
{
    double t = 134217729.0 * a;
    return t - (t - a);
}

/* a * b exactly (Dekker); no fused multiply-add, which not every machine has. */
STK_SINE_INLINE stk_dd stk_two_product(double a, double b)
{
    double p = a * b, ah = stk_upper_half(a), al = a - ah, bh = stk_upper_half(b), bl = b - bh;
    return (stk_dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

STK_SINE_INLINE stk_dd stk_dd_add(stk_dd a, stk_dd b)
{
    stk_dd s = stk_two_sum(a.hi, b.hi);
    return stk_quick_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

STK_SINE_INLINE stk_dd stk_dd_mul(stk_dd a, stk_dd b)
{
    stk_dd p = stk_two_product(a.hi, b.hi);
    return stk_quick_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* Nearest integer of |x| < 2^51 in the default rounding mode. */
STK_SINE_INLINE double stk_nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* x - n * pi/2, |result| <= pi/4 and a bit. pi/2 in three pieces of 33 bits (their products with n < 2^20 are
 * exact) and a rest. */
STK_SINE_INLINE stk_dd stk_reduce_half_pi(double x, double n)
{
    stk_dd r = stk_two_sum(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
    r = stk_dd_add(r, stk_two_sum(-(n * 0x1.3198a2ep-69), -(n * 0x1.b839a252049c1p-104)));
    return r;
}

/* sin(r), |r| <= pi/4: r - r^3/6 in double-double, the terms from r^5/120 on in double. */
STK_SINE_INLINE double stk_sin_small(stk_dd r)
{
    const stk_dd MINUS_SIXTH = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
    stk_dd r2 = stk_dd_mul(r, r), cubic = stk_dd_mul(stk_dd_mul(r2, r), MINUS_SIXTH);
    double z = r2.hi;
    double rest = 1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                  z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0))))));
    stk_dd sum = stk_dd_add(r, cubic);
    return sum.hi + (sum.lo + z * z * r.hi * rest);
}

/* cos(r), |r| <= pi/4: 1 - r^2/2 + r^4/24 in double-double, the terms from r^6/720 on in double. */
STK_SINE_INLINE double stk_cos_small(stk_dd r)
{
    const stk_dd ONE = {1.0, 0.0}, MINUS_HALF = {-0.5, 0.0}, TWENTY_FOURTH = {0x1.5555555555555p-5,
                                                                                0x1.5555555555555p-59};
    stk_dd r2 = stk_dd_mul(r, r);
    double z = r2.hi;
    double rest = -1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600 +
                  z * (-1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0)))));
    stk_dd sum =
        stk_dd_add(stk_dd_add(ONE, stk_dd_mul(r2, MINUS_HALF)), stk_dd_mul(stk_dd_mul(r2, r2), TWENTY_FOURTH));
    return sum.hi + (sum.lo + z * z * z * rest);
}

/* sin(x + quarter_turns * pi/2), |x| <= 2^20. Both series are computed and one is chosen. */
STK_SINE_INLINE double stk_sine(double x, uint64_t quarter_turns)
{
    /* Adding 1.5 * 2^52 leaves the nearest integer in the low bits, two's complement. */
    double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    uint64_t quadrant = bits + quarter_turns;
    stk_dd r = stk_reduce_half_pi(x, shifted - 0x1.8p52);
    double s = stk_sin_small(r), c = stk_cos_small(r);
    double y = (quadrant & 1) != 0 ? c : s;
    return (quadrant & 2) != 0 ? -y : y;
}

#endif
