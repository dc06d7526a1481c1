/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/cache_use.h"

#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/rng.h"
#include "packer/cache_entry.h"
#include "packer/record_maker.h"

enum {
    BATCH_BYTES = 8 << 20, /* of values, and */
    BATCH_ITEMS = 4096,    /* items a transaction */
    MAX_VALUE = 64 << 20   /* larger results are not cached */
};

stk_status stk_cache_use_open(const char *folder, const char *recipe, stk_cache_use *out, stk_error *error)
{
    *out = (stk_cache_use){0};
    if (folder == NULL) return STK_OK;
    out->recipe = stk_hash64(recipe, strlen(recipe));
    return stk_cache_db_open(folder, true, &out->db, error);
}

void stk_cache_use_tables(stk_cache_use *use, const uint8_t *blob, size_t n_bytes)
{
    use->tables = n_bytes > 0 ? stk_hash64(blob, n_bytes) : 0;
}

void stk_cache_use_close(stk_cache_use *use)
{
    stk_cache_db_close(&use->db);
    stk_buffer_free(&use->values);
    stk_buffer_free(&use->items);
    *use = (stk_cache_use){0};
}

void stk_cache_key(const stk_cache_use *use, const stk_pack_options *o, const stk_image_plan *plan,
                   const uint8_t *source, size_t n_source, stk_product *product)
{
    uint64_t pixels = (uint64_t)plan->target_width * plan->target_height;
    /* Small raw pictures are made as fast as they are looked up; of an unchecked copy there is nothing to
     * know. */
    bool worth_it =
        pixels > STK_AUTO_RAW_PIXELS && (plan->form != STK_FORM_VERBATIM || o->check == STK_CHECK_DECODE);
    if (use == NULL || use->db == NULL || !worth_it) return;
    bool tiles = plan->form == STK_FORM_TILES || plan->form == STK_FORM_TILES_ANEW;
    /* The form follows from recipe and content but for one thing: HDF5 may want three channels of all. */
    uint64_t form = (uint64_t)plan->form << 8 | plan->channels;
    struct {
        stk_hash128 content;
        uint64_t recipe, tables;
    } key = {.content = stk_hash128_of(source, n_source),
             .recipe = stk_mix64(use->recipe ^ form),
             .tables = tiles && pixels <= STK_SHARED_TABLES_PIXELS ? use->tables : 0};
    _Static_assert(sizeof key == STK_CACHE_KEY_BYTES && sizeof key == sizeof product->cache_key,
                   "a cache key");
    memcpy(product->cache_key, &key, sizeof key);
    product->cache = STK_IN_CACHE_NOT;
}

bool stk_cache_look_up(stk_cache_reader *reader, stk_buffer *value, const uint8_t *source, size_t n_source,
                       stk_product *product)
{
    bool found = false;
    stk_product cached;
    if (product->cache == STK_CACHE_UNUSED || reader == NULL) return false;
    if (stk_cache_get(reader, product->cache_key, value, &found, NULL) != STK_OK || !found) return false;
    if (!stk_cache_entry_read(value->data, value->n_bytes, source, n_source, &cached)) {
        product->cache = STK_IN_CACHE_DAMAGED;
        return false;
    }
    memcpy(cached.cache_key, product->cache_key, sizeof cached.cache_key);
    cached.cache = STK_IN_CACHE;
    cached.source_bytes = product->source_bytes;
    cached.source_mtime_ns = product->source_mtime_ns;
    cached.source_xxh3 = product->source_xxh3;
    cached.source_read = product->source_read;
    cached.reused = cached.fate == STK_FATE_RECORD;
    *product = cached;
    return true;
}

void stk_cache_use_flush(stk_cache_use *use)
{
    size_t n = use->items.n_bytes / sizeof(stk_cache_item);
    stk_cache_item *items = (stk_cache_item *)(void *)use->items.data;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) { /* the values have stopped moving */
        if (items[i].n_bytes > 0) items[i].value = use->values.data + at;
        at += items[i].n_bytes;
    }
    if (n > 0 && stk_cache_put(use->db, items, n, &use->why) != STK_OK) use->failed = true;
    use->items.n_bytes = use->values.n_bytes = 0;
}

stk_status stk_cache_note(stk_cache_use *use, const stk_product *p, stk_error *error)
{
    if (use->db == NULL || use->failed || p->cache == STK_CACHE_UNUSED) return STK_OK;
    stk_cache_item item = {.replace = p->cache == STK_IN_CACHE_DAMAGED};
    memcpy(item.key, p->cache_key, sizeof item.key);
    if (p->cache != STK_IN_CACHE) {
        if (p->fate == STK_FATE_RECORD && p->record.n_bytes > MAX_VALUE) return STK_OK;
        size_t begin = use->values.n_bytes;
        bool is_source = p->fate == STK_FATE_RECORD && p->payload_is_source;
        stk_product without = *p;
        if (p->fate != STK_FATE_RECORD) without.record = (stk_record){.payload = NULL};
        STK_TRY(stk_cache_entry_write(&without, is_source, &use->values, error));
        item.n_bytes = use->values.n_bytes - begin;
    }
    STK_TRY(stk_buffer_append(&use->items, &item, sizeof item, error));
    if (use->values.n_bytes >= BATCH_BYTES || use->items.n_bytes >= BATCH_ITEMS * sizeof item)
        stk_cache_use_flush(use);
    return STK_OK;
}
