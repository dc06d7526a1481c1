/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of gpu_steps.h. blockIdx.y is an operation, or an entry; blockIdx.x a stretch of its picture. Plain CUDA
 * that is C as well, without templates and warp intrinsics: tests/unit/test_gpu_kernels.c compiles this very file with
 * pthreads for a block's threads, and runs it. `first` is the operation, or the entry, of blockIdx.y = 0. */
#ifndef STK_CUDA_STEPS_CUH
#define STK_CUDA_STEPS_CUH

#include "gpu_upload/hd_steps.h"

#ifdef __cplusplus
namespace stk {
#endif

enum { STEP_THREADS = 256 };

/* The block's stretch of n things: [begin, end). */
typedef struct step_stretch {
    uint32_t begin, end;
} step_stretch;

static __device__ __forceinline__ step_stretch stretch_of(uint32_t n)
{
    step_stretch s;
    s.begin = blockIdx.x * (uint32_t)STK_GPU_PIXELS_PER_BLOCK;
    s.end = n - s.begin < (uint32_t)STK_GPU_PIXELS_PER_BLOCK ? n : s.begin + (uint32_t)STK_GPU_PIXELS_PER_BLOCK;
    return s;
}

__global__ void __launch_bounds__(STEP_THREADS) step_clear(const stk_gpu_steps s, uint32_t first)
{
    uint32_t *words = (uint32_t *)&s.counted[s.ops[first + blockIdx.y].slot];
    for (uint32_t i = threadIdx.x; i < sizeof(stk_gpu_counted) / 4; i += blockDim.x) words[i] = 0;
}

/* Counts are gathered in shared memory; what a block found is added to the picture's. */
__global__ void __launch_bounds__(STEP_THREADS) step_count(const stk_gpu_steps s, uint32_t first)
{
    __shared__ uint32_t counts[3][256];
    __shared__ uint32_t luma;
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    stk_gpu_counted *counted = &s.counted[op->slot];
    const uint32_t channels = s.output.channels;
    const step_stretch w = stretch_of(stk_hd_pixels(&s.output));
    uint32_t sum = 0; /* at most 4,096 times 255 a block */
    for (uint32_t i = threadIdx.x; i < 3 * 256; i += blockDim.x) counts[i / 256][i % 256] = 0;
    if (threadIdx.x == 0) luma = 0;
    __syncthreads();
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x) {
        const uint8_t *pixel = s.pictures + op->from + (uint64_t)i * channels;
        if (op->kind == STK_GPU_OP_CONTRAST) sum += channels == 3 ? stk_px_luma(pixel[0], pixel[1], pixel[2]) : pixel[0];
        else for (uint32_t c = 0; c < channels; c++) atomicAdd(&counts[c][pixel[c]], 1u);
    }
    if (op->kind == STK_GPU_OP_CONTRAST) atomicAdd(&luma, sum);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 3 * 256; i += blockDim.x)
        if (counts[i / 256][i % 256] != 0) atomicAdd(&counted->counts[i / 256][i % 256], counts[i / 256][i % 256]);
    if (threadIdx.x == 0 && luma != 0) atomicAdd(&counted->luma, (unsigned long long)luma);
}

/* A thread is a channel: 256 steps in order. */
__global__ void __launch_bounds__(STEP_THREADS) step_tables(const stk_gpu_steps s, uint32_t first)
{
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    for (uint32_t c = threadIdx.x; c < s.output.channels; c += blockDim.x)
        stk_hd_counted_table(op, &s.output, &s.counted[op->slot], c);
}

__global__ void __launch_bounds__(STEP_THREADS) step_point(const stk_gpu_steps s, uint32_t first)
{
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    const uint32_t channels = s.output.channels;
    const step_stretch w = stretch_of(stk_hd_pixels(&s.output));
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x)
        stk_hd_point(op, s.counted + op->slot, channels, s.pictures + op->from + (uint64_t)i * channels);
}

__global__ void __launch_bounds__(STEP_THREADS) step_move(const stk_gpu_steps s, uint32_t first)
{
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    const stk_gpu_output *o = &s.output;
    const step_stretch w = stretch_of(stk_hd_pixels(o));
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x)
        stk_hd_moved(op, s.weights, s.pictures + op->from, o, i % o->width, i / o->width,
                     s.pictures + op->to + (uint64_t)i * o->channels);
}

