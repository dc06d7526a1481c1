/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding shards to a folder of them: what is there must agree with what comes, and readers that run keep what they
 * opened, since nothing that dataset.json has named changes and dataset.json is replaced last. */
#ifndef STK_PACKER_APPEND_H
#define STK_PACKER_APPEND_H

#include <stoker/pack.h>

#include "format/folder_manifest.h"
#include "packer/output.h"
#include "packer/pack_job.h"
#include "packer/source_history.h"

typedef struct stk_append {
    stk_manifest manifest; /* as it is before */
    stk_folder_shard *before;
    uint32_t first_number; /* of the new shards' names */
    char job[17];
    stk_history history; /* DST.sources, when it belongs to the data set */
    bool has_history;
} stk_append;

/* Reads what is at the locked job's place: STK_ERR_UNSUPPORTED when that is no folder of shards. */
stk_status stk_append_open(const stk_job *job, const stk_pack_options *options, stk_append *out, stk_error *error);
void stk_append_close(stk_append *append);

/* Names the job. STK_ERR_EXISTS when it was appended already, unless forced: a run that was killed at its very end
 * must not add everything twice. */
stk_status stk_append_begin(stk_append *append, uint64_t job_id, bool force, const char *dst, stk_error *error);

/* Gives the sources the data set's classes, with new ones behind them. STK_ERR_ARGUMENT when only one of both has
 * labels or class names. */
stk_status stk_append_classes(const stk_append *append, stk_sources *sources, stk_error *error);

/* Compares parameters, which the metadata and DST.sources tell of, and columns; makes nullable and dictionary of the
 * columns those of the data set. STK_ERR_ARGUMENT names what differs. */
stk_status stk_append_check(const stk_append *append, const char *metadata, const char *recipe, stk_column *columns,
                            uint32_t n_columns, stk_error *error);

/* How many of the sources' paths the data set holds already, by DST.sources; 0 without it. */
stk_status stk_append_count_known(const stk_append *append, const stk_sources *sources, uint64_t *n, stk_error *error);

/* Where the output begins. */
void stk_append_output(const stk_append *append, stk_output_options *options);

/* Moves the finished shards into the folder, replaces dataset.json, then the lists beside it, which go on with what
 * they held. */
stk_status stk_append_commit(const stk_append *append, const stk_job *job, const char *dataset_id, stk_error *error);

#endif
