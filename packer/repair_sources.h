/* SPDX-License-Identifier: Apache-2.0
 *
 * What damaged records were made of, and making them again. */
#ifndef STK_PACKER_REPAIR_SOURCES_H
#define STK_PACKER_REPAIR_SOURCES_H

#include <stoker/pack.h>

#include "format/storage.h"
#include "packer/record_maker.h"
#include "packer/repair_find.h"
#include "packer/source_history.h"

typedef struct stk_healer {
    stk_history history; /* of DST.sources */
    bool has_history;
    char why_not[256]; /* nothing can be rebuilt: why */
    stk_pack_options options;
    stk_sources sources; /* where the patients' sources lie now */
    bool has_sources;
    /* Of one shard: */
    stk_tile_tables *tables;
    stk_recipe recipe;
    stk_record_maker maker;
    bool open;
} stk_healer;

/* Reads DST.sources and gives the patients their paths. That there is none is no error: nothing can be rebuilt
 * then, and why_not says why. dst without a final slash. */
stk_status stk_healer_open(const char *dst, stk_patients *patients, stk_healer *out, stk_error *error);
/* Finds the sources below `from` (NULL: nowhere): STK_ERR_NOT_FOUND when there is no such place. */
stk_status stk_healer_find(stk_healer *healer, const char *from, const char *dst, stk_patients *patients,
                           stk_error *error);
void stk_healer_close(stk_healer *healer);

/* Before the first patient of a shard, whose shared tables decide the bytes of small tiles. */
stk_status stk_healer_begin_shard(stk_healer *healer, stk_storage *shard, stk_error *error);

/* Makes the patient's payload anew: *payload (valid until the next call) when it is what the index tells of, else
 * NULL and why says, as a clause, why not. Fails only where going on is of no use. */
stk_status stk_healer_make(stk_healer *healer, const stk_patient *patient, const uint8_t **payload, char why[256],
                           stk_error *error);

#endif
