/* SPDX-License-Identifier: Apache-2.0
 *
 * What the micro benchmarks share. */
#ifndef STK_BENCH_MICRO_CROP_H
#define STK_BENCH_MICRO_CROP_H

#include <math.h>
#include <stdint.h>

#include <stoker/types.h>

#include "common/rng.h"

/* torchvision's RandomResizedCrop, without its fallback's finer points. */
static inline stk_box random_crop(uint32_t width, uint32_t height, stk_rng *rng)
{
    for (int i = 0; i < 10; i++) {
        double area = width * (double)height * (0.08 + 0.92 * stk_rng_double(rng));
        double ratio = exp(log(3.0 / 4) + (log(4.0 / 3) - log(3.0 / 4)) * stk_rng_double(rng));
        int32_t w = (int32_t)lround(sqrt(area * ratio)), h = (int32_t)lround(sqrt(area / ratio));
        if (w < 1 || h < 1 || (uint32_t)w > width || (uint32_t)h > height) continue;
        int32_t x = (int32_t)stk_rng_below(rng, width - (uint32_t)w + 1);
        return (stk_box){x, (int32_t)stk_rng_below(rng, height - (uint32_t)h + 1), w, h};
    }
    return (stk_box){0, 0, (int32_t)width, (int32_t)height};
}

#endif
