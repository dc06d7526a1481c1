/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether all images of a pack will have one size, found from their headers before any is encoded: what an
 * HDF5 data set images[N, H, W, C] needs to know first. */
#ifndef STK_PACKER_UNIFORM_H
#define STK_PACKER_UNIFORM_H

#include "packer/pack_pipeline.h"

typedef struct stk_uniform {
    bool found;
    uint32_t width, height, channels; /* of every image, when found */
} stk_uniform;

/* Looks at the positions first .. end - 1 of the pipeline with these options; stops at the first image that
 * differs. Of the pipeline only sources, shuffle, range, threads and tick with its user are used. Images that
 * cannot be read are passed over: they will be left out. */
stk_status stk_uniform_find(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                            stk_error *error);

#endif
