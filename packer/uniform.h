/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether all images of a pack will have one size, or all arrays one type and shape: what an HDF5 data set
 * images[N, H, W, C] or data[N, ...] needs to know before the first is written. Looking at every image first would read the source twice (a third more time for small
 * images, twice the traffic on a network disk), so a sample is looked at and the pack itself finds out: a record
 * that does not keep to the guess ends it, and it begins anew with what is known then. */
#ifndef STK_PACKER_UNIFORM_H
#define STK_PACKER_UNIFORM_H

#include "packer/pack_pipeline.h"

typedef struct stk_uniform {
    bool found;
    uint32_t width, height, channels; /* of every image, when found */
    bool arrays;                      /* found: not images but arrays, each like `array` */
    stk_array array;
} stk_uniform;

/* Looks at a few stretches of the positions first .. end - 1 of the pipeline with these options. Of the pipeline
 * only sources, shuffle, range, threads and tick with its user are used. Images that would be left out do not
 * count; where the sample holds no other ones, all positions are looked at. */
stk_status stk_uniform_guess(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                             stk_error *error);

/* The same from the headers of all positions: for sources that lie in memory, of which a pack cannot begin anew.
 * Images that cannot be read are passed over. */
stk_status stk_uniform_find(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                            stk_error *error);

/* Whether a record keeps to the guess. If not, *size becomes what is known now: three channels (grey ones are
 * widened where colour ones are among them), or nothing common, as where an array differs. */
bool stk_uniform_holds(stk_uniform *size, const stk_record *record);

#endif
