/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA back end: a shared object of its own with a static runtime, so that stoker itself needs no CUDA. Exports
 * one function, stk_gpu_cuda_table. Every call sets its device and puts the caller's back; the runtime's sticky
 * errors are cleared where they are reported. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#include "gpu_upload/backend.h"
#include "gpu_upload/cuda/decode_fast.cuh"
#include "gpu_upload/cuda/decode_plain.cuh"
#include "gpu_upload/cuda/direct.cuh"
#include "gpu_upload/cuda/fused.cuh"
#include "gpu_upload/cuda/stages.cuh"

#define STEP_STREAM , cudaStream_t stream
#define STEP_STREAM_ARGUMENT , stream
#define STEP_LAUNCH(kernel, x, y, steps, first) kernel<<<dim3(x, y), STEP_THREADS, 0, stream>>>(steps, first)
#include "gpu_upload/cuda/steps.cuh"
extern "C" {
#include "common/fail.h"
}
#if STK_CUDA_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

struct stk_gpu_device {
    int number;
    bool fast;
    size_t finish_shared; /* largest dynamic shared memory of a block */
};

namespace {

/* Sets the device for a scope; the caller's comes back at the end. */
struct On {
    int before;
    explicit On(const stk_gpu_device *d) : before(-1)
    {
        if (cudaGetDevice(&before) != cudaSuccess) before = -1;
        if (before != d->number) cudaSetDevice(d->number);
    }
    ~On()
    {
        if (before >= 0) cudaSetDevice(before);
    }
};

stk_status failed(cudaError_t e, const char *what, stk_error *error)
{
    (void)cudaGetLastError(); /* a sticky error must not be met again by somebody else's call */
    stk_status status = e == cudaErrorMemoryAllocation ? STK_ERR_MEMORY : STK_ERR_DEVICE;
    return stk_fail(error, status, "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

#define CU_TRY(call)                                            \
    do {                                                        \
        cudaError_t cu_try_ = (call);                           \
        if (cu_try_ != cudaSuccess) return failed(cu_try_, #call, error); \
    } while (0)

template <typename Kernel> stk_status allow_shared(Kernel kernel, size_t n_bytes, stk_error *error)
{
    CU_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)n_bytes));
    return STK_OK;
}

/* The plain kernel can be forced where the fast one would run, so that it can be tested there. */
bool plain_forced()
{
    const char *v = std::getenv("STOKER_CUDA_KERNEL");
    return v != nullptr && std::strcmp(v, "plain") == 0;
}

stk_status prepare_kernels(stk_gpu_device *d, stk_error *error)
{
    int shared = 0;
    CU_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    d->finish_shared = (size_t)shared;
    if (d->fast) STK_TRY(allow_shared(stk::decode_fast, stk::FAST_SHARED, error));
    STK_TRY(allow_shared(stk::front, stk::front_shared(STK_GPU_WIDEST_LINE), error));
    STK_TRY(allow_shared(stk::finish<uint8_t, true>, d->finish_shared, error));
    STK_TRY(allow_shared(stk::finish<uint16_t, false>, d->finish_shared, error));
    return allow_shared(stk::finish<uint32_t, false>, d->finish_shared, error);
}

stk_status cuda_open(const char *options, int device, stk_gpu_device **out, stk_gpu_device_info *info, stk_error *error)
{
    (void)options;
    *out = nullptr;
    int count = 0;
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        return stk_fail(error, STK_ERR_DEVICE, "no CUDA device: %s; batches are decoded on the CPU", cudaGetErrorString(e));
    }
    if (device < 0 || device >= count)
        return stk_fail(error, STK_ERR_ARGUMENT, "CUDA device %d: there are %d", device, count);
    stk_gpu_device *d = (stk_gpu_device *)std::calloc(1, sizeof *d);
    if (d == nullptr) return stk_fail_memory(error, "a CUDA device");
    d->number = device;
    cudaDeviceProp p;
    stk_status status = STK_OK;
    On on(d);
    e = cudaGetDeviceProperties(&p, device);
    if (e != cudaSuccess) status = failed(e, "cudaGetDeviceProperties", error);
    size_t free_bytes = 0, total = 0;
    if (status == STK_OK && (e = cudaMemGetInfo(&free_bytes, &total)) != cudaSuccess)
        status = failed(e, "cudaMemGetInfo", error);
    if (status == STK_OK) {
        d->fast = p.major >= 8 && !plain_forced();
        status = prepare_kernels(d, error);
    }
    if (status != STK_OK) {
        std::free(d);
        return status;
    }
    std::memset(info, 0, sizeof *info);
    std::snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, p.name);
    info->number = device;
    info->memory_bytes = total;
    info->free_bytes = free_bytes;
    info->compute_major = p.major;
    info->compute_minor = p.minor;
    info->fast_kernel = d->fast;
    *out = d;
    return STK_OK;
}

