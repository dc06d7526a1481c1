/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving finished pixels with AVX-512 VBMI: lines to interleaved rows, and rectangles of interleaved pixels, each
 * mirrored or with channels swapped at no extra cost. Nothing outside the given bytes is read or written. */
#include "codec/kernels_avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

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

/* The lowest n bits, n <= 64. */
INLINE __mmask64 first_bytes(size_t n)
{
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

/* The highest n bits, 1 <= n <= 64. */
INLINE __mmask64 last_bytes(size_t n)
{
    return ~(__mmask64)0 << (64 - n);
}

/* Byte j of the 192 that 64 pixels make: channel j % 3 of pixel j / 3. Red and green come from two registers, blue
 * from a third where JOIN_BLUE says so. */
#define PIXEL(j) ((j) / 3)
#define JOIN_FROM(j, pixel) (uint8_t)((j) % 3 == 1 ? 64 + (pixel) : (pixel))
#define JOIN(v, j) JOIN_FROM(64 * (v) + (j), PIXEL(64 * (v) + (j)))
#define JOIN_MIRROR(v, j) JOIN_FROM(64 * (v) + (j), 63 - PIXEL(64 * (v) + (j)))
static const uint8_t JOIN_INDEX[2][3][64] __attribute__((aligned(64))) = {
    {{STK_BYTES_64(JOIN, 0)}, {STK_BYTES_64(JOIN, 1)}, {STK_BYTES_64(JOIN, 2)}},
    {{STK_BYTES_64(JOIN_MIRROR, 0)}, {STK_BYTES_64(JOIN_MIRROR, 1)}, {STK_BYTES_64(JOIN_MIRROR, 2)}}};
static const __mmask64 JOIN_BLUE[3] = {0x4924924924924924u, 0x2492492492492492u, 0x9249249249249249u};

#define MIRROR(unused, j) (uint8_t)(63 - (j))
static const uint8_t MIRROR_INDEX[64] __attribute__((aligned(64))) = {STK_BYTES_64(MIRROR, 0)};

INLINE v512 join_vector(v512 r, v512 g, v512 b, v512 index, int v)
{
    return _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(r, index, g), JOIN_BLUE[v], index, b);
}

/* Three lines -> n pixels. A mirrored row takes its 64 pixels from the far end; what a last, incomplete group
 * reads beyond the line is not stored. */
static void join_rgb(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, bool mirror, uint8_t *out)
{
    const v512 i0 = load(JOIN_INDEX[mirror][0]), i1 = load(JOIN_INDEX[mirror][1]),
               i2 = load(JOIN_INDEX[mirror][2]);
    for (size_t x = 0; x < n; x += 64, out += 192) {
        ptrdiff_t at = mirror ? (ptrdiff_t)n - 64 - (ptrdiff_t)x : (ptrdiff_t)x;
        v512 vr = load(r + at), vg = load(g + at), vb = load(b + at);
        v512 o0 = join_vector(vr, vg, vb, i0, 0), o1 = join_vector(vr, vg, vb, i1, 1),
             o2 = join_vector(vr, vg, vb, i2, 2);
        if (n - x >= 64) {
            store(out, o0);
            store(out + 64, o1);
            store(out + 128, o2);
        } else {
            size_t rest = 3 * (n - x);
            _mm512_mask_storeu_epi8(out, first_bytes(rest), o0);
            _mm512_mask_storeu_epi8(out + 64, first_bytes(rest > 64 ? rest - 64 : 0), o1);
            _mm512_mask_storeu_epi8(out + 128, first_bytes(rest > 128 ? rest - 128 : 0), o2);
        }
    }
}

static void join_grey(const uint8_t *line, size_t n, bool mirror, uint8_t *out)
{
    const v512 index = load(MIRROR_INDEX);
    for (size_t x = 0; x < n; x += 64) {
        ptrdiff_t at = mirror ? (ptrdiff_t)n - 64 - (ptrdiff_t)x : (ptrdiff_t)x;
        v512 v = load(line + at);
        if (mirror) v = _mm512_permutexvar_epi8(index, v);
        _mm512_mask_storeu_epi8(out + x, first_bytes(n - x), v);
    }
}

void stk_avx512_join_row(stk_pixel_format format, const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *out)
{
    size_t pitch = format.in_channels == 1 ? 0 : line_pitch;
    const uint8_t *first = lines, *last = lines + 2 * pitch;
    if (format.out_channels == 1) join_grey(lines, n, format.mirror, out);
    else if (format.swap_red_blue) join_rgb(last, lines + pitch, first, n, format.mirror, out);
    else join_rgb(first, lines + pitch, last, n, format.mirror, out);
}

/* Ordinary stores: non-temporal ones took 7.4-8.0 us for a 224 x 224 crop out of memory where these take 7.2 (Zen
 * 5), and what reads the batch next would have to fetch it again. */
