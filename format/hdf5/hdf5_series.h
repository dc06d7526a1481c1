/* SPDX-License-Identifier: Apache-2.0
 *
 * A one-dimensional HDF5 data set as random-access rows: blocks of 4,096 rows are read on first touch and kept. */
#ifndef STK_FORMAT_HDF5_SERIES_H
#define STK_FORMAT_HDF5_SERIES_H

#include "format/hdf5/hdf5_array.h"

typedef struct stk_h5_series stk_h5_series;

stk_status stk_h5_series_open(const stk_h5_plan *plan, uint32_t dataset, const stk_file *file, stk_h5_child *child,
                              stk_h5_series **out, stk_error *error);
void stk_h5_series_close(stk_h5_series **series);

/* Row i's bytes (row_bytes of them, as stored), valid until close. Any thread. */
stk_status stk_h5_series_row(stk_h5_series *series, uint64_t i, const uint8_t **out, stk_error *error);
const stk_h5_dataset *stk_h5_series_dataset(const stk_h5_series *series);

/* Row i as an integer (integer and boolean data sets of any size and byte order; others give 0). */
stk_status stk_h5_series_i64(stk_h5_series *series, uint64_t i, int64_t *out, stk_error *error);

/* The element's bytes turned to little-endian, in place. */
void stk_h5_to_little(const stk_h5_dataset *d, uint8_t *elements, size_t n_bytes);

#endif
