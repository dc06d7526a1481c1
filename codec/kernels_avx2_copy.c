/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving finished pixels with AVX2: lines to interleaved rows, and rectangles of interleaved pixels, each mirrored
 * or with channels swapped at no extra cost. Nothing outside the given bytes is read or written. */
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

INLINE __m128i load_16(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

INLINE void store_16(void *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

/* Byte j of the 48 that 16 pixels make: channel j % 3 of pixel j / 3; for part v of 16 bytes, the pixel's number
 * where the channel is c, else none (0x80). */
#define JOIN_IF(j, c, pixel) (uint8_t)((j) % 3 == (c) ? (pixel) : 0x80)
#define JOIN_0(v, j) JOIN_IF(16 * (v) + (j), 0, (16 * (v) + (j)) / 3)
#define JOIN_1(v, j) JOIN_IF(16 * (v) + (j), 1, (16 * (v) + (j)) / 3)
#define JOIN_2(v, j) JOIN_IF(16 * (v) + (j), 2, (16 * (v) + (j)) / 3)
#define BACK_0(v, j) JOIN_IF(16 * (v) + (j), 0, 15 - (16 * (v) + (j)) / 3)
#define BACK_1(v, j) JOIN_IF(16 * (v) + (j), 1, 15 - (16 * (v) + (j)) / 3)
#define BACK_2(v, j) JOIN_IF(16 * (v) + (j), 2, 15 - (16 * (v) + (j)) / 3)
#define JOIN_PART(v) {{STK_BYTES_16(JOIN_0, v)}, {STK_BYTES_16(JOIN_1, v)}, {STK_BYTES_16(JOIN_2, v)}}
#define BACK_PART(v) {{STK_BYTES_16(BACK_0, v)}, {STK_BYTES_16(BACK_1, v)}, {STK_BYTES_16(BACK_2, v)}}
static const uint8_t JOIN_INDEX[2][3][3][16] = {{JOIN_PART(0), JOIN_PART(1), JOIN_PART(2)},
                                                {BACK_PART(0), BACK_PART(1), BACK_PART(2)}};

INLINE v256 place(v256 line, bool mirror, int part, int channel)
{
    return _mm256_shuffle_epi8(line, _mm256_broadcastsi128_si256(load_16(JOIN_INDEX[mirror][part][channel])));
}

INLINE v256 join_part(v256 r, v256 g, v256 b, bool mirror, int part)
{
    return _mm256_or_si256(_mm256_or_si256(place(r, mirror, part, 0), place(g, mirror, part, 1)),
                           place(b, mirror, part, 2));
}

/* 32 pixels of a line; mirrored, the lanes change places here and the bytes within them by JOIN_INDEX. */
INLINE v256 line_32(const uint8_t *p, bool mirror)
{
    return mirror ? _mm256_permute4x64_epi64(load(p), 0x4e) : load(p);
}

/* 96 bytes out of 32 pixels. Each lane makes 48 bytes in three parts; they are put in order by lanes. */
INLINE void join_32(v256 r, v256 g, v256 b, bool mirror, uint8_t *out)
{
    v256 p0 = join_part(r, g, b, mirror, 0), p1 = join_part(r, g, b, mirror, 1),
         p2 = join_part(r, g, b, mirror, 2);
    store(out, _mm256_permute2x128_si256(p0, p1, 0x20));
    store(out + 32, _mm256_permute2x128_si256(p2, p0, 0x30));
    store(out + 64, _mm256_permute2x128_si256(p1, p2, 0x31));
}

INLINE void join_rgb(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, const bool mirror,
                     uint8_t *out)
{
    for (size_t x = 0; x < n; x += 32, out += 96) {
        ptrdiff_t at = mirror ? (ptrdiff_t)n - 32 - (ptrdiff_t)x : (ptrdiff_t)x;
        v256 vr = line_32(r + at, mirror), vg = line_32(g + at, mirror), vb = line_32(b + at, mirror);
        if (n - x >= 32) {
            join_32(vr, vg, vb, mirror, out);
        } else {
            uint8_t rest[96];
            join_32(vr, vg, vb, mirror, rest);
            memcpy(out, rest, 3 * (n - x));
        }
    }
}

INLINE __m128i reverse_16(__m128i v)
{
    return _mm_shuffle_epi8(v, _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

/* A grey row, exactly. */
static void grey_row(const uint8_t *in, size_t n, bool mirror, uint8_t *out)
{
    if (!mirror) {
        memcpy(out, in, n);
        return;
    }
    size_t x = 0;
    for (; x + 16 <= n; x += 16) store_16(out + x, reverse_16(load_16(in + n - 16 - x)));
    for (; x < n; x++) out[x] = in[n - 1 - x];
}

void stk_avx2_join_row(stk_pixel_format format, const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *out)
{
    size_t pitch = format.in_channels == 1 ? 0 : line_pitch;
    const uint8_t *red = lines + (format.swap_red_blue ? 2 * pitch : 0), *green = lines + pitch,
                  *blue = lines + (format.swap_red_blue ? 0 : 2 * pitch);
    if (format.out_channels == 1) grey_row(lines, n, format.mirror, out);
    else if (format.mirror) join_rgb(red, green, blue, n, true, out);
    else join_rgb(red, green, blue, n, false, out);
}

static void copy_row(const uint8_t *in, size_t n_bytes, uint8_t *out)
{
    if (n_bytes < 32) {
        memcpy(out, in, n_bytes);
        return;
    }
    for (size_t x = 0; x + 32 <= n_bytes; x += 32) store(out + x, load(in + x));
    store(out + n_bytes - 32, load(in + n_bytes - 32));
}

/* RGB pixels go through one register five at a time, 15 bytes. */
enum { GROUP = 5 };
static const uint8_t GROUP_INDEX[3][16] = {
    {2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 0x80},  /* red and blue swapped */
    {12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 0x80},  /* pixels reversed */
    {14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0x80}}; /* both */

static void few_pixels(const uint8_t *in, size_t n, bool mirror, bool swap, uint8_t *out)
{
    for (size_t x = 0; x < n; x++)
        for (size_t c = 0; c < 3; c++) out[3 * x + c] = in[3 * (mirror ? n - 1 - x : x) + (swap ? 2 - c : c)];
}

/* n > GROUP pixels. All groups but the last store 16 bytes, the 16th being overwritten by the next group; the last
 * group ends with the row, overlaps the one before and stores 15 bytes in two pieces. */
INLINE void regroup_row(const uint8_t *in, size_t n, const bool mirror, __m128i index, uint8_t *out)
{
    for (size_t x = 0; x + GROUP < n; x += GROUP) {
        const uint8_t *from = mirror ? in + 3 * (n - GROUP - x) : in + 3 * x;
        /* The 16 bytes of a mirrored row's first group would end past the row: begin one earlier. */
        __m128i v = mirror ? _mm_srli_si128(load_16(from - 1), 1) : load_16(from);
        store_16(out + 3 * x, _mm_shuffle_epi8(v, index));
    }
    size_t x = n - GROUP;
    __m128i v = mirror ? load_16(in) : _mm_srli_si128(load_16(in + 3 * x - 1), 1);
    v = _mm_shuffle_epi8(v, index);
    _mm_storel_epi64((__m128i *)(void *)(out + 3 * x), v);
    _mm_storel_epi64((__m128i *)(void *)(out + 3 * x + 7), _mm_srli_si128(v, 7));
}

static void copy_rgb(const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows, uint8_t *out,
                     size_t out_stride, bool mirror, bool swap)
{
    const __m128i index = load_16(GROUP_INDEX[mirror && swap ? 2 : mirror ? 1 : 0]);
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        if (n <= GROUP) few_pixels(in, n, mirror, swap, out);
        else if (!mirror && !swap) copy_row(in, 3 * n, out);
        else if (mirror) regroup_row(in, n, true, index, out);
        else regroup_row(in, n, false, index, out);
    }
}

/* Grey -> three equal channels. */
static void widen_row(const uint8_t *in, size_t n, bool mirror, uint8_t *out)
{
    size_t x = 0;
    for (; x + 32 <= n; x += 32) {
        v256 v = line_32(mirror ? in + n - 32 - x : in + x, mirror);
        if (mirror) join_32(v, v, v, true, out + 3 * x);
        else join_32(v, v, v, false, out + 3 * x);
    }
    for (; x < n; x++) memset(out + 3 * x, in[mirror ? n - 1 - x : x], 3);
}

void stk_avx2_copy_pixels(stk_pixel_format format, const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows,
                          uint8_t *out, size_t out_stride)
{
    if (format.in_channels == 3) {
        copy_rgb(in, in_stride, n, n_rows, out, out_stride, format.mirror, format.swap_red_blue);
        return;
    }
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        if (format.out_channels == 1) grey_row(in, n, format.mirror, out);
        else widen_row(in, n, format.mirror, out);
    }
}

#endif
