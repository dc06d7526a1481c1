/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading elements of a described data set without libhdf5: contiguous and compact ones directly, chunked ones
 * through a cache of decoded chunks. Any number of threads. */
#ifndef STK_FORMAT_HDF5_ARRAY_H
#define STK_FORMAT_HDF5_ARRAY_H

#include "common/file.h"
#include "format/hdf5/hdf5_child.h"
#include "format/hdf5/hdf5_plan.h"

typedef struct stk_h5_array stk_h5_array;

/* Chunks that one window of the page-local order touches at most, when a page is a chunk. */
enum { STK_H5_WINDOW_CHUNKS = 128 };

/* file and child (may be NULL where all chunks are listed) must outlive the array; cache_bytes bounds the decoded
 * chunks kept, but a window of the page-local order (STK_H5_WINDOW_CHUNKS) is kept up to 4 GiB. STK_ERR_UNSUPPORTED names what cannot be read. */
stk_status stk_h5_array_open(const stk_h5_plan *plan, uint32_t dataset, const stk_file *file, stk_h5_child *child,
                             uint64_t cache_bytes, stk_h5_array **out, stk_error *error);
void stk_h5_array_close(stk_h5_array **array);

/* Bytes of one row (all dimensions but the first), as stored. */
size_t stk_h5_array_row_bytes(const stk_h5_array *array);

/* Rows that one chunk holds, decoded together; 0 when rows are not read through decoded chunks. */
uint64_t stk_h5_array_chunk_rows(const stk_h5_array *array);
/* True when the cache can hold all chunks. */
bool stk_h5_array_fits_cache(const stk_h5_array *array);

/* Where row `row` lies in the file when rows are plain bytes there; else STK_H5_NO_ADDRESS. Chunked uniform files
 * of whole, unfiltered rows have addresses too. */
uint64_t stk_h5_array_row_address(const stk_h5_array *array, uint64_t row);

/* Rows first .. first + n - 1, row-major, as stored. */
stk_status stk_h5_array_read(stk_h5_array *array, uint64_t first, uint64_t n, uint8_t *out, stk_error *error);

#endif
