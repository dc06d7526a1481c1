/* SPDX-License-Identifier: Apache-2.0
 *
 * Undoing HDF5's filter pipeline on a chunk's raw bytes, on any thread: deflate, shuffle, fletcher32, LZF.
 * Source of the algorithms: the HDF5 file format specification, section IV.A.2.l, and h5py's lzf_filter.c. */
#ifndef STK_FORMAT_HDF5_FILTERS_H
#define STK_FORMAT_HDF5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>

#include "format/hdf5/hdf5_plan.h"

/* The first filter of the data set that we cannot undo, as its number; 0 when all are known. */
uint32_t stk_h5_unknown_filter(const stk_h5_dataset *d);

/* Decodes `raw` (n_raw bytes) into n_out bytes at out, skipping filters whose mask bit is set. Buffers are
 * clobbered: scratch is a spare one. Errors: STK_ERR_CORRUPT (does not decode to n_out bytes),
 * STK_ERR_CHECKSUM (fletcher32). */
stk_status stk_h5_unfilter(const stk_h5_dataset *d, uint32_t mask, stk_buffer *raw, stk_buffer *scratch, uint8_t *out,
                           size_t n_out, stk_error *error);

/* HDF5's Fletcher-32 (over big-endian 16-bit words). */
uint32_t stk_h5_fletcher32(const uint8_t *data, size_t n_bytes);

#endif
