/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that run on host and device alike: the kernels' arithmetic lives in hd_*.h, so that the dummy back end
 * runs the very code of the CUDA kernels, under sanitizers and without a GPU. C11 and CUDA C++. */
#ifndef STK_GPU_HD_BASE_H
#define STK_GPU_HD_BASE_H

#include <stdint.h>

#ifdef __CUDACC__
#define STK_HD static __host__ __device__ __forceinline__
#else
#define STK_HD static inline
#endif

STK_HD int32_t stk_hd_min(int32_t a, int32_t b) { return a < b ? a : b; }
STK_HD int32_t stk_hd_max(int32_t a, int32_t b) { return a > b ? a : b; }
STK_HD int32_t stk_hd_clamp(int32_t v, int32_t low, int32_t high) { return v < low ? low : v > high ? high : v; }
STK_HD uint8_t stk_hd_clip8(int32_t v) { return (uint8_t)stk_hd_clamp(v, 0, 255); }

#endif
