/* SPDX-License-Identifier: Apache-2.0 */
#include "common/exact_math.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "common/hash.h"
#include "common/rng.h"
#include "support/check.h"

/* Distance between y and the true value in units of y's last place. long double is the judge: it must be
 * wider than double to be one. */
static double error_ulps(double y, long double truth)
{
    int exponent;
    (void)frexp(y, &exponent);
    long double ulp = ldexpl(1.0L, exponent - 53 < -1074 ? -1074 : exponent - 53);
    return (double)(fabsl((long double)y - truth) / ulp);
}

enum { N = 300000 };

static double uniform(stk_rng *rng, double low, double high)
{
    return low + (high - low) * stk_rng_double(rng);
}

#if LDBL_MANT_DIG >= 64
static void near_correct_rounding(void)
{
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    double worst[4] = {0};
    for (int i = 0; i < N; i++) {
        double x = uniform(&rng, -9.5, 9.5), p = stk_exact_exp(uniform(&rng, -40.0, 40.0)),
               e = uniform(&rng, -700.0, 700.0);
        worst[0] = fmax(worst[0], error_ulps(stk_exact_sin(x), sinl(x)));
        worst[1] = fmax(worst[1], error_ulps(stk_exact_cos(x), cosl(x)));
        worst[2] = fmax(worst[2], error_ulps(stk_exact_log(p), logl(p)));
        worst[3] = fmax(worst[3], error_ulps(stk_exact_exp(e), expl(e)));
    }
    printf("worst error in ulp: sin %.4f cos %.4f log %.4f exp %.4f\n", worst[0], worst[1], worst[2], worst[3]);
    for (int k = 0; k < 4; k++) CHECK(worst[k] <= 0.55);
}

/* Where it is hard: near multiples of pi (sin), of pi/2 (cos), near one (log), and large angles. */
static void hard_places(void)
{
    const double pi = 3.14159265358979323846;
    double worst[4] = {0};
    for (int i = 1; i <= 3000; i++) {
        double s = pi * i / 3.0, big = 1048576.0 - i * 97.3;
        double l = 1.0 + ldexp(i % 2 ? 1.0 : -1.0, -(i % 53)) * (1.0 - i / 7000.0);
        worst[0] = fmax(worst[0], error_ulps(stk_exact_sin(s), sinl(s)));
        worst[1] = fmax(worst[1], error_ulps(stk_exact_cos(s * 0.5), cosl(s * 0.5)));
        if (l > 0) worst[2] = fmax(worst[2], error_ulps(stk_exact_log(l), logl(l)));
        worst[3] = fmax(worst[3], error_ulps(stk_exact_sin(big), sinl(big)));
    }
    printf("worst error in ulp: sin %.4f cos %.4f log %.4f large sin %.4f\n", worst[0], worst[1], worst[2],
           worst[3]);
    for (int k = 0; k < 4; k++) CHECK(worst[k] <= 0.55);
}
#endif

static void special_values(void)
{
    CHECK(stk_exact_sin(0.0) == 0.0 && !signbit(stk_exact_sin(0.0)) && signbit(stk_exact_sin(-0.0)));
    CHECK(stk_exact_cos(0.0) == 1.0);
    CHECK(stk_exact_sin(0x1p-40) == 0x1p-40);
    CHECK(isnan(stk_exact_sin((double)INFINITY)) && isnan(stk_exact_cos((double)NAN)) &&
          isnan(stk_exact_sin(2e6)));
    CHECK(stk_exact_log(1.0) == 0.0 && !signbit(stk_exact_log(1.0)));
    CHECK(stk_exact_log(0.0) == -(double)INFINITY && isnan(stk_exact_log(-1.0)));
    CHECK(stk_exact_log((double)INFINITY) == (double)INFINITY && isnan(stk_exact_log((double)NAN)));
    CHECK(stk_exact_log(0x1p-1074) == -0x1.74385446d71c3p+9);
    CHECK(stk_exact_exp(0.0) == 1.0 && stk_exact_exp(1.0) == 0x1.5bf0a8b145769p+1);
    CHECK(stk_exact_exp(-1e9) == 0.0 && stk_exact_exp(1e9) == (double)INFINITY &&
          isnan(stk_exact_exp((double)NAN)));
    CHECK(stk_exact_exp(-745.0) == 0x1p-1074);
}

/* The bytes of 1,000,000 results: any machine, compiler or flag that computes them differently would give
 * other crops and other pixels. */
static void golden(void)
{
    static double values[4096];
    stk_hasher *hasher = stk_hasher_open();
    stk_rng rng = stk_rng_for(2, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    uint64_t n = 0;
    for (int block = 0; block < 250; block++) {
        for (int i = 0; i < 4000; i += 4) {
            double x = uniform(&rng, -12.0, 12.0);
            values[i] = stk_exact_sin(x);
            values[i + 1] = stk_exact_cos(x);
            values[i + 2] = stk_exact_log(fabs(x));
            values[i + 3] = stk_exact_exp(x);
        }
        stk_hasher_add(hasher, values, 4000 * sizeof values[0]);
        n += 4000;
    }
    CHECK_EQ(n, 1000000);
    uint64_t hash = stk_hasher_result64(hasher);
    stk_hasher_close(&hasher);
    CHECK(hash == 0x4f444b57439f86acu);
}

int main(void)
{
#if LDBL_MANT_DIG >= 64
    RUN(near_correct_rounding);
    RUN(hard_places);
#else
    printf("accuracy not tested: long double is no wider than double here\n");
#endif
    RUN(special_values);
    RUN(golden);
    return check_exit();
}
