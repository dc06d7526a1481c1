/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions whose every bit is ours. Crops and resampling coefficients depend on them, and libm's
 * last bit differs between versions and machines; these use only IEEE additions, multiplications and
 * divisions in a fixed order (compile with -ffp-contract=off), so every machine gives the same double.
 *
 * Error: below 0.55 units in the last place (tests/unit/test_exact_math.c measures it), that is, the
 * correctly rounded result in all but a few per cent of arguments. Pure functions; any thread. */
#ifndef STK_COMMON_EXACT_MATH_H
#define STK_COMMON_EXACT_MATH_H

/* Radians, |x| <= 2^20; NaN beyond that, and for NaN. */
double stk_exact_sin(double x);
double stk_exact_cos(double x);

/* Natural logarithm. -inf at 0, NaN below. */
double stk_exact_log(double x);

/* e^x; inf above 709.78, 0 below -745.13. (Subnormal results are rounded twice: 1 unit in the last place.) */
double stk_exact_exp(double x);

#endif
