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

/* What becomes of a record that cannot be read: damaged, dead, or on a disk that gives an error. */
typedef enum stk_export_bad {
    STK_EXPORT_BAD_FAIL = 0, /* nothing is exported; the error names the record */
    STK_EXPORT_BAD_SKIP = 1  /* it is left out, and told to the callback */
} stk_export_bad;

/* A record that was left out. Strings are valid during the callback. */
typedef struct stk_export_issue {
    uint64_t record;    /* number in the data set */
    const char *reason; /* one sentence, which names the record */
} stk_export_issue;

typedef struct stk_export_report {
    uint64_t records; /* written */
    uint64_t skipped; /* left out */
    uint64_t bytes;   /* of the file */
} stk_export_report;

typedef struct stk_export_options {
    size_t struct_size; /* filled by stk_export_options_init */
    stk_export_to to;   /* STK_EXPORT_HDF5 */
    bool force;         /* false: an existing dst is STK_ERR_EXISTS */
    uint32_t chunk_images;   /* HDF5; 0 = about 1 MiB a chunk */
    const char *hdf5_filter; /* NULL = none; "gzip", "gzip:4", "lzf" */
    uint32_t n_threads;      /* for compression; 0 = stk_cpu_usable_threads() */
    bool (*progress)(void *user, uint64_t done, uint64_t total); /* NULL; return false to cancel */
    void *user; /* for both callbacks */
    stk_export_bad on_bad;                                         /* STK_EXPORT_BAD_FAIL */
    void (*issue)(void *user, const stk_export_issue *issue);      /* NULL; in record order, calling thread */
    stk_export_report *report; /* NULL; the caller's, filled when the status is STK_OK */
} stk_export_options;

STK_API void stk_export_options_init(stk_export_options *options);

/* Writes all records of the data set, with labels and columns, to the file dst, which appears whole or not at all.
 * Records keep their bytes in HDF5; in a tar tiles become ordinary JPEGs and raw pixels PNG (stk_dataset_extract).
 * With on_bad skip, records that cannot be read are left out: in HDF5 those behind them move up, in a tar the others
 * keep their numbers. The status is STK_OK then (report->skipped), but for a data set of which nothing could be read:
 * the first record's error. Removes what killed exports to dst left.
 * Errors: STK_ERR_EXISTS (without force, or dst is no data set, no tar and not empty), STK_ERR_BUSY (another process
 * writes to dst), STK_ERR_ARGUMENT (filter), STK_ERR_UNSUPPORTED (built without HDF5), STK_ERR_CANCELLED, and
 * those of reading. */
STK_API STK_NODISCARD stk_status stk_export(const stk_dataset *dataset, const char *dst,
                                            const stk_export_options *options, stk_error *error);

STK_END_DECLS

#endif
