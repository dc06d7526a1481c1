/* SPDX-License-Identifier: Apache-2.0
 *
 * A pack's use of a cache: looking up before an image is made, putting what was made. The cache never decides
 * whether a pack succeeds: where it fails it is left alone, and that is told once. */
#ifndef STK_PACKER_CACHE_USE_H
#define STK_PACKER_CACHE_USE_H

#include <stoker/pack.h>

#include "packer/cache_db.h"
#include "packer/image_plan.h"
#include "packer/product.h"

typedef struct stk_cache_use {
    stk_cache_db *db; /* NULL: no cache */
    uint64_t recipe;  /* hashes: part of every key */
    uint64_t tables;
    /* Waiting to be put; used by the thread that takes products only. */
    stk_buffer values, items;
    bool failed; /* putting */
    stk_error why;
} stk_cache_use;

/* folder NULL: no cache, every other call does nothing. Fails when the folder cannot be used. */
stk_status stk_cache_use_open(const char *folder, const char *recipe, stk_cache_use *out, stk_error *error);
/* Which tables small tiles share: known later than the rest. */
void stk_cache_use_tables(stk_cache_use *use, const uint8_t *blob, size_t n_bytes);
void stk_cache_use_close(stk_cache_use *use);

/* Sets the product's key, when what the plan makes is worth a place in the cache. */
void stk_cache_key(const stk_cache_use *use, const stk_pack_options *options, const stk_image_plan *plan,
                   const uint8_t *source, size_t n_source, stk_product *product);

/* Looks the product's key up. True: it is made, with a payload in `value` or in source. A cache that cannot
 * be read has nothing. */
bool stk_cache_look_up(stk_cache_reader *reader, stk_buffer *value, const uint8_t *source, size_t n_source,
                       stk_product *product);

/* Notes a product on its way into the output. Runs in list order, one thread at a time. */
stk_status stk_cache_note(stk_cache_use *use, const stk_product *product, stk_error *error);
/* Puts what waits. */
void stk_cache_use_flush(stk_cache_use *use);

#endif
