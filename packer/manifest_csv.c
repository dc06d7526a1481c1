/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV as RFC 4180 has it, and what is found in the wild: a byte-order mark, LF, CRLF or CR at line ends, no
 * end at the last line, blank lines, tabs or semicolons instead of commas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/manifest_rows.h"

/* Offsets of a row's fields within the scratch, where they stand unquoted and zero-terminated. */
typedef struct field_sink {
    stk_rows *rows;
    size_t *begins; /* NULL: the header is being read, fields become names */
    uint32_t n, limit;
} field_sink;

static stk_status line_fail(const stk_rows *rows, const char *what, stk_error *error)
{
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: line %llu: %s", rows->path, (unsigned long long)rows->line,
                    what);
}

static bool at_line_end(const stk_rows *rows, size_t at)
{
    return at >= rows->text.n_bytes || rows->text.data[at] == '\n' || rows->text.data[at] == '\r';
}

/* Steps over LF, CRLF or CR. */
static void skip_line_end(stk_rows *rows)
{
    if (rows->at >= rows->text.n_bytes) return;
    bool cr = rows->text.data[rows->at++] == '\r';
    if (cr && rows->at < rows->text.n_bytes && rows->text.data[rows->at] == '\n') rows->at++;
    rows->next_line++;
}

/* A quoted field, from behind its first quote to behind its last. */
static stk_status read_quoted(stk_rows *rows, stk_error *error)
{
    const char *text = (const char *)rows->text.data;
    size_t n = rows->text.n_bytes;
    for (;;) {
        size_t start = rows->at;
        while (rows->at < n && text[rows->at] != '"') {
            if (text[rows->at] == '\n') rows->next_line++;
            rows->at++;
        }
        if (rows->at == n) return line_fail(rows, "a quoted field has no end", error);
        bool twice = rows->at + 1 < n && text[rows->at + 1] == '"';
        STK_TRY(stk_buffer_append(&rows->scratch, text + start, rows->at - start + (twice ? 1 : 0), error));
        rows->at += twice ? 2 : 1;
        if (!twice) return STK_OK;
    }
}

static stk_status read_field(stk_rows *rows, stk_error *error)
{
    const char *text = (const char *)rows->text.data;
    if (rows->at < rows->text.n_bytes && text[rows->at] == '"') {
        rows->at++;
        STK_TRY(read_quoted(rows, error));
        if (!at_line_end(rows, rows->at) && text[rows->at] != rows->separator)
            return line_fail(rows, "text follows a closing quote", error);
        return STK_OK;
    }
    size_t start = rows->at;
    while (!at_line_end(rows, rows->at) && text[rows->at] != rows->separator)
        rows->at++;
    return stk_buffer_append(&rows->scratch, text + start, rows->at - start, error);
}

static stk_status sink_field(field_sink *sink, size_t begin, stk_error *error)
{
    stk_rows *rows = sink->rows;
    if (sink->begins == NULL)
        return stk_rows_add_name(rows, (const char *)rows->scratch.data + begin,
                                 rows->scratch.n_bytes - begin, error);
    if (sink->n < sink->limit) sink->begins[sink->n] = begin;
    sink->n++;
    return stk_buffer_append(&rows->scratch, "", 1, error);
}

/* Reads one line (a quoted field may hold line ends). *more is false at the end of the file. */
static stk_status read_row(field_sink *sink, bool *more, stk_error *error)
{
    stk_rows *rows = sink->rows;
    while (rows->at < rows->text.n_bytes && at_line_end(rows, rows->at))
        skip_line_end(rows);
    *more = rows->at < rows->text.n_bytes;
    if (!*more) return STK_OK;
    rows->line = rows->next_line;
    rows->scratch.n_bytes = 0;
    for (;;) {
        size_t begin = rows->scratch.n_bytes;
        STK_TRY(read_field(rows, error));
        STK_TRY(sink_field(sink, begin, error));
        if (at_line_end(rows, rows->at)) break;
        rows->at++; /* the separator */
    }
    skip_line_end(rows);
    return STK_OK;
}

