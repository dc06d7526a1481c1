/* SPDX-License-Identifier: Apache-2.0
 *
 * pixel_rows.h compiled for the AVX512 family. */
#if defined(__x86_64__)
#include "codec/pixel_rows.h"

const stk_row_ops stk_row_ops_avx512 = STK_ROW_OPS;

#endif
