/* SPDX-License-Identifier: Apache-2.0
 *
 * The two resampling passes with AVX-512 VBMI and VNNI.
 *
 * A 22-bit coefficient (23 bits with its sign) is written as d2 * 65536 + d1 * 256 + d0 with signed 8-bit digits,
 * so that vpdpbusd can multiply pixel bytes as they are, four taps in one instruction. Between the digits the sum
 * is shifted right by 8; that is exact, since floor((256 A + B) / 256 M) = floor((A + floor(B / 256)) / M), and
 * the final floor is all that Pillow takes. With one or two taps two 16-bit digits and vpdpwssd are cheaper.
 *
 * Horizontally, 16 outputs take their inputs out of one 64-byte load by vpermb (STK_ACROSS_WINDOW), as long as
 * they lie that near each other, to scales of about 4. Beyond, 16 lines are turned into columns, so that a
 * register holds four neighbouring inputs of each line, and each output is computed for the 16 lines at once
 * (STK_ACROSS_COLUMNS). */
#include "codec/kernels_avx512.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "codec/axis_taps.h"

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

/* The signed 8-bit digits of a weight: digit e of weight is the low byte of digit_word(weight, e). */
INLINE int32_t digit_word(int32_t weight, int e)
{
    int32_t middle = (weight + 128) >> 8;
    return e == 0 ? weight : e == 1 ? middle : (middle + 128) >> 8;
}

/* Digits: by_pairs, rows {low 15 bits, rest} of 16-bit pairs (axis->digits[e][pitch]). Otherwise three rows of
 * four bytes for each four taps: axis->digits[3 * quad + e][pitch]. One dword serves both passes: across loads 16
 * outputs' dwords, down broadcasts one output's. */
static void digits_by_pairs(stk_vector_axis *axis)
{
    const int32_t *w0 = axis->weights, *w1 = w0 + axis->pitch;
    int32_t *low = axis->digits, *high = low + axis->pitch;
    const int32_t pitch = (int32_t)axis->pitch;
    for (int32_t i = 0; i < pitch; i++) {
        low[i] = (w0[i] & 32767) | (w1[i] & 32767) << 16;
        high[i] = (w0[i] >> 15 & 65535) | (int32_t)((uint32_t)(w1[i] >> 15) << 16);
    }
}

/* The low bytes of four registers' dwords, as one dword. */
INLINE v512 four_bytes(v512 a, v512 b, v512 c, v512 d)
{
    const v512 byte = _mm512_set1_epi32(255);
    v512 low = _mm512_or_si512(_mm512_and_si512(a, byte), _mm512_slli_epi32(_mm512_and_si512(b, byte), 8));
    v512 high = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(c, byte), 16), _mm512_slli_epi32(d, 24));
    return _mm512_or_si512(low, high);
}

/* digit_word's step from one digit to the next. */
INLINE v512 next_digit(v512 w)
{
    return _mm512_srai_epi32(_mm512_add_epi32(w, _mm512_set1_epi32(128)), 8);
}

static void digits_by_quads(stk_vector_axis *axis)
{
    const size_t pitch = axis->pitch;
    for (size_t q = 0; q < axis->n_rows / 4; q++) {
        const int32_t *in = axis->weights + 4 * q * pitch;
        int32_t *out = axis->digits + 3 * q * pitch;
        for (size_t i = 0; i < pitch; i += 16) {
            v512 a = load(in + i), b = load(in + pitch + i), c = load(in + 2 * pitch + i),
                 d = load(in + 3 * pitch + i);
            for (size_t e = 0; e < 3; e++) {
                store(out + e * pitch + i, four_bytes(a, b, c, d));
                a = next_digit(a), b = next_digit(b), c = next_digit(c), d = next_digit(d);
            }
        }
    }
}

/* Column digits: for each output three dwords a quad, as above, where quads begin at multiples of four inputs. */
static void digits_by_columns(stk_vector_axis *axis)
{
    for (uint32_t i = 0; i < axis->n_out; i++) {
        uint8_t *row = (uint8_t *)(axis->column_digits + (size_t)i * axis->column_pitch);
        uint32_t lead = (uint32_t)axis->start[i] & 3, n = (uint32_t)axis->count[i];
        memset(row, 0, 12 * (size_t)((lead + n + 3) / 4));
        for (uint32_t k = 0; k < n; k++) {
            int32_t w = axis->weights[(size_t)k * axis->pitch + i];
            uint8_t *byte = row + 12 * (size_t)((lead + k) / 4) + (lead + k) % 4;
            for (int e = 0; e < 3; e++) byte[4 * e] = (uint8_t)digit_word(w, e);
        }
    }
}

