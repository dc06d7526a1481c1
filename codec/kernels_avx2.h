/* SPDX-License-Identifier: Apache-2.0
 *
 * What the AVX2 family's files share: the entries of its tables. */
#ifndef STK_CODEC_KERNELS_AVX2_H
#define STK_CODEC_KERNELS_AVX2_H

#include "codec/kernels.h"
#include "codec/tail.h"

/* kernels_avx2_resample.c */
void stk_avx2_prepare_axis(stk_vector_axis *axis, const stk_axis_request *request);
void stk_avx2_across(const stk_vector_axis *axis, const uint8_t *in, size_t in_pitch, size_t n_lines, uint8_t *out,
                     size_t out_pitch);
void stk_avx2_down(const stk_vector_axis *axis, uint32_t i, const uint8_t *in, size_t pitch, size_t n_bytes,
                   uint8_t *out);

/* kernels_avx2_color.c */
void stk_avx2_ycc_row(const stk_ycc_row *row, stk_upsampling chroma, size_t n, uint8_t *lines, size_t line_pitch);
void stk_avx2_split_row(const uint8_t *rgb, size_t n, uint8_t *lines, size_t line_pitch);
void stk_avx2_grey_row(const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *grey);

/* kernels_avx2_copy.c */
void stk_avx2_join_row(stk_pixel_format format, const uint8_t *lines, size_t line_pitch, size_t n, uint8_t *out);
void stk_avx2_copy_pixels(stk_pixel_format format, const uint8_t *in, ptrdiff_t in_stride, size_t n, size_t n_rows,
                          uint8_t *out, size_t out_stride);

/* kernels_avx2_normalise.c */
void stk_avx2_normalise(const stk_norm_table *table, stk_layout layout, const uint8_t *pixels, size_t n_pixels,
                        void *out, size_t plane_elements);

#endif
