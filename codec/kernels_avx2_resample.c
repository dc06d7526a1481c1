/* SPDX-License-Identifier: Apache-2.0
 *
 * The two resampling passes with AVX2.
 *
 * vpmaddwd multiplies pairs of 16-bit numbers, so a coefficient is split as high * 32768 + low with low in 0..32767,
 * and the sum is low sum + (high sum << 15). Its parts may wrap around 32 bits; the total fits, as it does in
 * Pillow, so it comes out right.
 *
 * Horizontally, four outputs of a 128-bit lane take their inputs out of one 16-byte load by vpshufb
 * (STK_ACROSS_WINDOW, scales up to 4); beyond that a single output has enough taps to fill registers by itself
 * (STK_ACROSS_DOT). */
#if defined(__x86_64__)

#include "codec/kernels_avx2.h"

#include <immintrin.h>

#include "codec/axis_taps.h"

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

/* axis->digits[2 * pair + e][pitch]: e = 0 the low digits of taps 2 * pair and 2 * pair + 1, e = 1 the high ones. */
static void digits_by_pairs(stk_vector_axis *axis)
{
    const int32_t pitch = (int32_t)axis->pitch;
    for (uint32_t p = 0; p < axis->n_rows / 2; p++) {
        const int32_t *w0 = axis->weights + (size_t)(2 * p) * axis->pitch, *w1 = w0 + pitch;
        int32_t *low = axis->digits + (size_t)(2 * p) * axis->pitch, *high = low + pitch;
        for (int32_t i = 0; i < pitch; i++) {
            low[i] = (w0[i] & 32767) | (w1[i] & 32767) << 16;
            high[i] = (w0[i] >> 15 & 65535) | (int32_t)((uint32_t)(w1[i] >> 15) << 16);
        }
    }
}

/* Rows of 2 * dot_pitch 16-bit numbers: the taps' low digits, then the high ones, padded with zeros. */
static void digits_by_rows(stk_vector_axis *axis)
{
    axis->dot_pitch = (axis->n_taps + 15) & ~15u;
    for (uint32_t i = 0; i < axis->n_out; i++) {
        int16_t *row = (int16_t *)(void *)axis->dots + (size_t)i * 2 * axis->dot_pitch;
        memset(row, 0, 2 * sizeof(int16_t) * axis->dot_pitch);
        for (uint32_t k = 0; k < (uint32_t)axis->count[i]; k++) {
            int32_t w = axis->weights[(size_t)k * axis->pitch + i];
            row[k] = (int16_t)(w & 32767);
            row[axis->dot_pitch + k] = (int16_t)(w >> 15);
        }
    }
}

/* Byte indices, zero-extended to words, into the 16 bytes from the lane's first input on: for 8 outputs 32 bytes for
 * taps 0 and 1, then 32 for taps 2 and 3. */
static void window_shuffles(stk_vector_axis *axis)
{
    for (uint32_t i = 0; i < axis->pitch; i++) {
        uint32_t s = (uint32_t)(axis->start[i] - axis->start[i & ~3u]);
        uint32_t first = 0x80008000u | (s + 1) << 16 | s, second = first + 0x00020002u;
        uint8_t *to = axis->shuffles + 64 * (size_t)(i / 8) + 4 * (i % 8);
        memcpy(to, &first, 4);
        memcpy(to + 32, &second, 4);
    }
}

static int32_t widest_lane(const stk_vector_axis *axis)
{
    int32_t widest = 0;
    for (uint32_t g = 0; g < axis->pitch; g += 4) {
        int32_t span = axis->start[g + 3] - axis->start[g] + 4;
        if (span > widest) widest = span;
    }
    return widest;
}

void stk_avx2_prepare_axis(stk_vector_axis *axis, const stk_axis_request *request)
{
    stk_axis_taps(axis, request);
    axis->mode = widest_lane(axis) <= 16 ? STK_ACROSS_WINDOW : STK_ACROSS_DOT;
    axis->by_pairs = true;
    digits_by_pairs(axis);
    if (axis->mode == STK_ACROSS_DOT) digits_by_rows(axis);
    else window_shuffles(axis);
}

INLINE v256 half(void)
{
    return _mm256_set1_epi32(1 << (STK_WEIGHT_BITS - 1));
}

/* The total of a low and a high sum, shifted to pixels, not yet clipped. */
INLINE v256 finish(v256 low, v256 high)
{
    return _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_slli_epi32(high, 15)), STK_WEIGHT_BITS);
}

INLINE v256 two_lanes(const uint8_t *a, const uint8_t *b)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(a)), load_16(b), 1);
}

