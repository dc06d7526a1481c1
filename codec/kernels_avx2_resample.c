/* SPDX-License-Identifier: Apache-2.0
 *
 * The two resampling passes with AVX2.
 *
 * vpmaddwd multiplies pairs of 16-bit numbers, so a coefficient is split as high * 32768 + low with low in
 * 0..32767, and the sum is low sum + (high sum << 15). Its parts may wrap around 32 bits; the total fits, as it
 * does in Pillow, so it comes out right.
 *
 * Horizontally, four outputs of a 128-bit lane take their inputs out of one 16-byte load by vpshufb
 * (STK_ACROSS_WINDOW), as long as they lie that near each other, to scales of about 4. Beyond, lines are turned
 * into columns, so that a register holds two neighbouring inputs of each of eight lines, and each output is
 * computed for the eight lines at once (STK_ACROSS_COLUMNS). */
#include "codec/kernels_avx2.h"

#if defined(__x86_64__)

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

/* axis->digits[2 * pair + e][pitch]: e = 0 the low digits of taps 2 * pair and 2 * pair + 1, e = 1 the high ones.
 */
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

/* Column digits: for each output two dwords a pair, as above, where pairs begin at even inputs. */
static void digits_by_columns(stk_vector_axis *axis)
{
    for (uint32_t i = 0; i < axis->n_out; i++) {
        int16_t *row = (int16_t *)(void *)(axis->column_digits + (size_t)i * axis->column_pitch);
        uint32_t lead = (uint32_t)axis->start[i] & 1, n = (uint32_t)axis->count[i];
        memset(row, 0, 8 * (size_t)((lead + n + 1) / 2));
        for (uint32_t k = 0; k < n; k++) {
            int32_t w = axis->weights[(size_t)k * axis->pitch + i];
            int16_t *digit = row + 4 * (size_t)((lead + k) / 2) + (lead + k) % 2;
            digit[0] = (int16_t)(w & 32767);
            digit[2] = (int16_t)(w >> 15);
        }
    }
}

/* Byte indices, zero-extended to words, into the 16 bytes from the lane's first input on: for 8 outputs 32 bytes
 * for taps 0 and 1, then 32 for taps 2 and 3. */
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
    axis->mode = widest_lane(axis) <= 16 ? STK_ACROSS_WINDOW : STK_ACROSS_COLUMNS;
    axis->by_pairs = true;
    digits_by_pairs(axis);
    if (axis->mode == STK_ACROSS_COLUMNS) digits_by_columns(axis);
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
            v256 low = _mm256_add_epi32(half(), _mm256_madd_epi16(taps, w[k][0])),
                 high = _mm256_madd_epi16(taps, w[k][1]);
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

/* 8 registers of 8 dwords, transposed. */
INLINE void transpose_dwords(const v256 *in, v256 *out)
{
    v256 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_epi32(in[i], in[i + 1]);
        a[i + 1] = _mm256_unpackhi_epi32(in[i], in[i + 1]);
    }
    for (int g = 0; g < 8; g += 4) {
        b[g] = _mm256_unpacklo_epi64(a[g], a[g + 2]);
        b[g + 1] = _mm256_unpackhi_epi64(a[g], a[g + 2]);
        b[g + 2] = _mm256_unpacklo_epi64(a[g + 1], a[g + 3]);
        b[g + 3] = _mm256_unpackhi_epi64(a[g + 1], a[g + 3]);
    }
    for (int j = 0; j < 4; j++) {
        out[j] = _mm256_permute2x128_si256(b[j], b[4 + j], 0x20);
        out[4 + j] = _mm256_permute2x128_si256(b[j], b[4 + j], 0x31);
    }
}

/* Where the pairs of 8 lines begin that half 0 or 1 of 16 lines makes. */
INLINE uint8_t *column_half(const stk_vector_axis *axis, size_t half_number)
{
    return axis->columns + half_number * 16 * (((size_t)axis->n_in + 63) & ~(size_t)63);
}

