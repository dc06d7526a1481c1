/* SPDX-License-Identifier: Apache-2.0 */
#include "format/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

static stk_status read_classes(stk_metadata *m, const char *path, stk_error *error)
{
    const stk_json *classes = stk_json_get(m->root, "classes");
    stk_json_kind kind = stk_json_kind_of(classes);
    if (kind == STK_JSON_MISSING || kind == STK_JSON_NULL) return STK_OK;
    size_t n = stk_json_len(classes);
    if (kind != STK_JSON_ARRAY || n > UINT32_MAX)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: metadata: 'classes' is no array", path);
    m->class_names = calloc(n + 1, sizeof *m->class_names);
    if (m->class_names == NULL) return stk_fail_memory(error, "class names");
    for (size_t i = 0; i < n; i++) {
        m->class_names[i] = stk_json_string(stk_json_at(classes, i), NULL);
        if (m->class_names[i] == NULL)
            return stk_fail(error, STK_ERR_CORRUPT, "%s: metadata: class %zu has no name", path, i);
    }
    m->n_classes = (uint32_t)n;
    return STK_OK;
}

stk_status stk_metadata_open(stk_metadata *m, char *text, size_t n_bytes, const char *path, stk_error *error)
{
    *m = (stk_metadata){.text = text};
    stk_status status = stk_json_parse(text, n_bytes, &m->root, error);
    if (status == STK_OK && stk_json_kind_of(m->root) != STK_JSON_OBJECT)
        status = stk_fail(error, STK_ERR_ARGUMENT, "no JSON object");
    if (status == STK_ERR_ARGUMENT) {
        stk_fail_prefix(error, "%s: metadata: ", path);
        status = STK_ERR_CORRUPT;
        if (error != NULL) error->status = status;
    }
    if (status == STK_OK) status = read_classes(m, path, error);
    if (status != STK_OK) stk_metadata_close(m);
    return status;
}

void stk_metadata_close(stk_metadata *m)
{
    free(m->class_names);
    stk_json_close(&m->root);
    free(m->text);
    *m = (stk_metadata){0};
}
