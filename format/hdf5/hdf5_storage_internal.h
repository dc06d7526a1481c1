/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the HDF5 storage share. */
#ifndef STK_FORMAT_HDF5_STORAGE_INTERNAL_H
#define STK_FORMAT_HDF5_STORAGE_INTERNAL_H

#include "format/hdf5/hdf5_array.h"
#include "format/hdf5/hdf5_child.h"
#include "format/hdf5/hdf5_select.h"
#include "format/hdf5/hdf5_series.h"
#include "format/storage.h"

/* The data sets of our own files that are no user columns, as numbers into core[]. */
enum { H5_XXH3, H5_OFFSET, H5_LENGTH, H5_WIDTH, H5_HEIGHT, H5_ENCODING, H5_ORIENTATION, H5_CHANNELS, H5_TABLES,
       H5_CORE_COUNT };

typedef struct h5_column {
    stk_h5_series *values, *ends, *nulls; /* the last two may be NULL */
    stk_h5_array *loose;                  /* variable-length values: elements by position; then values is NULL */
} h5_column;

typedef struct h5_table_set {
    uint8_t *bytes;
    size_t n_bytes;
} h5_table_set;

typedef struct h5_storage {
    stk_storage base;
    char *path;
    stk_file file;
    uint64_t file_bytes;
    stk_h5_child *child;
    const stk_h5_plan *plan;
    stk_h5_selection selection;
    stk_h5_array *images;      /* pixels and arrays */
    stk_h5_series *references; /* variable-length blobs */
    stk_h5_series *labels;
    stk_h5_series *core[H5_CORE_COUNT];
    double range_min, range_max;
    stk_array array; /* of array records: type and shape */
    bool plain;      /* rows are served by their address where they have one */
    stk_column *columns;
    h5_column *sources;
    uint32_t n_sources;
    char **class_names;
    h5_table_set *table_sets;
    char *metadata;
    char road[160], slow[400];
    char *contents;
} h5_storage;

/* hdf5_storage_columns.c */
stk_status stk_h5_open_columns(h5_storage *s, stk_error *error);
void stk_h5_close_columns(h5_storage *s);
stk_status stk_h5_column_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                               stk_value *out, stk_error *error);
/* The stk_type of a data set's elements; false when there is none. */
bool stk_h5_type_of(const stk_h5_dataset *d, stk_type *out);
/* True for the data sets of our own files that are no user columns. */
bool stk_h5_is_core_name(const char *name);

/* hdf5_storage_fetch.c */
stk_status stk_h5_fetch(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error);

#endif
