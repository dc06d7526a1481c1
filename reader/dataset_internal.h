/* SPDX-License-Identifier: Apache-2.0
 *
 * An open data set: a storage (format/), the road to its payloads, shared tile tables built once, and
 * workbenches for calls that decode. Immutable for callers; what is filled in later is published
 * atomically, without locks, so that a child after fork() finds nothing locked. */
#ifndef STK_READER_DATASET_INTERNAL_H
#define STK_READER_DATASET_INTERNAL_H

#include <stdatomic.h>

#include <stoker/dataset.h>

#include "codec/tiles.h"
#include "format/storage.h"
#include "reader/changeover.h"
#include "reader/payload.h"
#include "reader/workbench.h"

enum { STK_SPARE_BENCHES = 16 };

struct stk_dataset {
    stk_storage *storage;       /* rows, columns, metadata: the source's, or a whole staged copy's (changeover.h) */
    stk_storage *source;        /* of the path that was opened */
    stk_changeover *changeover; /* NULL = without options.stage */
    stk_payload_source *payload;
    const stk_dataset **parts; /* of a joined one; they outlive it */
    uint32_t n_parts;
    stk_dataset_options options;
    uint32_t path_column;                 /* UINT32_MAX = packed without paths */
    uint32_t accepted_damage;             /* kinds that the packer was told to keep, and stray bytes */
    _Atomic(stk_tile_tables *) *tables;   /* [n_table_sets], NULL = not built yet */
    _Atomic(stk_workbench *) spare[STK_SPARE_BENCHES];
};

/* The options' own faults. */
stk_status stk_dataset_options_check(const stk_dataset_options *options, stk_error *error);

/* A data set over a storage, which it takes, also on failure. path: where that lies, for staging; NULL: nowhere of its
 * own, and options.stage has no effect. */
stk_status stk_dataset_over(stk_storage *storage, const char *path, const stk_dataset_options *options,
                            stk_dataset **out, stk_error *error);

/* What the copies of a joined data set's parts come to. */
void stk_dataset_stage_of_parts(const stk_dataset *dataset, stk_dataset_stage_info *out);

/* Row i, with i checked against the length. */
stk_status stk_dataset_row(const stk_dataset *dataset, uint64_t i, stk_row *row, stk_error *error);

/* The same, with what the row does not tell of an image taken from its payload (stk_row_resolve). */
stk_status stk_dataset_image_row(const stk_dataset *dataset, uint64_t i, stk_row *row, stk_error *error);

/* The shared table set that a row names (row->tables), built at first use; NULL when it names none. */
stk_status stk_dataset_tables(const stk_dataset *dataset, const stk_row *row, const stk_tile_tables **out,
                              stk_error *error);

/* A workbench for one call, from the spare ones or new; to be given back. */
stk_status stk_dataset_take_bench(const stk_dataset *dataset, stk_workbench **out, stk_error *error);
void stk_dataset_give_bench(const stk_dataset *dataset, stk_workbench *bench);

/* Puts "record 12 (cats/1.jpg): " before the error's text, so that a person can find the image. */
void stk_dataset_name_record(const stk_dataset *dataset, uint64_t i, stk_error *error);

#endif
