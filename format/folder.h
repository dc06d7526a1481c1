/* SPDX-License-Identifier: Apache-2.0
 *
 * A data set in a folder: shards and a dataset.json, which is written last and says what belongs together.
 * Shards are opened when first touched. */
#ifndef STK_FORMAT_FOLDER_H
#define STK_FORMAT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>

#include "format/storage.h"

#define STK_FOLDER_MANIFEST "dataset.json"

/* Name of shard number n: "00000.stk". */
void stk_folder_shard_name(uint32_t n, char out[32]);
bool stk_folder_is_shard_name(const char *name);

typedef struct stk_folder_shard {
    const char *file; /* name within the folder */
    uint64_t n_records, n_bytes;
    const char *id; /* 32 hex digits, from stk_shard_writer_finish */
    /* Set k of the shard is set first_table_set + k of the data set. Shards with the same sets name the same
     * first one. */
    uint32_t first_table_set, n_table_sets;
    const char *job; /* NULL, or 16 hex digits: the pack --append that it came from */
} stk_folder_shard;

typedef struct stk_folder_info {
    const stk_folder_shard *shards;
    uint32_t n_shards;
    const stk_column *columns; /* those of every shard */
    uint32_t n_columns;
    bool has_labels;
    const char *metadata; /* JSON object, as given to the shards */
} stk_folder_info;

/* The text of dataset.json (appended to out) and the data set's id (33 bytes). The caller writes it with
 * stk_write_file_atomic after all shards are in place. */
stk_status stk_folder_manifest(const stk_folder_info *info, stk_buffer *out, char *id, stk_error *error);

/* Opens a folder as a storage: reads dataset.json only. */
stk_status stk_folder_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                           stk_error *error);

#endif
