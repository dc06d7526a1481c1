/* SPDX-License-Identifier: Apache-2.0
 *
 * The common way through the stages in two kernels that never store whole pictures:
 *   front  colour of a few source rows into shared memory, and the horizontal pass out of it
 *   back   the vertical pass and the finish, four pixels a thread
 * The same arithmetic as stages.cuh; only sums of products are taken four taps at a time, with the weights split into
 * three signed bytes (w = d0 + 256 d1 + 65536 d2), which is exact in 32 bits. */
#ifndef STK_CUDA_FUSED_CUH
#define STK_CUDA_FUSED_CUH

#include "gpu_upload/cuda/stages.cuh"

namespace stk {

constexpr int FRONT_THREADS = 224;
constexpr int FRONT_ROWS = STK_GPU_ROWS_PER_BLOCK;

/* Bytes of a line in shared memory: whole words may be read past the last pixel. */
__host__ __device__ __forceinline__ uint32_t front_stride(uint32_t width) { return (width + 12 + 3) / 4 * 4; }
__host__ __device__ __forceinline__ size_t front_shared(uint32_t width) { return (size_t)front_stride(width) * FRONT_ROWS * 3 + 16; }

struct Digits {
    uint32_t d0, d1, d2;
};

__device__ __forceinline__ Digits split4(const int *w)
{
    Digits d = {0, 0, 0};
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int a = (int)(int8_t)w[i], t = (w[i] - a) >> 8, b = (int)(int8_t)t, c = (t - b) >> 8;
        d.d0 |= (uint32_t)(a & 255) << (8 * i);
        d.d1 |= (uint32_t)(b & 255) << (8 * i);
        d.d2 |= (uint32_t)(c & 255) << (8 * i);
    }
    return d;
}

/* Four unsigned bytes times four signed ones, added to c. */
__device__ __forceinline__ int dot4(uint32_t bytes, uint32_t digits, int c)
{
    #if __CUDA_ARCH__ >= 610
    int r;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(bytes), "r"(digits), "r"(c));
    return r;
    #else
    for (int i = 0; i < 4; i++) c += (int)(bytes >> (8 * i) & 255) * (int)(int8_t)(digits >> (8 * i));
    return c;
    #endif
}

__device__ __forceinline__ int dot_digits(uint32_t bytes, const Digits &d, int sum)
{
    return dot4(bytes, d.d0, sum) + (dot4(bytes, d.d1, 0) << 8) + (dot4(bytes, d.d2, 0) << 16);
}

/* Colour of rows [y0, y0 + n) of the source picture into lines[channel][row]. */
__device__ __forceinline__ void front_color(const stk_gpu_image *im, const uint8_t *rows, uint8_t *scratch, int y0, int n,
                                            uint8_t *lines, uint32_t stride)
{
    const bool common = rows == nullptr && im->orientation == 1 && im->n_components == 3 && im->picture_channels == 3;
    const int width = (int)im->source.width, per_row = common ? (width + 3) / 4 : width;
    const uint32_t plane = stride * FRONT_ROWS;
    for (int i = threadIdx.x; i < per_row * n; i += FRONT_THREADS) {
        const int r = i / per_row, x = i - r * per_row;
        if (common) color4(im, scratch, x * 4, y0 + r, lines + r * stride + x * 4, plane);
        else stk_hd_color(im, rows, scratch, x, y0 + r, lines + r * stride + x, plane);
    }
}

