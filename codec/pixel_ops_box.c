/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian blur as Pillow's ImageFilter.GaussianBlur approximates it (src/libImaging/BoxBlur.c, after Gwosdek and
 * others, SSVM 2011): three box blurs along the rows, three along the columns, each rounded to 8 bits. Sums are of
 * integers, so that how they are added up does not matter; the box's length is a float, computed as there. */
#include <math.h>
#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/checked.h"
#include "common/fail.h"

enum { PASSES = 3 };

/* _gaussian_blur_radius, its numbers in the same types. */
static float box_radius(float radius)
{
    float sigma2 = radius * radius / PASSES;
    float length = (float)sqrt(12.0 * (double)sigma2 + 1.0);
    float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * sigma2);
    part /= 6 * (sigma2 - (whole + 1) * (whole + 1));
    return whole + part;
}

static stk_box_weights box_weights(float radius)
{
    stk_box_weights w = {.radius = (uint32_t)radius};
    w.whole = (uint32_t)((float)(1u << 24) / (radius * 2 + 1));
    w.part = ((1u << 24) - (w.radius * 2 + 1) * w.whole) / 2;
    return w;
}

/* `margin` copies of the first and of the last of n elements around them. */
static void pad(const uint8_t *from, size_t n, size_t element, size_t margin, uint8_t *out)
{
    for (size_t k = 0; k < margin; k++) {
        memcpy(out + k * element, from, element);
        memcpy(out + (margin + n + k) * element, from + (n - 1) * element, element);
    }
    memcpy(out + margin * element, from, n * element);
}

stk_status stk_op_box_blur(const stk_row_ops *rows, const stk_picture *p, float radius, stk_buffer *scratch,
                           stk_error *error)
{
    const float box = box_radius(radius);
    const stk_box_weights w = box_weights(box);
    const size_t pitch = (size_t)p->width * p->channels, margin = (size_t)w.radius + 1;
    size_t n_rows, n_columns, bytes, line;
    if (box == 0) return STK_OK;
    if (!stk_add_size(p->height, 2 * margin, &n_rows) || !stk_mul_size(n_rows, pitch, &bytes) ||
        !stk_add_size(p->width, 2 * margin, &n_columns) || !stk_mul_size(n_columns, p->channels, &line))
        return stk_fail(error, STK_ERR_LIMIT, "an image of %ux%u is too large to be blurred", p->width, p->height);
    scratch->n_bytes = 0;
    STK_TRY(stk_buffer_resize(scratch, bytes > line ? bytes : line, error));
    for (uint32_t y = 0; y < p->height; y++)
        for (int pass = 0; pass < PASSES; pass++) {
            pad(p->pixels + y * pitch, p->width, p->channels, margin, scratch->data);
            rows->box(scratch->data, p->channels, &w, p->pixels + y * pitch, pitch);
        }
    for (int pass = 0; pass < PASSES; pass++) {
        pad(p->pixels, p->height, pitch, margin, scratch->data);
        for (uint32_t y = 0; y < p->height; y++)
            rows->box(scratch->data + y * pitch, pitch, &w, p->pixels + y * pitch, pitch);
    }
    return STK_OK;
}
