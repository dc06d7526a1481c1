/* SPDX-License-Identifier: Apache-2.0
 *
 * The Huffman tables that a shard's small images share: made of the first ones in the list, so that they
 * depend on neither threads nor parts. */
#ifndef STK_PACKER_SHARED_TABLES_H
#define STK_PACKER_SHARED_TABLES_H

#include <stdbool.h>

#include <stoker/dataset.h>
#include <stoker/pack.h>

#include "packer/sources.h"

/* Only so many of the list's first entries are looked at. */
enum {
    STK_TABLES_LOOK_AT = 4096,
    STK_TABLES_SMALL_FILE = 64 << 10 /* no JPEG of so few pixels is larger, unless most of it is metadata */
};

/* blob stays empty where no tables are needed: the parameters make no tiles of small images, or too few such
 * images are among the list's first entries. */
stk_status stk_shared_tables_train(const stk_sources *sources, const stk_pack_options *options,
                                   stk_buffer *blob, stk_error *error);

/* Of a list that is still growing: whether its first entries decide the tables, whatever comes. small: how many
 * of the n entries have at most STK_TABLES_SMALL_FILE bytes. */
bool stk_shared_tables_decided(const stk_pack_options *options, uint64_t n, uint64_t small);

#endif
