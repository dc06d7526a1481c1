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

/* One output of an axis: its taps, unless the host has made them, and their digits where they are used. */
__device__ __noinline__ void axis_output(const stk_hd_axis *a, uint32_t i, int32_t *table, bool digits)
{
    if (a->filter < STK_HD_HAMMING) stk_hd_axis_output(a, i, table);
    if (!digits) return;
    uint4 *to = (uint4 *)(table + stk_hd_axis_digits_at(a->n_out, a->n_taps));
    for (uint32_t q = 0; q < stk_hd_axis_quads(a->n_taps); q++) {
        uint32_t d[3];
        stk_hd_axis_digits(a, i, q, table, d);
        to[q * a->n_out + i] = make_uint4(d[0], d[1], d[2], 0);
    }
}

/* Block: an image: the tables of its axes, and its strips in the list. */
__device__ __forceinline__ void prepare_image(const stk_gpu_group &g, const stk_gpu_image *im)
{
    const bool fused = im->fused.on != 0;
    for (int pass = 0; pass < 2; pass++) {
        if (!fused && !(pass ? im->second.on : im->first.on)) continue;
        const stk_hd_axis *a = fused ? (pass ? &im->fused.second : &im->fused.first) : pass ? &im->second.axis : &im->first.axis;
        for (uint32_t i = threadIdx.x; i < a->n_out; i += blockDim.x) axis_output(a, i, g.axes + a->at, fused);
    }
    if (!fused) return;
    stk_gpu_strip *to = g.strips + (im->fused.wide ? 0 : g.n_strips[STK_GPU_WIDE]) + im->fused.first_strip;
    for (uint32_t i = threadIdx.x; i < im->fused.n_strips; i += blockDim.x) to[i] = {(uint32_t)(im - g.images), i};
}

__device__ __forceinline__ uint32_t pack4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return a | b << 8 | c << 16 | d << 24;
}

/* Chroma of four neighbouring pixels, sx a multiple of nothing in particular. The samples that they share are loaded
 * once where the method allows it. */
__device__ __forceinline__ void chroma4(const uint8_t *planes, const stk_hd_plane *p, int sx, int sy, int v[4])
{
    if (p->method == STK_HD_UP_H2V1 || p->method == STK_HD_UP_H2V2) {
        /* Columns (sx >> 1) - 1 .. (sx >> 1) + 2 or + 3 cover all four pixels. */
        const int c0 = (sx >> 1) - 1;
        const bool two = p->method == STK_HD_UP_H2V2;
        const int y0 = two ? sy >> 1 : sy, y1 = two ? stk_hd_far(sy) : sy;
        int s[5];
        #pragma unroll
        for (int i = 0; i < 5; i++) {
            int near = stk_hd_plane_sample(planes, p, c0 + i, y0);
            s[i] = two ? 3 * near + stk_hd_plane_sample(planes, p, c0 + i, y1) : near;
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            const int x = sx + i, k = (x >> 1) - c0, odd = x & 1;
            const int near = k == 1 ? s[1] : k == 2 ? s[2] : s[3], away = odd ? (k == 1 ? s[2] : k == 2 ? s[3] : s[4])
                                                                          : (k == 1 ? s[0] : k == 2 ? s[1] : s[2]);
            v[i] = two ? (3 * near + away + (odd ? 7 : 8)) >> 4 : (3 * near + away + (odd ? 2 : 1)) >> 2;
        }
        return;
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) v[i] = stk_hd_upsample(planes, p, sx + i, sy);
}

/* Luma, and chroma that is not subsampled: four bytes of a block-linear row, two aligned words. */
__device__ __forceinline__ void plain4(const uint8_t *planes, const stk_hd_plane *p, int sx, int sy, int v[4])
{
    const uint32_t x = (uint32_t)(sx - p->x0), y = (uint32_t)(sy - p->y0);
    const uint32_t lo = __ldg((const uint32_t *)(planes + stk_hd_plane_at(p, x & ~3u, y)));
    const uint32_t hi = x & 3 ? __ldg((const uint32_t *)(planes + stk_hd_plane_at(p, min((x & ~3u) + 4, p->block_stride * 8 - 4), y))) : 0;
    const uint32_t w = __funnelshift_r(lo, hi, (x & 3) * 8);
    #pragma unroll
    for (int i = 0; i < 4; i++) v[i] = (int)(w >> (8 * i) & 255);
}

/* Four pixels of the common case: not turned, RGB from three planes, to out, out + plane, out + 2 plane (aligned words).
 * Pixels past the picture's width are whatever the planes hold. */
