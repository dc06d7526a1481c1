/* SPDX-License-Identifier: Apache-2.0
 *
 * Upsampling and colour with AVX2, exactly as libjpeg-turbo (see upsample.c and color.c). */
#include "codec/kernels_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "codec/byte_tables.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m256i v256;

INLINE v256 load(const void *p)
{
    return _mm256_loadu_si256((const v256 *)p);
}

INLINE void store(void *p, v256 v)
{
    _mm256_storeu_si256((v256 *)p, v);
}

/* 16 bytes, zero-extended to words. */
INLINE v256 load_words(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE v256 words(int v)
{
    return _mm256_set1_epi16((short)v);
}

/* Two weights for vpmaddubsw: of the byte at the even and at the odd place. */
INLINE v256 byte_pair(int even, int odd)
{
    return words(even | odd << 8);
}

/* Near and far sample of one column side by side. */
INLINE v256 near_far(const uint8_t *near, const uint8_t *far)
{
    return _mm256_or_si256(load_words(near), _mm256_slli_epi16(load_words(far), 8));
}

/* 32 full-size samples of 16 chroma samples at near: h2v2. */
INLINE v256 upsample_h2v2(const uint8_t *near, const uint8_t *far)
{
    v256 before = near_far(near - 1, far - 1), here = near_far(near, far), after = near_far(near + 1, far + 1);
    v256 m = _mm256_maddubs_epi16(here, byte_pair(9, 3)), side = byte_pair(3, 1);
    v256 even = _mm256_add_epi16(_mm256_add_epi16(m, words(8)), _mm256_maddubs_epi16(before, side));
    v256 odd = _mm256_add_epi16(_mm256_add_epi16(m, words(7)), _mm256_maddubs_epi16(after, side));
    return _mm256_or_si256(_mm256_srli_epi16(even, 4), _mm256_slli_epi16(_mm256_srli_epi16(odd, 4), 8));
}

INLINE v256 upsample_h2v1(const uint8_t *near)
{
    v256 before = load_words(near - 1), here = load_words(near), after = load_words(near + 1);
    v256 m = _mm256_add_epi16(_mm256_add_epi16(here, here), here);
    v256 even = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(m, words(1)), before), 2);
    v256 odd = _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(m, words(2)), after), 2);
    return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

INLINE v256 upsample_h1v2(const uint8_t *near, const uint8_t *far, int bias)
{
    v256 a = load(near), b = load(far), weights = byte_pair(3, 1);
    v256 low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights),
         high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights);
    return _mm256_packus_epi16(_mm256_srli_epi16(_mm256_add_epi16(low, words(bias)), 2),
                               _mm256_srli_epi16(_mm256_add_epi16(high, words(bias)), 2));
}

typedef struct rgb_vectors {
    v256 r, g, b;
} rgb_vectors;

/* 16 pixels in words; the arithmetic is explained in kernels_avx512_color.c. */
INLINE rgb_vectors convert_words(v256 y, v256 cb2, v256 cr2, v256 cb_cr)
{
    v256 low = _mm256_maddubs_epi16(byte_pair(13, 105), cb_cr),
         high = _mm256_maddubs_epi16(byte_pair(44, 91), cb_cr);
    v256 green = _mm256_add_epi16(high, _mm256_srai_epi16(_mm256_add_epi16(low, words(255)), 8));
    return (rgb_vectors){
        .r = _mm256_add_epi16(y, _mm256_mulhrs_epi16(cr2, words(22970))),
        .g = _mm256_add_epi16(y, _mm256_srai_epi16(_mm256_sub_epi16(words(64), green), 7)),
        .b = _mm256_add_epi16(y, _mm256_mulhrs_epi16(cb2, words(29033)))};
}

/* 32 pixels. Unpacking and packing work within lanes and undo each other. */
INLINE rgb_vectors convert(v256 y, v256 cb, v256 cr)
{
    const v256 zero = _mm256_setzero_si256(), centre = _mm256_set1_epi8((char)128);
    cb = _mm256_xor_si256(cb, centre);
    cr = _mm256_xor_si256(cr, centre);
    rgb_vectors low =
        convert_words(_mm256_unpacklo_epi8(y, zero), _mm256_srai_epi16(_mm256_unpacklo_epi8(zero, cb), 7),
                      _mm256_srai_epi16(_mm256_unpacklo_epi8(zero, cr), 7), _mm256_unpacklo_epi8(cb, cr));
    rgb_vectors high =
        convert_words(_mm256_unpackhi_epi8(y, zero), _mm256_srai_epi16(_mm256_unpackhi_epi8(zero, cb), 7),
                      _mm256_srai_epi16(_mm256_unpackhi_epi8(zero, cr), 7), _mm256_unpackhi_epi8(cb, cr));
    return (rgb_vectors){.r = _mm256_packus_epi16(low.r, high.r), .g = _mm256_packus_epi16(low.g, high.g),
                         .b = _mm256_packus_epi16(low.b, high.b)};
}

