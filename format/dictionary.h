/* SPDX-License-Identifier: Apache-2.0
 *
 * Distinct strings of a dictionary column while it is written: string -> code, in order of appearance. */
#ifndef STK_FORMAT_DICTIONARY_H
#define STK_FORMAT_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>

/* A dictionary that outgrows these is no saving; the writer reports STK_ERR_LIMIT. */
enum { STK_DICTIONARY_MAX_ENTRIES = 1 << 20, STK_DICTIONARY_MAX_BYTES = 16 << 20 };

typedef struct stk_dictionary {
    uint32_t *slots; /* code + 1, 0 = free; open addressing, capacity a power of two */
    size_t capacity;
    uint32_t n_entries;
    stk_buffer ends;  /* uint32 a string: where it ends in bytes */
    stk_buffer bytes; /* the strings, one after the other */
} stk_dictionary;

stk_status stk_dictionary_code(stk_dictionary *dictionary, const void *data, size_t n_bytes, uint32_t *code,
                               stk_error *error);
void stk_dictionary_free(stk_dictionary *dictionary);

#endif
