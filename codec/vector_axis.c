/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/vector_axis.h"

#include <string.h>

#include "codec/resample.h"
#include "codec/transpose.h"
#include "common/checked.h"

static size_t rounded(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Sizes in elements. Everything is a multiple of 64 bytes, for pitch is a multiple of 32. */
typedef struct sizes {
    size_t pitch, rows, column_pitch, columns;
} sizes;

/* Neighbouring outputs that lie about four inputs apart no longer share a register; from two on is safe. */
static bool may_need_columns(const stk_axis_request *request)
{
    return request->in_size / 2 > request->out_size;
}

/* Both families fit: digits take at most 4 bytes a weight (two 16-bit halves), and so do column digits, with one
 * group of taps more since groups begin at even columns; columns take 2 bytes (words) for each of 16 lines. */
static sizes sizes_of(const stk_axis_request *request)
{
    sizes s = {.pitch = rounded(request->n_out, 32)};
    s.rows = rounded(stk_axis_max_taps(request->in_size, request->out_size, request->filter), 4);
    if (may_need_columns(request)) {
        s.column_pitch = rounded(s.rows + 4, 16);
        s.columns = 32 * rounded((size_t)request->n_in + 64, 64);
    }
    return s;
}

size_t stk_vector_axis_bytes(const stk_axis_request *request)
{
    sizes s = sizes_of(request);
    size_t weights, work, column_digits, total;
    if (!stk_mul_size(s.pitch * 4, s.rows * 2, &weights) || !stk_mul_size(s.pitch * 8, s.rows + 2, &work) ||
        !stk_mul_size(s.pitch * 4, s.column_pitch, &column_digits) || !stk_add_size(weights, work, &total) ||
        !stk_add_size(total, column_digits, &total) || !stk_add_size(total, s.pitch * 16 + s.columns, &total))
        return SIZE_MAX;
    return total;
}

void stk_vector_axis_place(stk_vector_axis *axis, const stk_axis_request *request, uint8_t *memory)
{
    sizes s = sizes_of(request);
    size_t column = s.pitch * sizeof(int32_t);
    memset(axis, 0, sizeof *axis);
    axis->n_in = request->n_in;
    axis->n_out = request->n_out;
    axis->pitch = (uint32_t)s.pitch;
    axis->start = (int32_t *)(void *)memory;
    axis->count = (int32_t *)(void *)(memory + column);
    axis->shuffles = memory + 2 * column; /* 8 bytes an output */
    memory += 4 * column;
    axis->weights = (int32_t *)(void *)memory;
    axis->digits = (int32_t *)(void *)(memory + column * s.rows);
    axis->work = (double *)(void *)(memory + 2 * column * s.rows);
    memory = (uint8_t *)(axis->work + s.pitch * (s.rows + 2));
    if (s.columns == 0) return;
    axis->column_pitch = (uint32_t)s.column_pitch;
    axis->column_digits = (int32_t *)(void *)memory;
    axis->columns = memory + column * s.column_pitch;
}

void stk_columns_to_lines(const uint8_t sums[64][STK_COLUMN_LINES], uint32_t n, size_t n_lines, uint8_t *out,
                          size_t out_pitch)
{
    uint8_t lines[STK_COLUMN_LINES][64];
    size_t width = rounded(n, 32);
    if (width != n) memset(lines, 0, sizeof lines);
    stk_transpose_strip(sums[0], STK_COLUMN_LINES, n, lines[0], sizeof lines[0]);
    for (size_t l = 0; l < n_lines; l++) memcpy(out + l * out_pitch, lines[l], width);
}

void stk_vector_axis_from_scalar(stk_vector_axis *axis, const stk_axis_request *request)
{
    /* The work rows hold the scalar axis: n_taps + 2 int32 an output and n_taps doubles fit. */
    stk_axis scalar;
    stk_axis_compute(&scalar, axis->work, request->in_size, request->out_size, request->first, request->n_out,
                     request->filter);
    axis->n_taps = 1;
    for (uint32_t i = 0; i < axis->n_out; i++) {
        axis->start[i] = scalar.start[i];
        axis->count[i] = scalar.count[i];
        if ((uint32_t)scalar.count[i] > axis->n_taps) axis->n_taps = (uint32_t)scalar.count[i];
    }
    for (uint32_t i = axis->n_out; i < axis->pitch; i++) {
        axis->start[i] = axis->start[axis->n_out - 1];
        axis->count[i] = 0;
    }
    axis->n_rows = (uint32_t)rounded(axis->n_taps, 4);
    memset(axis->weights, 0, sizeof(int32_t) * axis->pitch * axis->n_rows);
    for (uint32_t i = 0; i < axis->n_out; i++)
        for (uint32_t k = 0; k < (uint32_t)scalar.count[i]; k++)
            axis->weights[(size_t)k * axis->pitch + i] = scalar.weights[(size_t)i * scalar.n_taps + k];
}

static void swap_int32(int32_t *a, int32_t *b)
{
    int32_t t = *a;
    *a = *b;
    *b = t;
}

/* Weights of output i in reverse order of its inputs. */
static void reverse_taps(stk_vector_axis *axis, uint32_t i)
{
    uint32_t n = (uint32_t)axis->count[i];
    for (uint32_t k = 0; k < n / 2; k++)
        swap_int32(axis->weights + (size_t)k * axis->pitch + i,
                   axis->weights + (size_t)(n - 1 - k) * axis->pitch + i);
}

void stk_vector_axis_orient(stk_vector_axis *axis, const stk_axis_request *request)
{
    uint32_t n = axis->n_out;
    int32_t origin = (int32_t)request->origin, end = (int32_t)(request->origin + request->n_in);
    if (!request->mirror) {
        for (uint32_t i = 0; i < axis->pitch; i++) axis->start[i] -= origin;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        axis->start[i] = end - axis->start[i] - axis->count[i];
        reverse_taps(axis, i);
    }
    for (uint32_t a = 0, b = n - 1; a < b; a++, b--) {
        swap_int32(axis->start + a, axis->start + b);
        swap_int32(axis->count + a, axis->count + b);
        for (uint32_t k = 0; k < axis->n_taps; k++) {
            int32_t *row = axis->weights + (size_t)k * axis->pitch;
            swap_int32(row + a, row + b);
        }
    }
    for (uint32_t i = n; i < axis->pitch; i++) axis->start[i] = axis->start[n - 1];
}
