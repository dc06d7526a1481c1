/* SPDX-License-Identifier: Apache-2.0
 *
 * The one-dimensional data sets beside the payload of an HDF5 file being written: values are spooled while
 * records come in, then laid down at the addresses that HDF5 gave them. */
#ifndef STK_FORMAT_HDF5_COLUMNS_H
#define STK_FORMAT_HDF5_COLUMNS_H

#include "common/hash.h"
#include "format/hdf5/hdf5_meta.h"
#include "format/shard_writer.h"
#include "format/spool.h"

/* How a column becomes data sets. */
typedef struct stk_hdf5_column {
    stk_column column; /* name owned */
    stk_spool values;  /* fixed width: elements; else the bytes of all values, one after the other */
    stk_spool ends;    /* variable length: uint64 a row, where its value ends */
    stk_spool nulls;   /* nullable: one byte a row */
    uint64_t widest;   /* longest string in bytes */
    uint64_t n_rows;
    stk_hdf5_array arrays[3]; /* values, ends (as NAME_end), nulls (as NAME_null) */
    uint32_t n_arrays;
    bool padded; /* strings as fixed-length elements (else bytes + NAME_end) */
} stk_hdf5_column;

stk_status stk_hdf5_column_init(stk_hdf5_column *c, const stk_column *column, const char *path, stk_error *error);
stk_status stk_hdf5_column_add(stk_hdf5_column *c, const stk_cell *cell, stk_error *error);
/* Decides the data sets (call once, after the last row). */
void stk_hdf5_column_plan(stk_hdf5_column *c);
/* Writes the contents to the planned arrays' addresses. */
stk_status stk_hdf5_column_write(stk_hdf5_column *c, const stk_file *file, stk_error *error);
/* Adds everything to the hasher (the data set id). */
stk_status stk_hdf5_column_hash(stk_hdf5_column *c, stk_hasher *hasher, stk_error *error);
void stk_hdf5_column_free(stk_hdf5_column *c);

#endif
