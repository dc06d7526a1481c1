/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be staged: the data set's files with their sizes and times, and the name that a copy of exactly this
 * state bears. */
#ifndef STK_STAGING_STAGE_SOURCE_H
#define STK_STAGING_STAGE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

typedef struct stk_stage_file {
    char *path; /* of the source */
    char *name; /* below the copy's folder: "train.stk", or "train/00000.stk" */
    uint64_t n_bytes;
    int64_t mtime_ns;
} stk_stage_file;

typedef struct stk_stage_source {
    char *path; /* absolute, without links */
    char *top;  /* the copy's one entry: "train.stk", "train" */
    stk_stage_file *files; /* in the order of the storage's file numbers; a folder's dataset.json comes behind */
    uint32_t n_files, n_data; /* with and without dataset.json */
    bool is_folder;
    uint64_t n_bytes; /* of all files */
    uint64_t device;  /* st_dev of the first file */
    char content[33]; /* what is in the files: 32 hex digits */
    char key[56];     /* content, '-', 16 digits over sizes and times: the copy's name */
} stk_stage_source;

/* Looks at the data set at path. content: that of .stk files and folders is their data set id; an HDF5 file has none
 * that could be had without reading it whole, so 18 pieces of it are hashed, with its size. */
stk_status stk_stage_source_open(const char *path, stk_stage_source *out, stk_error *error);
void stk_stage_source_close(stk_stage_source *source);

/* Whether sizes and times are still the same. */
bool stk_stage_source_unchanged(const stk_stage_source *source);

#endif
