/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources that are no files of their own: the records of an HDF5 file, the members of a tar. A list
 * (sources.h) whose `store` is set takes its bytes from there instead of opening names below the root; names,
 * labels, classes and columns are set as for any list. */
#ifndef STK_PACKER_SOURCE_STORE_H
#define STK_PACKER_SOURCE_STORE_H

#include <stoker/pack.h>

#include "packer/sources.h"

typedef struct stk_source_store {
    /* Bytes of the entry as a file's content; from any number of threads. */
    stk_status (*read)(struct stk_source_store *self, uint64_t position, stk_buffer *out, stk_error *error);
    uint64_t (*size)(struct stk_source_store *self, uint64_t position);
    void (*close)(struct stk_source_store *self);
    /* Whether the entry is pixels (as PNM) and no file that could be kept verbatim. NULL: all are files. */
    bool (*decoded)(struct stk_source_store *self, uint64_t position);
} stk_source_store;

/* Lists the records of the data set at path (store_dataset.c): an HDF5 file, as options->source says. */
stk_status stk_store_dataset(const char *path, const stk_pack_options *options, stk_sources *out, stk_error *error);

/* Lists the pictures in a tar, plain or compressed, grouped as WebDataset does (store_tar.c). beside: the output,
 * beside which an unnamed temporary file lies meanwhile. */
stk_status stk_store_tar(const char *path, const char *beside, stk_sources *out, stk_error *error);

/* Shared by both: a list of n entries in one folder, named by names[] (text one after the other, each ended by a
 * zero; taken over). */
stk_status stk_store_list(stk_sources *sources, const char *path, stk_buffer *names, uint64_t n, stk_error *error);

#endif
