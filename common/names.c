/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the public enums and of arrays, and the version. */
#include <stdio.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>
#include <stoker/pack.h>
#include <stoker/types.h>
#include <stoker/version.h>

const char *stk_version(void)
{
    return STK_VERSION;
}

const char *stk_encoding_name(stk_encoding encoding)
{
    if (((unsigned)encoding & STK_ENCODING_DEAD) != 0) return "dead";
    switch (encoding) {
    case STK_ENCODING_JPEG: return "jpeg";
    case STK_ENCODING_PNG: return "png";
    case STK_ENCODING_WEBP: return "webp";
    case STK_ENCODING_TIFF: return "tiff";
    case STK_ENCODING_BMP: return "bmp";
    case STK_ENCODING_PNM: return "pnm";
    case STK_ENCODING_GIF: return "gif";
    case STK_ENCODING_TILES: return "tiles";
    case STK_ENCODING_RAW: return "raw";
    case STK_ENCODING_ARRAY: return "array";
    case STK_ENCODING_UNKNOWN: break;
    }
    return "unknown";
}

const char *stk_type_name(stk_type type)
{
    switch (type) {
    case STK_TYPE_BOOL: return "bool";
    case STK_TYPE_I8: return "int8";
    case STK_TYPE_U8: return "uint8";
    case STK_TYPE_I16: return "int16";
    case STK_TYPE_U16: return "uint16";
    case STK_TYPE_I32: return "int32";
    case STK_TYPE_U32: return "uint32";
    case STK_TYPE_I64: return "int64";
    case STK_TYPE_U64: return "uint64";
    case STK_TYPE_F16: return "float16";
    case STK_TYPE_F32: return "float32";
    case STK_TYPE_F64: return "float64";
    case STK_TYPE_STRING: return "string";
    case STK_TYPE_BYTES: return "bytes";
    }
    return "unknown";
}

size_t stk_type_size(stk_type type)
{
    switch (type) {
    case STK_TYPE_BOOL:
    case STK_TYPE_I8:
    case STK_TYPE_U8: return 1;
    case STK_TYPE_I16:
    case STK_TYPE_U16:
    case STK_TYPE_F16: return 2;
    case STK_TYPE_I32:
    case STK_TYPE_U32:
    case STK_TYPE_F32: return 4;
    case STK_TYPE_I64:
    case STK_TYPE_U64:
    case STK_TYPE_F64: return 8;
    case STK_TYPE_STRING:
    case STK_TYPE_BYTES: break;
    }
    return 0;
}

const char *stk_damage_name(stk_damage kind)
{
    switch (kind) {
    case STK_DAMAGE_NONE: return "none";
    case STK_DAMAGE_EXTRANEOUS: return "extraneous";
    case STK_DAMAGE_TRUNCATED: return "truncated";
    case STK_DAMAGE_ENTROPY: return "entropy";
    case STK_DAMAGE_CHECKSUM: return "checksum";
    case STK_DAMAGE_HEADER: return "header";
    case STK_DAMAGE_OVERFLOW: return "overflow";
    case STK_DAMAGE_OTHER: return "other";
    }
    return "other";
}

const char *stk_array_text(const stk_array *array, char *text, size_t capacity)
{
    size_t n = 0;
    for (uint32_t d = 0; d <= array->n_dims && n < capacity; d++) {
        int m = d == 0 ? snprintf(text, capacity, "%s [", stk_type_name(array->type))
                       : snprintf(text + n, capacity - n, "%s%llu", d > 1 ? ", " : "",
                                  (unsigned long long)array->shape[d - 1]);
        n += m > 0 ? (size_t)m : 0;
    }
    if (n < capacity) snprintf(text + n, capacity - n, "]");
    return text;
}
