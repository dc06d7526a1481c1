/* SPDX-License-Identifier: Apache-2.0
 *
 * Coefficients of one axis laid out for vector code: tap after tap, each over all outputs, so that one
 * instruction works on many outputs. Same numbers as stk_axis. */
#ifndef STK_CODEC_VECTOR_AXIS_H
#define STK_CODEC_VECTOR_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/types.h>

/* What is asked of one axis of the stored picture. */
typedef struct stk_axis_request {
    uint32_t in_size, out_size; /* the whole box and the whole result, along this axis */
    uint32_t first, n_out;      /* the visible outputs, turned coordinates */
    uint32_t origin, n_in;      /* the inputs at hand are origin .. origin + n_in - 1 of the box, turned coordinates */
    bool mirror;                /* the stored picture runs the other way: output i of the tables is visible output
                                   n_out - 1 - i, and inputs count from the far end */
    stk_filter filter;
} stk_axis_request;

/* How the across kernels fetch inputs; chosen by each family when it prepares the tables. */
typedef enum stk_across_mode {
    STK_ACROSS_WINDOW,      /* the inputs of a group of outputs lie within one register */
    STK_ACROSS_WIDE_WINDOW, /* ... within two */
    STK_ACROSS_DOT          /* strong reduction: one output at a time, many taps at once */
} stk_across_mode;

typedef struct stk_vector_axis {
    uint32_t n_out;  /* outputs asked for */
    uint32_t pitch;  /* n_out rounded up to 32: row length of the arrays below. Padding outputs have weight 0 */
    uint32_t n_taps; /* the largest count */
    uint32_t n_rows; /* n_taps rounded up to 4: rows of weights; those beyond n_taps are 0 */
    int32_t *start;  /* first input, relative to the inputs at hand; never decreases */
    int32_t *count;
    int32_t *weights; /* [n_rows][pitch], 22-bit fixed point */
    /* Family tables; see kernels_<family>_resample.c. */
    stk_across_mode mode;
    bool by_pairs;     /* one or two taps: digits of another form */
    int32_t *digits;   /* weights split into small digits, for both passes */
    uint8_t *shuffles; /* where a group of outputs finds its inputs */
    int8_t *dots;      /* row-major digits for STK_ACROSS_DOT, else NULL */
    uint32_t dot_pitch; /* taps in a row of dots */
    double *work;      /* n_rows + 2 rows of pitch doubles, while preparing */
} stk_vector_axis;

/* Bytes for the tables of either family; SIZE_MAX when that overflows. */
size_t stk_vector_axis_bytes(const stk_axis_request *request);

/* Points the arrays into memory (64-byte aligned, stk_vector_axis_bytes). */
void stk_vector_axis_place(stk_vector_axis *axis, const stk_axis_request *request, uint8_t *memory);

/* Fills start, count and weights from the scalar stk_axis_compute: filters without a vector form. */
void stk_vector_axis_from_scalar(stk_vector_axis *axis, const stk_axis_request *request);

/* Makes starts relative to the inputs at hand and reverses a mirrored axis. After start, count and weights are
 * computed, before the family tables. */
void stk_vector_axis_orient(stk_vector_axis *axis, const stk_axis_request *request);

#endif
