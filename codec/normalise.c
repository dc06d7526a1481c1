/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalising by table: 256 possible inputs a channel, so the arithmetic is done once, in torchvision's own
 * steps, and every kernel family merely looks up. */
#include "codec/normalise.h"

#include <string.h>

#include "codec/kernels_families.h"

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Subnormals are kept, too large becomes infinity. */
uint16_t stk_float_to_f16(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);  /* NaN */
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
    uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000, exponent = magnitude >> 23;
    if (exponent < 102) return (uint16_t)sign; /* below half of the smallest subnormal */
    uint32_t shift = exponent < 113 ? 126 - exponent : 13;
    uint32_t value = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (rest > half || (rest == half && (value & 1))) value++;
    /* The hidden bit adds one to the exponent field of normal numbers. */
    if (exponent >= 113) value += (exponent - 113) << 10;
    return (uint16_t)(sign | value);
}

uint16_t stk_float_to_bf16(float x)
{
    uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void stk_norm_table_fill(stk_norm_table *table, stk_dtype dtype, uint32_t channels, const float *mean,
                         const float *std, bool v2)
{
    memset(table, 0, sizeof *table);
    table->dtype = dtype;
    table->channels = channels;
    for (uint32_t c = 0; c < channels && c < 3; c++) {
        for (uint32_t i = 0; i < 256; i++) {
            /* ToTensor divides by 255; v2.ToDtype(scale=True) multiplies by the float nearest to 1/255. */
            float x = v2 ? (float)i * (float)(1.0 / 255) : (float)i / 255.0f;
            x = x - mean[c];
            x = x / std[c];
            table->f32[c][i] = x;
            table->f16[c][i] = dtype == STK_DTYPE_BF16 ? stk_float_to_bf16(x) : stk_float_to_f16(x);
            uint32_t element = dtype == STK_DTYPE_F32 ? bits_of(x) : table->f16[c][i];
            for (int k = 0; k < 4; k++) table->planes[c][k][i] = (uint8_t)(element >> (8 * k));
        }
    }
}

/* One output element a channel c of pixel i at out[c * plane + i * step]: NHWC has step = channels and plane 1,
 * NCHW step 1 and a plane a channel. `T` is the element type, `look` an expression of c and the pixel's byte v. */
#define CONVERT(T, look)                                                \
    for (size_t i = 0; i < n_pixels; i++)                               \
        for (size_t c = 0; c < channels; c++) {                         \
            const uint8_t v = pixels[i * channels + c];                 \
            ((T *)out)[c * plane + i * step] = (look);                  \
        }

/* `channels` is a constant where this is inlined. */
static inline __attribute__((always_inline)) void convert(const stk_norm_table *table, const size_t channels,
                                                          const uint8_t *restrict pixels, size_t n_pixels,
                                                          void *restrict out, size_t plane, size_t step)
{
    if (table->dtype == STK_DTYPE_U8) {
        CONVERT(uint8_t, v)
    } else if (table->dtype == STK_DTYPE_F32) {
        CONVERT(float, table->f32[c][v])
    } else {
        CONVERT(uint16_t, table->f16[c][v])
    }
}

void stk_normalise_scalar(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                          void *out, size_t plane_elements)
{
    bool planar = layout == STK_LAYOUT_NCHW;
    if (table->dtype == STK_DTYPE_U8 && (!planar || table->channels == 1))
        memcpy(out, pixels, n_pixels * table->channels);
    else if (table->channels == 1) convert(table, 1, pixels, n_pixels, out, 1, 1);
    else convert(table, 3, pixels, n_pixels, out, planar ? plane_elements : 1, planar ? 1 : 3);
}

void stk_normalise(stk_family family, const stk_norm_table *table, stk_layout layout, const uint8_t *pixels,
                   size_t n_pixels, void *out, size_t plane_elements)
{
    stk_kernels_for(family)->normalise(table, layout, pixels, n_pixels, out, plane_elements);
}
