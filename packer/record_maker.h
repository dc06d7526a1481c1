/* SPDX-License-Identifier: Apache-2.0
 *
 * One source file -> one product: read, sniff, probe, check, resize, encode. A maker belongs to one thread.
 */
#ifndef STK_PACKER_RECORD_MAKER_H
#define STK_PACKER_RECORD_MAKER_H

#include <stoker/pack.h>

#include "codec/codec.h"
#include "codec/tiles.h"
#include "packer/product.h"
#include "packer/source_file.h"

/* What decides a record's bytes beside its source; shared by all makers. */
typedef struct stk_recipe {
    const stk_pack_options *options;
    const stk_tile_tables *tables;       /* shared by small images; NULL: none */
    const struct stk_cache_use *cache;   /* finished records of any pack; NULL: none */
    uint8_t channels;                    /* of raw pixels; 0: as many as the image has */
    const struct stk_previous *previous; /* records that may be used again; NULL: none */
} stk_recipe;

typedef struct stk_record_maker {
    const stk_recipe *recipe;
    stk_codec_ctx *ctx;
    stk_source_reader reader;
    stk_buffer encoded; /* the payload, when it is made here */
    stk_buffer scratch;
    struct stk_cache_reader *cache; /* NULL: none */
    stk_buffer cached;
} stk_record_maker;

stk_status stk_record_maker_open(const stk_recipe *recipe, const stk_sources *sources, stk_record_maker *out,
                                 stk_error *error);
void stk_record_maker_close(stk_record_maker *maker);

/* Makes the product of an entry. Fails only where the pack must stop whatever the policies say (out of
 * memory, a disk that is gone); all else is told by the product. */
stk_status stk_record_make(stk_record_maker *maker, const stk_source *source, stk_product *out,
                           stk_error *error);

/* Small images have their Huffman tables in the shard: at most this many pixels. */
enum { STK_SHARED_TABLES_PIXELS = 128 * 128 };
#endif