/* For each output, four byte indices into the load that begins at its group's first input. */
static void window_shuffles(stk_vector_axis *axis)
{
    const v512 steps = _mm512_set1_epi32(axis->by_pairs ? 0x00010000 : 0x03020100);
    for (uint32_t g = 0; g < axis->pitch; g += 16) {
        v512 relative = _mm512_sub_epi32(load(axis->start + g), _mm512_set1_epi32(axis->start[g]));
        store(axis->shuffles + 4 * (size_t)g,
              _mm512_add_epi8(_mm512_mullo_epi32(relative, _mm512_set1_epi32(0x01010101)), steps));
    }
}

static int32_t widest_group(const stk_vector_axis *axis)
{
    int32_t widest = 0;
    for (uint32_t g = 0; g < axis->pitch; g += 16) {
        int32_t span = axis->start[g + 15] - axis->start[g] + 4;
        if (span > widest) widest = span;
    }
    return widest;
}

void stk_avx512_prepare_axis(stk_vector_axis *axis, const stk_axis_request *request)
{
    stk_axis_taps(axis, request);
    axis->mode = widest_group(axis) <= 64 ? STK_ACROSS_WINDOW : STK_ACROSS_COLUMNS;
    axis->by_pairs = axis->n_taps <= 2;
    if (axis->by_pairs) digits_by_pairs(axis);
    else digits_by_quads(axis);
    if (axis->mode == STK_ACROSS_COLUMNS) digits_by_columns(axis);
    else window_shuffles(axis);
}

INLINE v512 half(void)
{
    return _mm512_set1_epi32(1 << (STK_WEIGHT_BITS - 1));
}

/* One or two taps as 16-bit pairs. */
INLINE v512 sum_pairs(v512 v, v512 low, v512 high)
{
    v512 a = _mm512_srai_epi32(_mm512_dpwssd_epi32(half(), v, low), 15);
    return _mm512_srai_epi32(_mm512_dpwssd_epi32(a, v, high), STK_WEIGHT_BITS - 15);
}

/* Up to four taps. */
INLINE v512 sum_quad(v512 v, v512 w0, v512 w1, v512 w2)
{
    v512 a = _mm512_srai_epi32(_mm512_dpbusd_epi32(half(), v, w0), 8);
    a = _mm512_srai_epi32(_mm512_dpbusd_epi32(a, v, w1), 8);
    return _mm512_srai_epi32(_mm512_dpbusd_epi32(a, v, w2), STK_WEIGHT_BITS - 16);
}

/* Up to eight. */
INLINE v512 sum_two_quads(v512 v, v512 u, const v512 *w)
{
    v512 a = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(half(), v, w[0]), u, w[3]);
    a = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_srai_epi32(a, 8), v, w[1]), u, w[4]);
    a = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_srai_epi32(a, 8), v, w[2]), u, w[5]);
    return _mm512_srai_epi32(a, STK_WEIGHT_BITS - 16);
}

/* The three digits' sums of any number of taps. The total fits 32 bits, as it does in Pillow; parts may wrap. */
typedef struct digit_sums {
    v512 d0, d1, d2;
} digit_sums;

INLINE digit_sums sums_begin(void)
{
    return (digit_sums){half(), _mm512_setzero_si512(), _mm512_setzero_si512()};
}

INLINE void sums_add(digit_sums *s, v512 v, v512 w0, v512 w1, v512 w2)
{
    s->d0 = _mm512_dpbusd_epi32(s->d0, v, w0);
    s->d1 = _mm512_dpbusd_epi32(s->d1, v, w1);
    s->d2 = _mm512_dpbusd_epi32(s->d2, v, w2);
}

INLINE v512 sums_total(const digit_sums *s)
{
    return _mm512_add_epi32(_mm512_add_epi32(s->d0, _mm512_slli_epi32(s->d1, 8)), _mm512_slli_epi32(s->d2, 16));
}

/* Four groups of 16 sums, clipped, as 64 bytes in order: the packs work within 128-bit lanes, the permutation puts
 * their pieces right. */