/* Two groups of 8 sums -> 16 clipped bytes in order. */
INLINE __m128i pack_16(v256 a, v256 b)
{
    v256 t = _mm256_packs_epi32(a, b);
    t = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(t, t), _mm256_setr_epi32(0, 4, 1, 5, 0, 0, 0, 0));
    return _mm256_castsi256_si128(t);
}

/* 16 outputs for all lines with PAIRS (1 or 2) pairs of taps: indices and weights stay in registers. */
INLINE void across_few(const stk_vector_axis *axis, uint32_t first, const int PAIRS, const uint8_t *in,
                       size_t in_pitch, size_t n_lines, uint8_t *out, size_t out_pitch)
{
    const uint8_t *base[4];
    v256 index[2][2], w[2][4];
    for (uint32_t k = 0; k < 2; k++) {
        size_t g = first + 8 * (size_t)k;
        base[2 * k] = in + axis->start[g];
        base[2 * k + 1] = in + axis->start[g + 4];
        for (int i = 0; i < PAIRS; i++) index[k][i] = load(axis->shuffles + 8 * g + 32 * i);
        for (int e = 0; e < 2 * PAIRS; e++) w[k][e] = load(axis->digits + (size_t)e * axis->pitch + g);
    }
    for (size_t l = 0; l < n_lines; l++) {
        v256 sum[2];
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            v256 v = two_lanes(base[2 * k] + l * in_pitch, base[2 * k + 1] + l * in_pitch);
            v256 taps = _mm256_shuffle_epi8(v, index[k][0]);
            v256 low = _mm256_add_epi32(half(), _mm256_madd_epi16(taps, w[k][0])), high = _mm256_madd_epi16(taps, w[k][1]);
            if (PAIRS == 2) {
                taps = _mm256_shuffle_epi8(v, index[k][1]);
                low = _mm256_add_epi32(low, _mm256_madd_epi16(taps, w[k][2]));
                high = _mm256_add_epi32(high, _mm256_madd_epi16(taps, w[k][3]));
            }
            sum[k] = finish(low, high);
        }
        _mm_storeu_si128((__m128i *)(void *)(out + l * out_pitch + first), pack_16(sum[0], sum[1]));
    }
}

/* 8 sums of one line with any number of taps, four at a time. */
INLINE v256 sum_many(const int32_t *w, size_t pitch, uint32_t n_quads, v256 i0, v256 i1, const uint8_t *a,
                     const uint8_t *b)
{
    v256 low = half(), high = _mm256_setzero_si256();
    for (uint32_t q = 0; q < n_quads; q++, a += 4, b += 4, w += 4 * pitch) {
        v256 v = two_lanes(a, b), first = _mm256_shuffle_epi8(v, i0), second = _mm256_shuffle_epi8(v, i1);
        low = _mm256_add_epi32(low, _mm256_add_epi32(_mm256_madd_epi16(first, load(w)),
                                                     _mm256_madd_epi16(second, load(w + 2 * pitch))));
        high = _mm256_add_epi32(high, _mm256_add_epi32(_mm256_madd_epi16(first, load(w + pitch)),
                                                       _mm256_madd_epi16(second, load(w + 3 * pitch))));
    }
    return finish(low, high);
}

/* 16 outputs for all lines; QUADS is a constant where this is inlined, or 0 for any number. */
INLINE void across_many(const stk_vector_axis *axis, uint32_t first, const uint32_t QUADS, const uint8_t *in,
                        size_t in_pitch, size_t n_lines, uint8_t *out, size_t out_pitch)
{
    const size_t pitch = axis->pitch;
    const uint32_t n_quads = QUADS != 0 ? QUADS : axis->n_rows / 4;
    const uint8_t *shuffles = axis->shuffles + 8 * (size_t)first, *base[4];
    const v256 i0 = load(shuffles), i1 = load(shuffles + 32), i2 = load(shuffles + 64), i3 = load(shuffles + 96);
    const int32_t *w = axis->digits + first;
    for (uint32_t k = 0; k < 4; k++) base[k] = in + axis->start[first + 4 * k];
    for (size_t l = 0; l < n_lines; l++) {
        size_t at = l * in_pitch;
        v256 a = sum_many(w, pitch, n_quads, i0, i1, base[0] + at, base[1] + at);
        v256 b = sum_many(w + 8, pitch, n_quads, i2, i3, base[2] + at, base[3] + at);
        _mm_storeu_si128((__m128i *)(void *)(out + l * out_pitch + first), pack_16(a, b));
    }
}

/* One output's sum in eight parts. */
INLINE v256 dot(const uint8_t *p, const int16_t *w, size_t taps, int32_t n)
{
    v256 low = _mm256_setzero_si256(), high = low;
    for (int32_t k = 0; k < n; k += 16) {
        v256 v = _mm256_cvtepu8_epi16(load_16(p + k));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(v, load(w + k)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(v, load(w + taps + k)));
    }
    return _mm256_add_epi32(low, _mm256_slli_epi32(high, 15));
}

