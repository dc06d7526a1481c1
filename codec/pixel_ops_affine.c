/* SPDX-License-Identifier: Apache-2.0
 *
 * Affine operations as Pillow's Image.transform and Image.rotate do them (src/libImaging/Geometry.c, Image.py): the
 * size stays, what comes from outside is `fill`. The matrices are those that torchvision's affine() makes. */
#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/fail.h"
#include "common/op_values.h"

typedef stk_affine affine;

static void put(const affine *a, uint8_t *out, const uint8_t *in)
{
    if (a->p->channels == 1) {
        out[0] = in != NULL ? in[0] : a->fill[0];
        return;
    }
    const uint8_t *pixel = in != NULL ? in : a->fill;
    out[0] = pixel[0];
    out[1] = pixel[1];
    out[2] = pixel[2];
}

static const uint8_t *at(const affine *a, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= a->p->width || y >= a->p->height) return NULL;
    return a->from + ((size_t)y * a->p->width + (size_t)x) * a->p->channels;
}

/* ---- Nearest neighbour: three ways, chosen as Pillow chooses. */

/* Pixels [first, end) of a row lie inside the picture, the others outside. */
static void fill_outside(const affine *a, uint8_t *row, uint32_t first, uint32_t end)
{
    for (uint32_t j = 0; j < first; j++) put(a, row + (size_t)j * a->p->channels, NULL);
    for (uint32_t j = end; j < a->p->width; j++) put(a, row + (size_t)j * a->p->channels, NULL);
}

/* ImagingScaleAffine with scale 1: a shift. Positions are added up, as there, and grow by one a pixel, so that those
 * inside are in one piece. False, and nothing is done, where a sum that is rounded up to a whole number leaves a column
 * out (4.5 pixels as 0.45 * 10 is a hair more). */
static bool nearest_shift(const affine *a)
{
    const size_t channels = a->p->channels, pitch = a->p->width * channels;
    uint32_t first = 0, end = 0;
    int64_t from_x = 0;
    double x = a->m[2] + a->m[0] * 0.5, y = a->m[5] + a->m[4] * 0.5;
    for (uint32_t j = 0; j < a->p->width; j++, x += a->m[0]) {
        int64_t at_x = stk_op_coordinate(x);
        if (at_x < 0 || at_x >= a->p->width) continue;
        if (end == 0) first = j;
        if (end == 0) from_x = at_x;
        if (at_x - from_x != (int64_t)(j - first)) return false;
        end = j + 1;
    }
    for (uint32_t i = 0; i < a->p->height; i++, y += a->m[4]) {
        uint8_t *row = a->p->pixels + i * pitch;
        int64_t at_y = stk_op_coordinate(y);
        bool inside = at_y >= 0 && at_y < a->p->height && end > 0;
        fill_outside(a, row, inside ? first : 0, inside ? end : 0);
        if (inside) memcpy(row + first * channels, at(a, from_x, at_y), (end - first) * channels);
    }
    return true;
}

/* Narrows [*first, *end) to the j for which 0 <= start + j * step < limit; [0, 0) when there is none. */
static void narrow(int64_t start, int64_t step, int64_t limit, int64_t *first, int64_t *end)
{
    int64_t from = 0, to = start >= 0 && start < limit ? *end : 0;
    /* Of a falling line the mirror image. */
    if (step < 0) {
        start = limit - 1 - start;
        step = -step;
    }
    if (step > 0) {
        from = start >= 0 ? 0 : (-start + step - 1) / step;
        to = start >= limit ? 0 : (limit - 1 - start) / step + 1;
    }
    if (from > *first) *first = from;
    if (to < *end) *end = to;
    if (*first >= *end) *first = *end = 0;
}

/* The pixels of a row that lie inside. Three bytes are copied as four: the fourth is the next pixel's first, which is
 * written afterwards. */
static void copy_fixed(const affine *a, uint8_t *out, int64_t x, int64_t y, int64_t m0, int64_t m3, int64_t n)
{
    const int64_t width = a->p->width;
    if (a->p->channels == 1) {
        for (; n > 0; n--, x += m0, y += m3) *out++ = a->from[(y >> 16) * width + (x >> 16)];
        return;
    }
    for (; n > 1; n--, x += m0, y += m3, out += 3) memcpy(out, a->from + 3 * ((y >> 16) * width + (x >> 16)), 4);
    if (n == 1) memcpy(out, a->from + 3 * ((y >> 16) * width + (x >> 16)), 3);
}

