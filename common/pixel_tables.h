/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations whose table follows from what a picture holds: Pillow's ImageEnhance.Contrast, ImageOps.autocontrast and
 * equalize, a channel at a time, for host and device. */
#ifndef STK_COMMON_PIXEL_TABLES_H
#define STK_COMMON_PIXEL_TABLES_H

#include "common/pixel_math.h"

/* ImageEnhance.Contrast: the mean of the picture's luma, rounded half up. */
STK_PX uint8_t stk_px_mean(uint64_t sum, uint64_t n) { return (uint8_t)((double)sum / (double)n + 0.5); }

STK_PX void stk_px_no_change(uint8_t *table)
{
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)v;
}

STK_PX void stk_px_autocontrast(const uint32_t *counts, uint8_t *table)
{
    int low = 0, high = 255;
    while (low < 255 && counts[low] == 0) low++;
    while (high > 0 && counts[high] == 0) high--;
    if (high <= low) {
        stk_px_no_change(table);
        return;
    }
    double scale = 255.0 / (high - low), offset = -low * scale;
    for (int v = 0; v < 256; v++) {
        double x = v * scale + offset;
        table[v] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}

STK_PX void stk_px_equalize(const uint32_t *counts, uint8_t *table)
{
    uint64_t sum = 0, n_used = 0, last = 0;
    for (int v = 0; v < 256; v++) {
        if (counts[v] == 0) continue;
        sum += counts[v];
        last = counts[v];
        n_used++;
    }
    uint64_t step = (sum - last) / 255;
    if (n_used <= 1 || step == 0) {
        stk_px_no_change(table);
        return;
    }
    uint64_t n = step / 2;
    for (int v = 0; v < 256; v++) {
        /* point() clips what a list holds. */
        table[v] = (uint8_t)(n / step > 255 ? 255 : n / step);
        n += counts[v];
    }
}

#endif