/* The totals of eight registers' parts, in order. */
INLINE v256 add_parts(const v256 *v)
{
    v256 a = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
    v256 b = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

static void across_dots(const stk_vector_axis *axis, uint32_t first, const uint8_t *in, size_t in_pitch,
                        size_t n_lines, uint8_t *out, size_t out_pitch)
{
    const size_t taps = axis->dot_pitch;
    for (size_t l = 0; l < n_lines; l++) {
        v256 sum[2];
        for (uint32_t k = 0; k < 2; k++) {
            v256 parts[8];
            for (uint32_t i = 0; i < 8; i++) {
                uint32_t o = first + 8 * k + i < axis->n_out ? first + 8 * k + i : axis->n_out - 1;
                const int16_t *w = (const int16_t *)(const void *)axis->dots + (size_t)o * 2 * taps;
                parts[i] = dot(in + l * in_pitch + axis->start[o], w, taps, axis->count[o]);
            }
            sum[k] = _mm256_srai_epi32(_mm256_add_epi32(add_parts(parts), half()), STK_WEIGHT_BITS);
        }
        _mm_storeu_si128((__m128i *)(void *)(out + l * out_pitch + first), pack_16(sum[0], sum[1]));
    }
}

void stk_avx2_across(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines, uint8_t *out,
                     size_t out_pitch)
{
    for (uint32_t i = 0; i < axis->n_out; i += 16) {
        if (axis->mode == STK_ACROSS_DOT) across_dots(axis, i, in, in_pitch, n_lines, out, out_pitch);
        else if (axis->n_taps <= 2) across_few(axis, i, 1, in, in_pitch, n_lines, out, out_pitch);
        else if (axis->n_taps <= 4) across_few(axis, i, 2, in, in_pitch, n_lines, out, out_pitch);
        else if (axis->n_rows == 8) across_many(axis, i, 2, in, in_pitch, n_lines, out, out_pitch);
        else across_many(axis, i, 0, in, in_pitch, n_lines, out, out_pitch);
    }
}

/* Vertically, two rows are unpacked to pairs of words; unpack and pack undo each other within the lanes, so nothing
 * needs reordering. */
INLINE void pair_rows(v256 a, v256 b, v256 *out)
{
    const v256 zero = _mm256_setzero_si256();
    v256 low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    out[0] = _mm256_unpacklo_epi8(low, zero);
    out[1] = _mm256_unpackhi_epi8(low, zero);
    out[2] = _mm256_unpacklo_epi8(high, zero);
    out[3] = _mm256_unpackhi_epi8(high, zero);
}

INLINE v256 pack_lanes(const v256 *v)
{
    return _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
}

/* PAIRS pairs of rows (a constant where this is inlined), or as many as there are when 0. */
INLINE void down_pairs(const int32_t *digits, size_t pitch, const uint8_t *first, size_t in_pitch, uint32_t n_taps,
                       const uint32_t PAIRS, size_t n, uint8_t *out)
{
    const uint32_t n_pairs = PAIRS != 0 ? PAIRS : (n_taps + 1) / 2;
    for (size_t x = 0; x < n; x += 32) {
        v256 low[4] = {half(), half(), half(), half()}, high[4], v[4];
        for (int i = 0; i < 4; i++) high[i] = _mm256_setzero_si256();
        for (uint32_t p = 0; p < n_pairs; p++) {
            const uint8_t *a = first + 2 * p * in_pitch + x, *b = 2 * p + 1 < n_taps ? a + in_pitch : a;
            const v256 wl = _mm256_set1_epi32(digits[2 * p * pitch]), wh = _mm256_set1_epi32(digits[(2 * p + 1) * pitch]);
            pair_rows(load(a), load(b), v);
            for (int i = 0; i < 4; i++) {
                low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(v[i], wl));
                high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(v[i], wh));
            }
        }
        for (int i = 0; i < 4; i++) v[i] = finish(low[i], high[i]);
        store(out + x, pack_lanes(v));
    }
}

void stk_avx2_down(const stk_vector_axis *axis, uint32_t i, const uint8_t *in, size_t pitch, size_t n_bytes,
                   uint8_t *out)
{
    const uint8_t *first = in + (size_t)axis->start[i] * pitch;
    uint32_t n_taps = (uint32_t)axis->count[i];
    const int32_t *digits = axis->digits + i;
    if (n_taps <= 2) down_pairs(digits, axis->pitch, first, pitch, n_taps, 1, n_bytes, out);
    else if (n_taps <= 4) down_pairs(digits, axis->pitch, first, pitch, n_taps, 2, n_bytes, out);
    else down_pairs(digits, axis->pitch, first, pitch, n_taps, 0, n_bytes, out);
}

#endif
