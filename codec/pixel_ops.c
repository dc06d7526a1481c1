/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pixel_ops.h"

#include "codec/pixel_ops_internal.h"
#include "codec/pixel_rows.h"
#include "common/op_values.h"

const stk_row_ops stk_row_ops_scalar = STK_ROW_OPS;

static const stk_row_ops *row_ops_of(stk_family family)
{
#if defined(__x86_64__)
    if (family == STK_FAMILY_AVX2) return &stk_row_ops_avx2;
    if (family == STK_FAMILY_AVX512) return &stk_row_ops_avx512;
#endif
    (void)family;
    return &stk_row_ops_scalar;
}

/* ImageEnhance.Color and convert("L") leave a grey picture as it is, and so does adjust_hue. */
static void run_color(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op)
{
    size_t n_pixels = (size_t)p->width * p->height;
    if (p->channels != 3) return;
    if (op->kind == STK_OP_SATURATION) rows->saturate((float)op->value, p->pixels, n_pixels);
    else if (op->kind == STK_OP_GRAYSCALE) rows->grey(p->pixels, n_pixels);
    else rows->shift_hue((uint8_t)(int32_t)(op->value * 255.0), p->pixels, n_pixels);
}

static stk_status run_one(const stk_row_ops *rows, const stk_picture *p, const stk_pixel_op *op,
                          stk_buffer *scratch, stk_error *error)
{
    size_t n_bytes = (size_t)p->width * p->height * p->channels;
    switch (op->kind) {
    case STK_OP_IDENTITY: return STK_OK;
    case STK_OP_SHEAR_X:
    case STK_OP_SHEAR_Y:
    case STK_OP_TRANSLATE_X:
    case STK_OP_TRANSLATE_Y:
    case STK_OP_ROTATE:
    case STK_OP_AFFINE: return stk_op_affine(rows, p, op, scratch, error);
    case STK_OP_BRIGHTNESS: rows->blend_constant(0, (float)op->value, p->pixels, n_bytes); return STK_OK;
    case STK_OP_CONTRAST: stk_op_contrast(rows, p, (float)op->value); return STK_OK;
    case STK_OP_SATURATION:
    case STK_OP_HUE:
    case STK_OP_GRAYSCALE: run_color(rows, p, op); return STK_OK;
    case STK_OP_SHARPNESS: return stk_op_sharpness(rows, p, (float)op->value, scratch, error);
    case STK_OP_POSTERIZE: stk_op_posterize(p, (uint32_t)op->value); return STK_OK;
    case STK_OP_SOLARIZE: rows->solarize(stk_op_threshold(op->value), p->pixels, n_bytes); return STK_OK;
    case STK_OP_SOLARIZE_ADD: stk_op_solarize_add(p, (uint32_t)op->value); return STK_OK;
    case STK_OP_AUTOCONTRAST: stk_op_autocontrast(p); return STK_OK;
    case STK_OP_EQUALIZE: stk_op_equalize(p); return STK_OK;
    case STK_OP_INVERT: rows->solarize(0, p->pixels, n_bytes); return STK_OK;
    case STK_OP_BLUR: return stk_op_blur(rows, p, op, scratch, error);
    case STK_OP_FLIP_VERTICAL: stk_op_flip_vertical(p); return STK_OK;
    case STK_OP_BOX_BLUR: return stk_op_box_blur(rows, p, (float)op->value, scratch, error);
    }
    return STK_OK;
}

stk_status stk_pixel_ops_run(stk_family family, const stk_picture *picture, const stk_pixel_op *ops, uint32_t n,
                             stk_buffer *scratch, stk_error *error)
{
    const stk_row_ops *rows = row_ops_of(family);
    for (uint32_t i = 0; i < n; i++) {
        stk_status status = run_one(rows, picture, &ops[i], scratch, error);
        if (status != STK_OK) return status;
    }
    return STK_OK;
}

void stk_mix_elements(stk_family family, stk_dtype dtype, void *x, const void *y, double share, size_t n)
{
    row_ops_of(family)->mix[dtype](x, y, (float)share, (float)(1.0 - share), n);
}