__device__ __forceinline__ void front_horizontal(const stk_gpu_pass *p, const int32_t *axes, uint8_t *scratch, int channels,
                                                 int row0, int n, const uint8_t *lines, uint32_t stride)
{
    const stk_hd_axis *a = &p->axis;
    const int32_t *table = axes + a->at;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(lines);
    for (uint32_t x = threadIdx.x; x < a->n_out; x += FRONT_THREADS) {
        const int first = __ldg(table + x) - p->shift, count = __ldg(table + a->n_out + x), sh = (first & 3) * 8;
        const int32_t *weights = table + 2 * a->n_out + x;
        const uint32_t at = base + (first & ~3);
        for (int c = 0; c < channels; c++) {
            int sum[FRONT_ROWS];
            #pragma unroll
            for (int r = 0; r < FRONT_ROWS; r++) sum[r] = STK_HD_ROUND;
            for (int t = 0; t < count; t += 4) {
                int w[4];
                #pragma unroll
                for (int i = 0; i < 4; i++) w[i] = t + i < count ? __ldg(weights + (uint32_t)(t + i) * a->n_out) : 0;
                const Digits d = split4(w);
                const uint32_t line = at + c * FRONT_ROWS * stride + t;
                #pragma unroll
                for (int r = 0; r < FRONT_ROWS; r++) {
                    uint32_t lo, hi;
                    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(lo) : "r"(line + r * stride));
                    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(hi) : "r"(line + r * stride + 4));
                    sum[r] = dot_digits(__funnelshift_r(lo, hi, sh), d, sum[r]);
                }
            }
            uint8_t *out = scratch + p->out.at + (uint64_t)c * p->out.plane + (uint64_t)row0 * p->out.stride + x;
            #pragma unroll
            for (int r = 0; r < FRONT_ROWS; r++)
                if (r < n) out[r * p->out.stride] = stk_hd_result(sum[r]);
        }
    }
}

__global__ void __launch_bounds__(FRONT_THREADS) front(const stk_gpu_group g)
{
    extern __shared__ __align__(128) uint8_t memory[];
    __shared__ stk_gpu_image shared;
    const stk_gpu_image *source = g.images + blockIdx.y;
    const int row0 = blockIdx.x * FRONT_ROWS;
    if (!source->fused_front || row0 >= (int)source->first.out.height) return;
    for (int i = threadIdx.x; i < (int)(sizeof shared / 4); i += FRONT_THREADS)
        ((uint32_t *)&shared)[i] = ((const uint32_t *)source)[i];
    __syncthreads();
    const stk_gpu_image *im = &shared;
    const stk_gpu_pass *p = &im->first;
    const int n = min(FRONT_ROWS, (int)p->out.height - row0);
    const uint8_t *rows = im->kind == 2 ? (im->resident ? g.resident : g.bytes) + im->raw : nullptr;
    const uint32_t stride = front_stride(im->source.width);
    front_color(im, rows, g.scratch, row0 + p->along, n, memory, stride);
    __syncthreads();
    front_horizontal(p, g.axes, g.scratch, (int)im->picture_channels, row0, n, memory, stride);
}

/* ---- Back. */

constexpr int BACK_THREADS = 256;
constexpr int BACK_ROWS = 16;

template <typename T> struct Four { T v[4]; };

/* Twelve (or four) elements of four neighbouring pixels, as whole words. */
template <typename T, bool U8>
__device__ __forceinline__ void store4(const stk_gpu_output *o, T *image, const T *table, uint32_t x, uint32_t y, int channels,
                                       const uint32_t *bytes, bool flip)
{
    T v[3][4];
    #pragma unroll
    for (int c = 0; c < 3; c++) {
        if (c >= channels) continue;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            uint32_t b = bytes[c] >> (8 * (flip ? 3 - i : i)) & 255;
            v[c][i] = U8 ? (T)b : table[c * 256 + b];
        }
    }
    if (flip) x = o->width - 4 - x;
    if (o->layout == 0 && channels == 3) {
        T packed[12];
        #pragma unroll
        for (int i = 0; i < 4; i++)
            #pragma unroll
            for (int c = 0; c < 3; c++) packed[3 * i + c] = v[c][i];
        uint32_t *to = (uint32_t *)(image + ((uint64_t)y * o->width + x) * 3);
        uint32_t words[12 * sizeof(T) / 4];
        memcpy(words, packed, sizeof words);
        #pragma unroll
        for (int i = 0; i < (int)(12 * sizeof(T) / 4); i++) to[i] = words[i];
        return;
    }
    #pragma unroll
    for (int c = 0; c < 3; c++) {
        if (c >= channels) continue;
        uint32_t words[sizeof(T)];
        memcpy(words, v[c], sizeof words);
        uint32_t *to = (uint32_t *)(image + ((uint64_t)c * o->height + y) * o->width + x);
        #pragma unroll
        for (int i = 0; i < (int)sizeof(T); i++) to[i] = words[i];
    }
}