static void copy_bytes(const uint8_t *in, ptrdiff_t in_stride, size_t n_bytes, size_t n_rows, uint8_t *out,
                       size_t out_stride)
{
    const __mmask64 rest = first_bytes(n_bytes % 64);
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        size_t x = 0;
        for (; x + 64 <= n_bytes; x += 64) store(out + x, load(in + x));
        if (rest != 0) _mm512_mask_storeu_epi8(out + x, rest, _mm512_maskz_loadu_epi8(rest, in + x));
    }
}

/* RGB pixels go through one register 21 at a time, 63 bytes. In mirrored groups the load ends with the group's
 * last byte, so its first byte (index 0) is a stranger's. Byte 63 of each result is overwritten by the next group.
 */
enum { GROUP = 21 };
#define SWAPPED(unused, j) (uint8_t)(3 * PIXEL(j) + 2 - (j) % 3)
#define TURNED(unused, j) (uint8_t)((j) < 63 ? 1 + 3 * (GROUP - 1 - PIXEL(j)) + (j) % 3 : 0)
#define TURNED_SWAPPED(unused, j) (uint8_t)((j) < 63 ? 1 + 3 * (GROUP - 1 - PIXEL(j)) + 2 - (j) % 3 : 0)
static const uint8_t GROUP_INDEX[3][64] __attribute__((aligned(64))) = {
    {STK_BYTES_64(SWAPPED, 0)}, {STK_BYTES_64(TURNED, 0)}, {STK_BYTES_64(TURNED_SWAPPED, 0)}};

static void copy_swapped(const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows, uint8_t *out,
                         size_t out_stride)
{
    const v512 index = load(GROUP_INDEX[0]);
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        size_t x = 0;
        for (; x + GROUP < n; x += GROUP) store(out + 3 * x, _mm512_permutexvar_epi8(index, load(in + 3 * x)));
        __mmask64 rest = first_bytes(3 * (n - x));
        _mm512_mask_storeu_epi8(out + 3 * x, rest,
                                _mm512_permutexvar_epi8(index, _mm512_maskz_loadu_epi8(rest, in + 3 * x)));
    }
}

static void copy_mirrored(const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows, uint8_t *out,
                          size_t out_stride, bool swap)
{
    const v512 index = load(GROUP_INDEX[swap ? 2 : 1]);
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        size_t x = 0;
        for (; x + GROUP < n; x += GROUP)
            store(out + 3 * x, _mm512_permutexvar_epi8(index, load(in + 3 * (n - x) - 64)));
        size_t rest = 3 * (n - x);
        v512 v = _mm512_maskz_loadu_epi8(last_bytes(rest), in + rest - 64);
        _mm512_mask_storeu_epi8(out + 3 * x, first_bytes(rest), _mm512_permutexvar_epi8(index, v));
    }
}

/* 64 grey pixels, or the n < 64 that are left, in output order. */
INLINE v512 grey_pixels(const uint8_t *row, size_t n_row, size_t x, bool mirror, v512 index)
{
    size_t n = n_row - x < 64 ? n_row - x : 64;
    if (!mirror) return _mm512_maskz_loadu_epi8(first_bytes(n), row + x);
    return _mm512_permutexvar_epi8(index, _mm512_maskz_loadu_epi8(last_bytes(n), row + n_row - x - 64));
}

static void copy_grey(const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows, uint8_t *out,
                      size_t out_stride, bool mirror, size_t out_channels)
{
    const v512 index = load(MIRROR_INDEX);
    for (size_t y = 0; y < n_rows; y++, in += in_stride, out += out_stride) {
        for (size_t x = 0; x < n; x += 64) {
            v512 v = grey_pixels(in, n, x, mirror, index);
            size_t n_bytes = (n - x < 64 ? n - x : 64) * out_channels;
            uint8_t *to = out + x * out_channels;
            if (out_channels == 1) {
                _mm512_mask_storeu_epi8(to, first_bytes(n_bytes), v);
                continue;
            }
            for (size_t part = 0; 64 * part < n_bytes; part++)
                _mm512_mask_storeu_epi8(to + 64 * part, first_bytes(n_bytes - 64 * part),
                                        join_vector(v, v, v, load(JOIN_INDEX[0][part]), (int)part));
        }
    }
}

void stk_avx512_copy_pixels(stk_pixel_format format, const uint8_t *in, ptrdiff_t in_stride, size_t n,
                            size_t n_rows, uint8_t *out, size_t out_stride)
{
    if (format.in_channels == 1) {
        if (!format.mirror && format.out_channels == 1) copy_bytes(in, in_stride, n, n_rows, out, out_stride);
        else copy_grey(in, in_stride, n, n_rows, out, out_stride, format.mirror, format.out_channels);
    } else if (format.mirror) {
        copy_mirrored(in, in_stride, n, n_rows, out, out_stride, format.swap_red_blue);
    } else if (format.swap_red_blue) {
        copy_swapped(in, in_stride, n, n_rows, out, out_stride);
    } else {
        copy_bytes(in, in_stride, 3 * n, n_rows, out, out_stride);
    }
}

#endif
