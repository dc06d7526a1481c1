/* SPDX-License-Identifier: Apache-2.0
 *
 * The shards of a data set that is repaired, one file or a folder, and how mended ones take their place while
 * readers go on with what they opened. */
#ifndef STK_PACKER_REPAIR_FOLDER_H
#define STK_PACKER_REPAIR_FOLDER_H

#include <stdint.h>

#include "format/folder_manifest.h"
#include "format/storage.h"

typedef struct stk_repair_shard {
    char *path; /* owned */
    uint64_t first_row;
    char new_id[33];   /* of the mended copy */
    char new_name[32]; /* in the folder; "" as before */
} stk_repair_shard;

typedef struct stk_repair_folder {
    const char *dst; /* without a final slash; the caller's */
    bool is_folder;
    stk_manifest manifest; /* of a folder */
    stk_repair_shard *shards;
    uint32_t n;
    uint64_t n_rows;
    char old_id[33], new_id[33];
    bool published; /* dataset.json names the new names */
} stk_repair_folder;

stk_status stk_repair_folder_open(const char *dst, bool is_folder, stk_repair_folder *out, stk_error *error);
/* Removes what was not published. */
void stk_repair_folder_close(stk_repair_folder *folder);

/* Opens shard k; one that dataset.json does not tell of is STK_ERR_CORRUPT. */
stk_status stk_repair_folder_shard(const stk_repair_folder *folder, uint32_t k, stk_storage **out, stk_error *error);

/* Takes over the finished, fsynced copy at `path` of shard k, whose new_id is set. A single file, and a shard whose
 * id is as before, are in their place from now on; one with another id lies under a new name until publishing. */
stk_status stk_repair_folder_take(stk_repair_folder *folder, uint32_t k, const char *path, stk_error *error);
/* Replaces dataset.json where shards have new names, and sets new_id. temporary: where it may be written first. */
stk_status stk_repair_folder_publish(stk_repair_folder *folder, const char *temporary, stk_error *error);
/* Removes shards that dataset.json does not name. */
stk_status stk_repair_folder_prune(const stk_repair_folder *folder, stk_error *error);

#endif
