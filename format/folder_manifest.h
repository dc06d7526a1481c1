/* SPDX-License-Identifier: Apache-2.0
 *
 * dataset.json, parsed and checked. */
#ifndef STK_FORMAT_FOLDER_MANIFEST_H
#define STK_FORMAT_FOLDER_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/columns.h>

#include "common/json.h"
#include "format/metadata.h"

#define STK_FOLDER_FORMAT "stoker-dataset"
/* The file's last member: XXH3-64 of all text before its comma. */
#define STK_FOLDER_CHECK ",\n\"xxh3\":\"%016llx\"}\n"
enum { STK_FOLDER_CHECK_BYTES = 29, STK_FOLDER_MAX_BYTES = 256 << 20 };

typedef struct stk_manifest_shard {
    const char *file;
    uint64_t first_row, n_rows, n_bytes;
    char id[33];
    uint32_t first_table_set, n_table_sets;
} stk_manifest_shard;

typedef struct stk_manifest {
    stk_json *root; /* names point into it */
    stk_column *columns;
    uint32_t n_columns;
    stk_manifest_shard *shards;
    uint32_t n_shards;
    uint32_t n_table_sets;
    uint64_t n_rows, n_bytes;
    bool has_labels;
    char id[33];
    stk_metadata metadata;
} stk_manifest;

/* Parses text; path (of dataset.json) is for errors. */
stk_status stk_manifest_open(stk_manifest *manifest, const char *text, size_t n_bytes, const char *path,
                             stk_error *error);
void stk_manifest_close(stk_manifest *manifest);

/* Letters, digits, '.', '_' and '-', not beginning with '.': a name that cannot lead out of the folder. */
bool stk_folder_name_ok(const char *name);

#endif
