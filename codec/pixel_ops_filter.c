/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on neighbourhoods: sharpness (Pillow's ImageEnhance.Sharpness over ImageFilter.SMOOTH) and Gaussian blur
 * (torchvision's gaussian_blur on uint8 tensors). */
#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/op_values.h"

/* Room for n_bytes whose old contents are of no use. */
static stk_status room(stk_buffer *scratch, size_t n_bytes, stk_error *error)
{
    scratch->n_bytes = 0;
    return stk_buffer_resize(scratch, n_bytes, error);
}

/* The border keeps its pixels: SMOOTH leaves it alone, and so the blend does. */
stk_status stk_op_sharpness(const stk_row_ops *rows, const stk_picture *p, float alpha, stk_buffer *scratch,
                            stk_error *error)
{
    size_t pitch = (size_t)p->width * p->channels, inner = pitch - 2 * (size_t)p->channels;
    if (p->width < 3 || p->height < 3) return STK_OK; /* Pillow's filter copies such pictures */
    /* Two source rows as they were, and a smoothed one. */
    STK_TRY(room(scratch, 3 * pitch, error));
    uint8_t *above = scratch->data, *here = above + pitch, *smooth = here + pitch;
    memcpy(above, p->pixels, pitch);
    for (uint32_t y = 1; y + 1 < p->height; y++) {
        uint8_t *row = p->pixels + y * pitch;
        memcpy(here, row, pitch);
        rows->smooth(above + p->channels, here + p->channels, row + pitch + p->channels, p->channels, smooth, inner);
        rows->blend(smooth, alpha, row + p->channels, inner);
        uint8_t *swap = above;
        above = here;
        here = swap;
    }
    return STK_OK;
}

/* ---- Blur. */

/* Reflection without the edge repeated, as often as it takes; torch refuses pictures smaller than half the kernel. */
static size_t reflect(int64_t at, uint32_t size)
{
    if (size == 1) return 0;
    int64_t period = 2 * ((int64_t)size - 1);
    at %= period;
    if (at < 0) at += period;
    return (size_t)(at < size ? at : period - at);
}

static void pad_row(const uint8_t *row, uint32_t width, uint32_t channels, uint32_t half, uint8_t *out)
{
    for (uint32_t x = 0; x < half; x++) {
        memcpy(out + (size_t)x * channels, row + reflect((int64_t)x - half, width) * channels, channels);
        memcpy(out + ((size_t)half + width + x) * channels, row + reflect((int64_t)width + x, width) * channels,
               channels);
    }
    memcpy(out + (size_t)half * channels, row, (size_t)width * channels);
}

stk_status stk_op_blur(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op, stk_buffer *scratch,
                       stk_error *error)
{
    float across[STK_BLUR_MAX], down[STK_BLUR_MAX];
    const float *from[STK_BLUR_MAX];
    uint32_t half_x = op->kernel_width / 2, half_y = op->kernel_height / 2;
    size_t pitch = (size_t)p->width * p->channels, n_floats, n_bytes;
    size_t padded = pitch + 2 * (size_t)half_x * p->channels;
    if (!stk_mul_size(pitch, p->height, &n_floats) || !stk_mul_size(n_floats, sizeof(float), &n_bytes) ||
        !stk_add_size(n_bytes, padded, &n_bytes))
        return stk_fail(error, STK_ERR_LIMIT, "an image of %ux%u is too large to be blurred", p->width, p->height);
    STK_TRY(room(scratch, n_bytes, error));
    stk_op_gaussian(op->kernel_width, op->value, across);
    stk_op_gaussian(op->kernel_height, op->value, down);
    float *plane = (float *)(void *)scratch->data;
    uint8_t *line = scratch->data + n_floats * sizeof(float);
    for (uint32_t y = 0; y < p->height; y++) {
        pad_row(p->pixels + y * pitch, p->width, p->channels, half_x, line);
        rows->blur_across(line, across, op->kernel_width, p->channels, plane + y * pitch, pitch);
    }
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t k = 0; k < op->kernel_height; k++)
            from[k] = plane + reflect((int64_t)y + k - half_y, p->height) * pitch;
        rows->blur_down(from, down, op->kernel_height, p->pixels + y * pitch, pitch);
    }
    return STK_OK;
}
