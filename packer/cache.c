/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking after a cache: the public functions. */
#include <stoker/cache.h>

#include "common/fail.h"
#include "packer/cache_db.h"
#include "packer/cache_entry.h"

stk_status stk_cache_stat(const char *folder, stk_cache_info *out, stk_error *error)
{
    stk_cache_db *db;
    STK_TRY(stk_cache_db_open(folder, false, &db, error));
    stk_status status = stk_cache_db_info(db, out, error);
    stk_cache_db_close(&db);
    return status;
}

stk_status stk_cache_verify(const char *folder, uint64_t *checked, uint64_t *bad, stk_error *error)
{
    stk_cache_db *db;
    uint64_t n_checked = 0, n_bad = 0;
    STK_TRY(stk_cache_db_open(folder, false, &db, error));
    stk_status status = stk_cache_db_sift(db, stk_cache_entry_sound, &n_checked, &n_bad, error);
    stk_cache_db_close(&db);
    if (checked != NULL) *checked = n_checked;
    if (bad != NULL) *bad = n_bad;
    return status;
}

stk_status stk_cache_trim(const char *folder, uint64_t max_bytes, uint64_t *removed, stk_error *error)
{
    stk_cache_db *db;
    uint64_t n = 0;
    STK_TRY(stk_cache_db_open(folder, false, &db, error));
    stk_status status = stk_cache_db_trim(db, max_bytes, &n, error);
    stk_cache_db_close(&db);
    if (removed != NULL) *removed = n;
    return status;
}

stk_status stk_cache_clear(const char *folder, stk_error *error)
{
    return stk_cache_db_clear(folder, error);
}
