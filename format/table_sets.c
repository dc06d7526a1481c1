/* SPDX-License-Identifier: Apache-2.0 */
#include "format/table_sets.h"

#include <stdlib.h>

#include "common/checked.h"
#include "common/fail.h"

typedef struct table_set {
    stk_table_entry entry;
    _Atomic(uint8_t *) blob;
} table_set;

struct stk_table_directory {
    uint32_t n_sets;
    table_set sets[];
};

static void free_directory(stk_table_directory *directory)
{
    for (uint32_t i = 0; directory != NULL && i < directory->n_sets; i++)
        free(atomic_load_explicit(&directory->sets[i].blob, memory_order_relaxed));
    free(directory);
}

/* Reads the directory that follows the header, into entries of n_sets. */
static stk_status read_entries(const stk_file *file, const stk_shard_header *header, stk_table_entry *entries,
                               stk_error *error)
{
    size_t n_bytes = header->n_table_sets * sizeof *entries;
    STK_TRY(stk_file_read_at(file, entries, n_bytes, sizeof *header, error));
    if (stk_hash64(entries, n_bytes) != header->tables_xxh3)
        return stk_fail(error, STK_ERR_CORRUPT,
                        "%s: the directory of table sets at byte %zu is damaged (checksum)", file->path,
                        sizeof *header);
    for (uint32_t i = 0; i < header->n_table_sets; i++) {
        if (entries[i].n_bytes == 0 || entries[i].n_bytes > STK_MAX_TABLE_SET_BYTES ||
            !stk_range_inside(entries[i].offset, entries[i].n_bytes, header->records_offset))
            return stk_fail(error, STK_ERR_CORRUPT, "%s: table set %u lies outside its section", file->path,
                            i);
    }
    return STK_OK;
}

static stk_status load_directory(stk_table_sets *sets, const stk_file *file, const stk_shard_header *header,
                                 stk_table_directory **out, stk_error *error)
{
    *out = atomic_load_explicit(&sets->directory, memory_order_acquire);
    if (*out != NULL) return STK_OK;
    uint32_t n = header->n_table_sets;
    stk_table_entry *entries = malloc(n * sizeof *entries);
    stk_table_directory *directory = calloc(1, sizeof *directory + n * sizeof directory->sets[0]);
    stk_status status = STK_OK;
    if (entries == NULL || directory == NULL) {
        status = stk_fail_memory(error, "table sets");
        goto cleanup;
    }
    STK_GOTO(read_entries(file, header, entries, error));
    directory->n_sets = n;
    for (uint32_t i = 0; i < n; i++)
        directory->sets[i].entry = entries[i];
    if (atomic_compare_exchange_strong_explicit(&sets->directory, out, directory, memory_order_acq_rel,
                                                memory_order_acquire)) {
        *out = directory;
        directory = NULL;
    }
cleanup:
    free_directory(directory);
    free(entries);
    return status;
}

static stk_status load_set(table_set *set, const stk_file *file, uint32_t number, const uint8_t **blob,
                           stk_error *error)
{
    *blob = atomic_load_explicit(&set->blob, memory_order_acquire);
    if (*blob != NULL) return STK_OK;
    size_t n_bytes = (size_t)set->entry.n_bytes;
    uint8_t *bytes = malloc(n_bytes), *before = NULL;
    if (bytes == NULL) return stk_fail_memory(error, "a table set");
    stk_status status = stk_file_read_at(file, bytes, n_bytes, set->entry.offset, error);
    if (status == STK_OK && stk_hash64(bytes, n_bytes) != set->entry.xxh3)
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: table set %u at byte %llu is damaged (checksum)",
                          file->path, number, (unsigned long long)set->entry.offset);
    if (status == STK_OK && atomic_compare_exchange_strong_explicit(
                                &set->blob, &before, bytes, memory_order_acq_rel, memory_order_acquire)) {
        *blob = bytes;
        return STK_OK;
    }
    free(bytes);
    *blob = before;
    return status;
}

stk_status stk_table_sets_get(stk_table_sets *sets, const stk_file *file, const stk_shard_header *header,
                              uint32_t set, const uint8_t **blob, size_t *n_bytes, stk_error *error)
{
    stk_table_directory *directory;
    if (set >= header->n_table_sets)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: has %u table sets, no number %u", file->path,
                        header->n_table_sets, set);
    STK_TRY(load_directory(sets, file, header, &directory, error));
    *n_bytes = (size_t)directory->sets[set].entry.n_bytes;
    return load_set(&directory->sets[set], file, set, blob, error);
}

void stk_table_sets_close(stk_table_sets *sets)
{
    free_directory(atomic_load_explicit(&sets->directory, memory_order_relaxed));
    atomic_store_explicit(&sets->directory, NULL, memory_order_relaxed);
}
