/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking after a preprocessing cache (stk_pack_options.cache): finished records of earlier packs, found by the
 * content of their source and by what decides the result. One folder serves any number of outputs and of packs at
 * once on one machine. Needs a build with LMDB; without it every function here gives STK_ERR_UNSUPPORTED. */
#ifndef STOKER_CACHE_H
#define STOKER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_cache_info {
    uint64_t entries;
    uint64_t bytes;      /* of all entries */
    uint64_t max_bytes;  /* beyond this the entries used longest ago go */
    uint64_t file_bytes; /* of the cache's file; what entries leave is used again, not given back */
} stk_cache_info;

/* Errors of all: STK_ERR_NOT_FOUND (no cache there), STK_ERR_CORRUPT, STK_ERR_UNSUPPORTED (this build, or a
 * network disk), STK_ERR_IO. Each may run while packs use the cache. */
STK_API STK_NODISCARD stk_status stk_cache_stat(const char *folder, stk_cache_info *out, stk_error *error);

/* Checks every entry and removes those that are damaged. *bad says how many; it may be NULL. */
STK_API STK_NODISCARD stk_status stk_cache_verify(const char *folder, uint64_t *checked, uint64_t *bad,
                                                  stk_error *error);

/* Sets the limit and removes what is above it, longest unused first. A cache begins with 32 GiB. */
STK_API STK_NODISCARD stk_status stk_cache_trim(const char *folder, uint64_t max_bytes, uint64_t *removed,
                                                stk_error *error);

/* Empties the cache. When no pack uses it, its files go; else their space is used again. Also for a cache that
 * is damaged beyond opening. */
STK_API STK_NODISCARD stk_status stk_cache_clear(const char *folder, stk_error *error);

STK_END_DECLS

#endif
