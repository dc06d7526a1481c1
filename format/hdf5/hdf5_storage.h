/* SPDX-License-Identifier: Apache-2.0
 *
 * HDF5 files as a storage: those that stoker wrote, and anybody's. */
#ifndef STK_FORMAT_HDF5_STORAGE_H
#define STK_FORMAT_HDF5_STORAGE_H

#include "format/storage.h"

stk_status stk_hdf5_storage_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                                 stk_error *error);

#endif
