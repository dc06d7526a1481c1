/* SPDX-License-Identifier: Apache-2.0
 *
 * dataset.json, parsed and checked. */
#ifndef STK_FORMAT_FOLDER_MANIFEST_H
#define STK_FORMAT_FOLDER_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/columns.h>

#include "common/json.h"
#include "format/folder.h"
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
    const char *job; /* the pack --append that it came from; NULL: none */
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

/* The same for the dataset.json in a folder; STK_ERR_NOT_FOUND when there is none. */
stk_status stk_manifest_open_folder(stk_manifest *manifest, const char *folder, stk_error *error);

/* For a new shard's name: a number above those of all shards that it names. */
uint32_t stk_manifest_next_number(const stk_manifest *manifest);

/* For writing it again; texts point into the manifest. */
static inline stk_folder_shard stk_folder_shard_of(const stk_manifest_shard *s)
{
    return (stk_folder_shard){.file = s->file,
                              .n_records = s->n_rows,
                              .n_bytes = s->n_bytes,
                              .id = s->id,
                              .first_table_set = s->first_table_set,
                              .n_table_sets = s->n_table_sets,
                              .job = s->job};
}

/* Letters, digits, '.', '_' and '-', not beginning with '.': a name that cannot lead out of the folder. */
bool stk_folder_name_ok(const char *name);

#endif
