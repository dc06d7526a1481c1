/* SPDX-License-Identifier: Apache-2.0
 *
 * Where records go: one shard, a folder of shards of limited size with its dataset.json, or an HDF5 file. */
#ifndef STK_PACKER_OUTPUT_H
#define STK_PACKER_OUTPUT_H

#include <stdint.h>

#include <stoker/dataset.h>

#include "format/folder.h"
#include "format/shard_writer.h"
#include "packer/hdf5_sink.h"

typedef struct stk_output stk_output;

typedef struct stk_output_options {
    const char *path; /* of the shard or of the folder, which exists; kept by the caller */
    bool folder;
    uint64_t shard_bytes; /* of a folder's shards, about: a shard is closed before a record would pass it */
    const stk_column *columns; /* kept by the caller */
    uint32_t n_columns;
    const uint8_t *tables; /* a shared table set, or NULL; kept by the caller */
    size_t n_table_bytes;
    const char *metadata; /* kept by the caller */
    /* Behind what a folder holds already (append.h); all 0 for a new one. Kept by the caller. */
    const stk_folder_shard *before;
    uint32_t n_before;
    uint64_t first_record;
    uint32_t first_number, first_table_set;
    bool labels_before;
    const char *job; /* noted with the new shards; NULL: none */
    /* NULL: .stk. Else path, metadata and columns are filled in from the above; copied. */
    const stk_hdf5_sink_options *hdf5;
} stk_output_options;

stk_status stk_output_open(const stk_output_options *options, stk_output **out, stk_error *error);
stk_status stk_output_add(stk_output *output, const stk_record *record, stk_error *error);

/* Going on where a killed run was: its files lie at the path, and n_records of its records are to be adopted,
 * one by one in their order, before any is added. *adopted false: from here on they must be added. */
void stk_output_resume(stk_output *output, uint64_t n_records);
stk_status stk_output_adopt(stk_output *output, int64_t label, const stk_cell *cells, bool *adopted,
                            stk_error *error);
/* Writes what is in memory and makes close leave unfinished files where they are. */
stk_status stk_output_keep(stk_output *output, stk_error *error);

uint64_t stk_output_records(const stk_output *output);
/* Ends all files, fsyncs. id gets 33 bytes; *n_bytes the size of all files. */
stk_status stk_output_finish(stk_output *output, char *id, uint64_t *n_bytes, stk_error *error);
/* Frees; unfinished files are removed. */
void stk_output_close(stk_output **output);

#endif
