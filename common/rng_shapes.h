/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers of other distributions, from the counter generator, with our own elementary functions: the same
 * bits on every machine. */
#ifndef STK_COMMON_RNG_SHAPES_H
#define STK_COMMON_RNG_SHAPES_H

#include "common/rng.h"

/* Uniform in low .. high. */
double stk_rng_between(stk_rng *rng, double low, double high);
/* Standard normal (Box and Muller 1958; one of its two values). */
double stk_rng_normal(stk_rng *rng);
/* Beta(alpha, alpha), alpha > 0. */
double stk_rng_beta(stk_rng *rng, double alpha);

#endif
