/* SPDX-License-Identifier: Apache-2.0 */
#include "common/normal_values.h"

#include <math.h>

#include "common/exact_math.h"

/* Quantile of the standard normal distribution, 0 < p < 1; P. J. Acklam's rational approximation, relative error
 * below 1.2e-9. */
static double quantile(double p)
{
    if (p > 0.5) return -quantile(1 - p);
    if (p < 0.02425) {
        double q = sqrt(-2 * stk_exact_log(p));
        double top = ((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q -
                       2.549732539343734) * q + 4.374664141464968) * q + 2.938163982698783;
        return top / ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q +
                       3.754408661907416) * q + 1);
    }
    double q = p - 0.5, r = q * q;
    double top = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
                    1.383577518672690e+02) * r - 3.066479806614716e+01) * r + 2.506628277459239) * q;
    return top / (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
                    6.680131188771972e+01) * r - 1.328068155288572e+01) * r + 1);
}

void stk_normal_fill(float borders[STK_NORMAL_BINS + 1])
{
    for (int i = 1; i < STK_NORMAL_BINS; i++) borders[i] = (float)quantile((double)i / STK_NORMAL_BINS);
    /* The outermost intervals have no end; with this one the variance is 1 to within 0.01 %. */
    borders[STK_NORMAL_BINS] = 4.1f;
    borders[0] = -4.1f;
}
