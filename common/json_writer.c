/* SPDX-License-Identifier: Apache-2.0
 *
 * The writing half of json.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/json.h"
#include "common/utf8.h"

static void put(stk_json_writer *w, const char *text, size_t n)
{
    if (w->status == STK_OK) w->status = stk_buffer_append(w->out, text, n, w->error);
}

static void put_value(stk_json_writer *w, const char *text, size_t n)
{
    if (w->comma) put(w, ",", 1);
    put(w, text, n);
    w->comma = true;
}

static void open_level(stk_json_writer *w, const char *bracket)
{
    put_value(w, bracket, 1);
    w->comma = false;
}

static void close_level(stk_json_writer *w, const char *bracket)
{
    put(w, bracket, 1);
    w->comma = true;
}

void stk_jw_object(stk_json_writer *w)
{
    open_level(w, "{");
}

void stk_jw_end_object(stk_json_writer *w)
{
    close_level(w, "}");
}

void stk_jw_array(stk_json_writer *w)
{
    open_level(w, "[");
}

void stk_jw_end_array(stk_json_writer *w)
{
    close_level(w, "]");
}

/* Characters that JSON wants escaped, and DEL, which terminals act upon. */
static void put_escaped(stk_json_writer *w, unsigned char c)
{
    char text[8];
    const char *pair = c == '"'    ? "\\\""
                       : c == '\\' ? "\\\\"
                       : c == '\n' ? "\\n"
                       : c == '\t' ? "\\t"
                       : c == '\r' ? "\\r"
                                   : NULL;
    int n =
        pair != NULL ? snprintf(text, sizeof text, "%s", pair) : snprintf(text, sizeof text, "\\u%04x", c);
    put(w, text, (size_t)n);
}

void stk_jw_bytes(stk_json_writer *w, const void *bytes, size_t n_bytes)
{
    const unsigned char *p = bytes;
    put_value(w, "\"", 1);
    for (size_t i = 0; i < n_bytes;) {
        size_t plain = i;
        while (plain < n_bytes && p[plain] >= 0x20 && p[plain] < 0x7f && p[plain] != '"' && p[plain] != '\\')
            plain++;
        if (plain > i) put(w, (const char *)p + i, plain - i);
        i = plain;
        if (i == n_bytes) break;
        size_t length = p[i] < 0x80 ? 1 : stk_utf8_length(p + i, n_bytes - i);
        if (length > 1) {
            put(w, (const char *)p + i, length);
        } else if (p[i] < 0x80) {
            put_escaped(w, p[i]);
        } else {
            char text[8];
            snprintf(text, sizeof text, "\\udc%02x", p[i]);
            put(w, text, 6);
        }
        i += length > 0 ? length : 1;
    }
    put(w, "\"", 1);
}

void stk_jw_string(stk_json_writer *w, const char *text)
{
    if (text == NULL) {
        stk_jw_null(w);
        return;
    }
    stk_jw_bytes(w, text, strlen(text));
}

void stk_jw_key(stk_json_writer *w, const char *key)
{
    stk_jw_string(w, key);
    put(w, ":", 1);
    w->comma = false;
}

void stk_jw_i64(stk_json_writer *w, int64_t value)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lld", (long long)value);
    put_value(w, text, (size_t)n);
}

void stk_jw_u64(stk_json_writer *w, uint64_t value)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_value(w, text, (size_t)n);
}

void stk_jw_double(stk_json_writer *w, double value)
{
    if (!isfinite(value)) {
        stk_jw_null(w);
        return;
    }
    char text[40];
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (memcmp(&back, &value, sizeof back) == 0) break;
    }
    /* The decimal point is the locale's: JSON knows only one. */
    bool is_real = false;
    for (char *p = text; *p != '\0'; p++) {
        if (*p == ',') *p = '.';
        if (*p == '.' || *p == 'e') is_real = true;
    }
    put_value(w, text, (size_t)n);
    if (!is_real) put(w, ".0", 2);
}

void stk_jw_bool(stk_json_writer *w, bool value)
{
    put_value(w, value ? "true" : "false", value ? 4 : 5);
}

void stk_jw_null(stk_json_writer *w)
{
    put_value(w, "null", 4);
}

void stk_jw_raw(stk_json_writer *w, const char *json_text)
{
    put_value(w, json_text, strlen(json_text));
}

void stk_jw_newline(stk_json_writer *w)
{
    if (w->comma) put(w, ",", 1);
    w->comma = false;
    put(w, "\n", 1);
}

stk_status stk_jw_end(stk_json_writer *w)
{
    return w->status;
}
