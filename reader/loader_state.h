/* SPDX-License-Identifier: Apache-2.0
 *
 * A loader's state as JSON text: which sequence, and how far in it. Nothing else is needed to go on, since orders
 * and random choices are functions of the place. */
#ifndef STK_READER_LOADER_STATE_H
#define STK_READER_LOADER_STATE_H

#include <stdint.h>

#include <stoker/loader.h>

#include "reader/pipeline.h"

/* What a state is compared with. */
typedef struct stk_state_identity {
    const char *dataset_id;
    const char *order;
    uint32_t order_version;
    uint64_t seed;
    uint64_t selection; /* stk_sampler_selection */
    uint64_t length;    /* places in an epoch */
} stk_state_identity;

/* Writes at most STK_STATE_BYTES bytes, with the zero. */
stk_status stk_state_write(const stk_state_identity *identity, stk_place place, char *text, stk_error *error);

/* Reads a place. STK_ERR_ARGUMENT when the text is no state or belongs to another data set, order, seed or
 * selection; STK_ERR_VERSION when a newer stoker wrote it. */
stk_status stk_state_read(const stk_state_identity *identity, const char *text, stk_place *place,
                          stk_error *error);

#endif