void cuda_close(stk_gpu_device *device)
{
    if (device == nullptr) return;
    std::free(device);
}

/* Pinned memory can be refused for tests of what happens then. */
bool pinned_refused()
{
    const char *v = std::getenv("STOKER_CUDA_PINNED");
    return v != nullptr && std::strcmp(v, "off") == 0;
}

stk_status cuda_pinned_alloc(stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error)
{
    On on(device);
    *out = nullptr;
    if (pinned_refused()) return stk_fail(error, STK_ERR_MEMORY, "STOKER_CUDA_PINNED=off");
    CU_TRY(cudaHostAlloc(out, n_bytes, cudaHostAllocPortable));
    return STK_OK;
}

void cuda_pinned_free(stk_gpu_device *device, void *memory)
{
    On on(device);
    /* At interpreter exit the driver may be gone already (cudaErrorCudartUnloading): nothing to free then. */
    if (memory != nullptr && cudaFreeHost(memory) != cudaSuccess) (void)cudaGetLastError();
}

stk_status cuda_device_alloc(stk_gpu_device *device, size_t n_bytes, void **out, stk_error *error)
{
    On on(device);
    *out = nullptr;
    cudaError_t e = cudaMalloc(out, n_bytes);
    if (e == cudaSuccess) return STK_OK;
    (void)cudaGetLastError();
    return stk_fail(error, e == cudaErrorMemoryAllocation ? STK_ERR_MEMORY : STK_ERR_DEVICE,
                    "%zu MB of GPU memory could not be had: %s; use a smaller batch, or resident=off", n_bytes >> 20,
                    cudaGetErrorString(e));
}

void cuda_device_free(stk_gpu_device *device, void *memory)
{
    On on(device);
    if (memory != nullptr && cudaFree(memory) != cudaSuccess) (void)cudaGetLastError();
}

stk_status cuda_stream_open(stk_gpu_device *device, void **out, stk_error *error)
{
    On on(device);
    cudaStream_t s = nullptr;
    *out = nullptr;
    int least = 0, greatest = 0;
    CU_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CU_TRY(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
    *out = s;
    return STK_OK;
}

/* ---- Streams beside the consumer's. CUDA lays streams on a few hardware queues. Two that share one start their kernels
 * in the order they were given, so that a batch would be decoded between the consumer's kernels and not beside them. */

__global__ void spin(long long ns)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while ((long long)(now - begin) < ns);
}

__global__ void nothing() {}

/* Work on the default stream that takes a moment, twice (what is second waits for the first); does a kernel on `s` end
 * before the first of them? */
cudaError_t runs_beside(cudaStream_t s, cudaEvent_t first, cudaEvent_t ours, bool *beside)
{
    const long long moment_ns = 300000;
    cudaError_t e = cudaDeviceSynchronize();
    *beside = false;
    spin<<<1, 1>>>(moment_ns);
    if (e == cudaSuccess) e = cudaEventRecord(first, 0);
    spin<<<1, 1>>>(1000);
    nothing<<<1, 1, 0, s>>>();
    if (e == cudaSuccess) e = cudaEventRecord(ours, s);
    if (e == cudaSuccess) e = cudaEventSynchronize(ours);
    if (e == cudaSuccess) {
        *beside = cudaEventQuery(first) == cudaErrorNotReady;
        (void)cudaGetLastError();
    }
    return e;
}

const int MOST_TRIED = 16;

/* Opens streams until one runs beside the default stream; keeps the last one when none does. */
cudaError_t find_stream(int priority, cudaEvent_t first, cudaEvent_t ours, cudaStream_t *out)
{
    cudaStream_t tried[MOST_TRIED];
    int n = 0;
    bool beside = false;
    cudaError_t e = cudaSuccess;
    while (n < MOST_TRIED && e == cudaSuccess && !beside) {
        e = cudaStreamCreateWithPriority(&tried[n], cudaStreamNonBlocking, priority);
        if (e == cudaSuccess) n++;
        for (int k = 0; k < 2 && e == cudaSuccess && !beside; k++) e = runs_beside(tried[n - 1], first, ours, &beside);
    }
    for (int i = 0; i < n; i++)
        if (i < n - 1 || e != cudaSuccess) (void)cudaStreamDestroy(tried[i]);
    *out = n > 0 && e == cudaSuccess ? tried[n - 1] : nullptr;
    return e;
}

