/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalising by table with AVX-512 VBMI. A table of 256 bytes fits four registers, and vpermt2b looks 64 bytes up
 * in two of them; so each byte of the output elements is looked up as a table of its own (stk_norm_table.planes),
 * 64 pixels at a time, and unpacking puts the bytes together. */
#include "codec/kernels_avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "codec/byte_tables.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m512i v512;

INLINE v512 load(const void *p)
{
    return _mm512_loadu_si512(p);
}

/* The lowest n bits, n <= 64. */
INLINE __mmask64 first_bytes(size_t n)
{
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

INLINE v512 look_up(const uint8_t *table, v512 v)
{
    v512 low = _mm512_permutex2var_epi8(load(table), v, load(table + 64));
    v512 high = _mm512_permutex2var_epi8(load(table + 128), v, load(table + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

/* The order in which 64 values must stand so that unpacking their result bytes within lanes leaves them in
 * sequence: for two bytes an element quarters of lanes, for four bytes a 4 x 4 transpose of dwords. */
INLINE v512 spread(v512 v, const int width)
{
    if (width == 1) return v;
    if (width == 2) return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v);
}

/* width registers of result bytes -> width registers of elements in sequence. */
INLINE void assemble(const v512 *bytes, const int width, v512 *out)
{
    if (width == 1) {
        out[0] = bytes[0];
    } else if (width == 2) {
        out[0] = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
        out[1] = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
    } else {
        v512 low_01 = _mm512_unpacklo_epi8(bytes[0], bytes[1]), high_01 = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
        v512 low_23 = _mm512_unpacklo_epi8(bytes[2], bytes[3]), high_23 = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
        out[0] = _mm512_unpacklo_epi16(low_01, low_23);
        out[1] = _mm512_unpackhi_epi16(low_01, low_23);
        out[2] = _mm512_unpacklo_epi16(high_01, high_23);
        out[3] = _mm512_unpackhi_epi16(high_01, high_23);
    }
}

/* n <= 64 elements of width bytes, exactly. */
INLINE void store_elements(uint8_t *to, const v512 *v, const int width, size_t n)
{
    for (int i = 0; i < width; i++) {
        size_t begin = 64 * (size_t)i, n_bytes = n * (size_t)width;
        if (n == 64) _mm512_storeu_si512(to + begin, v[i]);
        else if (n_bytes > begin) _mm512_mask_storeu_epi8(to + begin, first_bytes(n_bytes - begin), v[i]);
    }
}

INLINE void one_channel(const uint8_t planes[4][256], v512 v, const int width, uint8_t *to, size_t n)
{
    v512 bytes[4], elements[4];
    v = spread(v, width);
    for (int i = 0; i < width; i++) bytes[i] = width == 1 ? v : look_up(planes[i], v);
    assemble(bytes, width, elements);
    store_elements(to, elements, width, n);
}

/* Byte i of channel c is byte 3 i + c of three registers (kernels_avx512_color.c has the same table). */
#define SPLIT(c, i) (uint8_t)((3 * (i) + (c)) & 127)
static const uint8_t SPLIT_INDEX[3][64] __attribute__((aligned(64))) = {
    {STK_BYTES_64(SPLIT, 0)}, {STK_BYTES_64(SPLIT, 1)}, {STK_BYTES_64(SPLIT, 2)}};
static const int SPLIT_THIRD[3] = {43, 43, 42};

INLINE v512 split(const v512 *in, int channel)
{
    v512 index = load(SPLIT_INDEX[channel]), v = _mm512_permutex2var_epi8(in[0], index, in[1]);
    return _mm512_mask_permutexvar_epi8(v, ~(__mmask64)0 << SPLIT_THIRD[channel], index, in[2]);
}

/* Up to 192 bytes, exactly. */
INLINE void load_pixels(const uint8_t *p, size_t n_bytes, v512 *out)
{
    for (size_t i = 0; i < 3; i++) {
        size_t begin = 64 * i;
        out[i] = _mm512_maskz_loadu_epi8(n_bytes > begin ? first_bytes(n_bytes - begin) : 0, p + begin);
    }
}

/* Interleaved RGB -> one plane a channel. */
INLINE void to_planes(const stk_norm_table *table, const int width, const uint8_t *pixels, size_t n_pixels,
                      uint8_t *out, size_t plane_bytes)
{
    for (size_t x = 0; x < n_pixels; x += 64) {
        size_t n = n_pixels - x < 64 ? n_pixels - x : 64;
        v512 in[3];
        load_pixels(pixels + 3 * x, 3 * n, in);
        for (int c = 0; c < 3; c++)
            one_channel(table->planes[c], split(in, c), width, out + (size_t)c * plane_bytes + x * (size_t)width,
                        n);
    }
}

/* Byte j of the 192 that 64 pixels make is channel j % 3 of pixel j / 3 (kernels_avx512_copy.c has the same
 * table). */
#define JOIN_FROM(j) (uint8_t)((j) % 3 == 1 ? 64 + (j) / 3 : (j) / 3)
#define JOIN(v, j) JOIN_FROM(64 * (v) + (j))
static const uint8_t JOIN_INDEX[3][64] __attribute__((aligned(64))) = {
    {STK_BYTES_64(JOIN, 0)}, {STK_BYTES_64(JOIN, 1)}, {STK_BYTES_64(JOIN, 2)}};
static const __mmask64 JOIN_BLUE[3] = {0x4924924924924924u, 0x2492492492492492u, 0x9249249249249249u};

INLINE v512 join(v512 r, v512 g, v512 b, int part)
{
    v512 index = load(JOIN_INDEX[part]), v = _mm512_permutex2var_epi8(r, index, g);
    return _mm512_mask_permutexvar_epi8(v, JOIN_BLUE[part], index, b);
}

/* Interleaved stays interleaved: split by channel to look up, each result byte joined again, then assembled. */
INLINE void interleaved(const stk_norm_table *table, const int width, const uint8_t *pixels, size_t n_pixels,
                        uint8_t *out)
{
    for (size_t x = 0; x < n_pixels; x += 64) {
        size_t n_bytes = 3 * (n_pixels - x < 64 ? n_pixels - x : 64);
        v512 in[3], channel[3], bytes[3][4], elements[4];
        load_pixels(pixels + 3 * x, n_bytes, in);
        for (int c = 0; c < 3; c++) channel[c] = split(in, c);
        for (int k = 0; k < width; k++) {
            v512 r = look_up(table->planes[0][k], channel[0]), g = look_up(table->planes[1][k], channel[1]),
                 b = look_up(table->planes[2][k], channel[2]);
            for (int part = 0; part < 3; part++) bytes[part][k] = spread(join(r, g, b, part), width);
        }
        for (size_t part = 0; part < 3 && 64 * part < n_bytes; part++) {
            size_t n = n_bytes - 64 * part < 64 ? n_bytes - 64 * part : 64;
            assemble(bytes[part], width, elements);
            store_elements(out + (3 * x + 64 * part) * (size_t)width, elements, width, n);
        }
    }
}

INLINE void grey(const stk_norm_table *table, const int width, const uint8_t *pixels, size_t n_pixels,
                 uint8_t *out)
{
    for (size_t x = 0; x < n_pixels; x += 64) {
        size_t n = n_pixels - x < 64 ? n_pixels - x : 64;
        v512 v = _mm512_maskz_loadu_epi8(first_bytes(n), pixels + x);
        one_channel(table->planes[0], v, width, out + x * (size_t)width, n);
    }
}

/* `width` (bytes an element) is a constant where this is inlined. */
INLINE void normalise(const stk_norm_table *table, stk_layout layout, const int width, const uint8_t *pixels,
                      size_t n_pixels, uint8_t *out, size_t plane_elements)
{
    if (table->channels == 1) grey(table, width, pixels, n_pixels, out);
    else if (layout == STK_LAYOUT_NCHW)
        to_planes(table, width, pixels, n_pixels, out, plane_elements * (size_t)width);
    else if (width == 1) memcpy(out, pixels, 3 * n_pixels);
    else interleaved(table, width, pixels, n_pixels, out);
}

void stk_avx512_normalise(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                          void *out, size_t plane_elements)
{
    switch (table->dtype) {
    case STK_DTYPE_U8: normalise(table, layout, 1, pixels, n_pixels, out, plane_elements); break;
    case STK_DTYPE_F32: normalise(table, layout, 4, pixels, n_pixels, out, plane_elements); break;
    default: normalise(table, layout, 2, pixels, n_pixels, out, plane_elements); break;
    }
}

#endif
