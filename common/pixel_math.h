/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of the augmentations on single pixels, as Pillow 13 does it (src/libImaging), so that host and
 * device code run the same expressions. C11 and CUDA C++. Nothing here may be fused or reordered: compile with
 * -ffp-contract=off (nvcc: -fmad=false). */
#ifndef STK_COMMON_PIXEL_MATH_H
#define STK_COMMON_PIXEL_MATH_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define STK_PX static __host__ __device__ __forceinline__
#else
#define STK_PX static inline __attribute__((always_inline))
#endif

/* What a float is as a byte in Blend.c and Filter.c: clipped, cut off. */
STK_PX uint8_t stk_px_cut(float v)
{
    v = v < 0.0f ? 0.0f : v;
    v = v > 255.0f ? 255.0f : v;
    return (uint8_t)(int32_t)v;
}

/* Blend.c: from + alpha * (to - from). With alpha in 0 .. 1 Pillow leaves the clipping out, which changes nothing. */
STK_PX uint8_t stk_px_blend(uint8_t from, uint8_t to, float alpha)
{
    return stk_px_cut((float)from + alpha * (float)((int32_t)to - (int32_t)from));
}

/* Convert.c's L24: ITU-R 601-2 luma. */
STK_PX uint8_t stk_px_luma(uint8_t r, uint8_t g, uint8_t b)
{
    return (uint8_t)((r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16);
}

STK_PX uint8_t stk_px_max(uint8_t a, uint8_t b) { return a > b ? a : b; }
STK_PX uint8_t stk_px_min(uint8_t a, uint8_t b) { return a < b ? a : b; }

/* Convert.c's rgb2hsv_row: hue and saturation, 0 .. 255 (value is the largest of the three). Its mixture of float
 * and double is kept. */
STK_PX void stk_px_hue_saturation(uint8_t r, uint8_t g, uint8_t b, uint8_t *hue, uint8_t *saturation)
{
    uint8_t high = stk_px_max(r, stk_px_max(g, b)), low = stk_px_min(r, stk_px_min(g, b));
    /* A grey pixel has neither; dividing by 1 instead of 0 gives it both as 0. */
    float range = (float)(high == low ? 1 : high - low);
    float s = (float)(high - low) / (float)(high == 0 ? 1 : high);
    float rc = (float)(high - r) / range, gc = (float)(high - g) / range, bc = (float)(high - b) / range;
    float h = r == high ? bc - gc : g == high ? (float)(2.0 + (double)rc - (double)bc)
                                              : (float)(4.0 + (double)gc - (double)rc);
    double turns = (double)h / 6.0 + 1.0; /* 0.8 .. 2 */
    h = (float)(turns >= 1.0 ? turns - 1.0 : turns);
    *hue = (uint8_t)(int32_t)((double)h * 255.0);
    *saturation = (uint8_t)(int32_t)((double)s * 255.0);
}

/* C's round() for 0 <= x < 2^31. */
STK_PX uint8_t stk_px_round(double x)
{
    int32_t whole = (int32_t)x;
    return (uint8_t)(whole + (x - (double)whole >= 0.5 ? 1 : 0));
}

/* Convert.c's hsv2rgb. */
STK_PX void stk_px_hsv_to_rgb(uint8_t hue, uint8_t saturation, uint8_t value, uint8_t *r, uint8_t *g, uint8_t *b)
{
    double sixths = (double)(float)hue * 6.0 / 255.0;
    int32_t sector = (int32_t)sixths; /* 0 .. 6 */
    float f = (float)(sixths - (double)(float)sector), s = (float)((double)(float)saturation / 255.0);
    double v = (double)(float)value;
    uint8_t p = stk_px_round(v * (1.0 - (double)s));
    uint8_t q = stk_px_round(v * (1.0 - (double)(s * f)));
    uint8_t t = stk_px_round(v * (1.0 - (double)s * (1.0 - (double)f)));
    sector = sector == 6 ? 0 : sector;
    /* A grey pixel (saturation 0) has p = q = t = value. */
    *r = sector == 0 || sector == 5 ? value : sector == 1 ? q : sector == 4 ? t : p;
    *g = sector == 1 || sector == 2 ? value : sector == 3 ? q : sector == 0 ? t : p;
    *b = sector == 3 || sector == 4 ? value : sector == 5 ? q : sector == 2 ? t : p;
}

/* torchvision's adjust_hue on a Pillow image: the hue's byte moved by `shift`, wrapping around. */
STK_PX void stk_px_shift_hue(uint8_t *r, uint8_t *g, uint8_t *b, uint8_t shift)
{
    uint8_t hue, saturation, value = stk_px_max(*r, stk_px_max(*g, *b));
    stk_px_hue_saturation(*r, *g, *b, &hue, &saturation);
    stk_px_hsv_to_rgb((uint8_t)(hue + shift), saturation, value, r, g, b);
}

/* ImageFilter.SMOOTH in Filter.c's order: 3x3 with a heavy centre. Rows above, here and below at the pixel's
 * channel; `step` bytes lead to the neighbour. */
STK_PX uint8_t stk_px_smooth(const uint8_t *above, const uint8_t *here, const uint8_t *below, int32_t step)
{
    const float edge = 1.0f / 13.0f, centre = 5.0f / 13.0f;
    float sum = 0.5f;
    sum += (float)below[-step] * edge + (float)below[0] * edge + (float)below[step] * edge;
    sum += (float)here[-step] * edge + (float)here[0] * centre + (float)here[step] * edge;
    sum += (float)above[-step] * edge + (float)above[0] * edge + (float)above[step] * edge;
    return stk_px_cut(sum);
}

/* Geometry.c's cubic interpolation at d in 0 .. 1 between b and c. */
STK_PX double stk_px_cubic(double a, double b, double c, double d, double at)
{
    double p2 = -a + c, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
    return b + at * (p2 + at * (p3 + at * p4));
}

STK_PX double stk_px_linear(double a, double b, double at) { return a + (b - a) * at; }

/* Nearest even of 0 <= x < 2^22. */
STK_PX uint8_t stk_px_nearest(float x) { return stk_px_cut((x + 12582912.0f) - 12582912.0f); }

/* ---- Elements of batches. */

STK_PX float stk_px_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

STK_PX uint32_t stk_px_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

STK_PX float stk_px_from_f16(uint16_t h)
{
    /* The exponent's bias by a multiplication, which is right for subnormals too. */
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7fff) << 13;
    return stk_px_of_bits(stk_px_bits(stk_px_of_bits(magnitude) * 5192296858534827628530496329220096.0f) | sign);
}

