/* SPDX-License-Identifier: Apache-2.0
 *
 * What the AVX-512 family's files share: the entries of its tables. */
#ifndef STK_CODEC_KERNELS_AVX512_H
#define STK_CODEC_KERNELS_AVX512_H

#include "codec/kernels.h"
#include "codec/tail.h"

/* kernels_avx512_resample.c */
void stk_avx512_prepare_axis(stk_vector_axis *axis, const stk_axis_request *request);
void stk_avx512_across(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines,
                       uint8_t *out, size_t out_pitch);
void stk_avx512_down(const stk_vector_axis *axis, uint32_t i, const uint8_t *in, size_t pitch, size_t n_bytes,
                     uint8_t *out);

/* kernels_avx512_color.c */
void stk_avx512_ycc_row(const stk_ycc_row *row, stk_upsampling chroma, size_t n, uint8_t *lines,
                        size_t line_pitch);
void stk_avx512_split_row(const uint8_t *rgb, size_t n, uint8_t *lines, size_t line_pitch);
void stk_avx512_grey_row(const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *grey);

/* kernels_avx512_copy.c */
void stk_avx512_join_row(stk_pixel_format format, const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *out);
void stk_avx512_copy_pixels(stk_pixel_format format, const uint8_t *in, ptrdiff_t in_stride, size_t n,
                            size_t n_rows, uint8_t *out, size_t out_stride);

/* kernels_avx512_normalise.c */
void stk_avx512_normalise(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                          void *out, size_t plane_elements);

#endif
