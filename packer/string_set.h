/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings numbered in the order of their first insertion. */
#ifndef STK_PACKER_STRING_SET_H
#define STK_PACKER_STRING_SET_H

#include <stdint.h>

#include "packer/folder_list.h"

typedef struct stk_string_set {
    stk_names names;
    uint32_t *slots; /* number + 1; 0: empty */
    uint32_t n_slots;
} stk_string_set;

void stk_string_set_free(stk_string_set *set);
/* The string's number; a new one is added (zero bytes within it end it). */
stk_status stk_string_set_add(stk_string_set *set, const char *text, size_t n_bytes, uint32_t *number,
                              stk_error *error);

#endif