/* `chroma` is a constant where this is inlined. */
INLINE void ycc_row(const stk_ycc_row *row, const stk_upsampling chroma, size_t n, uint8_t *lines,
                    size_t line_pitch)
{
    const int bias = row->lower ? 2 : 1;
    for (size_t x = 0; x < n; x += 32) {
        v256 cb, cr;
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

void stk_avx2_ycc_row(const stk_ycc_row *row, stk_upsampling chroma, size_t n, uint8_t *lines, size_t line_pitch)
{
    switch (chroma) {
    case STK_UPSAMPLE_H2V2: ycc_row(row, STK_UPSAMPLE_H2V2, n, lines, line_pitch); break;
    case STK_UPSAMPLE_H2V1: ycc_row(row, STK_UPSAMPLE_H2V1, n, lines, line_pitch); break;
    case STK_UPSAMPLE_H1V2: ycc_row(row, STK_UPSAMPLE_H1V2, n, lines, line_pitch); break;
    default: ycc_row(row, STK_UPSAMPLE_NONE, n, lines, line_pitch); break;
    }
}

/* Byte i of channel c is byte 3 i + c of 48: of the third `part` of 16 bytes, or none (0x80). */
#define SPLIT_OF(byte, part) (uint8_t)((byte) / 16 == (part) ? (byte) % 16 : 0x80)
#define SPLIT_0(c, i) SPLIT_OF(3 * (i) + (c), 0)
#define SPLIT_1(c, i) SPLIT_OF(3 * (i) + (c), 1)
#define SPLIT_2(c, i) SPLIT_OF(3 * (i) + (c), 2)
#define SPLIT_ROW(c) {{STK_BYTES_16(SPLIT_0, c)}, {STK_BYTES_16(SPLIT_1, c)}, {STK_BYTES_16(SPLIT_2, c)}}
static const uint8_t SPLIT_INDEX[3][3][16] = {SPLIT_ROW(0), SPLIT_ROW(1), SPLIT_ROW(2)};

/* 16 bytes at p and at p + 48, one a lane. */
INLINE v256 two_groups(const uint8_t *p)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(p + 48)), 1);
}

INLINE v256 pick(v256 v, int channel, int part)
{
    const __m128i *index = (const __m128i *)(const void *)SPLIT_INDEX[channel][part];
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_loadu_si128(index)));
}

/* 32 pixels, 96 bytes. */
INLINE void split_32(const uint8_t *rgb, uint8_t *lines, size_t line_pitch)
{
    v256 a = two_groups(rgb), b = two_groups(rgb + 16), c = two_groups(rgb + 32);
#pragma GCC unroll 3
    for (int channel = 0; channel < 3; channel++)
        store(lines + (size_t)channel * line_pitch,
              _mm256_or_si256(_mm256_or_si256(pick(a, channel, 0), pick(b, channel, 1)), pick(c, channel, 2)));
}

void stk_avx2_split_row(const uint8_t *rgb, size_t n, uint8_t *lines, size_t line_pitch)
{
    size_t x = 0;
    for (; x + 32 <= n; x += 32, rgb += 96) split_32(rgb, lines + x, line_pitch);
    if (x == n) return;
    uint8_t rest[96] = {0};
    memcpy(rest, rgb, 3 * (n - x));
    split_32(rest, lines + x, line_pitch);
}

void stk_avx2_grey_row(const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *restrict grey)
{
    const uint8_t *restrict r = lines, *restrict g = lines + line_pitch, *restrict b = lines + 2 * line_pitch;
    for (size_t i = 0; i < n; i++)
        grey[i] = (uint8_t)((r[i] * 19595u + g[i] * 38470u + b[i] * 7471u + 0x8000u) >> 16);
}

#endif
