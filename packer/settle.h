/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that give no record, and why: one place for what is called bad, missing or ignored. */
#ifndef STK_PACKER_SETTLE_H
#define STK_PACKER_SETTLE_H

#include <stoker/pack.h>

#include "packer/product.h"
#include "packer/source_file.h"

/* Sets fate LEFT_OUT with its words (static text) and the reason, printf style. */
void stk_product_leave_out(stk_product *p, stk_status failure, const char *action, const char *kind,
                           const char *format, ...) STK_PRINTF(5, 6);

/* Entries that the list itself knows to have no file. True when that settles it. */
bool stk_settle_by_state(const stk_sources *sources, const stk_source *source, stk_product *p);

/* Files that could not be read. True when that settles it. */
bool stk_settle_by_reading(const stk_sources *sources, const stk_source *source,
                           const stk_source_bytes *bytes, stk_product *p);

/* Content that no codec takes: litter and other files are ignored; what claims to be an image is named, and
 * so is everything that a manifest lists. */
void stk_settle_foreign(const stk_sources *sources, const stk_source *source, const stk_source_bytes *bytes,
                        stk_product *p);

/* A failed call on the image's bytes: out of memory ends the pack (the status comes back), all else is the
 * image's own fault. */
stk_status stk_settle_failure(stk_status status, const stk_error *text, stk_product *p, stk_error *error);

/* A policy that says "fail" makes an error of what a product only tells. */
stk_status stk_settle_policy(const stk_pack_options *options, const char *path, const stk_product *product,
                             stk_error *error);

#endif
