/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "packer/column_type.h"
#include "packer/string_set.h"
#include "packer/table.h"
#include "packer/text_classes.h"

/* How the label column is read. */
typedef enum label_kind { LABEL_NONE, LABEL_NUMBER, LABEL_TEXT } label_kind;

typedef struct manifest {
    stk_rows rows;
    stk_manifest_roles roles;
    stk_guess *guesses;
    stk_raw_cell *cells; /* of the current row */
    stk_type *types;     /* per column */
    uint32_t *n_items;
    bool *overridden;
    label_kind label;
    char *label_note; /* stk_sources.label_note */
    stk_string_set classes;
    int64_t *labels;
    uint64_t labels_capacity;
    stk_names paths;
    stk_buffer scratch;
    stk_table *table;
    uint32_t *table_columns; /* manifest column -> table column; UINT32_MAX: none */
} manifest;

static void manifest_free(manifest *m)
{
    stk_rows_close(&m->rows);
    free(m->guesses);
    free(m->cells);
    free(m->types);
    free(m->n_items);
    free(m->overridden);
    free(m->labels);
    free(m->label_note);
    free(m->table_columns);
    stk_string_set_free(&m->classes);
    stk_names_free(&m->paths);
    stk_buffer_free(&m->scratch);
    stk_table_free(m->table);
}

static stk_status manifest_alloc(manifest *m, stk_error *error)
{
    size_t n = m->rows.n_columns;
    m->guesses = calloc(n, sizeof *m->guesses);
    m->cells = calloc(n, sizeof *m->cells);
    m->types = calloc(n, sizeof *m->types);
    m->n_items = calloc(n, sizeof *m->n_items);
    m->overridden = calloc(n, sizeof *m->overridden);
    m->table_columns = calloc(n, sizeof *m->table_columns);
    if (m->guesses == NULL || m->cells == NULL || m->types == NULL || m->n_items == NULL ||
        m->overridden == NULL || m->table_columns == NULL)
        return stk_fail_memory(error, "the manifest");
    for (size_t c = 0; c < n; c++)
        stk_guess_begin(&m->guesses[c]);
    return STK_OK;
}

/* First pass: what could each column be. */
static stk_status guess_types(manifest *m, stk_error *error)
{
    bool more = false;
    for (;;) {
        STK_TRY(stk_rows_next(&m->rows, m->cells, &more, error));
        if (!more) break;
        for (uint32_t c = 0; c < m->rows.n_columns; c++)
            stk_guess_see(&m->guesses[c], &m->cells[c]);
    }
    for (uint32_t c = 0; c < m->rows.n_columns; c++)
        stk_guess_result(&m->guesses[c], &m->types[c], &m->n_items[c]);
    stk_rows_rewind(&m->rows);
    return STK_OK;
}

/* "name:type"; the last colon counts, so that names may hold some. */
static stk_status apply_override(manifest *m, const char *text, stk_error *error)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "column type '%s': write name:type, as in score:float32",
                        text);
    size_t n = (size_t)(colon - text);
    for (uint32_t c = 0; c < m->rows.n_columns; c++) {
        if (strlen(m->rows.names[c]) != n || memcmp(m->rows.names[c], text, n) != 0) continue;
        m->overridden[c] = true;
        return stk_column_type_parse(colon + 1, &m->types[c], &m->n_items[c], error);
    }
    return stk_fail(error, STK_ERR_NOT_FOUND, "column type '%s': %s has no column of that name", text,
                    m->rows.path);
}

static stk_status note_label(manifest *m, stk_error *error, const char *format, ...) STK_PRINTF(3, 4);
static stk_status note_label(manifest *m, stk_error *error, const char *format, ...)
{
    char text[240]; /* as much as a report's line holds */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    m->label_note = strdup(text);
    return m->label_note != NULL ? STK_OK : stk_fail_memory(error, "a note");
}

