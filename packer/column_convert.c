/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "common/utf8.h"
#include "packer/column_type.h"
#include "packer/number_text.h"

stk_status stk_column_type_parse(const char *text, stk_type *type, uint32_t *n_items, stk_error *error)
{
    static const stk_type TYPES[] = {
        STK_TYPE_BOOL, STK_TYPE_I8,  STK_TYPE_U8,     STK_TYPE_I16,   STK_TYPE_U16,
        STK_TYPE_I32,  STK_TYPE_U32, STK_TYPE_I64,    STK_TYPE_U64,   STK_TYPE_F16,
        STK_TYPE_F32,  STK_TYPE_F64, STK_TYPE_STRING, STK_TYPE_BYTES,
    };
    size_t n = strcspn(text, "[");
    *n_items = 1;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        const char *name = stk_type_name(TYPES[i]);
        if (strlen(name) != n || memcmp(name, text, n) != 0) continue;
        *type = TYPES[i];
        if (text[n] == '\0') return STK_OK;
        if (stk_type_size(*type) == 0) break;
        if (strcmp(text + n, "[]") == 0) {
            *n_items = 0;
            return STK_OK;
        }
        char *end;
        unsigned long k = strtoul(text + n + 1, &end, 10);
        if (strcmp(end, "]") != 0 || k < 2 || k > 1u << 24) break;
        *n_items = (uint32_t)k;
        return STK_OK;
    }
    return stk_fail(
        error, STK_ERR_ARGUMENT,
        "'%s' is no column type; use bool, int8 .. int64, uint8 .. uint64, float16 .. float64, string, "
        "bytes, or a number type with [n] or [] behind it",
        text);
}

/* A number on its way into a column. */
typedef struct number {
    enum { NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_REAL } kind;
    int64_t i;
    uint64_t u;
    double f;
} number;

static bool number_of_text(const char *text, size_t n, number *out)
{
    *out = (number){.kind = NUMBER_SIGNED};
    /* Leading zeros and signs are fine where a type was asked for. */
    bool negative = n > 0 && text[0] == '-';
    size_t skip = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    while (skip + 1 < n && text[skip] == '0' && text[skip + 1] >= '0' && text[skip + 1] <= '9')
        skip++;
    uint64_t magnitude;
    if (skip < n && stk_text_is_u64(text + skip, n - skip, &magnitude)) {
        if (magnitude <= INT64_MAX) {
            out->i = negative ? -(int64_t)magnitude : (int64_t)magnitude;
            return true;
        }
        if (!negative) {
            out->kind = NUMBER_UNSIGNED;
            out->u = magnitude;
            return true;
        }
        if (magnitude == (uint64_t)INT64_MAX + 1) {
            out->i = INT64_MIN;
            return true;
        }
    }
    out->kind = NUMBER_REAL;
    return stk_text_f64(text, n, &out->f);
}

static bool number_of_node(const stk_json *node, number *out)
{
    *out = (number){.kind = NUMBER_SIGNED};
    bool truth;
    if (stk_json_bool(node, &truth)) {
        out->i = truth;
        return true;
    }
    if (stk_json_i64(node, &out->i)) return true;
    out->kind = NUMBER_UNSIGNED;
    if (stk_json_u64(node, &out->u)) return true;
    out->kind = NUMBER_REAL;
    return stk_json_double(node, &out->f);
}

static double as_double(const number *v)
{
    return v->kind == NUMBER_REAL ? v->f : v->kind == NUMBER_SIGNED ? (double)v->i : (double)v->u;
}

/* Integer types of `bits` bits; a real is taken only when it is whole. */
static bool as_integer(const number *v, uint32_t bits, bool is_signed, uint64_t *out)
{
    int64_t i = v->i;
    if (v->kind == NUMBER_UNSIGNED) {
        *out = v->u;
        return !is_signed && bits == 64;
    }
    if (v->kind == NUMBER_REAL) {
        if (!(v->f >= -9007199254740992.0 && v->f <= 9007199254740992.0) || v->f != rint(v->f)) return false;
        i = (int64_t)v->f;
    }
    *out = (uint64_t)i;
    if (!is_signed) return i >= 0 && (bits == 64 || (uint64_t)i >> bits == 0);
    if (bits == 64) return true;
    int64_t limit = (int64_t)1 << (bits - 1);
    return i >= -limit && i < limit;
}

/* Writes the number as an element of the type; false when it does not fit. */
static bool store_number(stk_type type, const number *v, uint8_t *out)
{
    uint64_t bits = 0;
    switch (type) {
    case STK_TYPE_BOOL:
        if (!as_integer(v, 8, false, &bits) || bits > 1) return false;
        out[0] = (uint8_t)bits;
        return true;
    case STK_TYPE_I8:
    case STK_TYPE_I16:
    case STK_TYPE_I32:
    case STK_TYPE_I64:
    case STK_TYPE_U8:
    case STK_TYPE_U16:
    case STK_TYPE_U32:
    case STK_TYPE_U64: {
        size_t size = stk_type_size(type);
        bool is_signed =
            type == STK_TYPE_I8 || type == STK_TYPE_I16 || type == STK_TYPE_I32 || type == STK_TYPE_I64;
        if (!as_integer(v, (uint32_t)size * 8, is_signed, &bits)) return false;
        memcpy(out, &bits, size); /* little-endian: the low bytes come first */
        return true;
    }
    case STK_TYPE_F16: stk_store16(out, stk_f16_of(as_double(v))); return true;
    case STK_TYPE_F32: {
        float f = (float)as_double(v);
        memcpy(out, &f, sizeof f);
        return true;
    }
    case STK_TYPE_F64: {
        double f = as_double(v);
        memcpy(out, &f, sizeof f);
        return true;
    }
    default: return false;
    }
}

