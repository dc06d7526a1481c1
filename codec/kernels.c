/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/kernels.h"

#include "codec/kernels_families.h"

const stk_kernels *stk_kernels_for(stk_family family)
{
    (void)family;
    return &stk_kernels_scalar;
}
