/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of one source file: a record, or a reason why there is none. */
#ifndef STK_PACKER_PRODUCT_H
#define STK_PACKER_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

#include "format/shard_writer.h"

/* What a cache knew of a product. */
typedef enum stk_cache_state {
    STK_CACHE_UNUSED = 0,
    STK_IN_CACHE,
    STK_IN_CACHE_NOT,
    STK_IN_CACHE_DAMAGED
} stk_cache_state;

typedef enum stk_fate {
    STK_FATE_RECORD = 0, /* goes into the output (perhaps with damage: then action is "kept") */
    STK_FATE_LEFT_OUT,   /* an image, or something named like one, that does not */
    STK_FATE_IGNORED     /* no image: counted, and named only when there is an action */
} stk_fate;

/* Words for people and programs; static text. kind: a damage kind's name or one of these:
 *   unreadable    no decoder gets pixels out of it
 *   unsupported   a valid image of a kind that is not read here
 *   too-large     above max_pixels or max_file_bytes
 *   empty         a file of 0 bytes
 *   not-an-image  named like an image, but the content is something else
 *   io            the operating system could not read it
 *   missing, ambiguous, outside   manifests: no file, several files, a path that leaves the root
 *   folder, loop  a folder that cannot be listed; a link to a folder that holds it
 *   no-class      an image beside the class folders */
typedef struct stk_product {
    stk_fate fate;
    const char *action; /* NULL: nothing to report */
    const char *kind;
    char reason[256];
    stk_status failure; /* what it is under a "fail" policy; STK_OK: nothing to fail for */

    stk_record record; /* RECORD: payload valid until the maker's next product; cells are not set */
    bool resumed;      /* taken over from a killed run */
    bool reused;       /* taken from an earlier output or the cache */
    bool bad;          /* counts as skipped by on_bad's policy (not: damaged, missing) */
    bool missing;
    uint32_t damage;    /* kinds, kept or not */
    bool reencoded;     /* encoded anew with loss: JPEG or tiles */
    bool resampled;     /* raw, with other pixels than the source's */
    bool verbatim_jpeg; /* was to become tiles, and could not */
    bool hint;          /* verbatim, where tiles or raw would load faster */

    bool payload_is_source; /* byte for byte */
    stk_cache_state cache;
    uint8_t cache_key[32];

    uint64_t source_bytes;
    int64_t source_mtime_ns;
    uint64_t source_xxh3; /* of the content; 0 when it was not read whole */
    bool source_read;
} stk_product;

#endif
