/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache's store in a build without LMDB: says so. */
#include "common/fail.h"
#include "packer/cache_db.h"

static stk_status absent(stk_error *error)
{
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "this build has no cache: it was built without LMDB (liblmdb-dev)");
}

stk_status stk_cache_db_open(const char *folder, bool create, stk_cache_db **out, stk_error *error)
{
    (void)folder, (void)create;
    *out = NULL;
    return absent(error);
}

void stk_cache_db_close(stk_cache_db **db)
{
    *db = NULL;
}

stk_status stk_cache_reader_open(stk_cache_db *db, stk_cache_reader **out, stk_error *error)
{
    (void)db;
    *out = NULL;
    return absent(error);
}

void stk_cache_reader_close(stk_cache_reader **reader)
{
    *reader = NULL;
}

stk_status stk_cache_get(stk_cache_reader *reader, const uint8_t *key, stk_buffer *value, bool *found,
                         stk_error *error)
{
    (void)reader, (void)key, (void)value;
    *found = false;
    return absent(error);
}

stk_status stk_cache_put(stk_cache_db *db, const stk_cache_item *items, size_t n, stk_error *error)
{
    (void)db, (void)items, (void)n;
    return absent(error);
}

stk_status stk_cache_db_info(stk_cache_db *db, stk_cache_info *out, stk_error *error)
{
    (void)db;
    *out = (stk_cache_info){0};
    return absent(error);
}

stk_status stk_cache_db_sift(stk_cache_db *db, bool (*sound)(const uint8_t *value, size_t n_bytes),
                             uint64_t *checked, uint64_t *removed, stk_error *error)
{
    (void)db, (void)sound;
    *checked = *removed = 0;
    return absent(error);
}

stk_status stk_cache_db_trim(stk_cache_db *db, uint64_t max_bytes, uint64_t *removed, stk_error *error)
{
    (void)db, (void)max_bytes;
    *removed = 0;
    return absent(error);
}

stk_status stk_cache_db_clear(const char *folder, stk_error *error)
{
    (void)folder;
    return absent(error);
}
