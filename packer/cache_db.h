/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache's store: values by key, with a limit on their sum and least-recently-used eviction. Implemented
 * by cache_lmdb.c, or by cache_absent.c where there is no LMDB.
 *
 * Any number of processes of one machine may have it open. What a value holds is not this file's business,
 * and neither is whether it is sound: its reader checks that (cache_entry.h). */
#ifndef STK_PACKER_CACHE_DB_H
#define STK_PACKER_CACHE_DB_H

#include <stoker/cache.h>
#include <stoker/dataset.h>

enum { STK_CACHE_KEY_BYTES = 32 };

/* A value to be put, or (value NULL) a key that was used. */
typedef struct stk_cache_item {
    uint8_t key[STK_CACHE_KEY_BYTES];
    const uint8_t *value;
    size_t n_bytes;
    bool replace; /* what is there is damaged */
} stk_cache_item;

typedef struct stk_cache_db stk_cache_db;

/* Opens the cache in the folder; create: makes folder and files where there are none. */
stk_status stk_cache_db_open(const char *folder, bool create, stk_cache_db **out, stk_error *error);
void stk_cache_db_close(stk_cache_db **db);

/* A thread's own way to read. */
typedef struct stk_cache_reader stk_cache_reader;
stk_status stk_cache_reader_open(stk_cache_db *db, stk_cache_reader **out, stk_error *error);
void stk_cache_reader_close(stk_cache_reader **reader);
stk_status stk_cache_get(stk_cache_reader *reader, const uint8_t *key, stk_buffer *value, bool *found,
                         stk_error *error);

/* Puts what is not there yet and notes what was used, in one transaction; evicts as needed. One thread at a
 * time. */
stk_status stk_cache_put(stk_cache_db *db, const stk_cache_item *items, size_t n, stk_error *error);

stk_status stk_cache_db_info(stk_cache_db *db, stk_cache_info *out, stk_error *error);
/* Removes the entries that `sound` says are not. */
stk_status stk_cache_db_sift(stk_cache_db *db, bool (*sound)(const uint8_t *value, size_t n_bytes),
                             uint64_t *checked, uint64_t *removed, stk_error *error);
stk_status stk_cache_db_trim(stk_cache_db *db, uint64_t max_bytes, uint64_t *removed, stk_error *error);
/* Removes the cache's files, or where somebody uses them, their content. */
stk_status stk_cache_db_clear(const char *folder, stk_error *error);

#endif
