/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader itself needs of the metadata JSON: an object, "classes" an array of strings. */
#ifndef STK_FORMAT_METADATA_H
#define STK_FORMAT_METADATA_H

#include <stdint.h>

#include <stoker/status.h>

#include "common/json.h"

typedef struct stk_metadata {
    char *text; /* zero-terminated */
    stk_json *root;
    uint32_t n_classes;
    const char **class_names; /* into root */
} stk_metadata;

/* Takes text (malloc'd, zero-terminated), also on failure. path is for errors. */
stk_status stk_metadata_open(stk_metadata *metadata, char *text, size_t n_bytes, const char *path,
                             stk_error *error);
void stk_metadata_close(stk_metadata *metadata);

#endif
