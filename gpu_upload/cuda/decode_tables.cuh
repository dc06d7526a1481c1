/* SPDX-License-Identifier: Apache-2.0
 *
 * An image's Huffman tables and quantisers in shared memory, built by the whole block. */
#ifndef STK_CUDA_DECODE_TABLES_CUH
#define STK_CUDA_DECODE_TABLES_CUH

#include <stoker/gather.h>

#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/hd_decode.h"

namespace stk {

struct DecodeTables {
    uint32_t ac[2][1 << STK_HD_AC_BITS];
    uint32_t dc[2][1 << STK_HD_DC_BITS];
    stk_hd_long longs[4];
    int quant[3][64]; /* natural order */
    uint8_t dc_symbols[2][16], ac_symbols[2][168];
};

/* constexpr, so that unrolled loops have it in their addresses. */
__device__ __forceinline__ constexpr int zigzag(int n)
{
    constexpr unsigned char table[64] = {0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42,
                                         3,  8,  12, 17, 25, 30, 41, 43, 9,  11, 18, 24, 31, 40, 44, 53,
                                         10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
                                         21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};
    return table[n];
}

__device__ __forceinline__ void build_tables(DecodeTables *s, const stk_gather_tables *t)
{
    const int tid = threadIdx.x, n = blockDim.x;
    if (tid < 4) stk_hd_long_build(t->counts[tid], &s->longs[tid]);
    for (int i = tid; i < 2 * 16; i += n) s->dc_symbols[i / 16][i % 16] = t->dc_symbols[i / 16][i % 16];
    for (int i = tid; i < 2 * 168; i += n) s->ac_symbols[i / 168][i % 168] = t->ac_symbols[i / 168][i % 168];
    for (int i = tid; i < 3 * 64; i += n) s->quant[i / 64][i % 64] = t->quant[i / 64][stk_hd_zigzag_of(i % 64)];
    __syncthreads();
    for (int i = tid; i < 2 << STK_HD_AC_BITS; i += n) {
        int k = i >> STK_HD_AC_BITS, prefix = i & ((1 << STK_HD_AC_BITS) - 1);
        s->ac[k][prefix] = stk_hd_table_entry(&s->longs[2 * k + 1], s->ac_symbols[k], 1, prefix, STK_HD_AC_BITS);
    }
    for (int i = tid; i < 2 << STK_HD_DC_BITS; i += n) {
        int k = i >> STK_HD_DC_BITS, prefix = i & ((1 << STK_HD_DC_BITS) - 1);
        s->dc[k][prefix] = stk_hd_table_entry(&s->longs[2 * k], s->dc_symbols[k], 0, prefix, STK_HD_DC_BITS);
    }
    __syncthreads();
}

} // namespace stk

#endif
