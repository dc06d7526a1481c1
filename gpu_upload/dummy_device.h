/* SPDX-License-Identifier: Apache-2.0
 *
 * The dummy back end's device: what of it can be made to go wrong, so that the ways a real device fails can be tested
 * without one. Asked for by name, "dummy:memory=1000000,lost=3":
 *   devices=N   there are N (4)
 *   memory=N    device allocations beyond N bytes in all fail
 *   pinned=N    allocations of pinned memory fail from the N-th on (1: all of them)
 *   lost=N      from the N-th group of work on every call fails, as after a fault in a kernel
 *   idle=1      kernels do nothing: what is left is the host's work
 *   free_us=N   freeing device memory takes N microseconds, as a driver's cudaFree does (50 ms on an H200)
 *   cpu_ns=N, gather_ns=N, gpu_ns=N   what decoding an image is said to take, instead of what was measured */
#ifndef STK_GPU_DUMMY_DEVICE_H
#define STK_GPU_DUMMY_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gpu_upload/backend.h"

typedef struct stk_dummy_faults {
    uint64_t devices, memory, pinned, lost, idle, free_us, cpu_ns, gather_ns, gpu_ns; /* 0: not asked for */
} stk_dummy_faults;

typedef struct stk_dummy_memory {
    struct stk_dummy_memory *next;
    void *memory;
    size_t n_bytes;
} stk_dummy_memory;

struct stk_gpu_device {
    int number;
    stk_dummy_faults faults;
    _Atomic uint64_t groups_run, pinned_asked;
    pthread_mutex_t lock;
    stk_dummy_memory *memory; /* device memory that is held */
    uint64_t held;
};

/* A stream or an event; it belongs to one device. */
typedef struct stk_dummy_handle {
    const struct stk_gpu_device *device;
    double ms;
} stk_dummy_handle;

/* options: behind "dummy:", or NULL. Unknown ones are STK_ERR_ARGUMENT. */
stk_status stk_dummy_open(const char *options, int device, struct stk_gpu_device **out, stk_gpu_device_info *info,
                          stk_error *error);
void stk_dummy_close(struct stk_gpu_device *device);

/* STK_OK, or STK_ERR_DEVICE when the device is lost. NULL is a device that nothing happens to. */
stk_status stk_dummy_alive(struct stk_gpu_device *device, stk_error *error);
/* The same, for a call with a stream or an event of this device; NULL handles are the default stream. */
stk_status stk_dummy_owns(struct stk_gpu_device *device, const void *handle, stk_error *error);

stk_status stk_dummy_alloc(struct stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error);
void stk_dummy_free(struct stk_gpu_device *device, void *memory);
stk_status stk_dummy_pinned_alloc(struct stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error);
void stk_dummy_pinned_free(struct stk_gpu_device *device, void *memory);

#endif
