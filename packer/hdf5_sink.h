/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing to one HDF5 file (docs/hdf5.md). */
#ifndef STK_PACKER_HDF5_SINK_H
#define STK_PACKER_HDF5_SINK_H

#include <stoker/pack.h>

#include "format/shard_writer.h"
#include "packer/uniform.h"

/* Whether the output at dst is to be HDF5. Errors: an unknown format, or one that this build does not have;
 * options that do not go with it. */
stk_status stk_hdf5_wanted(const char *dst, const stk_pack_options *options, bool *wanted, stk_error *error);

/* Refuses names for what parts are merged to that say HDF5 or another format. */
stk_status stk_merge_name(const char *dst, stk_error *error);

typedef struct stk_hdf5_sink stk_hdf5_sink;

typedef struct stk_hdf5_sink_options {
    const char *path;
    stk_shard_writer_options columns; /* columns and table sets */
    uint64_t max_records;
    stk_uniform size;
    uint32_t chunk_images;
    const char *filter;
    uint32_t n_threads;
    const char *metadata; /* kept by the caller, as the class names */
    const char *const *class_names;
    uint32_t n_classes;
} stk_hdf5_sink_options;

stk_status stk_hdf5_sink_open(const stk_hdf5_sink_options *options, stk_hdf5_sink **out, stk_error *error);
stk_status stk_hdf5_sink_add(stk_hdf5_sink *sink, const stk_record *record, stk_error *error);
/* id gets 33 bytes. */
stk_status stk_hdf5_sink_finish(stk_hdf5_sink *sink, char *id, stk_error *error);
/* Frees; an unfinished file is removed. */
void stk_hdf5_sink_close(stk_hdf5_sink **sink);

#endif
