/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a shard with checksums that are made to fit, so that the fuzzer meets the checks behind them;
 * then the storage's whole interface. Of what it reads, rows must lie inside the file (storage_walk aborts
 * otherwise). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/storage.h"
#include "support/memory_file.h"
#include "support/shard_fixup.h"
#include "support/storage_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void try_open(const char *path, bool salvage)
{
    stk_dataset_options options = {.struct_size = sizeof options, .salvage = salvage};
    stk_storage *storage = NULL;
    if (stk_storage_open(path, &options, &storage, NULL) != STK_OK) {
        if (storage != NULL) abort();
        return;
    }
    (void)storage_walk(storage, 32);
    stk_storage_close(&storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static memory_file file = {.fd = -1};
    uint8_t *fixed = malloc(n_bytes + 1);
    if (fixed == NULL) return 0;
    if (n_bytes > 0) memcpy(fixed, data, n_bytes);
    /* HDF5 is read in a process of its own and has its own target. */
    if (n_bytes >= STK_MAGIC_BYTES) memcpy(fixed, stk_shard_magic, STK_MAGIC_BYTES);
    shard_fixup(fixed, n_bytes);
    memory_file_set(&file, fixed, n_bytes);
    if (n_bytes >= STK_MAGIC_BYTES) {
        try_open(file.path, false);
        try_open(file.path, true);
    }
    free(fixed);
    return 0;
}