/* affine_fixed: 16.16 fixed point. */
static void nearest_fixed(const affine *a)
{
    const size_t channels = a->p->channels;
    int64_t f[6];
    stk_op_fixed(a->m, f);
    const int64_t m0 = f[0], m1 = f[1], m3 = f[3], m4 = f[4];
    int64_t x = f[2], y = f[5];
    for (uint32_t i = 0; i < a->p->height; i++, x += m1, y += m4) {
        uint8_t *row = a->p->pixels + i * a->p->width * channels;
        int64_t first = 0, end = a->p->width;
        narrow(x, m0, (int64_t)a->p->width << 16, &first, &end);
        narrow(y, m3, (int64_t)a->p->height << 16, &first, &end);
        fill_outside(a, row, (uint32_t)first, (uint32_t)end);
        copy_fixed(a, row + (size_t)first * channels, x + first * m0, y + first * m3, m0, m3, end - first);
    }
}

static void nearest_double(const affine *a)
{
    const double *m = a->m;
    uint8_t *out = a->p->pixels;
    double x0 = m[2] + m[1] * 0.5 + m[0] * 0.5, y0 = m[5] + m[4] * 0.5 + m[3] * 0.5;
    for (uint32_t i = 0; i < a->p->height; i++, x0 += m[1], y0 += m[4]) {
        double x = x0, y = y0;
        for (uint32_t j = 0; j < a->p->width; j++, x += m[0], y += m[3], out += a->p->channels)
            put(a, out, at(a, stk_op_coordinate(x), stk_op_coordinate(y)));
    }
}

static void nearest(const affine *a)
{
    bool upright = a->m[1] == 0 && a->m[3] == 0; /* ImagingScaleAffine adds positions up as nearest_double does */
    if (upright && a->m[0] == 1 && a->m[4] == 1 && nearest_shift(a)) return;
    if (!upright && stk_op_fits_fixed(a->m, a->p->width, a->p->height)) nearest_fixed(a);
    else nearest_double(a);
}

/* ---- Rotate's short cuts, which Pillow takes whatever the filter. */

void stk_op_flip_vertical(const stk_picture *p)
{
    size_t pitch = (size_t)p->width * p->channels;
    for (uint32_t y = 0; y < p->height / 2; y++) {
        uint8_t *a = p->pixels + y * pitch, *b = p->pixels + (p->height - 1 - y) * pitch;
        for (size_t i = 0; i < pitch; i++) {
            uint8_t swap = a[i];
            a[i] = b[i];
            b[i] = swap;
        }
    }
}

/* Pixel (x, y) comes from (w - 1 - x, h - 1 - y), or of a square picture from (w - 1 - y, x) or (y, h - 1 - x). */
static void quarter_turns(const affine *a, int turns)
{
    int64_t w = a->p->width, h = a->p->height;
    uint8_t *out = a->p->pixels;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++, out += a->p->channels)
            put(a, out, turns == 2 ? at(a, w - 1 - x, h - 1 - y) : turns == 1 ? at(a, w - 1 - y, x)
                                                                             : at(a, y, h - 1 - x));
}

/* True when the angle needed no matrix. */
static bool rotate_by_quarters(const affine *a, double angle)
{
    bool square = a->p->width == a->p->height;
    if (angle == 180.0) quarter_turns(a, 2);
    else if (angle == 90.0 && square) quarter_turns(a, 1);
    else if (angle == 270.0 && square) quarter_turns(a, 3);
    else return false;
    return true;
}

stk_status stk_op_affine(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op, stk_buffer *scratch,
                         stk_error *error)
{
    size_t n_bytes = (size_t)p->width * p->height * p->channels;
    double angle = op->kind == STK_OP_ROTATE ? stk_op_degrees(op->value) : 0;
    if (op->kind == STK_OP_ROTATE && angle == 0) return STK_OK;
    scratch->n_bytes = 0;
    STK_TRY(stk_buffer_resize(scratch, n_bytes, error));
    memcpy(scratch->data, p->pixels, n_bytes);
    affine a = {.p = p, .from = scratch->data, .m = {1, 0, 0, 0, 1, 0}};
    memcpy(a.fill, op->fill, sizeof a.fill);
    switch ((int)op->kind) {
    case STK_OP_SHEAR_X: a.m[1] = op->value; break;
    case STK_OP_SHEAR_Y: a.m[3] = op->value; break;
    case STK_OP_TRANSLATE_X: a.m[2] = -op->value; break;
    case STK_OP_TRANSLATE_Y: a.m[5] = -op->value; break;
    case STK_OP_AFFINE: memcpy(a.m, op->matrix, sizeof a.m); break;
    default:
        if (rotate_by_quarters(&a, angle)) return STK_OK;
        stk_op_rotation(p->width, p->height, angle, a.m);
    }
    if (op->filter == STK_FILTER_BILINEAR) rows->bilinear(&a);
    else if (op->filter == STK_FILTER_BICUBIC) rows->bicubic(&a);
    else nearest(&a);
    return STK_OK;
}
