/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON lines: one object a line. Columns are the keys of all lines in the order in which they first appear;
 * a line without a key has null there. */
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "packer/manifest_rows.h"

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

/* The next line that holds something becomes rows->object. */
static stk_status next_object(stk_rows *rows, bool *more, stk_error *error)
{
    const char *text = (const char *)rows->text.data;
    stk_json_close(&rows->object);
    *more = false;
    while (rows->at < rows->text.n_bytes) {
        const char *line = text + rows->at;
        const char *end = memchr(line, '\n', rows->text.n_bytes - rows->at);
        size_t n = end != NULL ? (size_t)(end - line) : rows->text.n_bytes - rows->at;
        rows->at += n + (end != NULL ? 1 : 0);
        rows->line = rows->next_line++;
        if (is_blank(line, n)) continue;
        stk_status status = stk_json_parse(line, n, &rows->object, error);
        if (status != STK_OK) {
            stk_fail_prefix(error, "%s: line %llu: ", rows->path, (unsigned long long)rows->line);
            return status;
        }
        if (stk_json_kind_of(rows->object) != STK_JSON_OBJECT)
            return stk_fail(error, STK_ERR_ARGUMENT, "%s: line %llu holds %s, not an object", rows->path,
                            (unsigned long long)rows->line, stk_json_kind_name(rows->object));
        *more = true;
        return STK_OK;
    }
    return STK_OK;
}

static stk_status next_jsonl(stk_rows *rows, stk_raw_cell *cells, bool *more, stk_error *error)
{
    STK_TRY(next_object(rows, more, error));
    if (!*more) return STK_OK;
    for (uint32_t c = 0; c < rows->n_columns; c++) {
        const stk_json *node = stk_json_get(rows->object, rows->names[c]);
        cells[c] = (stk_raw_cell){.kind = STK_RAW_NODE, .node = node};
        switch (stk_json_kind_of(node)) {
        case STK_JSON_MISSING:
        case STK_JSON_NULL: cells[c].kind = STK_RAW_NULL; break;
        case STK_JSON_STRING:
            cells[c].kind = STK_RAW_STRING;
            cells[c].text = stk_json_string(node, &cells[c].n_bytes);
            break;
        default: break;
        }
    }
    return STK_OK;
}

static bool has_name(const stk_rows *rows, const char *name)
{
    for (uint32_t c = 0; c < rows->n_columns; c++)
        if (strcmp(rows->names[c], name) == 0) return true;
    return false;
}

stk_status stk_rows_open_jsonl(stk_rows *rows, stk_error *error)
{
    enum { MAX_COLUMNS = 4096 };
    rows->next = next_jsonl;
    bool more = false;
    for (;;) {
        STK_TRY(next_object(rows, &more, error));
        if (!more) break;
        void *position = NULL;
        const char *key;
        const stk_json *value;
        while (stk_json_next(rows->object, &position, &key, &value)) {
            if (has_name(rows, key)) continue;
            if (rows->n_columns == MAX_COLUMNS)
                return stk_fail(error, STK_ERR_LIMIT, "%s: line %llu: more than %d different keys",
                                rows->path, (unsigned long long)rows->line, MAX_COLUMNS);
            STK_TRY(stk_rows_add_name(rows, key, strlen(key), error));
        }
    }
    if (rows->n_columns == 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the manifest is empty", rows->path);
    stk_rows_rewind(rows);
    return STK_OK;
}
