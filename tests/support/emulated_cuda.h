/* SPDX-License-Identifier: Apache-2.0
 *
 * Enough of CUDA to run plain kernels on the host: a block's threads are threads, __syncthreads is a barrier of theirs,
 * shared memory is static, blocks come one after the other, in an order that is not theirs. With ThreadSanitizer this
 * finds a missing __syncthreads and plain writes that should be atomic. Kernels take (steps, first), as steps.cuh's. */
#ifndef STK_TESTS_EMULATED_CUDA_H
#define STK_TESTS_EMULATED_CUDA_H

#include <pthread.h>
#include <stdint.h>

#include "gpu_upload/gpu_steps.h"
#include "support/check.h"

typedef struct emulated_dim {
    uint32_t x, y;
} emulated_dim;

static _Thread_local emulated_dim threadIdx, blockIdx;
static emulated_dim blockDim;
static pthread_barrier_t emulated_barrier;

#define __global__ static
#define __device__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __syncthreads() (void)pthread_barrier_wait(&emulated_barrier)
#define atomicAdd(where, what) (void)__atomic_fetch_add((where), (what), __ATOMIC_RELAXED)

typedef void emulated_kernel(const stk_gpu_steps steps, uint32_t first);

/* A grid as one of the block's threads goes through it. */
typedef struct emulated_thread {
    emulated_kernel *kernel;
    const stk_gpu_steps *steps;
    uint32_t first, number, n_x, n_y;
} emulated_thread;

static void *emulated_run(void *user)
{
    const emulated_thread *t = user;
    threadIdx.x = t->number;
    for (uint32_t y = 0; y < t->n_y; y++)
        for (uint32_t x = t->n_x; x > 0; x--) {
            blockIdx.x = x - 1;
            blockIdx.y = (y * 7 + 3) % t->n_y;
            if (t->n_y % 7 == 0) blockIdx.y = y;
            t->kernel(*t->steps, t->first);
            __syncthreads(); /* the block has ended */
        }
    return NULL;
}

/* Threads a block, whatever a device's would be. */
static uint32_t emulated_threads = 13;

static void emulated_launch(emulated_kernel *kernel, uint32_t n_x, uint32_t n_y, const stk_gpu_steps *steps, uint32_t first)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    emulated_thread what[MOST];
    const uint32_t n = emulated_threads < MOST ? emulated_threads : MOST;
    CHECK(n_x > 0 && n_y > 0 && n_x < 1u << 31 && n_y < 1u << 16); /* what a grid may be */
    blockDim.x = n;
    CHECK_EQ(pthread_barrier_init(&emulated_barrier, NULL, n), 0);
    for (uint32_t i = 0; i < n; i++) {
        what[i] = (emulated_thread){kernel, steps, first, i, n_x, n_y};
        CHECK_EQ(pthread_create(&threads[i], NULL, emulated_run, &what[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&emulated_barrier);
}

#define STEP_STREAM
#define STEP_STREAM_ARGUMENT
#define STEP_LAUNCH(kernel, x, y, steps, first) emulated_launch((kernel), (x), (y), &(steps), (first))

#endif
