/* SPDX-License-Identifier: Apache-2.0
 *
 * A product as a value of the cache, and back. A value carries a checksum over all of it: one that does not
 * fit is as if it were not there. */
#ifndef STK_PACKER_CACHE_ENTRY_H
#define STK_PACKER_CACHE_ENTRY_H

#include <stoker/dataset.h>

#include "packer/product.h"

/* Appends the value. A payload that is the source's own bytes is not stored again. */
stk_status stk_cache_entry_write(const stk_product *product, bool payload_is_source, stk_buffer *out,
                                 stk_error *error);

/* The value as a product: its payload lies in the value, or in source. What is of the source itself (size,
 * time, label) is not set. False when the value is damaged or of another version. */
bool stk_cache_entry_read(const uint8_t *value, size_t n_bytes, const uint8_t *source, size_t n_source,
                          stk_product *out);

bool stk_cache_entry_sound(const uint8_t *value, size_t n_bytes);

#endif
