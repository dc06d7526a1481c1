/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages after decoding: coefficients, colour, the two passes, the finish. One block an item (a few rows of one
 * image); threads run along a row. */
#ifndef STK_CUDA_STAGES_CUH
#define STK_CUDA_STAGES_CUH

#include <stoker/types.h>

#include "gpu_upload/hd_stages.h"

namespace stk {

constexpr int THREADS = 224;

/* Block: one pass of one image. */
__global__ void axes(const stk_gpu_group g)
{
    const stk_gpu_image *im = g.images + blockIdx.x;
    const stk_gpu_pass *p = blockIdx.y ? &im->second : &im->first;
    if (!p->on || p->axis.filter >= STK_HD_HAMMING) return; /* the others came from the host */
    for (uint32_t i = threadIdx.x; i < p->axis.n_out; i += blockDim.x)
        stk_hd_axis_output(&p->axis, i, g.axes + p->axis.at);
}

__device__ __forceinline__ uint32_t pack4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return a | b << 8 | c << 16 | d << 24;
}

/* Four pixels of the common case: not turned, RGB from three planes. */
__device__ __forceinline__ void color4(const stk_gpu_image *im, uint8_t *scratch, int x, int y)
{
    uint32_t word[3] = {0, 0, 0};
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        uint8_t rgb[3];
        int sx = im->crop_x + x + i, sy = im->crop_y + y;
        stk_hd_ycc(stk_hd_plane_sample(scratch, &im->planes[0], sx, sy), stk_hd_upsample(scratch, &im->planes[1], sx, sy),
                   stk_hd_upsample(scratch, &im->planes[2], sx, sy), rgb);
        #pragma unroll
        for (int c = 0; c < 3; c++) word[c] |= (uint32_t)rgb[c] << (8 * i);
    }
    uint8_t *out = scratch + im->source.at + (uint64_t)y * im->source.stride + x;
    #pragma unroll
    for (int c = 0; c < 3; c++) *(uint32_t *)(out + (uint64_t)c * im->source.plane) = word[c];
}

__global__ void __launch_bounds__(THREADS) color(const stk_gpu_group g)
{
    __shared__ stk_gpu_image shared;
    const stk_gpu_item item = g.items[STK_GPU_COLOR][blockIdx.x];
    for (int i = threadIdx.x; i < (int)(sizeof shared / 4); i += THREADS)
        ((uint32_t *)&shared)[i] = ((const uint32_t *)(g.images + item.image))[i];
    __syncthreads();
    const stk_gpu_image *im = &shared;
    const uint8_t *rows = im->kind == 2 ? (im->resident ? g.resident : g.bytes) + im->raw : nullptr;
    const bool common = rows == nullptr && im->orientation == 1 && im->n_components == 3 && im->picture_channels == 3;
    const int per_row = common ? ((int)im->source.width + 3) / 4 : (int)im->source.width;
    for (int i = threadIdx.x; i < per_row * (int)item.n; i += THREADS) {
        int y = (int)item.first + i / per_row, x = i % per_row;
        if (common) color4(im, g.scratch, x * 4, y);
        else stk_hd_color_pixel(im, rows, g.scratch, x, y);
    }
}

/* Horizontal: a thread is an output column; the item's rows share its weights. */
__device__ __forceinline__ void pass_horizontal(const stk_gpu_pass *p, const int32_t *axes, uint8_t *scratch, uint32_t c,
                                                const stk_gpu_item &item)
{
    const stk_hd_axis *a = &p->axis;
    const int32_t *table = axes + a->at;
    for (uint32_t x = threadIdx.x; x < a->n_out; x += THREADS) {
        const int first = __ldg(table + x) - p->shift, count = __ldg(table + a->n_out + x);
        const int32_t *weights = table + 2 * a->n_out + x;
        const uint8_t *in = scratch + p->in.at + (uint64_t)c * p->in.plane +
                            (uint64_t)((int)item.first + p->along) * p->in.stride + (uint32_t)first;
        int sum[STK_GPU_ROWS_PER_ITEM];
        #pragma unroll
        for (int r = 0; r < STK_GPU_ROWS_PER_ITEM; r++) sum[r] = STK_HD_ROUND;
        for (int t = 0; t < count; t++) {
            const int w = __ldg(weights + (uint32_t)t * a->n_out);
            #pragma unroll
            for (int r = 0; r < STK_GPU_ROWS_PER_ITEM; r++)
                if (r < (int)item.n) sum[r] += in[(uint32_t)r * p->in.stride + t] * w;
        }
        uint8_t *out = scratch + p->out.at + (uint64_t)c * p->out.plane + (uint64_t)item.first * p->out.stride + x;
        #pragma unroll
        for (int r = 0; r < STK_GPU_ROWS_PER_ITEM; r++)
            if (r < (int)item.n) out[(uint32_t)r * p->out.stride] = stk_hd_result(sum[r]);
    }
}

