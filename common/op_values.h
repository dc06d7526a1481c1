/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operation's value comes to before a pixel is touched (matrices, thresholds, weights), for the CPU's pixels
 * and for a device's alike. */
#ifndef STK_COMMON_OP_VALUES_H
#define STK_COMMON_OP_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Python's angle % 360.0. */
double stk_op_degrees(double angle);

/* Image.rotate's matrix about the centre; angle in 0 .. 360. */
void stk_op_rotation(uint32_t width, uint32_t height, double angle, double m[6]);

/* Geometry.c's check_fixed: the picture's corners fit 16.16. */
bool stk_op_fits_fixed(const double m[6], uint32_t width, uint32_t height);

/* affine_fixed's numbers: pixel (x, y) comes from (f[2] + x f[0] + y f[1], f[5] + x f[3] + y f[4]) / 65536. */
void stk_op_fixed(const double m[6], int64_t f[6]);

/* COORD: below zero is outside, else cut off. */
static inline int64_t stk_op_coordinate(double v) { return v < 0.0 ? -1 : (int64_t)v; }

/* Pillow compares a byte with the threshold as numbers, i < threshold: 0 .. 256. */
int32_t stk_op_threshold(double threshold);

enum { STK_BLUR_MAX = 255 };

/* exp(-x^2 / 2 sigma^2), scaled to sum 1, as floats; n <= STK_BLUR_MAX. */
void stk_op_gaussian(uint32_t n, double sigma, float *weights);

/* A box blur along one axis: 2 radius + 1 elements count whole, the two beyond them in part; in 2^-24. */
typedef struct stk_box_weights {
    uint32_t radius, whole, part;
} stk_box_weights;

enum { STK_BOX_PASSES = 3 }; /* along either axis, of ImageFilter.GaussianBlur */

/* The boxes that stand for a Gaussian blur of this radius (BoxBlur.c); false: it changes nothing. */
bool stk_op_box(float radius, stk_box_weights *weights);

#endif
