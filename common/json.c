/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"

/* jansson knows neither integers beyond int64 nor lone surrogates. Both are rewritten before it sees the
 * text, with the help of code points U+10DC00.. of the private plane 16, which no text uses. A lone \udcXX
 * (XX = 80..ff) becomes \udbf7\udcXX, that is U+10DCXX, which is turned into byte XX after parsing. An
 * integer that does not fit becomes the string U+10DC00 + its digits, which the accessors know. */
static const char big_mark[] = "\xf4\x8d\xb0\x80";
enum { MARK_BYTES = 4 };

static json_t *to_jansson(const stk_json *node)
{
    return (json_t *)(uintptr_t)node;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number token at p: its length, and whether it is an integer that int64 cannot hold. */
static size_t number_token(const char *p, const char *end, bool *too_big)
{
    const char *q = p;
    bool negative = *q == '-';
    if (negative) q++;
    const char *digits = q;
    while (q < end && is_digit(*q))
        q++;
    size_t n = (size_t)(q - digits);
    bool integer = q == end || (*q != '.' && *q != 'e' && *q != 'E');
    const char *limit = negative ? "9223372036854775808" : "9223372036854775807";
    /* A leading zero is left for jansson to refuse. */
    *too_big = integer && n > 0 && digits[0] != '0' && (n > 19 || (n == 19 && memcmp(digits, limit, 19) > 0));
    while (q < end && (is_digit(*q) || *q == '.' || *q == 'e' || *q == 'E' || *q == '+' || *q == '-'))
        q++;
    return (size_t)(q - p);
}

/* The value of \uXXXX at p (which points to the backslash), or -1. */
static int32_t unicode_escape(const char *p, const char *end)
{
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return -1;
    int32_t value = 0;
    for (int i = 2; i < 6; i++) {
        char c = p[i];
        int32_t digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Copies one escape sequence from p to out; returns its length in the source. */
static stk_status copy_escape(const char *p, const char *end, stk_buffer *out, size_t *length,
                              bool *has_bytes, stk_error *error)
{
    int32_t code = unicode_escape(p, end);
    bool is_high = code >= 0xd800 && code <= 0xdbff;
    int32_t next = is_high ? unicode_escape(p + 6, end) : -1;
    *length = end - p < 2 ? (size_t)(end - p) : 2;
    if (code >= 0) *length = next >= 0xdc00 && next <= 0xdfff ? 12 : 6;
    if (code >= 0xdc80 && code <= 0xdcff) {
        *has_bytes = true;
        STK_TRY(stk_buffer_append(out, "\\udbf7", 6, error));
    }
    return stk_buffer_append(out, p, *length, error);
}

/* Rewrites what jansson cannot take; *has_bytes says that strings hold stand-ins for raw bytes. */
static stk_status rewrite(const char *text, size_t n_bytes, stk_buffer *out, bool *has_bytes,
                          stk_error *error)
{
    const char *p = text, *end = text + n_bytes;
    bool in_string = false;
    while (p < end) {
        size_t length = 1;
        if (in_string && *p == '\\') {
            STK_TRY(copy_escape(p, end, out, &length, has_bytes, error));
        } else if (!in_string && (is_digit(*p) || *p == '-')) {
            bool too_big;
            length = number_token(p, end, &too_big);
            if (too_big) STK_TRY(stk_buffer_printf(out, error, "\"%s", big_mark));
            STK_TRY(stk_buffer_append(out, p, length, error));
            if (too_big) STK_TRY(stk_buffer_append(out, "\"", 1, error));
        } else {
            if (*p == '"') in_string = !in_string;
            STK_TRY(stk_buffer_append(out, p, 1, error));
        }
        p += length;
    }
    return STK_OK;
}

/* Whether anything in the text may need rewriting: a long run of digits or \udc (in either case). */
static bool needs_rewrite(const char *text, size_t n_bytes)
{
    size_t run = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        run = is_digit(text[i]) ? run + 1 : 0;
        if (run >= 19) return true;
        if (text[i] == '\\' && i + 3 < n_bytes && text[i + 1] == 'u' && (text[i + 2] | 32) == 'd' &&
            (text[i + 3] | 32) == 'c')
            return true;
    }
    return false;
}

/* U+10DC80..U+10DCFF is f4 8d b2|b3 80..bf in UTF-8. Returns the byte it stands for, or -1. */
static int stand_in(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    if (n < 4 || u[0] != 0xf4 || u[1] != 0x8d || (u[2] & 0xfe) != 0xb2 || (u[3] & 0xc0) != 0x80) return -1;
    return 0x80 | (u[2] & 1) << 6 | (u[3] & 0x3f);
}

static int restore_string(json_t *node)
{
    const char *p = json_string_value(node);
    size_t n = json_string_length(node), used = 0;
    char *bytes = malloc(n + 1);
    if (bytes == NULL) return -1;
    for (size_t i = 0; i < n;) {
        int byte = stand_in(p + i, n - i);
        bytes[used++] = byte < 0 ? p[i] : (char)byte;
        i += byte < 0 ? 1 : MARK_BYTES;
    }
    int rc = used == n ? 0 : json_string_setn_nocheck(node, bytes, used);
    free(bytes);
    return rc;
}

/* Recursion is bounded by jansson's own limit on depth (2,048). */
static int restore_bytes(json_t *node)
{
    if (json_is_string(node)) return restore_string(node);
    for (size_t i = 0; json_is_array(node) && i < json_array_size(node); i++) {
        if (restore_bytes(json_array_get(node, i)) != 0) return -1;
    }
    for (void *it = json_object_iter(node); it != NULL; it = json_object_iter_next(node, it)) {
        if (restore_bytes(json_object_iter_value(it)) != 0) return -1;
    }
    return 0;
}

stk_status stk_json_parse(const char *text, size_t n_bytes, stk_json **out, stk_error *error)
{
    *out = NULL;
    stk_buffer buffer = {0};
    stk_status status = STK_OK;
    json_t *root = NULL;
    bool has_bytes = false;
    if (needs_rewrite(text, n_bytes)) {
        STK_GOTO(stk_buffer_reserve(&buffer, n_bytes + n_bytes / 8, error));
        STK_GOTO(rewrite(text, n_bytes, &buffer, &has_bytes, error));
        text = (const char *)buffer.data;
        n_bytes = buffer.n_bytes;
    }
    json_error_t why;
    root = json_loadb(text, n_bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (root == NULL) {
        /* A failed allocation inside jansson mostly leaves an error without a place. */
        bool memory = json_error_code(&why) == json_error_out_of_memory || why.line < 0;
        status = memory ? stk_fail_memory(error, "a JSON text")
                        : stk_fail(error, STK_ERR_ARGUMENT, "JSON, line %d column %d: %s", why.line,
                                   why.column, why.text);
        goto cleanup;
    }
    if (has_bytes && restore_bytes(root) != 0) {
        status = stk_fail_memory(error, "a JSON text");
        goto cleanup;
    }
    *out = (stk_json *)root;
    root = NULL;
cleanup:
    json_decref(root);
    stk_buffer_free(&buffer);
    return status;
}

void stk_json_close(stk_json **root)
{
    if (*root != NULL) json_decref((json_t *)*root);
    *root = NULL;
}

/* The digits of an integer that was put into a string, or NULL. */
static const char *big_digits(const json_t *node)
{
    if (!json_is_string(node) || json_string_length(node) <= MARK_BYTES) return NULL;
    const char *digits = json_string_value(node) + MARK_BYTES;
    if (memcmp(digits - MARK_BYTES, big_mark, MARK_BYTES) != 0) return NULL;
    /* A text that merely begins with the mark stays a text. */
    size_t n = json_string_length(node) - MARK_BYTES;
    for (size_t i = digits[0] == '-' ? 1 : 0; i < n; i++) {
        if (!is_digit(digits[i])) return NULL;
    }
    return digits;
}

/* Digits of at most UINT64_MAX. */
static bool parse_u64(const char *digits, uint64_t *out)
{
    uint64_t value = 0;
    for (const char *p = digits; *p != '\0'; p++) {
        if (!is_digit(*p) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

stk_json_kind stk_json_kind_of(const stk_json *node)
{
    const json_t *j = to_jansson(node);
    if (j == NULL) return STK_JSON_MISSING;
    switch (json_typeof(j)) {
    case JSON_OBJECT: return STK_JSON_OBJECT;
    case JSON_ARRAY: return STK_JSON_ARRAY;
    case JSON_INTEGER: return STK_JSON_INTEGER;
    case JSON_REAL: return STK_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return STK_JSON_BOOL;
    case JSON_NULL: return STK_JSON_NULL;
    case JSON_STRING: break;
    }
    const char *digits = big_digits(j);
    uint64_t unused;
    if (digits == NULL) return STK_JSON_STRING;
    return parse_u64(digits, &unused) ? STK_JSON_UNSIGNED : STK_JSON_BIG;
}

const char *stk_json_kind_name(const stk_json *node)
{
    switch (stk_json_kind_of(node)) {
    case STK_JSON_MISSING: return "missing";
    case STK_JSON_NULL: return "null";
    case STK_JSON_BOOL: return "boolean";
    case STK_JSON_INTEGER:
    case STK_JSON_UNSIGNED:
    case STK_JSON_BIG: return "integer";
    case STK_JSON_REAL: return "number";
    case STK_JSON_STRING: return "string";
    case STK_JSON_ARRAY: return "array";
    case STK_JSON_OBJECT: return "object";
    }
    return "missing";
}

const char *stk_json_string(const stk_json *node, size_t *n_bytes)
{
    const json_t *j = to_jansson(node);
    if (n_bytes != NULL) *n_bytes = 0;
    if (!json_is_string(j) || big_digits(j) != NULL) return NULL;
    if (n_bytes != NULL) *n_bytes = json_string_length(j);
    return json_string_value(j);
}

const char *stk_json_digits(const stk_json *node)
{
    return big_digits(to_jansson(node));
}

bool stk_json_i64(const stk_json *node, int64_t *out)
{
    const json_t *j = to_jansson(node);
    if (!json_is_integer(j)) return false;
    *out = json_integer_value(j);
    return true;
}

bool stk_json_u64(const stk_json *node, uint64_t *out)
{
    const json_t *j = to_jansson(node);
    const char *digits = big_digits(j);
    if (digits != NULL) return parse_u64(digits, out);
    if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
    *out = (uint64_t)json_integer_value(j);
    return true;
}

bool stk_json_double(const stk_json *node, double *out)
{
    const json_t *j = to_jansson(node);
    const char *digits = big_digits(j);
    if (digits != NULL) {
        *out = strtod(digits, NULL);
        return true;
    }
    if (!json_is_number(j)) return false;
    *out = json_number_value(j);
    return true;
}

bool stk_json_bool(const stk_json *node, bool *out)
{
    const json_t *j = to_jansson(node);
    if (!json_is_boolean(j)) return false;
    *out = json_is_true(j);
    return true;
}

size_t stk_json_len(const stk_json *node)
{
    const json_t *j = to_jansson(node);
    if (json_is_array(j)) return json_array_size(j);
    return json_object_size(j);
}

const stk_json *stk_json_at(const stk_json *array, size_t i)
{
    return (const stk_json *)json_array_get(to_jansson(array), i);
}

const stk_json *stk_json_get(const stk_json *object, const char *key)
{
    return (const stk_json *)json_object_get(to_jansson(object), key);
}

bool stk_json_next(const stk_json *object, void **position, const char **key, const stk_json **value)
{
    json_t *j = to_jansson(object);
    *position = *position == NULL ? json_object_iter(j) : json_object_iter_next(j, *position);
    if (*position == NULL) return false;
    *key = json_object_iter_key(*position);
    *value = (const stk_json *)json_object_iter_value(*position);
    return true;
}

/* Numbers as they were read: reals in the shortest form that reads back equal. */
static void print_node(const stk_json *node, stk_json_writer *w)
{
    stk_json_kind kind = stk_json_kind_of(node);
    size_t n;
    double real = 0;
    bool truth = false;
    void *position = NULL;
    const char *key;
    const stk_json *value;
    switch (kind) {
    case STK_JSON_OBJECT:
        stk_jw_object(w);
        while (stk_json_next(node, &position, &key, &value)) {
            stk_jw_key(w, key);
            print_node(value, w);
        }
        stk_jw_end_object(w);
        break;
    case STK_JSON_ARRAY:
        stk_jw_array(w);
        for (size_t i = 0; i < stk_json_len(node); i++)
            print_node(stk_json_at(node, i), w);
        stk_jw_end_array(w);
        break;
    case STK_JSON_STRING:
        key = stk_json_string(node, &n);
        stk_jw_bytes(w, key, n);
        break;
    case STK_JSON_INTEGER: stk_jw_i64(w, json_integer_value(to_jansson(node))); break;
    case STK_JSON_UNSIGNED:
    case STK_JSON_BIG: stk_jw_raw(w, stk_json_digits(node)); break;
    case STK_JSON_REAL:
        stk_json_double(node, &real);
        stk_jw_double(w, real);
        break;
    case STK_JSON_BOOL:
        stk_json_bool(node, &truth);
        stk_jw_bool(w, truth);
        break;
    case STK_JSON_NULL:
    case STK_JSON_MISSING: stk_jw_null(w); break;
    }
}

stk_status stk_json_print(const stk_json *node, stk_buffer *out, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(out, error);
    print_node(node, &w);
    return stk_jw_end(&w);
}