/* Pairs of words of 8 lines side by side: columns[32 * pair]. Missing lines repeat the last one. */
static void lines_to_columns(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines,
                             uint8_t *columns)
{
    for (size_t x = 0; x < axis->n_in; x += 16) {
        v256 lines[8], pairs[8];
        for (size_t l = 0; l < 8; l++)
            lines[l] = _mm256_cvtepu8_epi16(load_16(in + (l < n_lines ? l : n_lines - 1) * in_pitch + x));
        transpose_dwords(lines, pairs);
        for (size_t p = 0; p < 8; p++) store(columns + 16 * x + 32 * p, pairs[p]);
    }
}

/* Output i of 8 lines, in the low 8 bytes. */
INLINE __m128i column_sums(const stk_vector_axis *axis, const uint8_t *columns, uint32_t i)
{
    uint32_t first = (uint32_t)axis->start[i] / 2, end = (uint32_t)(axis->start[i] + axis->count[i] + 1) / 2;
    const int32_t *w = axis->column_digits + (size_t)i * axis->column_pitch;
    v256 low = half(), high = _mm256_setzero_si256();
    for (uint32_t p = first; p < end; p++, w += 2) {
        v256 v = load(columns + 32 * (size_t)p);
        low = _mm256_add_epi32(low, _mm256_madd_epi16(v, _mm256_set1_epi32(w[0])));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(v, _mm256_set1_epi32(w[1])));
    }
    v256 sum = finish(low, high);
    return pack_16(sum, sum);
}

static void across_columns(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines,
                           uint8_t *out, size_t out_pitch)
{
    uint8_t sums[64][STK_COLUMN_LINES] = {{0}};
    for (size_t l = 0; l < n_lines; l += STK_COLUMN_LINES) {
        size_t n = n_lines - l < STK_COLUMN_LINES ? n_lines - l : STK_COLUMN_LINES;
        size_t halves = n > 8 ? 2 : 1;
        for (size_t h = 0; h < halves; h++)
            lines_to_columns(axis, in + (l + 8 * h) * in_pitch, in_pitch, n - 8 * h, column_half(axis, h));
        for (uint32_t i = 0; i < axis->n_out; i += 64) {
            uint32_t n_sums = axis->n_out - i < 64 ? axis->n_out - i : 64;
            for (size_t h = 0; h < halves; h++)
                for (uint32_t k = 0; k < n_sums; k++)
                    _mm_storel_epi64((__m128i *)(void *)(sums[k] + 8 * h),
                                     column_sums(axis, column_half(axis, h), i + k));
            stk_columns_to_lines((const uint8_t(*)[STK_COLUMN_LINES])sums, n_sums, n, out + l * out_pitch + i,
                                 out_pitch);
        }
    }
}

void stk_avx2_across(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines, uint8_t *out,
                     size_t out_pitch)
{
    if (axis->mode == STK_ACROSS_COLUMNS) {
        across_columns(axis, in, in_pitch, n_lines, out, out_pitch);
        return;
    }
    for (uint32_t i = 0; i < axis->n_out; i += 16) {
        if (axis->n_taps <= 2) across_few(axis, i, 1, in, in_pitch, n_lines, out, out_pitch);
        else if (axis->n_taps <= 4) across_few(axis, i, 2, in, in_pitch, n_lines, out, out_pitch);
        else if (axis->n_rows == 8) across_many(axis, i, 2, in, in_pitch, n_lines, out, out_pitch);
        else across_many(axis, i, 0, in, in_pitch, n_lines, out, out_pitch);
    }
}

/* Vertically, two rows are unpacked to pairs of words; unpack and pack undo each other within the lanes, so
 * nothing needs reordering. */
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
            const v256 wl = _mm256_set1_epi32(digits[2 * p * pitch]),
                       wh = _mm256_set1_epi32(digits[(2 * p + 1) * pitch]);
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