/* The vertical pass of four columns of one channel. */
__device__ __forceinline__ uint32_t back4(const stk_gpu_pass *p, const int32_t *table, const uint8_t *scratch, int c,
                                          uint32_t x, uint32_t y)
{
    const stk_hd_axis *a = &p->axis;
    const int first = __ldg(table + y) - p->shift, count = __ldg(table + a->n_out + y);
    const int32_t *weights = table + 2 * a->n_out + y;
    const uint8_t *in = scratch + p->in.at + (uint64_t)c * p->in.plane + (uint64_t)first * p->in.stride + x;
    int s0 = STK_HD_ROUND, s1 = s0, s2 = s0, s3 = s0;
    for (int t = 0; t < count; t++, in += p->in.stride) {
        const int w = __ldg(weights + (uint32_t)t * a->n_out);
        const uint32_t v = __ldg((const uint32_t *)in);
        s0 += (int)(v & 255) * w;
        s1 += (int)(v >> 8 & 255) * w;
        s2 += (int)(v >> 16 & 255) * w;
        s3 += (int)(v >> 24) * w;
    }
    return pack4(stk_hd_result(s0), stk_hd_result(s1), stk_hd_result(s2), stk_hd_result(s3));
}

template <typename T, bool U8> __global__ void __launch_bounds__(BACK_THREADS) back(const stk_gpu_group g)
{
    __shared__ T table[3 * 256];
    __shared__ stk_gpu_pass pass;
    const stk_gpu_image *im = g.images + blockIdx.y;
    const uint32_t y0 = blockIdx.x * BACK_ROWS;
    if (!im->fused_back) return;
    const stk_gpu_pass *last = im->second.on ? &im->second : &im->first;
    for (int i = threadIdx.x; i < (int)(sizeof pass / 4); i += BACK_THREADS) ((uint32_t *)&pass)[i] = ((const uint32_t *)last)[i];
    if (!U8)
        for (int i = threadIdx.x; i < 3 * 256; i += BACK_THREADS) table[i] = ((const T *)g.norm)[i];
    const stk_gpu_output *o = &g.output;
    const int channels = (int)o->channels, source_channels = (int)im->picture_channels;
    const bool flip = im->flip != 0;
    T *image = (T *)(g.out + (uint64_t)im->entry * o->image_bytes);
    __syncthreads();
    const int32_t *axis = g.axes + pass.axis.at;
    const uint32_t words = o->width / 4, n = min((uint32_t)BACK_ROWS, o->height - y0);
    for (uint32_t i = threadIdx.x; i < words * n; i += BACK_THREADS) {
        const uint32_t y = y0 + i / words, x = i % words * 4;
        uint32_t bytes[3];
        bytes[0] = back4(&pass, axis, g.scratch, 0, x + pass.along, y);
        bytes[1] = source_channels == 3 ? back4(&pass, axis, g.scratch, 1, x + pass.along, y) : bytes[0];
        bytes[2] = source_channels == 3 ? back4(&pass, axis, g.scratch, 2, x + pass.along, y) : bytes[0];
        if (o->bgr && channels == 3) {
            uint32_t t = bytes[0];
            bytes[0] = bytes[2];
            bytes[2] = t;
        }
        store4<T, U8>(o, image, table, x, y, channels, bytes, flip);
    }
}

} // namespace stk

#endif