/* Blurs: blockIdx.x is a stretch of the picture's bytes. */
__global__ void __launch_bounds__(STEP_THREADS) step_blur_across(const stk_gpu_steps s, uint32_t first)
{
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    const uint32_t n = stk_hd_pixels(&s.output) * s.output.channels;
    const step_stretch w = stretch_of(n);
    float *plane = s.planes + (uint64_t)op->slot * n;
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x)
        plane[i] = stk_hd_blur_across(op, s.weights, s.pictures + op->from, &s.output, i);
}

__global__ void __launch_bounds__(STEP_THREADS) step_blur_down(const stk_gpu_steps s, uint32_t first)
{
    const stk_gpu_op *op = &s.ops[first + blockIdx.y];
    const uint32_t n = stk_hd_pixels(&s.output) * s.output.channels;
    const step_stretch w = stretch_of(n);
    const float *plane = s.planes + (uint64_t)op->slot * n;
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x)
        s.pictures[op->to + i] = stk_hd_blur_down(op, s.weights, plane, &s.output, i);
}

__global__ void __launch_bounds__(STEP_THREADS) step_finish(const stk_gpu_steps s, uint32_t first)
{
    const uint32_t entry = first + blockIdx.y;
    const stk_gpu_output *o = &s.output;
    const bool bad = stk_hd_entry_bad(&s, entry), mixes = stk_hd_entry_mixes(&s, entry);
    const step_stretch w = stretch_of(stk_hd_pixels(o));
    for (uint32_t i = w.begin + threadIdx.x; i < w.end; i += blockDim.x)
        stk_hd_finish_mixed(&s, entry, bad, mixes, i % o->width, i / o->width);
}

/* ---- The order of launches. STEP_LAUNCH(kernel, x, y, steps, first) queues x * y blocks of STEP_THREADS threads. */

enum { STEP_MOST_Y = 65535 /* of a grid */ };

#define STEP_LAUNCH_ALL(kernel, x, begin, count)                                                     \
    do {                                                                                             \
        for (uint32_t done_ = 0; done_ < (count); done_ += STEP_MOST_Y) {                            \
            const uint32_t left_ = (count) - done_;                                                  \
            STEP_LAUNCH(kernel, (x), left_ < STEP_MOST_Y ? left_ : STEP_MOST_Y, *s, (begin) + done_); \
        }                                                                                            \
    } while (0)

static inline uint32_t stretches(uint32_t n) { return (n + STK_GPU_PIXELS_PER_BLOCK - 1) / STK_GPU_PIXELS_PER_BLOCK; }

static inline void launch_round(const stk_gpu_steps *s, const stk_gpu_round *r STEP_STREAM)
{
    const uint32_t pixels = stk_hd_pixels(&s->output), x = stretches(pixels), bytes_x = stretches(pixels * s->output.channels);
    const uint32_t counted = r->n[STK_GPU_CLASS_COUNTED], point = counted + r->n[STK_GPU_CLASS_POINT];
    const uint32_t moved = r->n[STK_GPU_CLASS_MOVED], blurred = r->n[STK_GPU_CLASS_BLURRED];
    STEP_LAUNCH_ALL(step_clear, 1, r->first, counted);
    STEP_LAUNCH_ALL(step_count, x, r->first, counted);
    STEP_LAUNCH_ALL(step_tables, 1, r->first, counted);
    STEP_LAUNCH_ALL(step_point, x, r->first, point);
    STEP_LAUNCH_ALL(step_move, x, r->first + point, moved);
    for (uint32_t done = 0; done < blurred; done += s->planes_at_once) {
        const uint32_t n = blurred - done < s->planes_at_once ? blurred - done : s->planes_at_once;
        STEP_LAUNCH_ALL(step_blur_across, bytes_x, r->first + point + moved + done, n);
        STEP_LAUNCH_ALL(step_blur_down, bytes_x, r->first + point + moved + done, n);
    }
}

static inline void launch_steps(const stk_gpu_steps *s STEP_STREAM)
{
    for (uint32_t r = 0; r < s->n_rounds; r++) launch_round(s, &s->rounds[r] STEP_STREAM_ARGUMENT);
    STEP_LAUNCH_ALL(step_finish, stretches(stk_hd_pixels(&s->output)), 0, s->n);
}

#ifdef __cplusplus
} // namespace stk
#endif

#endif
