/* SPDX-License-Identifier: Apache-2.0
 *
 * A small JSON writer to a stream: commas, quoting and nesting are kept right, nothing is buffered. */
#ifndef STK_TOOLS_JSON_OUT_H
#define STK_TOOLS_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json_out {
    FILE *file;
    bool comma; /* the next item needs a comma before it */
} json_out;

/* key NULL: an item of an array, or the top value. */
void json_begin(json_out *json, const char *key, char bracket); /* '{' or '[' */
void json_end(json_out *json, char bracket);                    /* '}' or ']' */
void json_u64(json_out *json, const char *key, uint64_t value);
void json_i64(json_out *json, const char *key, int64_t value);
void json_bool(json_out *json, const char *key, bool value);
void json_null(json_out *json, const char *key);
/* Finite numbers with `decimals` digits after the point; others become null. */
void json_real(json_out *json, const char *key, double value, int decimals);
/* Bytes that are no UTF-8 become lone surrogates \udc80..\udcff, as Python's surrogateescape writes them, so
 * that file names of any encoding survive the trip. */
void json_text(json_out *json, const char *key, const char *text);
void json_bytes(json_out *json, const char *key, const void *bytes, size_t n_bytes);
/* JSON that is already written. */
void json_raw(json_out *json, const char *key, const char *json_text);

#endif
