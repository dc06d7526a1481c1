/* SPDX-License-Identifier: Apache-2.0
 *
 * A manifest's lines as rows of raw cells, whatever its syntax: CSV or JSON lines. Rows are read twice (to
 * find the columns' types, then to fill them), so that memory holds the text and the finished columns only.
 */
#ifndef STK_PACKER_MANIFEST_ROWS_H
#define STK_PACKER_MANIFEST_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

#include "common/json.h"

typedef enum stk_raw_kind {
    STK_RAW_NULL = 0, /* JSON null, a missing key */
    STK_RAW_FIELD,    /* a CSV field: text that may stand for anything; empty = null for typed columns */
    STK_RAW_STRING,   /* a JSON string: text and nothing else */
    STK_RAW_NODE      /* another JSON value */
} stk_raw_kind;

/* Valid until the next call for the same rows. */
typedef struct stk_raw_cell {
    stk_raw_kind kind;
    const char *text; /* FIELD, STRING; zero-terminated */
    size_t n_bytes;
    const stk_json *node; /* NODE */
} stk_raw_cell;

typedef struct stk_rows {
    const char *path; /* of the manifest, for messages; kept by the caller */
    stk_buffer text;  /* the whole file */
    size_t begin;     /* of the first row */
    uint64_t begin_line;
    size_t at;     /* of the next row */
    uint64_t line; /* number of the line the last row began on, 1-based */
    uint64_t next_line;
    char **names;
    uint32_t n_columns;
    stk_status (*next)(struct stk_rows *rows, stk_raw_cell *cells, bool *more, stk_error *error);
    /* CSV */
    char separator;
    stk_buffer scratch; /* unquoted fields */
    /* JSON lines */
    stk_json *object;
} stk_rows;

/* Reads the manifest at path (.jsonl/.ndjson by name, else CSV) and its column names. */
stk_status stk_rows_open(const char *path, stk_rows *out, stk_error *error);
void stk_rows_close(stk_rows *rows);
/* One cell a column; *more false at the end. Errors name the file and the line. */
static inline stk_status stk_rows_next(stk_rows *rows, stk_raw_cell *cells, bool *more, stk_error *error)
{
    return rows->next(rows, cells, more, error);
}
void stk_rows_rewind(stk_rows *rows);

/* The two syntaxes (manifest_csv.c, manifest_jsonl.c): find the columns' names and set `next`. */
stk_status stk_rows_open_csv(stk_rows *rows, stk_error *error);
stk_status stk_rows_open_jsonl(stk_rows *rows, stk_error *error);
/* Appends a column name (n_bytes, copied). */
stk_status stk_rows_add_name(stk_rows *rows, const char *name, size_t n_bytes, stk_error *error);

#endif
