/* SPDX-License-Identifier: Apache-2.0
 *
 * An image's Huffman tables and quantisers in shared memory, built by the whole block. */
#ifndef STK_CUDA_DECODE_TABLES_CUH
#define STK_CUDA_DECODE_TABLES_CUH

#include <stoker/gather.h>

#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/hd_decode.h"

namespace stk {

/* For the host, and for the kernels that follow: of all views of the sample. */
__device__ __forceinline__ void say_bad(const stk_gpu_group &g, const stk_gpu_image *im)
{
    const uint32_t view = im->entry % g.n_views;
    stk_gpu_image *views = const_cast<stk_gpu_image *>(im) - view;
    int32_t *status = g.status + (im->entry - view);
    for (uint32_t v = 0; v < g.n_views; v++) views[v].bad = status[v] = 1;
}

/* A table entry as the symbol loop wants it, every field the operand of one instruction: bits 0-4 length of the code (a
 * left shift); 5-9 32 - size of the value (a right shift, modulo 32); 10 set when there is a value; 11 end of block;
 * from 16 on what is added to a lane's place: bits in all, and from bit 7 of that the coefficients to advance. 0 = a
 * code longer than the table, or none. */
enum : uint32_t { FAST_VALUE = 1u << 10, FAST_END = 1u << 11 };
__device__ __forceinline__ uint32_t fast_entry(stk_hd_entry e)
{
    if (e == 0) return 0;
    const uint32_t code = STK_HD_CODE_BITS(e), size = STK_HD_SIZE(e), advance = STK_HD_ADVANCE(e);
    return code | (32 - size & 31) << 5 | (size > 0 ? FAST_VALUE : 0) | (advance == 64 ? FAST_END : 0) |
           (code + size + advance * 128) << 16;
}

/* A block of an MCU. */
struct BlockInfo {
    uint32_t component, offset, step; /* in blocks of its plane: from the tile's first block; from MCU to MCU */
};

struct DecodeTables {
    uint32_t ac[2][1 << STK_HD_AC_BITS];
    uint32_t dc[2][1 << STK_HD_DC_BITS];
    stk_hd_long longs[4];
    int4 quant[3][16]; /* columns of eight */
    BlockInfo blocks[12];
    uint8_t dc_symbols[2][16], ac_symbols[2][168];
    uint32_t keys[STK_GPU_SEGMENTS_PER_ITEM], order[STK_GPU_SEGMENTS_PER_ITEM];
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

/* Segments by length, longest first, so that those that a warp decodes in lockstep are alike. */
__device__ __forceinline__ void order_segments(DecodeTables *s, const stk_gpu_image *im, const uint16_t *lengths, uint32_t first,
                                               uint32_t n)
{
    const uint32_t tid = threadIdx.x;
    const uint32_t key = (tid < n ? lengths[stk_hd_listed(im, first + tid)] + 1u : 0) << 8 | tid;
    s->keys[tid] = key;
    __syncthreads();
    uint32_t rank = 0;
    #pragma unroll 8
    for (int i = 0; i < STK_GPU_SEGMENTS_PER_ITEM / 4; i++) {
        const uint4 k = ((const uint4 *)s->keys)[i];
        rank += (k.x > key) + (k.y > key) + (k.z > key) + (k.w > key);
    }
    s->order[rank] = tid;
}

__device__ __forceinline__ void build_tables(DecodeTables *s, const stk_gather_tables *t, const stk_gpu_image *im)
{
    const int tid = threadIdx.x, n = blockDim.x;
    if (tid < 4) stk_hd_long_build(t->counts[tid], &s->longs[tid]);
    for (int i = tid; i < 2 * 16; i += n) s->dc_symbols[i / 16][i % 16] = t->dc_symbols[i / 16][i % 16];
    for (int i = tid; i < 2 * 168; i += n) s->ac_symbols[i / 168][i % 168] = t->ac_symbols[i / 168][i % 168];
    for (int i = tid; i < 3 * 64; i += n)
        ((int *)s->quant)[i] = t->quant[i / 64][stk_hd_zigzag_of((i & 7) * 8 + (i >> 3 & 7))];
    if (tid < (int)im->mcu_blocks) {
        const uint32_t c = im->block_component[tid];
        s->blocks[tid] = {c, im->block_y[tid] * im->planes[c].block_stride + im->block_x[tid], im->h[c]};
    }
    __syncthreads();
    for (int i = tid; i < 2 << STK_HD_AC_BITS; i += n) {
        int k = i >> STK_HD_AC_BITS, prefix = i & ((1 << STK_HD_AC_BITS) - 1);
        s->ac[k][prefix] = fast_entry(stk_hd_table_entry(&s->longs[2 * k + 1], s->ac_symbols[k], 1, prefix, STK_HD_AC_BITS));
    }
    for (int i = tid; i < 2 << STK_HD_DC_BITS; i += n) {
        int k = i >> STK_HD_DC_BITS, prefix = i & ((1 << STK_HD_DC_BITS) - 1);
        s->dc[k][prefix] = fast_entry(stk_hd_table_entry(&s->longs[2 * k], s->dc_symbols[k], 0, prefix, STK_HD_DC_BITS));
    }
    __syncthreads();
}

} // namespace stk

#endif
