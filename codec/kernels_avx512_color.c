/* SPDX-License-Identifier: Apache-2.0
 *
 * Upsampling and colour with AVX-512 VBMI, exactly as libjpeg-turbo (see upsample.c and color.c). */
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

INLINE void store(void *p, v512 v)
{
    _mm512_storeu_si512(p, v);
}

INLINE v512 words(int v)
{
    return _mm512_set1_epi16((short)v);
}

/* Two weights for vpmaddubsw: of the byte at the even and at the odd place. */
INLINE v512 byte_pair(int even, int odd)
{
    return words(even | odd << 8);
}

/* Sample i - 1 + step of the near line (a) and of the far line (b) side by side in word i; both loads begin one
 * sample early. */
#define NEAR_FAR(step, j) (uint8_t)(((j) & 1 ? 64 : 0) + (j) / 2 + (step))
static const uint8_t PAIRS[3][64] __attribute__((aligned(64))) = {
    {STK_BYTES_64(NEAR_FAR, 0)}, {STK_BYTES_64(NEAR_FAR, 1)}, {STK_BYTES_64(NEAR_FAR, 2)}};

/* 64 full-size samples of 32 chroma samples at near: h2v2. */
INLINE v512 upsample_h2v2(const uint8_t *near, const uint8_t *far)
{
    v512 a = load(near - 1), b = load(far - 1);
    v512 before = _mm512_permutex2var_epi8(a, load(PAIRS[0]), b),
         here = _mm512_permutex2var_epi8(a, load(PAIRS[1]), b),
         after = _mm512_permutex2var_epi8(a, load(PAIRS[2]), b);
    v512 m = _mm512_maddubs_epi16(here, byte_pair(9, 3)), side = byte_pair(3, 1);
    v512 even = _mm512_add_epi16(_mm512_add_epi16(m, words(8)), _mm512_maddubs_epi16(before, side));
    v512 odd = _mm512_add_epi16(_mm512_add_epi16(m, words(7)), _mm512_maddubs_epi16(after, side));
    return _mm512_or_si512(_mm512_srli_epi16(even, 4), _mm512_slli_epi16(_mm512_srli_epi16(odd, 4), 8));
}

INLINE v512 upsample_h2v1(const uint8_t *near)
{
    v512 before = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(near - 1))),
         here = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)near)),
         after = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)(near + 1)));
    v512 m = _mm512_add_epi16(_mm512_add_epi16(here, here), here);
    v512 even = _mm512_srli_epi16(_mm512_add_epi16(_mm512_add_epi16(m, words(1)), before), 2);
    v512 odd = _mm512_srli_epi16(_mm512_add_epi16(_mm512_add_epi16(m, words(2)), after), 2);
    return _mm512_or_si512(even, _mm512_slli_epi16(odd, 8));
}

INLINE v512 upsample_h1v2(const uint8_t *near, const uint8_t *far, int bias)
{
    v512 a = load(near), b = load(far), weights = byte_pair(3, 1);
    v512 low = _mm512_maddubs_epi16(_mm512_unpacklo_epi8(a, b), weights),
         high = _mm512_maddubs_epi16(_mm512_unpackhi_epi8(a, b), weights);
    return _mm512_packus_epi16(_mm512_srli_epi16(_mm512_add_epi16(low, words(bias)), 2),
                               _mm512_srli_epi16(_mm512_add_epi16(high, words(bias)), 2));
}

typedef struct rgb_vectors {
    v512 r, g, b;
} rgb_vectors;

/* 32 pixels in words: luma y (16 bit), and the signed chroma bytes cb, cr side by side.
 * R = y + round(1.402 cr) by vpmulhrsw of 2 cr with 22970, B = y + round(1.772 cb) with 29033: both equal
 * libjpeg's 16-bit tables for all 256 inputs (tests/unit/test_planes.c). G: floor((16384 - 11277 cb - 23401 cr) /
 * 32768), the factors as two digits of 8 bits, 11277 = 44 * 256 + 13 and 23401 = 91 * 256 + 105, with nested
 * floors. */
INLINE rgb_vectors convert_words(v512 y, v512 cb2, v512 cr2, v512 cb_cr)
{
    v512 low = _mm512_maddubs_epi16(byte_pair(13, 105), cb_cr),
         high = _mm512_maddubs_epi16(byte_pair(44, 91), cb_cr);
    v512 green = _mm512_add_epi16(high, _mm512_srai_epi16(_mm512_add_epi16(low, words(255)), 8));
    return (rgb_vectors){
        .r = _mm512_add_epi16(y, _mm512_mulhrs_epi16(cr2, words(22970))),
        .g = _mm512_add_epi16(y, _mm512_srai_epi16(_mm512_sub_epi16(words(64), green), 7)),
        .b = _mm512_add_epi16(y, _mm512_mulhrs_epi16(cb2, words(29033)))};
}