stk_status cuda_stream_open_beside(stk_gpu_device *device, void **out, stk_error *error)
{
    On on(device);
    int least = 0, greatest = 0;
    cudaEvent_t first = nullptr, ours = nullptr;
    cudaStream_t s = nullptr;
    *out = nullptr;
    CU_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaError_t e = cudaEventCreateWithFlags(&first, cudaEventDisableTiming);
    if (e == cudaSuccess) e = cudaEventCreateWithFlags(&ours, cudaEventDisableTiming);
    if (e == cudaSuccess) e = find_stream(least, first, ours, &s);
    if (first != nullptr) (void)cudaEventDestroy(first);
    if (ours != nullptr) (void)cudaEventDestroy(ours);
    if (e != cudaSuccess) return failed(e, "a CUDA stream", error);
    *out = s;
    return STK_OK;
}

void cuda_stream_close(stk_gpu_device *device, void *stream)
{
    On on(device);
    if (stream == nullptr) return;
    if (cudaStreamSynchronize((cudaStream_t)stream) != cudaSuccess) (void)cudaGetLastError();
    if (cudaStreamDestroy((cudaStream_t)stream) != cudaSuccess) (void)cudaGetLastError();
}

stk_status cuda_event_open(stk_gpu_device *device, void **out, stk_error *error)
{
    On on(device);
    cudaEvent_t e = nullptr;
    *out = nullptr;
    CU_TRY(cudaEventCreateWithFlags(&e, cudaEventBlockingSync));
    *out = e;
    return STK_OK;
}

void cuda_event_close(stk_gpu_device *device, void *event)
{
    On on(device);
    if (event != nullptr && cudaEventDestroy((cudaEvent_t)event) != cudaSuccess) (void)cudaGetLastError();
}

stk_status cuda_event_record(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    On on(device);
    CU_TRY(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
    return STK_OK;
}

stk_status cuda_event_wait(stk_gpu_device *device, void *event, void *stream, stk_error *error)
{
    On on(device);
    CU_TRY(cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0));
    return STK_OK;
}

stk_status cuda_event_done(stk_gpu_device *device, void *event, bool *done, stk_error *error)
{
    On on(device);
    cudaError_t e = cudaEventQuery((cudaEvent_t)event);
    *done = e == cudaSuccess;
    if (e == cudaSuccess) return STK_OK;
    if (e == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return STK_OK;
    }
    return failed(e, "cudaEventQuery", error);
}

stk_status cuda_event_sync(stk_gpu_device *device, void *event, stk_error *error)
{
    On on(device);
    CU_TRY(cudaEventSynchronize((cudaEvent_t)event));
    return STK_OK;
}

stk_status cuda_event_ms(stk_gpu_device *device, void *from, void *to, float *ms, stk_error *error)
{
    On on(device);
    CU_TRY(cudaEventElapsedTime(ms, (cudaEvent_t)from, (cudaEvent_t)to));
    return STK_OK;
}

stk_status cuda_copy_in(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream, stk_error *error)
{
    On on(device);
    CU_TRY(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream));
    return STK_OK;
}

stk_status cuda_copy_out(stk_gpu_device *device, void *to, const void *from, size_t n_bytes, void *stream, stk_error *error)
{
    On on(device);
    CU_TRY(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream));
    return STK_OK;
}

stk_status cuda_clear(stk_gpu_device *device, void *memory, size_t n_bytes, void *stream, stk_error *error)
{
    On on(device);
    CU_TRY(cudaMemsetAsync(memory, 0, n_bytes, (cudaStream_t)stream));
    return STK_OK;
}

uint32_t blocks(uint32_t rows, uint32_t per_block) { return (rows + per_block - 1) / per_block; }

/* The last kernels, of one element type. */
template <typename T, bool U8> stk_status run_last(const stk_gpu_device *d, const stk_gpu_group *g, cudaStream_t s, stk_error *error)
{
    const stk_gpu_output *o = &g->output;
    if (g->n_others < g->n_images) {
        const uint32_t side = o->width > o->height ? o->width : o->height, lines = stk::back_lines(o, sizeof(T));
        stk::back<T, U8><<<dim3(blocks(side, lines), g->n_images), stk::BACK_THREADS, stk::back_shared(o, lines, sizeof(T)), s>>>(*g, lines);
    }
    if (g->n_others == 0) return STK_OK;
    size_t shared = (3 * 256 + (size_t)o->width * o->channels) * sizeof(T);
    if (shared > d->finish_shared)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "outputs of %u pixels a row are too wide for this GPU", o->width);
    stk::finish<T, U8><<<dim3(blocks(o->height, STK_GPU_ROWS_PER_BLOCK), g->n_others), stk::THREADS, shared, s>>>(*g);
    return STK_OK;
}

/* Strips [first, first + n) of lines of at most so many bytes. */
void launch_front(const stk_gpu_group *g, uint32_t first, uint32_t n, uint32_t line_bytes, cudaStream_t s)
{
    if (n == 0) return;
    const uint32_t each = stk::strips_each(n);
    stk::front<<<blocks(n, each), stk::FRONT_THREADS, stk::front_shared(line_bytes), s>>>(*g, first, first + n, each);
}

