/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads make products, one at a time takes them in the order of the list, within bounded memory: the
 * output's bytes depend on neither the number of threads nor on who was first. */
#ifndef STK_PACKER_PACK_PIPELINE_H
#define STK_PACKER_PACK_PIPELINE_H

#include "common/permute.h"
#include "packer/record_maker.h"

/* The entry that comes at a position. */
static inline void stk_source_at(const stk_sources *sources, const stk_permutation *shuffle,
                                 uint64_t position, stk_source *out)
{
    stk_sources_get(sources, shuffle != NULL ? stk_permute(shuffle, position) : position, out);
}

typedef struct stk_pipeline {
    const stk_sources *sources;
    const stk_recipe *recipe;
    const stk_permutation *shuffle; /* position -> entry; NULL: the list's own order */
    uint64_t first, end;            /* positions to be worked on */
    uint32_t n_threads;
    /* Called for every position in order; from any thread, never from two at once. The product's payload is
     * valid during the call. A failure ends the run and is its result. */
    stk_status (*take)(void *user, const stk_source *source, const stk_product *product, stk_error *error);
    /* Called on the caller's thread now and then and once at the end; false cancels. NULL: never. May run at
     * the same time as take. */
    bool (*tick)(void *user);
    void *user;
} stk_pipeline;

/* Runs to the end. When several products fail, the first one's failure is reported, as with one thread. */
stk_status stk_pipeline_run(const stk_pipeline *pipeline, stk_error *error);

#endif
