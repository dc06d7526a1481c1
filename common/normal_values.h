/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of the standard normal distribution, as a function of their number in a stream, so that they can be computed in
 * any order, on a device too. One is looked up: 12 random bits choose one of 4,096 equally likely intervals of the
 * distribution, 20 more a place in it. That takes 1 ns, where Box and Muller's method with our own logarithm and cosine
 * takes 60, and a third of an image has 50,000 elements. */
#ifndef STK_COMMON_NORMAL_VALUES_H
#define STK_COMMON_NORMAL_VALUES_H

#include "common/pixel_math.h"
#include "common/rng.h"

enum { STK_NORMAL_BINS = 4096 };

/* Quantiles of the distribution: the borders of the intervals. */
void stk_normal_fill(float borders[STK_NORMAL_BINS + 1]);

/* Value number i of the stream with this key (stk_rng.key). */
STK_PX float stk_normal_at(const float *borders, uint64_t key, uint64_t i)
{
    stk_rng rng = {key, i / 2};
    uint32_t bits = (uint32_t)(stk_rng_u64(&rng) >> (32 * (i % 2)));
    const float *low = &borders[bits >> 20];
    return low[0] + (float)(bits & 0xfffff) * (1.0f / 1048576.0f) * (low[1] - low[0]);
}

/* The level nearest to x, halves to even. */
STK_PX uint8_t stk_px_level(float x)
{
    return stk_px_nearest(x < 0 ? 0 : x > 255 ? 255 : x);
}

#endif
