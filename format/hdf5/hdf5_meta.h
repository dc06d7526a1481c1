/* SPDX-License-Identifier: Apache-2.0
 *
 * The HDF5 structure of a file that stoker writes: made by libhdf5 in a file of its own (which stays sparse,
 * since the payload's place is reserved but never written), then copied round the payload.
 *
 * Why it fits: with a metadata block as large as `head_bytes` all metadata that exists when the first data set
 * is allocated lies below head_bytes, and the first data set, allocated early and never filled, starts there
 * (measured with 1.10.8, 1.14 and 2.0; checked each time, first, middle and last chunk). */
#ifndef STK_FORMAT_HDF5_META_H
#define STK_FORMAT_HDF5_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/status.h>

/* One one-dimensional data set beside the payload. Element types as in stk_type; strings are fixed-length. */
typedef struct stk_hdf5_array {
    char name[256];
    stk_type type;       /* STRING: UTF-8, BYTES: raw, both `width` bytes an element, zero-padded */
    uint64_t n;          /* rows */
    uint32_t n_items;    /* second dimension; 1 = none */
    uint32_t width;      /* strings: bytes an element */
    uint64_t address;    /* set: where its contiguous bytes belong */
    uint64_t n_bytes;    /* set */
} stk_hdf5_array;

typedef struct stk_hdf5_shape {
    bool uniform;
    const stk_array *array; /* `data` is arrays of this type and shape; NULL: bytes, or uniform images */
    uint64_t n_records;
    uint64_t payload_bytes; /* blob layout: size of `data` */
    uint32_t width, height, channels, chunk_images;
    int deflate_level;   /* -1 = no filter */
    bool lzf;
    uint64_t head_bytes; /* where the payload starts */
    const char *metadata, *id;
    const char *const *class_names;
    uint32_t n_classes;
} stk_hdf5_shape;

/* Room that the structure needs before the payload, for at most max_records records. */
uint64_t stk_hdf5_head_bytes(const stk_hdf5_shape *shape, uint64_t max_records);

/* Creates path with everything but contents; sets the arrays' addresses. STK_ERR_INTERNAL when the payload
 * would not start at head_bytes (a libhdf5 that allocates otherwise). */
stk_status stk_hdf5_meta_write(const char *path, const stk_hdf5_shape *shape, stk_hdf5_array *arrays, size_t n_arrays,
                               stk_error *error);

/* A file whose chunks libhdf5 places itself, for filtered images: opened, fed with compressed chunks in order,
 * finished with the arrays. */
typedef struct stk_hdf5_chunked stk_hdf5_chunked;
stk_status stk_hdf5_chunked_open(const char *path, const stk_hdf5_shape *shape, uint64_t max_records,
                                 stk_hdf5_chunked **out, stk_error *error);
/* n_rows: images in the file with this chunk (it grows with each, since shrinking would decompress). */
stk_status stk_hdf5_chunked_add(stk_hdf5_chunked *file, uint64_t chunk, uint64_t n_rows, uint32_t filter_mask,
                                const void *data, size_t n_bytes, stk_error *error);
stk_status stk_hdf5_chunked_finish(stk_hdf5_chunked *file, const stk_hdf5_shape *shape, stk_hdf5_array *arrays,
                                   size_t n_arrays, stk_error *error);
void stk_hdf5_chunked_close(stk_hdf5_chunked **file);

/* The version that this was compiled with: asking the library would start it, in a process that must not. */
const char *stk_hdf5_version(void);

#endif
