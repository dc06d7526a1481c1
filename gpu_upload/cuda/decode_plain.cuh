/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles on devices before sm_80: one thread a segment, hd_decode.h as it is. */
#ifndef STK_CUDA_DECODE_PLAIN_CUH
#define STK_CUDA_DECODE_PLAIN_CUH

#include "gpu_upload/cuda/stages.cuh"
#include "gpu_upload/hd_decode.h"

namespace stk {

__global__ void __launch_bounds__(STK_GPU_SEGMENTS_PER_ITEM) decode_plain(const stk_gpu_group g)
{
    __shared__ stk_hd_tables tables;
    __shared__ uint8_t natural_of[64];
    if (blockIdx.x >= g.n_decode_items) {
        prepare_image(g, g.images + (blockIdx.x - g.n_decode_items));
        return;
    }
    const stk_gpu_item item = g.decode_items[blockIdx.x];
    const stk_gpu_image *im = g.images + item.image;
    const stk_gather_tables *t = (const stk_gather_tables *)((im->resident ? g.resident : g.bytes) + im->tables);
    if (threadIdx.x < 4) stk_hd_long_build(t->counts[threadIdx.x], &tables.longs[threadIdx.x]);
    if (threadIdx.x < 64) natural_of[stk_hd_zigzag_of(threadIdx.x)] = (uint8_t)threadIdx.x;
    __syncthreads();
    if (threadIdx.x >= item.n) return;
    const uint8_t *buffer = im->resident ? g.resident : g.bytes;
    uint64_t size = im->resident ? g.resident_size : g.bytes_size;
    if (!stk_hd_segment(im, t, &tables, (const uint32_t *)(t + 1), buffer + im->segments, size - im->segments,
                        item.first + threadIdx.x, natural_of, g.scratch))
        say_bad(g, im);
}

} // namespace stk

#endif
