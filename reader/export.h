/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ways of exporting share. */
#ifndef STK_READER_EXPORT_H
#define STK_READER_EXPORT_H

#include <stoker/convert.h>

/* One export: what is asked for, and how it went so far. */
typedef struct stk_export_run {
    const stk_dataset *dataset;
    const stk_export_options *options;
    uint64_t records, skipped;
    uint64_t told;       /* records below this number were told as left out, should they be met again */
    stk_error first_bad; /* of the first record that was left out */
} stk_export_run;

/* Both write the file at path (which does not exist yet). */
stk_status stk_export_hdf5(stk_export_run *run, const char *path, stk_error *error);
stk_status stk_export_tar(stk_export_run *run, const char *path, stk_error *error);

/* Tells the progress after record i; STK_ERR_CANCELLED when the caller wants no more. */
stk_status stk_export_step(const stk_export_run *run, uint64_t i, stk_error *error);

/* What becomes of record i, whose reading ended with status and *bad. STK_OK: it is left out, counted and told. Else that
 * status, with the error; also when on_bad is skip but memory, say, is what was wanting. */
stk_status stk_export_bad_record(stk_export_run *run, uint64_t i, stk_status status, stk_error *bad, stk_error *error);

/* Value of a column in a buffer that grows to hold it. */
stk_status stk_export_value(const stk_dataset *dataset, uint32_t column, uint64_t i, stk_buffer *room, stk_value *out,
                            stk_error *error);

#endif
