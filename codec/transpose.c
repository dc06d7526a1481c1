/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/transpose.h"

#if defined(__SSE2__)
#include <emmintrin.h>

/* 16 x 16 bytes: four rounds in which register i is interleaved with register i + 8 transpose the block. */
static void transpose_16(const uint8_t *in, size_t in_pitch, uint8_t *out, size_t out_pitch)
{
    __m128i a[16], b[16];
    for (size_t i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(const void *)(in + i * in_pitch));
#define ROUND(from, to)                                         \
    for (size_t i = 0; i < 8; i++) {                            \
        (to)[2 * i] = _mm_unpacklo_epi8((from)[i], (from)[i + 8]);     \
        (to)[2 * i + 1] = _mm_unpackhi_epi8((from)[i], (from)[i + 8]); \
    }
    ROUND(a, b)
    ROUND(b, a)
    ROUND(a, b)
    ROUND(b, a)
#undef ROUND
    for (size_t i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(void *)(out + i * out_pitch), a[i]);
}

#else

static void transpose_16(const uint8_t *in, size_t in_pitch, uint8_t *out, size_t out_pitch)
{
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 16; j++) out[j * out_pitch + i] = in[i * in_pitch + j];
}

#endif

void stk_transpose_strip(const uint8_t *in, size_t in_pitch, size_t n_rows, uint8_t *out, size_t out_pitch)
{
    for (size_t y = 0; y < n_rows; y += 16) transpose_16(in + y * in_pitch, in_pitch, out + y, out_pitch);
}
