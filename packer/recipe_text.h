/* SPDX-License-Identifier: Apache-2.0
 *
 * A pack's parameters as JSON text: for the data set's metadata, for a job's identity, and for telling
 * whether an earlier output's records may be used again. */
#ifndef STK_PACKER_RECIPE_TEXT_H
#define STK_PACKER_RECIPE_TEXT_H

#include <stoker/dataset.h>
#include <stoker/pack.h>

#include "common/json.h"
#include "packer/sources.h"

/* Grows whenever the same source and parameters may give another record. */
enum { STK_ENCODER_VERSION = 1 };

/* The data set's metadata (docs/format.md, "metadata"). whole: identity of the pack that this is a part of;
 * used only for parts. */
stk_status stk_metadata_text(const stk_sources *sources, const stk_pack_options *options, uint64_t whole,
                             stk_buffer *out, stk_error *error);

/* All that decides what becomes of one source file, and nothing else. */
stk_status stk_recipe_text(const stk_pack_options *options, stk_buffer *out, stk_error *error);

#endif