/* Nearest even, |x| < 65520. */
STK_PX uint16_t stk_px_to_f16(float x)
{
    uint32_t bits = stk_px_bits(x), magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    /* Adding 0.5 leaves a multiple of 2^-24, the unit of subnormals, in the low bits. */
    uint32_t subnormal = stk_px_bits(stk_px_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    return (uint16_t)((bits >> 16 & 0x8000) | (magnitude < 113u << 23 ? subnormal : normal));
}

STK_PX float stk_px_from_bf16(uint16_t h) { return stk_px_of_bits((uint32_t)h << 16); }

/* Nearest even, of a finite x. */
STK_PX uint16_t stk_px_to_bf16(float x)
{
    uint32_t bits = stk_px_bits(x);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* `share` of a and `other` of b, as torchvision's v2.MixUp multiplies and adds, then rounded to the nearest (uint8: half
 * up). */
STK_PX uint8_t stk_px_mix_u8(uint8_t a, uint8_t b, float share, float other)
{
    return stk_px_cut((float)b * other + (float)a * share + 0.5f);
}

STK_PX uint16_t stk_px_mix_f16(uint16_t a, uint16_t b, float share, float other)
{
    return stk_px_to_f16(stk_px_from_f16(b) * other + stk_px_from_f16(a) * share);
}

STK_PX uint16_t stk_px_mix_bf16(uint16_t a, uint16_t b, float share, float other)
{
    return stk_px_to_bf16(stk_px_from_bf16(b) * other + stk_px_from_bf16(a) * share);
}

STK_PX float stk_px_mix_f32(float a, float b, float share, float other) { return b * other + a * share; }

#endif
