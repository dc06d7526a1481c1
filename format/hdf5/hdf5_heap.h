/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of HDF5's global heap (variable-length values), read straight from the file. Source: the HDF5 file
 * format specification, section III.E. */
#ifndef STK_FORMAT_HDF5_HEAP_H
#define STK_FORMAT_HDF5_HEAP_H

#include "common/file.h"

/* A reference as elements of variable-length data sets hold it: 16 bytes. */
typedef struct stk_h5_reference {
    uint64_t address; /* of the collection */
    uint32_t n_bytes; /* of the object */
    uint32_t index;
} stk_h5_reference;
stk_h5_reference stk_h5_reference_parse(const uint8_t *element);

/* Finds the object's place in the file; the collection is walked, each step checked. STK_ERR_CORRUPT. */
stk_status stk_h5_heap_find(const stk_file *file, uint64_t file_bytes, stk_h5_reference reference, uint64_t *offset,
                            stk_error *error);

#endif