/* Vertical: a thread is four columns of one row; weights are uniform. */
__device__ __forceinline__ void pass_vertical(const stk_gpu_pass *p, const int32_t *axes, uint8_t *scratch, uint32_t c,
                                              const stk_gpu_item &item)
{
    const stk_hd_axis *a = &p->axis;
    const int32_t *table = axes + a->at;
    const int words = ((int)p->out.width + 3) / 4;
    for (int i = threadIdx.x; i < words * (int)item.n; i += THREADS) {
        const uint32_t y = item.first + i / words, x = (i % words) * 4;
        const int first = __ldg(table + y) - p->shift, count = __ldg(table + a->n_out + y);
        const int32_t *weights = table + 2 * a->n_out + y;
        const uint8_t *in = scratch + p->in.at + (uint64_t)c * p->in.plane + (uint64_t)first * p->in.stride +
                            (uint32_t)((int)x + p->along);
        int s0 = STK_HD_ROUND, s1 = s0, s2 = s0, s3 = s0;
        for (int t = 0; t < count; t++, in += p->in.stride) {
            const int w = __ldg(weights + (uint32_t)t * a->n_out);
            s0 += in[0] * w;
            s1 += in[1] * w;
            s2 += in[2] * w;
            s3 += in[3] * w;
        }
        *(uint32_t *)(scratch + p->out.at + (uint64_t)c * p->out.plane + (uint64_t)y * p->out.stride + x) =
            pack4(stk_hd_result(s0), stk_hd_result(s1), stk_hd_result(s2), stk_hd_result(s3));
    }
}

template <int STAGE> __global__ void __launch_bounds__(THREADS) pass(const stk_gpu_group g)
{
    const stk_gpu_item item = g.items[STAGE][blockIdx.x];
    const stk_gpu_image *im = g.images + item.image;
    const uint32_t c = blockIdx.y;
    if (c >= im->picture_channels) return;
    const stk_gpu_pass *p = STAGE == STK_GPU_FIRST ? &im->first : &im->second;
    if (p->vertical) pass_vertical(p, g.axes, g.scratch, c, item);
    else pass_horizontal(p, g.axes, g.scratch, c, item);
}

/* T: an element's bits. Table in shared memory; a row is staged there too and leaves as whole words. */
template <typename T, bool U8> __global__ void __launch_bounds__(THREADS) finish(const stk_gpu_group g)
{
    extern __shared__ __align__(128) uint8_t memory[];
    T *table = (T *)memory, *row = table + 3 * 256;
    const stk_gpu_item item = g.items[STK_GPU_FINISH][blockIdx.x];
    const stk_gpu_image *im = g.images + item.image;
    const stk_gpu_output *o = &g.output;
    T *image = (T *)(g.out + (uint64_t)im->entry * o->image_bytes);
    const uint32_t n = o->width * o->channels;
    if (!U8)
        for (int i = threadIdx.x; i < 3 * 256; i += THREADS) table[i] = ((const T *)g.norm)[i];
    for (uint32_t y = item.first; y < item.first + item.n; y++) {
        __syncthreads();
        for (uint32_t x = threadIdx.x; x < o->width; x += THREADS) {
            uint8_t bytes[3];
            stk_hd_finish_pixel(im, o, g.scratch, (int)x, (int)y, bytes);
            #pragma unroll
            for (uint32_t c = 0; c < 3; c++) {
                if (c >= o->channels) continue;
                T v = im->kind == 0 ? (T)0 : U8 ? (T)bytes[c] : table[c * 256 + bytes[c]];
                row[o->layout == 0 ? x * o->channels + c : c * o->width + x] = v;
            }
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
            uint64_t at = o->layout == 0 ? (uint64_t)y * n + i
                                         : ((uint64_t)(i / o->width) * o->height + y) * o->width + i % o->width;
            image[at] = row[i];
        }
    }
}

} // namespace stk

#endif
