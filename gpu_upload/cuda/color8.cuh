/* SPDX-License-Identifier: Apache-2.0
 *
 * Colour of a block's row: eight neighbouring pixels out of block-linear planes. The arithmetic is hd_color.h's, two or
 * four values a word where it fits: fancy upsampling in pairs of 16 bits, the colour sums in 32 bits with the rounding
 * in the luma operand, clipping of two at once. Coordinates count from the planes' windows. */
#ifndef STK_CUDA_COLOR8_CUH
#define STK_CUDA_COLOR8_CUH

#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/hd_color.h"

namespace stk {

enum { COLOR8_GREY, COLOR8_NONE, COLOR8_H2V1, COLOR8_H2V2, COLOR8_ANY };

/* What color8 needs of an image's planes. */
struct Planes {
    const uint8_t *at[3];
    uint32_t row0, row1; /* bytes of a row of blocks: luma, chroma */
    int x0, y0;          /* of the luma window */
    int cx0, cy0;        /* of the chroma windows */
    int last_x, last_y;  /* last chroma sample that may be read, from the window */
    int method;
    const stk_hd_plane *chroma;
    const uint8_t *scratch;

    __device__ __forceinline__ void set(const stk_gpu_image *im, const uint8_t *memory)
    {
        const stk_hd_plane *p = im->planes;
        const int k = im->n_components == 1 ? 0 : 1;
        scratch = memory;
        chroma = p + k;
        at[0] = memory + p[0].at;
        at[1] = memory + p[k].at;
        at[2] = memory + p[2 * k].at;
        row0 = p[0].block_stride * 64;
        row1 = p[k].block_stride * 64;
        x0 = p[0].x0;
        y0 = p[0].y0;
        cx0 = p[k].x0;
        cy0 = p[k].y0;
        last_x = min(p[k].last_x - cx0, (int)p[k].block_stride * 8 - 1);
        last_y = p[k].last_y - cy0;
        method = k == 0 ? COLOR8_GREY
                 : p[1].method == STK_HD_UP_NONE && p[2].method == STK_HD_UP_NONE ? COLOR8_NONE
                 : p[1].method == STK_HD_UP_H2V1 && p[2].method == STK_HD_UP_H2V1 ? COLOR8_H2V1
                 : p[1].method == STK_HD_UP_H2V2 && p[2].method == STK_HD_UP_H2V2 ? COLOR8_H2V2
                                                                                  : COLOR8_ANY;
    }
};

__device__ __forceinline__ uint32_t permute(uint32_t a, uint32_t b, uint32_t s)
{
    uint32_t d;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(s));
    return d;
}

/* Two numbers in the upper halves of a and b, clipped to 0..255, in 16 bits each. */
__device__ __forceinline__ uint32_t clip2(int a, int b)
{
    const uint32_t v = permute((uint32_t)a, (uint32_t)b, 0x7632);
    #if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
    uint32_t r;
    asm("min.relu.s16x2 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(0x00ff00ffu));
    return r;
    #else
    return __vmaxs2(__vmins2(v, 0x00ff00ffu), 0);
    #endif
}

__device__ __forceinline__ uint32_t clip4(const int v[4]) { return permute(clip2(v[0], v[1]), clip2(v[2], v[3]), 0x6420); }

/* jdcolor.c's sums: luma in the upper half with the rounding below it, chroma sign-extended from its byte. */
__device__ __forceinline__ void ycc4(uint32_t y, uint32_t cb, uint32_t cr, uint32_t &red, uint32_t &green, uint32_t &blue)
{
    int r[4], g[4], b[4];
    cb ^= 0x80808080u;
    cr ^= 0x80808080u;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        const int luma = (int)permute(y, 0x8000, 0x7054 | i << 8);
        const uint32_t extend = i | (i | 8) << 4 | (i | 8) << 8 | (i | 8) << 12;
        const int u = (int)permute(cb, 0, extend), v = (int)permute(cr, 0, extend);
        r[i] = luma + v * 91881;
        g[i] = luma + u * -22554 + v * -46802;
        b[i] = luma + u * 116130;
    }
    red = clip4(r);
    green = clip4(g);
    blue = clip4(b);
}

/* Eight upsampled chroma samples of a row: columns c0 ... c0 + 3 of the plane, c0 a multiple of four, and their
 * neighbours. near, away: the plane's row and, with V2, the next nearest one. */
