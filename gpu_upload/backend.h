/* SPDX-License-Identifier: Apache-2.0
 *
 * What the uploader needs of a device, as a table. Two tables exist: CUDA (a shared object of its own, loaded on
 * demand) and a dummy whose device memory is host memory. Streams and events are opaque pointers; a stream that
 * comes from a user is the runtime's own handle (cudaStream_t). Calls on one device handle are made by one thread
 * at a time unless said otherwise. No entry may be NULL. */
#ifndef STK_GPU_BACKEND_H
#define STK_GPU_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/gpu_steps.h"
#include "gpu_upload/hd_direct.h"

enum { STK_GPU_BACKEND_VERSION = 4 };

typedef struct stk_gpu_device stk_gpu_device;

typedef struct stk_gpu_device_info {
    char name[128];
    int number;
    uint64_t memory_bytes, free_bytes;
    int compute_major, compute_minor;
    bool fast_kernel; /* the decode kernel for sm_80 and later is in use */
} stk_gpu_device_info;

/* What making an image of a data set costs, as measured when an uploader with decode=auto opens. */
typedef struct stk_gpu_costs {
    double cpu_ns;           /* of a CPU thread: decoding and finishing it */
    double cpu_upload_ns;    /* of the link: the finished image */
    double gather_ns;        /* of a CPU thread: picking its bytes for the device */
    double gather_upload_ns; /* of the link: these bytes */
    double gpu_ns;           /* of the device: its kernels */
    uint32_t n_threads;
} stk_gpu_costs;

typedef struct stk_gpu_backend {
    uint32_t version; /* STK_GPU_BACKEND_VERSION */
    uint32_t struct_size;
    const char *name; /* "cuda", "dummy" */
    /* options: what stands behind "NAME:" in the back end's name, or NULL. */
    stk_status (*open)(const char *options, int device, stk_gpu_device **out, stk_gpu_device_info *info,
                       stk_error *error);
    void (*close)(stk_gpu_device *device); /* waits for everything in flight */

    /* Host memory that copies can read directly. Any thread. */
    stk_status (*pinned_alloc)(stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error);
    void (*pinned_free)(stk_gpu_device *device, void *memory);
    stk_status (*device_alloc)(stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error);
    void (*device_free)(stk_gpu_device *device, void *memory); /* any thread; waits where the runtime must */

    stk_status (*stream_open)(stk_gpu_device *device, void **out, stk_error *error);
    /* For kernels: of low priority, and on a hardware queue that the legacy default stream does not use, where that
     * can be found out: streams that share a queue run one after the other. */
    stk_status (*stream_open_beside)(stk_gpu_device *device, void **out, stk_error *error);
    void (*stream_close)(stk_gpu_device *device, void *stream);
    stk_status (*event_open)(stk_gpu_device *device, void **out, stk_error *error);
    void (*event_close)(stk_gpu_device *device, void *event);
    stk_status (*event_record)(stk_gpu_device *device, void *event, void *stream, stk_error *error); /* any thread */
    stk_status (*event_wait)(stk_gpu_device *device, void *event, void *stream, stk_error *error); /* stream waits */
    stk_status (*event_done)(stk_gpu_device *device, void *event, bool *done, stk_error *error);   /* any thread */
    stk_status (*event_sync)(stk_gpu_device *device, void *event, stk_error *error);               /* host waits */
    stk_status (*event_ms)(stk_gpu_device *device, void *from, void *to, float *ms, stk_error *error);

    stk_status (*copy_in)(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream,
                          stk_error *error);
    stk_status (*copy_out)(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream,
                           stk_error *error);
    stk_status (*clear)(stk_gpu_device *device, void *memory, size_t n_bytes, void *stream, stk_error *error);

    /* Queues all stages of one group. */
    stk_status (*run)(stk_gpu_device *device, const stk_gpu_group *group, void *stream, stk_error *error);

    /* Queues a batch that needs no plan. */
    stk_status (*run_direct)(stk_gpu_device *device, const stk_gpu_direct *batch, void *stream, stk_error *error);

    /* Queues a batch's steps and mixing, behind what made its pictures. `steps` may go when this returns. */
    stk_status (*run_steps)(stk_gpu_device *device, const stk_gpu_steps *steps, void *stream, stk_error *error);

    /* Costs as measured, to be put right by a back end that has no device to measure. */
    void (*costs)(stk_gpu_device *device, stk_gpu_costs *costs);

    /* Named ranges for profilers (NVTX); cheap when none listens. */
    void (*range_push)(const char *name);
    void (*range_pop)(void);
} stk_gpu_backend;

extern const stk_gpu_backend stk_gpu_dummy_backend;

/* The CUDA table for a device from its shared object: of those found (libstoker_cuda*.so beside this library, in
 * STOKER_CUDA_PATH or by the loader's search) the newest that driver and device can run; it stays loaded.
 * STK_ERR_UNSUPPORTED says in one sentence what is missing. */
stk_status stk_gpu_cuda_backend(int device, const stk_gpu_backend **out, stk_error *error);

#endif
