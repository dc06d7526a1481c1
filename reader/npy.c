/* SPDX-License-Identifier: Apache-2.0
 *
 * The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "reader/npy.h"

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"

enum { PREAMBLE = 10, ALIGN = 64 }; /* magic, version and header length; the elements start at a multiple of 64 */

static const char *descriptor(stk_type type)
{
    switch (type) {
    case STK_TYPE_BOOL: return "|b1";
    case STK_TYPE_I8: return "|i1";
    case STK_TYPE_U8: return "|u1";
    case STK_TYPE_I16: return "<i2";
    case STK_TYPE_U16: return "<u2";
    case STK_TYPE_I32: return "<i4";
    case STK_TYPE_U32: return "<u4";
    case STK_TYPE_I64: return "<i8";
    case STK_TYPE_U64: return "<u8";
    case STK_TYPE_F16: return "<f2";
    case STK_TYPE_F32: return "<f4";
    case STK_TYPE_F64: return "<f8";
    case STK_TYPE_STRING:
    case STK_TYPE_BYTES: break;
    }
    return NULL;
}

stk_status stk_npy_from_array(const stk_array *array, stk_buffer *out, stk_error *error)
{
    const char *descr = descriptor(array->type);
    if (descr == NULL)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "an array of %s has no .npy type", stk_type_name(array->type));
    static const uint8_t start[PREAMBLE] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0};
    out->n_bytes = 0;
    STK_TRY(stk_buffer_append(out, start, sizeof start, error));
    STK_TRY(stk_buffer_printf(out, error, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr));
    for (uint32_t d = 0; d < array->n_dims; d++)
        STK_TRY(stk_buffer_printf(out, error, "%llu,%s", (unsigned long long)array->shape[d],
                                  d + 1 < array->n_dims ? " " : ""));
    STK_TRY(stk_buffer_printf(out, error, "), }"));
    while ((out->n_bytes + 1) % ALIGN != 0) STK_TRY(stk_buffer_append(out, " ", 1, error));
    STK_TRY(stk_buffer_append(out, "\n", 1, error));
    stk_store16(out->data + 8, (uint16_t)(out->n_bytes - PREAMBLE));
    return array->n_bytes == 0 ? STK_OK : stk_buffer_append(out, array->data, array->n_bytes, error);
}