template <bool V2>
__device__ __forceinline__ uint2 upsample8(const uint8_t *near, const uint8_t *away, int c0, int last_x)
{
    const int left = max(c0 - 1, 0), right = min(c0 + 4, last_x);
    const int at = (c0 >> 3) * 64 + (c0 & 7), l = (left >> 3) * 64 + (left & 7), r = (right >> 3) * 64 + (right & 7);
    uint32_t repeat = 0x3210; /* columns past the last real one repeat it */
    if (c0 + 3 > last_x) {
        const int k = last_x - c0;
        repeat = k <= 0 ? 0 : k == 1 ? 0x1110 : 0x2210;
    }
    const uint32_t n = permute(__ldg((const uint32_t *)(near + at)), 0, repeat);
    uint32_t s0 = permute(n, 0, 0x4140), s1 = permute(n, 0, 0x4342), before = __ldg(near + l), after = __ldg(near + r);
    if (V2) {
        const uint32_t f = permute(__ldg((const uint32_t *)(away + at)), 0, repeat);
        s0 = s0 * 3 + permute(f, 0, 0x4140);
        s1 = s1 * 3 + permute(f, 0, 0x4342);
        before = before * 3 + __ldg(away + l);
        after = after * 3 + __ldg(away + r);
    }
    const uint32_t p = permute(before, s0, 0x5410), m = permute(s0, s1, 0x5432), q = permute(s1, after, 0x5432);
    const uint32_t even = V2 ? 0x00080008 : 0x00010001, odd = V2 ? 0x00070007 : 0x00020002;
    const int shift = V2 ? 4 : 2;
    uint2 out;
    out.x = permute((s0 * 3 + p + even) >> shift, (s0 * 3 + m + odd) >> shift, 0x6240);
    out.y = permute((s1 * 3 + m + even) >> shift, (s1 * 3 + q + odd) >> shift, 0x6240);
    return out;
}

__device__ __noinline__ uint32_t upsample4_any(const Planes &p, int k, int x, int y)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v |= (uint32_t)stk_hd_upsample(p.scratch, p.chroma + k, p.x0 + x + i, p.y0 + y) << (8 * i);
    return v;
}

/* Chroma of pixels 8 block ... 8 block + 7 of row y. */
__device__ __forceinline__ void chroma8(const Planes &p, int block, int y, uint2 &cb, uint2 &cr)
{
    if (p.method == COLOR8_NONE) {
        const uint32_t at = (uint32_t)(y >> 3) * p.row1 + block * 64 + (y & 7) * 8;
        cb = __ldg((const uint2 *)(p.at[1] + at));
        cr = __ldg((const uint2 *)(p.at[2] + at));
    } else if (p.method == COLOR8_H2V2) {
        const int cy = y >> 1, next = min(max(cy + (y & 1 ? 1 : -1), 0), p.last_y);
        const uint32_t near = (uint32_t)(cy >> 3) * p.row1 + (cy & 7) * 8, away = (uint32_t)(next >> 3) * p.row1 + (next & 7) * 8;
        cb = upsample8<true>(p.at[1] + near, p.at[1] + away, block * 4, p.last_x);
        cr = upsample8<true>(p.at[2] + near, p.at[2] + away, block * 4, p.last_x);
    } else if (p.method == COLOR8_H2V1) {
        const uint32_t at = (uint32_t)(y >> 3) * p.row1 + (y & 7) * 8;
        cb = upsample8<false>(p.at[1] + at, nullptr, block * 4, p.last_x);
        cr = upsample8<false>(p.at[2] + at, nullptr, block * 4, p.last_x);
    } else {
        cb = make_uint2(upsample4_any(p, 0, block * 8, y), upsample4_any(p, 0, block * 8 + 4, y));
        cr = make_uint2(upsample4_any(p, 1, block * 8, y), upsample4_any(p, 1, block * 8 + 4, y));
    }
}

/* The loads of a row of a block that is not subsampled, apart from what is made of them: so that a thread can ask for
 * several before it waits. */
__device__ __forceinline__ void load8(const Planes &p, int block, int y, uint2 v[3])
{
    const uint32_t at = (uint32_t)(y >> 3) * p.row0 + block * 64 + (y & 7) * 8;
    #pragma unroll
    for (int c = 0; c < 3; c++) v[c] = __ldg((const uint2 *)(p.at[c] + at));
}

__device__ __forceinline__ void color8_of(const uint2 v[3], uint2 rgb[3])
{
    ycc4(v[0].x, v[1].x, v[2].x, rgb[0].x, rgb[1].x, rgb[2].x);
    ycc4(v[0].y, v[1].y, v[2].y, rgb[0].y, rgb[1].y, rgb[2].y);
}

__device__ __forceinline__ void color8(const Planes &p, int block, int y, uint2 rgb[3])
{
    const uint2 luma = __ldg((const uint2 *)(p.at[0] + (uint32_t)(y >> 3) * p.row0 + block * 64 + (y & 7) * 8));
    rgb[0] = rgb[1] = rgb[2] = luma;
    if (p.method == COLOR8_GREY) return;
    uint2 cb, cr;
    chroma8(p, block, y, cb, cr);
    ycc4(luma.x, cb.x, cr.x, rgb[0].x, rgb[1].x, rgb[2].x);
    ycc4(luma.y, cb.y, cr.y, rgb[0].y, rgb[1].y, rgb[2].y);
}

} // namespace stk

#endif
