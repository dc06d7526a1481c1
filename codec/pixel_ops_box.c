/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian blur as Pillow's ImageFilter.GaussianBlur approximates it (src/libImaging/BoxBlur.c, after Gwosdek and
 * others, SSVM 2011): three box blurs along the rows, three along the columns, each rounded to 8 bits. Sums are of
 * integers, so that how they are added up does not matter. */
#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/op_values.h"

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
    stk_box_weights w;
    if (!stk_op_box(radius, &w)) return STK_OK;
    const size_t pitch = (size_t)p->width * p->channels, margin = (size_t)w.radius + 1;
    size_t n_rows, n_columns, bytes, line;
    if (!stk_add_size(p->height, 2 * margin, &n_rows) || !stk_mul_size(n_rows, pitch, &bytes) ||
        !stk_add_size(p->width, 2 * margin, &n_columns) || !stk_mul_size(n_columns, p->channels, &line))
        return stk_fail(error, STK_ERR_LIMIT, "an image of %ux%u is too large to be blurred", p->width, p->height);
    scratch->n_bytes = 0;
    STK_TRY(stk_buffer_resize(scratch, bytes > line ? bytes : line, error));
    for (uint32_t y = 0; y < p->height; y++)
        for (int pass = 0; pass < STK_BOX_PASSES; pass++) {
            pad(p->pixels + y * pitch, p->width, p->channels, margin, scratch->data);
            rows->box(scratch->data, p->channels, &w, p->pixels + y * pitch, pitch);
        }
    for (int pass = 0; pass < STK_BOX_PASSES; pass++) {
        pad(p->pixels, p->height, pitch, margin, scratch->data);
        for (uint32_t y = 0; y < p->height; y++)
            rows->box(scratch->data + y * pitch, pitch, &w, p->pixels + y * pitch, pitch);
    }
    return STK_OK;
}
