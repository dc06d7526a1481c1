/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON: reading into a tree of nodes, and writing into an stk_buffer. The only file that knows the JSON
 * library (jansson) is json.c.
 *
 * Bytes that are not UTF-8 (file names may hold any) travel as lone surrogates \udc80 .. \udcff, one a byte:
 * Python's "surrogateescape", so json.loads() + os.fsencode() gives the bytes back, as reading here does. */
#ifndef STK_COMMON_JSON_H
#define STK_COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

/* ---- Reading. A tree is owned through its root; all other nodes and strings are borrowed from it. A tree is
 * immutable: any number of threads may read it. Accessors take NULL as "missing", so that look-ups chain. */
typedef struct stk_json stk_json;

typedef enum stk_json_kind {
    STK_JSON_MISSING = 0, /* a NULL node */
    STK_JSON_NULL,
    STK_JSON_BOOL,
    STK_JSON_INTEGER,  /* written without fraction or exponent, within int64 */
    STK_JSON_UNSIGNED, /* the same, INT64_MAX + 1 .. UINT64_MAX */
    STK_JSON_BIG,      /* an integer outside both; its digits by stk_json_digits */
    STK_JSON_REAL,
    STK_JSON_STRING,
    STK_JSON_ARRAY,
    STK_JSON_OBJECT
} stk_json_kind;

/* Parses n_bytes of text (UTF-8, one JSON value and nothing else; need not end in a zero). Of equal keys in
 * one object the last counts. Errors: STK_ERR_ARGUMENT with line, column and reason; STK_ERR_MEMORY. */
stk_status stk_json_parse(const char *text, size_t n_bytes, stk_json **out, stk_error *error);
void stk_json_close(stk_json **root);

stk_json_kind stk_json_kind_of(const stk_json *node);
/* "null", "boolean", "integer", "number", "string", "array", "object", "missing": for error texts. */
const char *stk_json_kind_name(const stk_json *node);

/* The string's bytes, zero-terminated (it may hold zeros too), or NULL when the node is no string. n_bytes
 * may be NULL. */
const char *stk_json_string(const stk_json *node, size_t *n_bytes);
/* The digits of a STK_JSON_BIG or STK_JSON_UNSIGNED node as written; else NULL. */
const char *stk_json_digits(const stk_json *node);
/* True and *out set when the node is an integer (for double: any number) that fits. */
bool stk_json_i64(const stk_json *node, int64_t *out);
bool stk_json_u64(const stk_json *node, uint64_t *out);
bool stk_json_double(const stk_json *node, double *out);
bool stk_json_bool(const stk_json *node, bool *out);

/* Elements of an array or members of an object; 0 for anything else. */
size_t stk_json_len(const stk_json *node);
/* Element i of an array; NULL when there is none. */
const stk_json *stk_json_at(const stk_json *array, size_t i);
/* Member of an object; NULL when there is none. */
const stk_json *stk_json_get(const stk_json *object, const char *key);

/* Walks an object's members in the order of the text: start with *position NULL; false at the end. */
bool stk_json_next(const stk_json *object, void **position, const char **key, const stk_json **value);

/* Appends the node as compact JSON text, members in their order. */
stk_status stk_json_print(const stk_json *node, stk_buffer *out, stk_error *error);

/* ---- Writing. Errors stick: the first one is kept and returned by stk_jw_end; later calls do nothing.
 * Commas and colons come by themselves. The same calls give the same bytes, whatever the locale. */
typedef struct stk_json_writer {
    stk_buffer *out;  /* appended to; owned by the caller */
    stk_error *error; /* may be NULL */
    stk_status status;
    bool comma; /* the next value needs one before it */
} stk_json_writer;

static inline stk_json_writer stk_jw_begin(stk_buffer *out, stk_error *error)
{
    return (stk_json_writer){.out = out, .error = error};
}
void stk_jw_object(stk_json_writer *w);     /* { */
void stk_jw_end_object(stk_json_writer *w); /* } */
void stk_jw_array(stk_json_writer *w);      /* [ */
void stk_jw_end_array(stk_json_writer *w);  /* ] */
void stk_jw_key(stk_json_writer *w, const char *key);
void stk_jw_string(stk_json_writer *w, const char *text);                 /* NULL writes null */
void stk_jw_bytes(stk_json_writer *w, const void *bytes, size_t n_bytes); /* as a string */
void stk_jw_i64(stk_json_writer *w, int64_t value);
void stk_jw_u64(stk_json_writer *w, uint64_t value);
void stk_jw_double(stk_json_writer *w,
                   double value); /* shortest text that reads back equal; NaN, inf: null */
void stk_jw_bool(stk_json_writer *w, bool value);
void stk_jw_null(stk_json_writer *w);
void stk_jw_raw(stk_json_writer *w, const char *json_text); /* a value that is JSON already */
/* A line break before the next value (its comma comes first): for files that people read. */
void stk_jw_newline(stk_json_writer *w);
/* The first failure, or STK_OK. */
stk_status stk_jw_end(stk_json_writer *w);

#endif