__device__ __forceinline__ void color4(const stk_gpu_image *im, const uint8_t *scratch, int x, int y, uint8_t *out, uint64_t plane)
{
    const int sx = im->crop_x + x, sy = im->crop_y + y;
    int luma[4], cb[4], cr[4];
    plain4(scratch, &im->planes[0], sx, sy, luma);
    if (im->planes[1].method == STK_HD_UP_NONE) {
        plain4(scratch, &im->planes[1], sx, sy, cb);
        plain4(scratch, &im->planes[2], sx, sy, cr);
    } else {
        chroma4(scratch, &im->planes[1], sx, sy, cb);
        chroma4(scratch, &im->planes[2], sx, sy, cr);
    }
    uint32_t word[3] = {0, 0, 0};
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        uint8_t rgb[3];
        stk_hd_ycc(luma[i], cb[i], cr[i], rgb);
        #pragma unroll
        for (int c = 0; c < 3; c++) word[c] |= (uint32_t)rgb[c] << (8 * i);
    }
    #pragma unroll
    for (int c = 0; c < 3; c++) *(uint32_t *)(out + c * plane) = word[c];
}

/* Which rows of its image a block of a grid of (rows, others) has, clipped. */
__device__ __forceinline__ stk_gpu_item item_of(uint32_t height)
{
    stk_gpu_item item = {0, blockIdx.x * STK_GPU_ROWS_PER_BLOCK, 0};
    if (item.first < height) item.n = min((uint32_t)STK_GPU_ROWS_PER_BLOCK, height - item.first);
    return item;
}

__global__ void __launch_bounds__(THREADS) color(const stk_gpu_group g)
{
    const stk_gpu_image *im = g.images + g.others[blockIdx.y];
    if (im->kind == 0) return;
    const stk_gpu_item item = item_of(im->source.height);
    const uint8_t *rows = im->kind == 2 ? (im->resident ? g.resident : g.bytes) + im->raw : nullptr;
    const bool common = rows == nullptr && im->orientation == 1 && im->n_components == 3 && im->picture_channels == 3;
    const int per_row = common ? ((int)im->source.width + 3) / 4 : (int)im->source.width;
    for (int i = threadIdx.x; i < per_row * (int)item.n; i += THREADS) {
        int y = (int)item.first + i / per_row, x = i % per_row;
        if (common)
            color4(im, g.scratch, x * 4, y, g.scratch + im->source.at + (uint64_t)y * im->source.stride + x * 4, im->source.plane);
        else
            stk_hd_color_pixel(im, rows, g.scratch, x, y);
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
        int sum[STK_GPU_ROWS_PER_BLOCK];
        #pragma unroll
        for (int r = 0; r < STK_GPU_ROWS_PER_BLOCK; r++) sum[r] = STK_HD_ROUND;
        for (int t = 0; t < count; t++) {
            const int w = __ldg(weights + (uint32_t)t * a->n_out);
            #pragma unroll
            for (int r = 0; r < STK_GPU_ROWS_PER_BLOCK; r++)
                if (r < (int)item.n) sum[r] += in[(uint32_t)r * p->in.stride + t] * w;
        }
        uint8_t *out = scratch + p->out.at + (uint64_t)c * p->out.plane + (uint64_t)item.first * p->out.stride + x;
        #pragma unroll
        for (int r = 0; r < STK_GPU_ROWS_PER_BLOCK; r++)
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
    const stk_gpu_image *im = g.images + g.others[blockIdx.y];
    const uint32_t c = blockIdx.z;
    const stk_gpu_pass *p = STAGE == STK_GPU_FIRST ? &im->first : &im->second;
    if (!p->on || c >= im->picture_channels) return;
    const stk_gpu_item item = item_of(p->out.height);
    if (item.n == 0) return;
    if (p->vertical) pass_vertical(p, g.axes, g.scratch, c, item);
    else pass_horizontal(p, g.axes, g.scratch, c, item);
}

/* T: an element's bits. Table in shared memory; a row is staged there too and leaves as whole words. */
template <typename T, bool U8> __global__ void __launch_bounds__(THREADS) finish(const stk_gpu_group g)
{
    extern __shared__ __align__(128) uint8_t memory[];
    T *table = (T *)memory, *row = table + 3 * 256;
    const stk_gpu_image *im = g.images + g.others[blockIdx.y];
    const stk_gpu_output *o = &g.output;
    const stk_gpu_item item = item_of(o->height);
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
                T v = im->kind == 0 || im->bad ? (T)0 : U8 ? (T)bytes[c] : table[c * 256 + bytes[c]];
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
