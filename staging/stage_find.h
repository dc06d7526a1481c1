/* SPDX-License-Identifier: Apache-2.0
 *
 * Published copies: is there one of this source, and does it still fit? */
#ifndef STK_STAGING_STAGE_FIND_H
#define STK_STAGING_STAGE_FIND_H

#include <stdbool.h>

#include <stoker/stage.h>

#include "staging/stage_record.h"

/* Looks for BASE/KEY. STK_OK: map is open, its blocks GOOD or ABSENT; the files have their sizes; eight pieces of 64 KiB
 * equal the source's, and n_rehash whole blocks have their checksums. STK_ERR_NOT_FOUND: there is none.
 * STK_ERR_CHECKSUM: there is one (map is open), and its bytes are not those of the source. STK_ERR_CORRUPT: there is
 * one that cannot be used. */
stk_status stk_stage_find(const char *base, const stk_stage_source *source, uint32_t n_rehash, stk_stage_map *map,
                          char copy[STK_STAGE_PATH], stk_error *error);

/* Says that the copy was used now, for evictions. */
void stk_stage_touch(const char *copy);

#endif
