/* SPDX-License-Identifier: Apache-2.0
 *
 * The inverse DCT for x86 vectors of any width, written once. The including file defines `vector`,
 * `shift_count` (what its shifts take), V(name) (the intrinsic of that name for its width) and ZERO. A vector
 * holds one row of several blocks, one block a 128-bit lane, so that the in-lane unpack and pack instructions
 * do the transposition. */
#ifndef STK_CODEC_IDCT_VECTOR_H
#define STK_CODEC_IDCT_VECTOR_H

#include "codec/idct.h"

#define INLINE static inline __attribute__((always_inline))

#define PAIR(a, b)                                                                                           \
    V(set1_epi32)((int)((uint32_t)(uint16_t)(int16_t)(a) | (uint32_t)(uint16_t)(int16_t)(b) << 16))

typedef struct halves {
    vector low, high; /* 32-bit values of words 0..3 and 4..7 of each lane */
} halves;

/* a * the pair's first factor + b * its second. */
INLINE halves multiply_pairs(vector a, vector b, vector pair)
{
    return (halves){V(madd_epi16)(V(unpacklo_epi16)(a, b), pair),
                    V(madd_epi16)(V(unpackhi_epi16)(a, b), pair)};
}
INLINE halves add(halves a, halves b)
{
    return (halves){V(add_epi32)(a.low, b.low), V(add_epi32)(a.high, b.high)};
}
INLINE halves subtract(halves a, halves b)
{
    return (halves){V(sub_epi32)(a.low, b.low), V(sub_epi32)(a.high, b.high)};
}
/* v * 2^13 + round. */
INLINE halves scale(vector v, vector round)
{
    return (halves){V(add_epi32)(V(srai_epi32)(V(unpacklo_epi16)(ZERO, v), 16 - STK_IDCT_BITS), round),
                    V(add_epi32)(V(srai_epi32)(V(unpackhi_epi16)(ZERO, v), 16 - STK_IDCT_BITS), round)};
}
INLINE vector descale(halves v, const shift_count shift)
{
    return V(packs_epi32)(V(srai_epi32)(v.low, shift), V(srai_epi32)(v.high, shift));
}

/* One dimension, down the registers. */
INLINE void transform(vector r[8], const shift_count shift)
{
    const vector round = V(set1_epi32)(1 << (shift - 1));
    const vector z3 = V(add_epi16)(r[7], r[3]), z4 = V(add_epi16)(r[5], r[1]);
    const halves even_sum = scale(V(add_epi16)(r[0], r[4]), round);
    const halves even_difference = scale(V(sub_epi16)(r[0], r[4]), round);
    const halves e3 = multiply_pairs(r[2], r[6], PAIR(STK_IDCT_0_541 + STK_IDCT_0_765, STK_IDCT_0_541));
    const halves e2 = multiply_pairs(r[2], r[6], PAIR(STK_IDCT_0_541, STK_IDCT_0_541 - STK_IDCT_1_847));
    const halves t0 = add(even_sum, e3), t3 = subtract(even_sum, e3);
    const halves t1 = add(even_difference, e2), t2 = subtract(even_difference, e2);
    const halves y3 = multiply_pairs(z3, z4, PAIR(STK_IDCT_1_175 - STK_IDCT_1_961, STK_IDCT_1_175));
    const halves y4 = multiply_pairs(z3, z4, PAIR(STK_IDCT_1_175, STK_IDCT_1_175 - STK_IDCT_0_390));
    const halves a0 = multiply_pairs(r[7], r[1], PAIR(STK_IDCT_0_298 - STK_IDCT_0_899, -STK_IDCT_0_899));
    const halves a3 = multiply_pairs(r[7], r[1], PAIR(-STK_IDCT_0_899, STK_IDCT_1_501 - STK_IDCT_0_899));
    const halves a1 = multiply_pairs(r[5], r[3], PAIR(STK_IDCT_2_053 - STK_IDCT_2_562, -STK_IDCT_2_562));
    const halves a2 = multiply_pairs(r[5], r[3], PAIR(-STK_IDCT_2_562, STK_IDCT_3_072 - STK_IDCT_2_562));
    const halves u0 = add(a0, y3), u1 = add(a1, y4), u2 = add(a2, y3), u3 = add(a3, y4);
    r[0] = descale(add(t0, u3), shift);
    r[7] = descale(subtract(t0, u3), shift);
    r[1] = descale(add(t1, u2), shift);
    r[6] = descale(subtract(t1, u2), shift);
    r[2] = descale(add(t2, u1), shift);
    r[5] = descale(subtract(t2, u1), shift);
    r[3] = descale(add(t3, u0), shift);
    r[4] = descale(subtract(t3, u0), shift);
}

/* Rows to columns, within each lane. */
INLINE void transpose(vector r[8])
{
    vector a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = V(unpacklo_epi16)(r[i], r[i + 4]);
        a[2 * i + 1] = V(unpackhi_epi16)(r[i], r[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        b[2 * i] = V(unpacklo_epi16)(a[i], a[i + 4]);
        b[2 * i + 1] = V(unpackhi_epi16)(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = V(unpacklo_epi16)(b[i], b[i + 4]);
        r[2 * i + 1] = V(unpackhi_epi16)(b[i], b[i + 4]);
    }
}

/* Dequantised rows to samples: in each lane, rows[i] = rows 2 i and 2 i + 1 of its block, 8 bytes each. */
INLINE void rows_of_samples(vector r[8], vector rows[4])
{
    transform(r, STK_IDCT_SHIFT_1);
    transpose(r);
    transform(r, STK_IDCT_SHIFT_2);
    /* r[x] = column x now: packed to bytes and turned back. */
    const vector center = V(set1_epi8)((char)-128);
    vector p0 = V(packs_epi16)(r[0], r[1]), p1 = V(packs_epi16)(r[2], r[3]);
    vector p2 = V(packs_epi16)(r[4], r[5]), p3 = V(packs_epi16)(r[6], r[7]);
    vector a = V(unpacklo_epi8)(p0, p2), b = V(unpackhi_epi8)(p0, p2);
    vector c = V(unpacklo_epi8)(p1, p3), d = V(unpackhi_epi8)(p1, p3);
    vector e = V(unpacklo_epi8)(a, c), f = V(unpackhi_epi8)(a, c);
    vector g = V(unpacklo_epi8)(b, d), h = V(unpackhi_epi8)(b, d);
    rows[0] = V(add_epi8)(V(unpacklo_epi8)(e, g), center);
    rows[1] = V(add_epi8)(V(unpackhi_epi8)(e, g), center);
    rows[2] = V(add_epi8)(V(unpacklo_epi8)(f, h), center);
    rows[3] = V(add_epi8)(V(unpackhi_epi8)(f, h), center);
}

#endif