/* 64 pixels. Unpacking and packing work within lanes and undo each other. */
INLINE rgb_vectors convert(v512 y, v512 cb, v512 cr)
{
    const v512 zero = _mm512_setzero_si512(), centre = _mm512_set1_epi8((char)128);
    cb = _mm512_xor_si512(cb, centre);
    cr = _mm512_xor_si512(cr, centre);
    rgb_vectors low =
        convert_words(_mm512_unpacklo_epi8(y, zero), _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, cb), 7),
                      _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, cr), 7), _mm512_unpacklo_epi8(cb, cr));
    rgb_vectors high =
        convert_words(_mm512_unpackhi_epi8(y, zero), _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, cb), 7),
                      _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, cr), 7), _mm512_unpackhi_epi8(cb, cr));
    return (rgb_vectors){.r = _mm512_packus_epi16(low.r, high.r), .g = _mm512_packus_epi16(low.g, high.g),
                         .b = _mm512_packus_epi16(low.b, high.b)};
}

/* `chroma` is a constant where this is inlined. */
INLINE void ycc_row(const stk_ycc_row *row, const stk_upsampling chroma, size_t n, uint8_t *lines,
                    size_t line_pitch)
{
    const int bias = row->lower ? 2 : 1;
    for (size_t x = 0; x < n; x += 64) {
        v512 cb, cr;
        if (chroma == STK_UPSAMPLE_H2V2) {
            cb = upsample_h2v2(row->cb_near + x / 2, row->cb_far + x / 2);
            cr = upsample_h2v2(row->cr_near + x / 2, row->cr_far + x / 2);
        } else if (chroma == STK_UPSAMPLE_H2V1) {
            cb = upsample_h2v1(row->cb_near + x / 2);
            cr = upsample_h2v1(row->cr_near + x / 2);
        } else if (chroma == STK_UPSAMPLE_H1V2) {
            cb = upsample_h1v2(row->cb_near + x, row->cb_far + x, bias);
            cr = upsample_h1v2(row->cr_near + x, row->cr_far + x, bias);
        } else {
            cb = load(row->cb_near + x);
            cr = load(row->cr_near + x);
        }
        rgb_vectors rgb = convert(load(row->y + x), cb, cr);
        store(lines + x, rgb.r);
        store(lines + line_pitch + x, rgb.g);
        store(lines + 2 * line_pitch + x, rgb.b);
    }
}

void stk_avx512_ycc_row(const stk_ycc_row *row, stk_upsampling chroma, size_t n, uint8_t *lines, size_t line_pitch)
{
    switch (chroma) {
    case STK_UPSAMPLE_H2V2: ycc_row(row, STK_UPSAMPLE_H2V2, n, lines, line_pitch); break;
    case STK_UPSAMPLE_H2V1: ycc_row(row, STK_UPSAMPLE_H2V1, n, lines, line_pitch); break;
    case STK_UPSAMPLE_H1V2: ycc_row(row, STK_UPSAMPLE_H1V2, n, lines, line_pitch); break;
    default: ycc_row(row, STK_UPSAMPLE_NONE, n, lines, line_pitch); break;
    }
}

/* Byte i of channel c is byte 3 i + c of three registers: indices into the first two, and into the third for those
 * from 128 on. */
#define SPLIT(c, i) (uint8_t)((3 * (i) + (c)) & 127)
static const uint8_t SPLIT_INDEX[3][64] __attribute__((aligned(64))) = {
    {STK_BYTES_64(SPLIT, 0)}, {STK_BYTES_64(SPLIT, 1)}, {STK_BYTES_64(SPLIT, 2)}};
/* The first i of each channel that lies in the third register. */
static const int SPLIT_THIRD[3] = {43, 43, 42};

INLINE void split_64(v512 a, v512 b, v512 c, uint8_t *lines, size_t line_pitch)
{
#pragma GCC unroll 3
    for (int channel = 0; channel < 3; channel++) {
        v512 index = load(SPLIT_INDEX[channel]);
        v512 v = _mm512_permutex2var_epi8(a, index, b);
        v = _mm512_mask_permutexvar_epi8(v, ~(__mmask64)0 << SPLIT_THIRD[channel], index, c);
        store(lines + (size_t)channel * line_pitch, v);
    }
}

/* The lowest n bits, n <= 64. */
INLINE __mmask64 first_bytes(size_t n)
{
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

void stk_avx512_split_row(const uint8_t *rgb, size_t n, uint8_t *lines, size_t line_pitch)
{
    size_t x = 0;
    for (; x + 64 <= n; x += 64, rgb += 192)
        split_64(load(rgb), load(rgb + 64), load(rgb + 128), lines + x, line_pitch);
    if (x == n) return;
    size_t rest = 3 * (n - x);
    v512 a = _mm512_maskz_loadu_epi8(first_bytes(rest), rgb);
    v512 b = _mm512_maskz_loadu_epi8(first_bytes(rest > 64 ? rest - 64 : 0), rgb + 64);
    v512 c = _mm512_maskz_loadu_epi8(first_bytes(rest > 128 ? rest - 128 : 0), rgb + 128);
    split_64(a, b, c, lines + x, line_pitch);
}

void stk_avx512_grey_row(const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *restrict grey)
{
    const uint8_t *restrict r = lines, *restrict g = lines + line_pitch, *restrict b = lines + 2 * line_pitch;
    for (size_t i = 0; i < n; i++)
        grey[i] = (uint8_t)((r[i] * 19595u + g[i] * 38470u + b[i] * 7471u + 0x8000u) >> 16);
}

#endif
