/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of pixel_ops.h, by kind of arithmetic. Included only by codec/pixel_ops*.c and the kernel families. */
#ifndef STK_CODEC_PIXEL_OPS_INTERNAL_H
#define STK_CODEC_PIXEL_OPS_INTERNAL_H

#include <stddef.h>

#include "codec/pixel_ops.h"
#include "common/op_values.h"

/* Pixels at a time where channels are taken apart: the lines stay in the first-level cache. */
enum { STK_ROWS_BLOCK = 512 };

/* Source x = m[0] x + m[1] y + m[2] and source y = m[3] x + m[4] y + m[5] of pixel centres. */
typedef struct stk_affine {
    const stk_picture *p;
    const uint8_t *from; /* the picture as it was; 3 readable bytes follow it */
    double m[6];
    uint8_t fill[4];
} stk_affine;

enum { STK_BOX_LANES = 64 };

/* Loops that gain from vectors: one source (pixel_rows.h), compiled once a family. Buffers do not overlap. */
typedef struct stk_row_ops {
    /* bytes[i] = blend(from, bytes[i], alpha). */
    void (*blend_constant)(uint8_t from, float alpha, uint8_t *bytes, size_t n);
    /* bytes[i] = blend(from[i], bytes[i], alpha). */
    void (*blend)(const uint8_t *from, float alpha, uint8_t *bytes, size_t n);
    /* n interleaved RGB pixels: blend with their luma. */
    void (*saturate)(float alpha, uint8_t *rgb, size_t n);
    void (*shift_hue)(uint8_t shift, uint8_t *rgb, size_t n);
    void (*grey)(uint8_t *rgb, size_t n);
    /* Sum of the luma of n RGB pixels. */
    uint64_t (*luma_sum)(const uint8_t *rgb, size_t n);
    /* out[i] = smooth at byte i of `here`. */
    void (*smooth)(const uint8_t *above, const uint8_t *here, const uint8_t *below, size_t step, uint8_t *out,
                   size_t n);
    /* out[i] = sum over k of weights[k] * in[i + k * step], in order of k. */
    void (*blur_across)(const uint8_t *in, const float *weights, uint32_t n_weights, size_t step, float *out,
                        size_t n);
    /* out[i] = the same over rows[k][i], rounded to the nearest even. */
    void (*blur_down)(const float *const *rows, const float *weights, uint32_t n_weights, uint8_t *out, size_t n);
    /* As stk_mix_elements, by stk_dtype. */
    void (*mix[4])(void *x, const void *y, float share, float other, size_t n);
    /* bytes[i] = bytes[i] < threshold ? bytes[i] : 255 - bytes[i]; threshold 0 .. 256. */
    void (*solarize)(int32_t threshold, uint8_t *bytes, size_t n);
    /* out[i] = the box around in[i + (radius + 1) * step], whose first part-element is in[i]; rounded to the nearest. */
    void (*box)(const uint8_t *in, size_t step, const stk_box_weights *weights, uint8_t *out, size_t n);
    /* Every pixel of a->p from a->from. */
    void (*bilinear)(const stk_affine *a);
    void (*bicubic)(const stk_affine *a);
} stk_row_ops;

extern const stk_row_ops stk_row_ops_scalar;
#if defined(__x86_64__)
extern const stk_row_ops stk_row_ops_avx2;
extern const stk_row_ops stk_row_ops_avx512;
#endif

/* pixel_ops_point.c: each byte by itself, maybe after a look at all. */
void stk_op_contrast(const stk_row_ops *rows, const stk_picture *p, float alpha);
void stk_op_posterize(const stk_picture *p, uint32_t bits);
void stk_op_solarize_add(const stk_picture *p, uint32_t add);
void stk_op_autocontrast(const stk_picture *p);
void stk_op_equalize(const stk_picture *p);

/* pixel_ops_affine.c. */
stk_status stk_op_affine(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op, stk_buffer *scratch,
                         stk_error *error);
void stk_op_flip_vertical(const stk_picture *p);

/* pixel_ops_filter.c: neighbourhoods. */
stk_status stk_op_sharpness(const stk_row_ops *rows, const stk_picture *p, float alpha, stk_buffer *scratch,
                            stk_error *error);
stk_status stk_op_blur(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op, stk_buffer *scratch,
                       stk_error *error);
/* pixel_ops_box.c. */
stk_status stk_op_box_blur(const stk_row_ops *rows, const stk_picture *p, float radius, stk_buffer *scratch,
                           stk_error *error);

#endif
