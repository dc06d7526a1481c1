/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/kernels.h"

#include "codec/kernels_families.h"

static const stk_kernels SCALAR = {.family = STK_FAMILY_SCALAR, .normalise = stk_normalise_scalar};

const stk_kernels *stk_kernels_for(stk_family family)
{
#if defined(__x86_64__)
    if (family == STK_FAMILY_AVX2) return &stk_kernels_avx2;
    if (family == STK_FAMILY_AVX512) return &stk_kernels_avx512;
#endif
    (void)family;
    return &SCALAR;
}
