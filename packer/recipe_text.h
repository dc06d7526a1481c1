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

/* The words of both texts, by the options' values. */
enum { STK_N_ENCODE_WORDS = 4, STK_N_RESIZE_WORDS = 4, STK_N_FILTER_WORDS = 6 };
extern const char *const stk_encode_words[STK_N_ENCODE_WORDS];
extern const char *const stk_resize_words[STK_N_RESIZE_WORDS];
extern const char *const stk_filter_words[STK_N_FILTER_WORDS];

/* A recipe's text back into options (recipe_read.c); what it does not hold has its default. on_damaged and on_bad
 * are left out: they decide whether there is a record, not its bytes. STK_ERR_CORRUPT, or STK_ERR_ARGUMENT from
 * the JSON parser. */
stk_status stk_recipe_read(const char *text, stk_pack_options *out, stk_error *error);

#endif
