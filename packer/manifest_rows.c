/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/manifest_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/utf8.h"

/* A manifest is held in memory whole. */
#define MAX_MANIFEST_BYTES ((uint64_t)16 << 30)

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcasecmp(path + n - m, suffix) == 0;
}

stk_status stk_rows_add_name(stk_rows *rows, const char *name, size_t n_bytes, stk_error *error)
{
    if (!stk_utf8_valid(name, n_bytes))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the name of column %u is not UTF-8", rows->path,
                        rows->n_columns + 1);
    if (memchr(name, 0, n_bytes) != NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the name of column %u holds a zero byte", rows->path,
                        rows->n_columns + 1);
    char **names = realloc(rows->names, (rows->n_columns + 1) * sizeof *names);
    if (names == NULL) return stk_fail_memory(error, "column names");
    rows->names = names;
    char *copy = strndup(name, n_bytes);
    if (copy == NULL) return stk_fail_memory(error, "column names");
    rows->names[rows->n_columns++] = copy;
    return STK_OK;
}

static stk_status read_text(stk_rows *rows, stk_error *error)
{
    STK_TRY(stk_file_read_all(rows->path, MAX_MANIFEST_BYTES, &rows->text, error));
    const uint8_t *text = rows->text.data;
    size_t n = rows->text.n_bytes;
    if (n >= 2 && ((text[0] == 0xff && text[1] == 0xfe) || (text[0] == 0xfe && text[1] == 0xff)))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the manifest is UTF-16; save it as UTF-8", rows->path);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) rows->begin = 3;
    rows->begin_line = 1;
    stk_rows_rewind(rows);
    return STK_OK;
}

stk_status stk_rows_open(const char *path, stk_rows *out, stk_error *error)
{
    *out = (stk_rows){.path = path, .separator = ','};
    stk_status status = STK_OK;
    STK_GOTO(read_text(out, error));
    if (has_suffix(path, ".jsonl") || has_suffix(path, ".ndjson"))
        STK_GOTO(stk_rows_open_jsonl(out, error));
    else
        STK_GOTO(stk_rows_open_csv(out, error));
cleanup:
    if (status != STK_OK) stk_rows_close(out);
    return status;
}

void stk_rows_close(stk_rows *rows)
{
    for (uint32_t c = 0; c < rows->n_columns; c++)
        free(rows->names[c]);
    free(rows->names);
    stk_buffer_free(&rows->text);
    stk_buffer_free(&rows->scratch);
    stk_json_close(&rows->object);
    *rows = (stk_rows){0};
}

void stk_rows_rewind(stk_rows *rows)
{
    rows->at = rows->begin;
    rows->next_line = rows->begin_line;
}
