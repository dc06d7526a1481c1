/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at p, or 0 (overlong forms and surrogates are not well-formed). */
static size_t utf8_length(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80) return 1;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < length) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool wrong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                 (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return wrong ? 0 : length;
}

static void write_quoted(FILE *out, const uint8_t *p, size_t n)
{
    fputc('"', out);
    while (n > 0) {
        size_t length = utf8_length(p, n);
        if (length == 0)
            fprintf(out, "\\udc%02x", *p);
        else if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p == '\n')
            fputs("\\n", out);
        else if (*p == '\t')
            fputs("\\t", out);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(p, 1, length, out);
        length = length == 0 ? 1 : length;
        p += length;
        n -= length;
    }
    fputc('"', out);
}

static void before(json_out *json, const char *key)
{
    if (json->comma) fputs(", ", json->file);
    json->comma = true;
    if (key != NULL) {
        write_quoted(json->file, (const uint8_t *)key, strlen(key));
        fputs(": ", json->file);
    }
}

void json_begin(json_out *json, const char *key, char bracket)
{
    before(json, key);
    fputc(bracket, json->file);
    json->comma = false;
}

void json_end(json_out *json, char bracket)
{
    fputc(bracket, json->file);
    json->comma = true;
}

void json_u64(json_out *json, const char *key, uint64_t value)
{
    before(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void json_i64(json_out *json, const char *key, int64_t value)
{
    before(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void json_bool(json_out *json, const char *key, bool value)
{
    json_raw(json, key, value ? "true" : "false");
}

void json_null(json_out *json, const char *key)
{
    json_raw(json, key, "null");
}

void json_real(json_out *json, const char *key, double value, int decimals)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    before(json, key);
    fprintf(json->file, "%.*f", decimals, value);
}

void json_text(json_out *json, const char *key, const char *text)
{
    json_bytes(json, key, text, strlen(text));
}

void json_bytes(json_out *json, const char *key, const void *bytes, size_t n_bytes)
{
    before(json, key);
    write_quoted(json->file, bytes, n_bytes);
}

void json_raw(json_out *json, const char *key, const char *json_text)
{
    before(json, key);
    fputs(json_text, json->file);
}