INLINE v512 pack_in_order(v512 a, v512 b, v512 c, v512 d)
{
    const v512 order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order,
                                    _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)));
}

enum { KIND_PAIRS, KIND_ONE_QUAD, KIND_TWO_QUADS, KIND_QUADS };

/* GROUPS groups of 16 outputs for all lines: indices and (for few taps) weights stay in registers. GROUPS and KIND
 * are constants where this is inlined. */
INLINE void across_groups(const stk_vector_axis *axis, uint32_t first, const int GROUPS, const int KIND,
                          const uint8_t *in, size_t in_pitch, size_t n_lines, uint8_t *out, size_t out_pitch)
{
    const size_t pitch = axis->pitch;
    const uint8_t *base[4];
    v512 index[4], w[4][6];
    for (int k = 0; k < GROUPS; k++) {
        size_t g = first + 16 * (size_t)k;
        base[k] = in + axis->start[g];
        index[k] = load(axis->shuffles + 4 * g);
        const int rows = KIND == KIND_PAIRS ? 2 : KIND == KIND_ONE_QUAD ? 3 : KIND == KIND_TWO_QUADS ? 6 : 0;
        for (int e = 0; e < rows; e++) w[k][e] = load(axis->digits + (size_t)e * pitch + g);
    }
    const __mmask64 even_bytes = 0x5555555555555555u;
    for (size_t l = 0; l < n_lines; l++) {
        v512 sum[4];
#pragma GCC unroll 4
        for (int k = 0; k < GROUPS; k++) {
            const uint8_t *p = base[k] + l * in_pitch;
            if (KIND == KIND_PAIRS) {
                sum[k] = sum_pairs(_mm512_maskz_permutexvar_epi8(even_bytes, index[k], load(p)), w[k][0], w[k][1]);
            } else if (KIND == KIND_ONE_QUAD) {
                sum[k] = sum_quad(_mm512_permutexvar_epi8(index[k], load(p)), w[k][0], w[k][1], w[k][2]);
            } else if (KIND == KIND_TWO_QUADS) {
                sum[k] = sum_two_quads(_mm512_permutexvar_epi8(index[k], load(p)),
                                       _mm512_permutexvar_epi8(index[k], load(p + 4)), w[k]);
            } else {
                digit_sums s = sums_begin();
                const int32_t *digits = axis->digits + first + 16 * (size_t)k;
                for (uint32_t q = 0; q < axis->n_rows / 4; q++, p += 4, digits += 3 * pitch)
                    sums_add(&s, _mm512_permutexvar_epi8(index[k], load(p)), load(digits), load(digits + pitch),
                             load(digits + 2 * pitch));
                sum[k] = _mm512_srai_epi32(sums_total(&s), STK_WEIGHT_BITS);
            }
        }
        uint8_t *to = out + l * out_pitch + first;
        if (GROUPS == 4) {
            store(to, pack_in_order(sum[0], sum[1], sum[2], sum[3]));
        } else {
            v512 packed = pack_in_order(sum[0], sum[1], sum[0], sum[1]);
            _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(packed));
        }
    }
}

/* All outputs in the largest steps that fit the registers; the last 32 alone, since lines are a multiple of 32. */
INLINE void across_steps(const stk_vector_axis *axis, const int GROUPS, const int KIND, const uint8_t *in,
                         size_t in_pitch, size_t n_lines, uint8_t *out, size_t out_pitch)
{
    uint32_t n = (axis->n_out + 31) & ~31u, i = 0;
    for (; i + 16 * (uint32_t)GROUPS <= n; i += 16 * (uint32_t)GROUPS)
        across_groups(axis, i, GROUPS, KIND, in, in_pitch, n_lines, out, out_pitch);
    if (i < n) across_groups(axis, i, 2, KIND, in, in_pitch, n_lines, out, out_pitch);
}

/* 16 lines of 64 bytes -> 16 registers of one dword a line, a 16 x 16 transpose of dwords: each round interleaves
 * register i with register i + 8. */
