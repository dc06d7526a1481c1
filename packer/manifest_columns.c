/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a manifest's columns is the path and which the label. */
#include <string.h>
#include <strings.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/manifest.h"

static const char *const PATH_NAMES[] = {
    "path",       "file",     "filename",   "file_name", "filepath",  "file_path",
    "image",      "img",      "image_path", "img_path",  "imagepath", "image_name",
    "image_file", "image_id", "img_name",   "name",      "id",
};
static const char *const LABEL_NAMES[] = {
    "label",      "class",     "target",   "y",        "labels",      "category",
    "class_name", "classname", "class_id", "label_id", "category_id",
};

static uint32_t find_exact(const stk_rows *rows, const char *name)
{
    for (uint32_t c = 0; c < rows->n_columns; c++)
        if (strcmp(rows->names[c], name) == 0) return c;
    return UINT32_MAX;
}

/* The first of the customary names that there is, in any case. */
static uint32_t find_customary(const stk_rows *rows, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < rows->n_columns; c++)
            if (strcasecmp(rows->names[c], names[i]) == 0) return c;
    return UINT32_MAX;
}

static stk_status no_column(const stk_rows *rows, const char *what, const char *name, const char *option,
                            stk_error *error)
{
    stk_buffer list = {0};
    for (uint32_t c = 0; c < rows->n_columns; c++)
        if (stk_buffer_printf(&list, error, "%s'%s'", c > 0 ? ", " : "", rows->names[c]) != STK_OK) break;
    stk_status status = stk_fail(
        error, STK_ERR_NOT_FOUND, "%s: there is no %s column%s%s%s; the columns are %s; name one with %s",
        rows->path, what, name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "",
        list.data != NULL ? (const char *)list.data : "", option);
    stk_buffer_free(&list);
    return status;
}

stk_status stk_manifest_find_roles(const stk_rows *rows, const stk_pack_options *options,
                                   stk_manifest_roles *out, stk_error *error)
{
    *out = (stk_manifest_roles){.path = UINT32_MAX, .label = UINT32_MAX};
    if (options->path_column != NULL)
        out->path = find_exact(rows, options->path_column);
    else
        out->path = find_customary(rows, PATH_NAMES, sizeof PATH_NAMES / sizeof *PATH_NAMES);
    if (out->path == UINT32_MAX) return no_column(rows, "path", options->path_column, "--path-column", error);

    const char *label = options->label_column;
    if (label == NULL) {
        out->label = find_customary(rows, LABEL_NAMES, sizeof LABEL_NAMES / sizeof *LABEL_NAMES);
        if (out->label == out->path) out->label = UINT32_MAX;
        return STK_OK;
    }
    if (label[0] == '\0') return STK_OK;
    out->label_wanted = true;
    out->label = find_exact(rows, label);
    if (out->label == UINT32_MAX) return no_column(rows, "label", label, "--label-column", error);
    return STK_OK;
}
