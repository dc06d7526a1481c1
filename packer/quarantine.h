/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of files that no decoder takes, for a look at them. */
#ifndef STK_PACKER_QUARANTINE_H
#define STK_PACKER_QUARANTINE_H

#include "packer/product.h"
#include "packer/source_file.h"

/* Copies the entry's file to folder/<its path>, never over another file: one that is there with other content
 * stays, and the copy gets ".1", ".2" ... behind its name. The product's action becomes "quarantined". A
 * source that cannot be read is left as it is; a copy that cannot be written is an error. */
stk_status stk_quarantine(stk_source_reader *reader, const stk_source *source, const char *folder,
                          stk_product *product, stk_error *error);

#endif