/* Rows of a label column that say nothing: their images have no label. */
static stk_status note_empty_labels(manifest *m, uint32_t c, stk_error *error)
{
    const stk_guess *guess = &m->guesses[c];
    uint64_t empty = guess->n_empty + guess->n_nulls;
    if (empty == 0) return STK_OK;
    return note_label(m, error, "%llu of %llu rows are empty in column '%.60s': their images have no label (-1)",
                      (unsigned long long)empty, (unsigned long long)(empty + guess->n_values), m->rows.names[c]);
}

/* Whole numbers are labels as they stand (-1: none), all text is class names; other numbers are no labels. */
static stk_status decide_label(manifest *m, stk_error *error)
{
    const char *what = "fractional numbers";
    uint32_t c = m->roles.label;
    m->label = LABEL_NONE;
    if (c == UINT32_MAX) return STK_OK;
    switch (m->types[c]) {
    case STK_TYPE_STRING:
    case STK_TYPE_BYTES:
    case STK_TYPE_BOOL: m->label = LABEL_TEXT; break;
    case STK_TYPE_F16:
    case STK_TYPE_F32:
    case STK_TYPE_F64: break;
    default: m->label = LABEL_NUMBER; break;
    }
    if (m->label == LABEL_NUMBER && m->guesses[c].below) {
        m->label = LABEL_NONE;
        what = "numbers below -1";
    }
    if (m->n_items[c] != 1) {
        m->label = LABEL_NONE;
        what = "lists";
    }
    if (m->label != LABEL_NONE) return note_empty_labels(m, c, error);
    m->roles.label = UINT32_MAX; /* found by its name alone: an ordinary column */
    if (!m->roles.label_wanted)
        return note_label(m, error,
                          "column '%.60s' holds %s, so it is an ordinary column and there are no labels; labels are "
                          "whole numbers from 0, or names (--label-column names another one, '' none)",
                          m->rows.names[c], what);
    return stk_fail(
        error, STK_ERR_ARGUMENT,
        "%s: column '%s' cannot be the label: it holds %s, not whole numbers from 0 or names; it is kept as a "
        "column when another one (or none) is named with --label-column",
        m->rows.path, m->rows.names[c], what);
}

/* The stored column of the source's path is called "path"; a user's column of that name is not lost. */
static const char *table_name(const manifest *m, uint32_t c)
{
    return strcmp(m->rows.names[c], "path") == 0 ? "manifest.path" : m->rows.names[c];
}

static stk_status make_table(manifest *m, stk_error *error)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < m->rows.n_columns; c++)
        m->table_columns[c] = c == m->roles.path || c == m->roles.label ? UINT32_MAX : n++;
    STK_TRY(stk_table_open(n, &m->table, error));
    for (uint32_t c = 0; c < m->rows.n_columns; c++) {
        if (m->table_columns[c] == UINT32_MAX) continue;
        STK_TRY(stk_table_column_init(&m->table->columns[m->table_columns[c]], table_name(m, c), m->types[c],
                                      m->n_items[c], error));
    }
    return STK_OK;
}

static stk_status add_label_value(manifest *m, int64_t label, stk_error *error)
{
    uint64_t n = m->paths.n; /* rows so far */
    if (n >= m->labels_capacity) {
        uint64_t capacity = m->labels_capacity + m->labels_capacity / 2 + 256;
        int64_t *labels = realloc(m->labels, (size_t)capacity * sizeof *labels);
        if (labels == NULL) return stk_fail_memory(error, "labels");
        m->labels = labels;
        m->labels_capacity = capacity;
    }
    m->labels[n] = label;
    return STK_OK;
}

