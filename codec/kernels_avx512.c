/* SPDX-License-Identifier: Apache-2.0
 *
 * The AVX-512 family: F, BW, VL, DQ, VBMI and VNNI (Ice Lake, Zen 4 and later). */
#include "codec/kernels_avx512.h"

#if defined(__x86_64__)

#include "codec/kernels_families.h"

static const stk_tail_ops TAIL = {
    .prepare_axis = stk_avx512_prepare_axis,
    .across = stk_avx512_across,
    .down = stk_avx512_down,
    .ycc_row = stk_avx512_ycc_row,
    .split_row = stk_avx512_split_row,
    .grey_row = stk_avx512_grey_row,
    .join_row = stk_avx512_join_row,
    .copy_pixels = stk_avx512_copy_pixels,
};

const stk_kernels stk_kernels_avx512 = {
    .family = STK_FAMILY_AVX512,
    .tail = &TAIL,
    .normalise = stk_avx512_normalise,
};

#endif
