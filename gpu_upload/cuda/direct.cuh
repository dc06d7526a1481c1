/* SPDX-License-Identifier: Apache-2.0
 *
 * hd_direct.h's batches: one block an image, which draws the image's crop once and copies its pixels through the table. */
#ifndef STK_CUDA_DIRECT_CUH
#define STK_CUDA_DIRECT_CUH

#include "gpu_upload/hd_direct.h"

namespace stk {

constexpr int DIRECT_THREADS = 256;

template <typename T, bool U8> __global__ void __launch_bounds__(DIRECT_THREADS) direct(const stk_gpu_direct d)
{
    __shared__ stk_hd_view view;
    __shared__ T norm[U8 ? 1 : 3 * 256];
    const stk_gpu_output *o = &d.output;
    if (threadIdx.x == 0) view = stk_hd_direct_view(&d, blockIdx.x);
    if (!U8)
        for (uint32_t i = threadIdx.x; i < 3 * 256; i += DIRECT_THREADS) norm[i] = ((const T *)d.norm)[i];
    __syncthreads();
    T *image = (T *)(d.out + blockIdx.x * o->image_bytes);
    for (uint32_t i = threadIdx.x; i < o->width * o->height; i += DIRECT_THREADS) {
        const uint32_t y = i / o->width, x = i % o->width;
        uint8_t bytes[3];
        if (view.rows != nullptr) stk_hd_direct_pixel(&d, &view, (int32_t)x, (int32_t)y, bytes);
        for (uint32_t c = 0; c < o->channels; c++)
            image[stk_hd_element(o, c, x, y)] = view.rows == nullptr ? (T)0 : U8 ? (T)bytes[c] : norm[c * 256 + bytes[c]];
    }
}

} // namespace stk

#endif