static stk_status read_label(manifest *m, stk_error *error)
{
    if (m->label == LABEL_NONE) return STK_OK;
    const stk_raw_cell *cell = &m->cells[m->roles.label];
    bool is_null = false;
    STK_TRY(stk_raw_cell_text(cell, &m->scratch, &is_null, error));
    if (is_null || m->scratch.n_bytes == 0) return add_label_value(m, -1, error);
    if (m->label == LABEL_TEXT) {
        uint32_t number = 0;
        STK_TRY(stk_string_set_add(&m->classes, (const char *)m->scratch.data, m->scratch.n_bytes, &number,
                                   error));
        return add_label_value(m, number, error);
    }
    stk_table_column column = {
        .column = {.name = m->rows.names[m->roles.label], .type = STK_TYPE_I64, .n_items = 1}};
    stk_status status = stk_column_convert(&column, cell, &m->scratch, error);
    if (status == STK_OK) {
        int64_t value;
        memcpy(&value, column.data.data, sizeof value);
        status = add_label_value(m, value, error);
    }
    stk_buffer_free(&column.data);
    free(column.nulls);
    return status;
}

static stk_status read_row(manifest *m, stk_error *error)
{
    STK_TRY(read_label(m, error));
    for (uint32_t c = 0; c < m->rows.n_columns; c++) {
        if (m->table_columns[c] == UINT32_MAX) continue;
        STK_TRY(
            stk_column_convert(&m->table->columns[m->table_columns[c]], &m->cells[c], &m->scratch, error));
    }
    bool is_null = false;
    STK_TRY(stk_raw_cell_text(&m->cells[m->roles.path], &m->scratch, &is_null, error));
    /* A zero byte cannot be part of a path: what stands before it is not the file that was meant. */
    bool usable =
        !is_null && (m->scratch.n_bytes == 0 || memchr(m->scratch.data, 0, m->scratch.n_bytes) == NULL);
    return stk_names_add(&m->paths, (const char *)m->scratch.data, usable ? m->scratch.n_bytes : 0, error);
}

/* Second pass. */
static stk_status read_rows(manifest *m, stk_error *error)
{
    bool more = false;
    for (;;) {
        STK_TRY(stk_rows_next(&m->rows, m->cells, &more, error));
        if (!more) break;
        stk_status status = read_row(m, error);
        if (status != STK_OK) {
            stk_fail_prefix(error, "%s: line %llu: ", m->rows.path, (unsigned long long)m->rows.line);
            return status;
        }
    }
    if (m->paths.n == 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the manifest has no rows", m->rows.path);
    m->table->n_rows = m->paths.n;
    for (uint32_t c = 0; c < m->table->n_columns; c++)
        STK_TRY(stk_table_column_decide_dictionary(&m->table->columns[c], error));
    return STK_OK;
}

static stk_status read_all(manifest *m, const stk_pack_options *options, stk_error *error)
{
    STK_TRY(stk_manifest_find_roles(&m->rows, options, &m->roles, error));
    STK_TRY(manifest_alloc(m, error));
    STK_TRY(guess_types(m, error));
    for (size_t i = 0; i < options->n_column_types; i++)
        STK_TRY(apply_override(m, options->column_types[i], error));
    STK_TRY(decide_label(m, error));
    STK_TRY(make_table(m, error));
    return read_rows(m, error);
}

stk_status stk_manifest_read(const char *path, const char *root, const stk_pack_options *options,
                             uint32_t n_threads, stk_sources *out, stk_error *error)
{
    *out = (stk_sources){.confined = true};
    manifest m = {0};
    stk_status status = STK_OK;
    STK_GOTO(stk_rows_open(path, &m.rows, error));
    STK_GOTO(read_all(&m, options, error));
    if (m.label == LABEL_TEXT) STK_GOTO(stk_text_classes(&m.classes, m.labels, m.paths.n, out, error));
    out->has_labels = m.label != LABEL_NONE;
    out->labels = m.labels;
    m.labels = NULL;
    out->label_note = m.label_note;
    m.label_note = NULL;
    out->table = m.table;
    m.table = NULL;
    out->root = strdup(root);
    if (out->root == NULL) {
        status = stk_fail_memory(error, "the source's name");
        goto cleanup;
    }
    STK_GOTO(stk_manifest_resolve(&m.paths, n_threads, out, error));
cleanup:
    manifest_free(&m);
    if (status != STK_OK) stk_sources_free(out);
    return status;
}
