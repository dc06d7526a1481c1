/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ways of exporting share. */
#ifndef STK_READER_EXPORT_H
#define STK_READER_EXPORT_H

#include <stoker/convert.h>

/* Both write the file at path (which does not exist yet). */
stk_status stk_export_hdf5(const stk_dataset *dataset, const char *path, const stk_export_options *options,
                           stk_error *error);
stk_status stk_export_tar(const stk_dataset *dataset, const char *path, const stk_export_options *options,
                          stk_error *error);

/* Tells the progress after record i; STK_ERR_CANCELLED when the caller wants no more. */
stk_status stk_export_step(const stk_dataset *dataset, const stk_export_options *options, uint64_t i, stk_error *error);

/* Value of a column in a buffer that grows to hold it. */
stk_status stk_export_value(const stk_dataset *dataset, uint32_t column, uint64_t i, stk_buffer *room, stk_value *out,
                            stk_error *error);

#endif