INLINE void transpose_dwords(const v512 *in, v512 *out)
{
    v512 a[16], b[16];
    for (int i = 0; i < 16; i += 2) {
        a[i] = _mm512_unpacklo_epi32(in[i], in[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi32(in[i], in[i + 1]);
    }
    /* b[4 g + j]: in each lane, dword j of that lane of lines 4 g .. 4 g + 3. */
    for (int g = 0; g < 16; g += 4) {
        b[g] = _mm512_unpacklo_epi64(a[g], a[g + 2]);
        b[g + 1] = _mm512_unpackhi_epi64(a[g], a[g + 2]);
        b[g + 2] = _mm512_unpacklo_epi64(a[g + 1], a[g + 3]);
        b[g + 3] = _mm512_unpackhi_epi64(a[g + 1], a[g + 3]);
    }
    for (int j = 0; j < 4; j++) {
        v512 low_01 = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x44),
             high_01 = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xee);
        v512 low_23 = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x44),
             high_23 = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xee);
        out[j] = _mm512_shuffle_i32x4(low_01, low_23, 0x88);
        out[4 + j] = _mm512_shuffle_i32x4(low_01, low_23, 0xdd);
        out[8 + j] = _mm512_shuffle_i32x4(high_01, high_23, 0x88);
        out[12 + j] = _mm512_shuffle_i32x4(high_01, high_23, 0xdd);
    }
}

/* Quads of up to 16 lines side by side: axis->columns[64 * quad]. Missing lines repeat the last one. */
static void lines_to_columns(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines)
{
    for (size_t x = 0; x < axis->n_in; x += 64) {
        v512 lines[16], quads[16];
        for (size_t l = 0; l < 16; l++) lines[l] = load(in + (l < n_lines ? l : n_lines - 1) * in_pitch + x);
        transpose_dwords(lines, quads);
        for (size_t q = 0; q < 16; q++) store(axis->columns + 16 * x + 64 * q, quads[q]);
    }
}

/* Output i of 16 lines. */
INLINE __m128i column_sums(const stk_vector_axis *axis, uint32_t i)
{
    uint32_t first = (uint32_t)axis->start[i] / 4, end = (uint32_t)(axis->start[i] + axis->count[i] + 3) / 4;
    const int32_t *w = axis->column_digits + (size_t)i * axis->column_pitch;
    digit_sums s = sums_begin();
    for (uint32_t q = first; q < end; q++, w += 3)
        sums_add(&s, load(axis->columns + 64 * (size_t)q), _mm512_set1_epi32(w[0]), _mm512_set1_epi32(w[1]),
                 _mm512_set1_epi32(w[2]));
    v512 sum = _mm512_srai_epi32(sums_total(&s), STK_WEIGHT_BITS);
    return _mm512_cvtusepi32_epi8(_mm512_max_epi32(sum, _mm512_setzero_si512()));
}

static void across_columns(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines,
                           uint8_t *out, size_t out_pitch)
{
    uint8_t sums[64][STK_COLUMN_LINES] = {{0}};
    for (size_t l = 0; l < n_lines; l += STK_COLUMN_LINES) {
        size_t n = n_lines - l < STK_COLUMN_LINES ? n_lines - l : STK_COLUMN_LINES;
        lines_to_columns(axis, in + l * in_pitch, in_pitch, n);
        for (uint32_t i = 0; i < axis->n_out; i += 64) {
            uint32_t n_sums = axis->n_out - i < 64 ? axis->n_out - i : 64;
            for (uint32_t k = 0; k < n_sums; k++)
                _mm_storeu_si128((__m128i *)(void *)sums[k], column_sums(axis, i + k));
            stk_columns_to_lines((const uint8_t(*)[STK_COLUMN_LINES])sums, n_sums, n, out + l * out_pitch + i,
                                 out_pitch);
        }
    }
}

void stk_avx512_across(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines,
                       uint8_t *out, size_t out_pitch)
{
    if (axis->mode == STK_ACROSS_COLUMNS) across_columns(axis, in, in_pitch, n_lines, out, out_pitch);
    else if (axis->by_pairs) across_steps(axis, 4, KIND_PAIRS, in, in_pitch, n_lines, out, out_pitch);
    else if (axis->n_rows == 4) across_steps(axis, 4, KIND_ONE_QUAD, in, in_pitch, n_lines, out, out_pitch);
    else if (axis->n_rows == 8) across_steps(axis, 2, KIND_TWO_QUADS, in, in_pitch, n_lines, out, out_pitch);
    else across_steps(axis, 2, KIND_QUADS, in, in_pitch, n_lines, out, out_pitch);
}

/* Vertically, rows are unpacked so that a dword holds the taps of one column; unpack and pack undo each other
 * within the lanes, so nothing needs reordering. */
