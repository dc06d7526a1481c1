/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing an HDF5 data set that any h5py user can read (docs/hdf5.md):
 *   uniform raw images   images[N, H, W, C] uint8 in chunks of whole images
 *   arrays of one shape  data[N, shape] of their type, contiguous
 *   anything else        data[bytes] uint8, contiguous, with offset, length, width, height, encoding
 * and labels, xxh3 and the user's columns beside it. The payload is written by our own pwrite at the place
 * where HDF5 will later say that it is; HDF5 itself writes only headers, once, at the end. Calls mirror
 * format/shard_writer.h. */
#ifndef STK_FORMAT_HDF5_WRITER_H
#define STK_FORMAT_HDF5_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/hdf5/hdf5_plan.h"
#include "format/shard_writer.h"

typedef struct stk_hdf5_writer stk_hdf5_writer;

typedef struct stk_hdf5_writer_options {
    const stk_column *columns; /* copied */
    uint32_t n_columns;
    const uint8_t *const *table_sets; /* shared table sets, copied into the file */
    const size_t *table_set_bytes;
    uint32_t n_table_sets;
    uint64_t max_records;             /* upper bound of the number of records, for the space of the chunk index */
    uint32_t width, height, channels; /* of every image; 0 = sizes differ or images are compressed */
    const stk_array *array;           /* NULL; type and shape of every record, arrays that stk_hdf5_takes_array; copied */
    uint32_t chunk_images;            /* uniform images a chunk; 0 = about 1 MiB */
    const char *filter;               /* NULL = none; "gzip", "gzip:1" .. "gzip:9", "lzf" (uniform images only) */
    uint32_t n_threads;               /* for compression; 0 = 1 */
} stk_hdf5_writer_options;

/* Whether arrays of this shape can become one typed data set: none without elements, no more dimensions than are read. */
static inline bool stk_hdf5_takes_array(const stk_array *array)
{
    return array->n_bytes > 0 && array->n_dims < STK_H5_MAX_RANK;
}

/* Creates path (O_EXCL). Errors: STK_ERR_ARGUMENT (filter), STK_ERR_UNSUPPORTED (built without HDF5). On failure
 * nothing stays. */
stk_status stk_hdf5_writer_open(const char *path, const stk_hdf5_writer_options *options, stk_hdf5_writer **out,
                                stk_error *error);

/* Appends one record. Uniform files take STK_ENCODING_RAW records of the one size only, typed ones arrays of the one
 * shape, whose xxh3 becomes that of the elements. One thread at a time. */
stk_status stk_hdf5_writer_add(stk_hdf5_writer *writer, const stk_record *record, stk_error *error);

uint64_t stk_hdf5_writer_bytes(const stk_hdf5_writer *writer);

/* Writes the HDF5 structure round the payload, fsyncs and closes the file. metadata is JSON text; class_names
 * (n_classes, may be 0) become an attribute. id gets 33 bytes. */
stk_status stk_hdf5_writer_finish(stk_hdf5_writer *writer, const char *metadata, const char *const *class_names,
                                  uint32_t n_classes, char *id, stk_error *error);

/* Frees; when not finished the file is removed. Sets *writer to NULL. */
void stk_hdf5_writer_close(stk_hdf5_writer **writer);

#endif