/* Row of known width; the offsets live in the cells' text pointers only after the scratch stopped moving. */
static stk_status next_csv(stk_rows *rows, stk_raw_cell *cells, bool *more, stk_error *error)
{
    enum { FEW = 64 };
    size_t few[FEW], *begins = few;
    if (rows->n_columns > FEW) {
        begins = malloc(rows->n_columns * sizeof *begins);
        if (begins == NULL) return stk_fail_memory(error, "a line of the manifest");
    }
    field_sink sink = {.rows = rows, .begins = begins, .limit = rows->n_columns};
    stk_status status = STK_OK;
    STK_GOTO(read_row(&sink, more, error));
    if (!*more) goto cleanup;
    if (sink.n != rows->n_columns) {
        status = stk_fail(error, STK_ERR_ARGUMENT, "%s: line %llu has %u fields, the header has %u",
                          rows->path, (unsigned long long)rows->line, sink.n, rows->n_columns);
        goto cleanup;
    }
    for (uint32_t c = 0; c < rows->n_columns; c++) {
        size_t end = c + 1 < rows->n_columns ? begins[c + 1] : rows->scratch.n_bytes;
        cells[c] = (stk_raw_cell){.kind = STK_RAW_FIELD,
                                  .text = (const char *)rows->scratch.data + begins[c],
                                  .n_bytes = end - begins[c] - 1};
    }
cleanup:
    if (begins != few) free(begins);
    return status;
}

/* The separator: a comma, or where the first line has none, a tab or semicolon that it does have. */
static char find_separator(const stk_rows *rows)
{
    const char *text = (const char *)rows->text.data;
    size_t end = rows->at, n_comma = 0, n_tab = 0, n_semicolon = 0;
    for (; !at_line_end(rows, end); end++) {
        n_comma += text[end] == ',';
        n_tab += text[end] == '\t';
        n_semicolon += text[end] == ';';
    }
    if (n_tab > 0 && (n_comma == 0 || n_tab > n_comma)) return '\t';
    if (n_comma == 0 && n_semicolon > 0) return ';';
    return ',';
}

/* A header's cell without a name (pandas writes its index so) is called by its place. */
static stk_status name_nameless(stk_rows *rows, stk_error *error)
{
    for (uint32_t c = 0; c < rows->n_columns; c++) {
        if (rows->names[c][0] != '\0') continue;
        char name[32];
        int n = snprintf(name, sizeof name, "column_%u", c + 1);
        free(rows->names[c]);
        rows->names[c] = strndup(name, (size_t)n);
        if (rows->names[c] == NULL) return stk_fail_memory(error, "column names");
    }
    return STK_OK;
}

static stk_status check_names_differ(const stk_rows *rows, stk_error *error)
{
    for (uint32_t a = 0; a < rows->n_columns; a++)
        for (uint32_t b = a + 1; b < rows->n_columns; b++)
            if (strcmp(rows->names[a], rows->names[b]) == 0)
                return stk_fail(error, STK_ERR_ARGUMENT,
                                "%s: columns %u and %u are both called '%s'; rename one", rows->path, a + 1,
                                b + 1, rows->names[a]);
    return STK_OK;
}

stk_status stk_rows_open_csv(stk_rows *rows, stk_error *error)
{
    enum { MAX_COLUMNS = 4096 };
    rows->next = next_csv;
    rows->separator = find_separator(rows);
    field_sink sink = {.rows = rows};
    bool more = false;
    STK_TRY(read_row(&sink, &more, error));
    if (!more) return stk_fail(error, STK_ERR_ARGUMENT, "%s: the manifest is empty", rows->path);
    if (rows->n_columns > MAX_COLUMNS)
        return stk_fail(error, STK_ERR_LIMIT, "%s: %u columns; at most %d are supported", rows->path,
                        rows->n_columns, MAX_COLUMNS);
    STK_TRY(name_nameless(rows, error));
    STK_TRY(check_names_differ(rows, error));
    rows->begin = rows->at;
    rows->begin_line = rows->next_line;
    return STK_OK;
}
