/* SPDX-License-Identifier: Apache-2.0
 *
 * The AVX2 family (Haswell, Zen and later). */
#include "codec/kernels_avx2.h"

#if defined(__x86_64__)

#include "codec/kernels_families.h"

static const stk_tail_ops TAIL = {
    .prepare_axis = stk_avx2_prepare_axis,
    .across = stk_avx2_across,
    .down = stk_avx2_down,
    .ycc_row = stk_avx2_ycc_row,
    .split_row = stk_avx2_split_row,
    .grey_row = stk_avx2_grey_row,
    .join_row = stk_avx2_join_row,
    .copy_pixels = stk_avx2_copy_pixels,
};

const stk_kernels stk_kernels_avx2 = {
    .family = STK_FAMILY_AVX2,
    .tail = &TAIL,
    .normalise = stk_avx2_normalise,
};

#endif