INLINE v512 pack_lanes(const v512 *v)
{
    return _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
}

INLINE void interleave_quad(v512 a, v512 b, v512 c, v512 d, v512 *out)
{
    v512 ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
    v512 cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
    out[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    out[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    out[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    out[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
}

static void down_pairs(const int32_t *digits, size_t pitch, const uint8_t *a, const uint8_t *b, size_t n,
                       uint8_t *out)
{
    const v512 low = _mm512_set1_epi32(digits[0]), high = _mm512_set1_epi32(digits[pitch]);
    const v512 zero = _mm512_setzero_si512();
    for (size_t x = 0; x < n; x += 64) {
        v512 p = load(a + x), q = load(b + x), lo = _mm512_unpacklo_epi8(p, q), hi = _mm512_unpackhi_epi8(p, q);
        v512 v[4] = {_mm512_unpacklo_epi8(lo, zero), _mm512_unpackhi_epi8(lo, zero),
                     _mm512_unpacklo_epi8(hi, zero), _mm512_unpackhi_epi8(hi, zero)};
        for (int i = 0; i < 4; i++) v[i] = sum_pairs(v[i], low, high);
        store(out + x, pack_lanes(v));
    }
}

/* Rows of a quad; those that the output does not have repeat its first row (their weights are 0). */
INLINE void quad_rows(const uint8_t *first, size_t in_pitch, uint32_t n_taps, uint32_t quad,
                      const uint8_t *rows[4])
{
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t tap = 4 * quad + k;
        rows[k] = tap < n_taps ? first + tap * in_pitch : first;
    }
}

static void down_one_quad(const int32_t *digits, size_t pitch, const uint8_t *const rows[4], size_t n,
                          uint8_t *out)
{
    const v512 w0 = _mm512_set1_epi32(digits[0]), w1 = _mm512_set1_epi32(digits[pitch]),
               w2 = _mm512_set1_epi32(digits[2 * pitch]);
    for (size_t x = 0; x < n; x += 64) {
        v512 v[4];
        interleave_quad(load(rows[0] + x), load(rows[1] + x), load(rows[2] + x), load(rows[3] + x), v);
        for (int i = 0; i < 4; i++) v[i] = sum_quad(v[i], w0, w1, w2);
        store(out + x, pack_lanes(v));
    }
}

static void down_quads(const int32_t *digits, size_t pitch, const uint8_t *first, size_t in_pitch, uint32_t n_taps,
                       size_t n, uint8_t *out)
{
    for (size_t x = 0; x < n; x += 64) {
        digit_sums s[4] = {sums_begin(), sums_begin(), sums_begin(), sums_begin()};
        for (uint32_t q = 0; 4 * q < n_taps; q++) {
            const uint8_t *rows[4];
            const int32_t *d = digits + 3 * q * pitch;
            const v512 w0 = _mm512_set1_epi32(d[0]), w1 = _mm512_set1_epi32(d[pitch]),
                       w2 = _mm512_set1_epi32(d[2 * pitch]);
            v512 v[4];
            quad_rows(first, in_pitch, n_taps, q, rows);
            interleave_quad(load(rows[0] + x), load(rows[1] + x), load(rows[2] + x), load(rows[3] + x), v);
            for (int i = 0; i < 4; i++) sums_add(&s[i], v[i], w0, w1, w2);
        }
        v512 v[4];
        for (int i = 0; i < 4; i++) v[i] = _mm512_srai_epi32(sums_total(&s[i]), STK_WEIGHT_BITS);
        store(out + x, pack_lanes(v));
    }
}

void stk_avx512_down(const stk_vector_axis *axis, uint32_t i, const uint8_t *in, size_t pitch, size_t n_bytes,
                     uint8_t *out)
{
    const uint8_t *first = in + (size_t)axis->start[i] * pitch;
    uint32_t n_taps = (uint32_t)axis->count[i];
    const int32_t *digits = axis->digits + i;
    if (axis->by_pairs) {
        down_pairs(digits, axis->pitch, first, n_taps > 1 ? first + pitch : first, n_bytes, out);
    } else if (n_taps <= 4) {
        const uint8_t *rows[4];
        quad_rows(first, pitch, n_taps, 0, rows);
        down_one_quad(digits, axis->pitch, rows, n_bytes, out);
    } else {
        down_quads(digits, axis->pitch, first, pitch, n_taps, n_bytes, out);
    }
}

#endif
