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
    uint32_t origin, n_in; /* the inputs at hand are origin .. origin + n_in - 1 of the box, turned coordinates */
    bool mirror;                /* the stored picture runs the other way: output i of the tables is visible output
                                   n_out - 1 - i, and inputs count from the far end */
    stk_filter filter;
} stk_axis_request;

/* How the across kernels fetch inputs; chosen by each family when it prepares the tables. */
typedef enum stk_across_mode {
    STK_ACROSS_WINDOW, /* outputs side by side: the inputs of a group of them lie within one register */
    STK_ACROSS_COLUMNS /* strong reduction: lines side by side, one output of all of them at a time */
} stk_across_mode;

/* STK_ACROSS_COLUMNS works on this many lines at once. */
enum { STK_COLUMN_LINES = 16 };

typedef struct stk_vector_axis {
    uint32_t n_in;   /* inputs at hand */
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
    int32_t *column_digits; /* STK_ACROSS_COLUMNS: output after output; NULL for mild reductions */
    uint32_t column_pitch;  /* dwords from one output's column digits to the next one's */
    uint8_t *columns;       /* STK_ACROSS_COLUMNS: the inputs of STK_COLUMN_LINES lines, column after column */
    double *work;      /* n_rows + 2 rows of pitch doubles, while preparing */
} stk_vector_axis;

/* sums holds n <= 64 outputs, each STK_COLUMN_LINES bytes, one a line: writes them as n_lines lines of n rounded
 * up to 32 bytes. */
void stk_columns_to_lines(const uint8_t sums[64][STK_COLUMN_LINES], uint32_t n, size_t n_lines, uint8_t *out,
                          size_t out_pitch);

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