static bool bool_of_text(const char *text, number *out)
{
    *out = (number){.kind = NUMBER_SIGNED, .i = strcasecmp(text, "true") == 0};
    return out->i == 1 || strcasecmp(text, "false") == 0;
}

static stk_status cannot_fit(const stk_table_column *column, const char *text, size_t n, stk_error *error)
{
    int shown = n < 60 ? (int)n : 60;
    return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': '%.*s%s' is no %s%s", column->column.name, shown,
                    text, n > 60 ? "..." : "", stk_type_name(column->column.type),
                    column->column.n_items == 1 ? "" : " list");
}

static stk_status push_number(stk_type type, const number *v, stk_buffer *out, bool *fits, stk_error *error)
{
    uint8_t element[8];
    *fits = store_number(type, v, element);
    if (!*fits) return STK_OK;
    return stk_buffer_append(out, element, stk_type_size(type), error);
}

/* Elements of a JSON value, lists within it flattened. */
static stk_status push_node(stk_type type, const stk_json *node, int depth, stk_buffer *out, bool *fits,
                            stk_error *error)
{
    if (stk_json_kind_of(node) != STK_JSON_ARRAY) {
        number v;
        *fits = number_of_node(node, &v);
        return *fits ? push_number(type, &v, out, fits, error) : STK_OK;
    }
    size_t n = stk_json_len(node);
    *fits = depth < 2;
    for (size_t i = 0; i < n && *fits; i++)
        STK_TRY(push_node(type, stk_json_at(node, i), depth + 1, out, fits, error));
    return STK_OK;
}

/* Elements of a text: "1 2 3", "1,2,3", "[1, 2, 3]". */
static stk_status push_list_text(stk_type type, const char *text, size_t n, stk_buffer *out, bool *fits,
                                 stk_error *error)
{
    static const char GAPS[] = " \t,;[]()\n\r";
    *fits = true;
    size_t at = 0;
    while (*fits) {
        while (at < n && strchr(GAPS, text[at]) != NULL)
            at++;
        if (at >= n) return STK_OK;
        size_t begin = at;
        while (at < n && strchr(GAPS, text[at]) == NULL)
            at++;
        number v;
        *fits = number_of_text(text + begin, at - begin, &v);
        if (*fits) STK_TRY(push_number(type, &v, out, fits, error));
    }
    return STK_OK;
}

static stk_status push_text(const stk_table_column *column, const char *text, size_t n, stk_buffer *out,
                            bool *fits, stk_error *error)
{
    number v;
    if (column->column.n_items != 1) return push_list_text(column->column.type, text, n, out, fits, error);
    *fits = (column->column.type == STK_TYPE_BOOL && bool_of_text(text, &v)) || number_of_text(text, n, &v);
    return *fits ? push_number(column->column.type, &v, out, fits, error) : STK_OK;
}

stk_status stk_raw_cell_text(const stk_raw_cell *cell, stk_buffer *out, bool *is_null, stk_error *error)
{
    out->n_bytes = 0;
    *is_null = cell->kind == STK_RAW_NULL;
    if (*is_null) return STK_OK;
    if (cell->kind == STK_RAW_NODE) return stk_json_print(cell->node, out, error);
    return stk_buffer_append(out, cell->text, cell->n_bytes, error);
}

static stk_status convert_text(stk_table_column *column, const stk_raw_cell *cell, stk_buffer *scratch,
                               stk_error *error)
{
    bool is_null = false;
    STK_TRY(stk_raw_cell_text(cell, scratch, &is_null, error));
    if (column->column.type == STK_TYPE_STRING && !stk_utf8_valid(scratch->data, scratch->n_bytes))
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "column '%s': the text is not UTF-8; use --column '%s:bytes'", column->column.name,
                        column->column.name);
    return stk_table_column_add(column, scratch->data, scratch->n_bytes, is_null, error);
}

stk_status stk_column_convert(stk_table_column *column, const stk_raw_cell *cell, stk_buffer *scratch,
                              stk_error *error)
{
    size_t size = stk_type_size(column->column.type);
    if (size == 0) return convert_text(column, cell, scratch, error);
    bool empty = cell->kind == STK_RAW_FIELD && cell->n_bytes == 0;
    if (cell->kind == STK_RAW_NULL || empty) return stk_table_column_add(column, NULL, 0, true, error);
    bool fits = false;
    scratch->n_bytes = 0;
    if (cell->kind == STK_RAW_NODE)
        STK_TRY(push_node(column->column.type, cell->node, 0, scratch, &fits, error));
    else
        STK_TRY(push_text(column, cell->text, cell->n_bytes, scratch, &fits, error));
    uint32_t want = column->column.n_items;
    if (fits && (want == 0 || scratch->n_bytes == want * size))
        return stk_table_column_add(column, scratch->data, scratch->n_bytes, false, error);
    if (cell->kind != STK_RAW_NODE) return cannot_fit(column, cell->text, cell->n_bytes, error);
    bool is_null;
    STK_TRY(stk_raw_cell_text(cell, scratch, &is_null, error));
    return cannot_fit(column, (const char *)scratch->data, scratch->n_bytes, error);
}
