/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets into containers that other software reads. */
#ifndef STOKER_CONVERT_H
#define STOKER_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

STK_BEGIN_DECLS

typedef enum stk_export_to {
    STK_EXPORT_HDF5 = 0, /* docs/hdf5.md: images[N, H, W, C] when all records are raw of one size, data[N, ...] when
                            all are arrays of one type and shape, else blobs */
    STK_EXPORT_TAR = 1   /* WebDataset: NUMBER.jpg (or .png, .npy ...), NUMBER.cls, NUMBER.json with the columns */
} stk_export_to;

typedef struct stk_export_options {
    size_t struct_size; /* filled by stk_export_options_init */
    stk_export_to to;   /* STK_EXPORT_HDF5 */
    bool force;         /* false: an existing dst is STK_ERR_EXISTS */
    uint32_t chunk_images;   /* HDF5; 0 = about 1 MiB a chunk */
    const char *hdf5_filter; /* NULL = none; "gzip", "gzip:4", "lzf" */
    uint32_t n_threads;      /* for compression; 0 = stk_cpu_usable_threads() */
    bool (*progress)(void *user, uint64_t done, uint64_t total); /* NULL; return false to cancel */
    void *user;
} stk_export_options;

STK_API void stk_export_options_init(stk_export_options *options);

/* Writes all records of the data set, with labels and columns, to the file dst, which appears whole or not at all.
 * Records keep their bytes in HDF5; in a tar tiles become ordinary JPEGs and raw pixels PNG (stk_dataset_extract).
 * Removes what killed exports to dst left.
 * Errors: STK_ERR_EXISTS (without force, or dst is no data set, no tar and not empty), STK_ERR_BUSY (another process
 * writes to dst), STK_ERR_ARGUMENT (filter), STK_ERR_UNSUPPORTED (built without HDF5), STK_ERR_CANCELLED, and
 * those of reading. */
STK_API STK_NODISCARD stk_status stk_export(const stk_dataset *dataset, const char *dst,
                                            const stk_export_options *options, stk_error *error);

STK_END_DECLS

#endif