void launch_pictures(const stk_gpu_group *g, cudaStream_t s)
{
    const uint32_t *rows = g->rows, per = STK_GPU_ROWS_PER_BLOCK, n = g->n_others;
    const uint32_t wide = g->n_strips[STK_GPU_WIDE], widest = g->widest_line;
    launch_front(g, 0, wide, widest, s);
    launch_front(g, wide, g->n_strips[STK_GPU_NARROW], widest < STK_GPU_NARROW_LINE ? widest : (uint32_t)STK_GPU_NARROW_LINE, s);
    if (n == 0) return;
    if (rows[STK_GPU_COLOR] > 0) stk::color<<<dim3(blocks(rows[STK_GPU_COLOR], per), n), stk::THREADS, 0, s>>>(*g);
    if (rows[STK_GPU_FIRST] > 0)
        stk::pass<STK_GPU_FIRST><<<dim3(blocks(rows[STK_GPU_FIRST], per), n, 3), stk::THREADS, 0, s>>>(*g);
    if (rows[STK_GPU_SECOND] > 0)
        stk::pass<STK_GPU_SECOND><<<dim3(blocks(rows[STK_GPU_SECOND], per), n, 3), stk::THREADS, 0, s>>>(*g);
}

/* Decoding needs nothing of what the images' preparation makes: one launch does both. */
void launch_decode(const stk_gpu_device *d, const stk_gpu_group *g, cudaStream_t s)
{
    const uint32_t n = g->n_decode_items + g->n_images;
    if (d->fast) stk::decode_fast<<<n, STK_GPU_SEGMENTS_PER_ITEM, stk::FAST_SHARED, s>>>(*g);
    else stk::decode_plain<<<n, STK_GPU_SEGMENTS_PER_ITEM, 0, s>>>(*g);
}

stk_status launch(const stk_gpu_device *d, const stk_gpu_group *g, cudaStream_t s, stk_error *error)
{
    launch_decode(d, g, s);
    launch_pictures(g, s);
    switch (g->output.dtype) {
    case STK_DTYPE_U8: STK_TRY((run_last<uint8_t, true>(d, g, s, error))); break;
    case STK_DTYPE_F32: STK_TRY((run_last<uint32_t, false>(d, g, s, error))); break;
    default: STK_TRY((run_last<uint16_t, false>(d, g, s, error))); break;
    }
    CU_TRY(cudaGetLastError());
    return STK_OK;
}

stk_status cuda_run(stk_gpu_device *device, const stk_gpu_group *group, void *stream, stk_error *error)
{
    On on(device);
    return launch(device, group, (cudaStream_t)stream, error);
}

stk_status cuda_run_direct(stk_gpu_device *device, const stk_gpu_direct *d, void *stream, stk_error *error)
{
    On on(device);
    cudaStream_t s = (cudaStream_t)stream;
    switch (d->output.dtype) {
    case STK_DTYPE_U8: stk::direct<uint8_t, true><<<d->n, stk::DIRECT_THREADS, 0, s>>>(*d); break;
    case STK_DTYPE_F32: stk::direct<uint32_t, false><<<d->n, stk::DIRECT_THREADS, 0, s>>>(*d); break;
    default: stk::direct<uint16_t, false><<<d->n, stk::DIRECT_THREADS, 0, s>>>(*d); break;
    }
    CU_TRY(cudaGetLastError());
    return STK_OK;
}

stk_status cuda_run_steps(stk_gpu_device *device, const stk_gpu_steps *steps, void *stream, stk_error *error)
{
    On on(device);
    stk::launch_steps(steps, (cudaStream_t)stream);
    CU_TRY(cudaGetLastError());
    return STK_OK;
}

void cuda_costs(stk_gpu_device *device, stk_gpu_costs *costs) { (void)device, (void)costs; }

#if STK_CUDA_NVTX
void range_push(const char *name) { nvtxRangePushA(name); }
void range_pop(void) { nvtxRangePop(); }
#else
void range_push(const char *name) { (void)name; }
void range_pop(void) {}
#endif

const stk_gpu_backend table = {
    STK_GPU_BACKEND_VERSION, sizeof(stk_gpu_backend), "cuda",
    cuda_open, cuda_close,
    cuda_pinned_alloc, cuda_pinned_free, cuda_device_alloc, cuda_device_free,
    cuda_stream_open, cuda_stream_open_beside, cuda_stream_close,
    cuda_event_open, cuda_event_close, cuda_event_record, cuda_event_wait, cuda_event_done, cuda_event_sync, cuda_event_ms,
    cuda_copy_in, cuda_copy_out, cuda_clear, cuda_run, cuda_run_direct, cuda_run_steps, cuda_costs, range_push, range_pop,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const stk_gpu_backend *stk_gpu_cuda_table(void)
{
    return &table;
}
