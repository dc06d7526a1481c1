/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam for everything that the loader may do to a sample: a table entry with two functions. Decoding to
 * pixels is the first (work_pixels.c); gathering a crop's segments for a GPU (work_gather.c) and copying arrays
 * (work_arrays.c) are others. A batch's slot is a byte region; an entry of it is what `size` said, filled by `run`. */
#ifndef STK_READER_WORK_H
#define STK_READER_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/loader.h>

#include "codec/normalise.h"
#include "common/cpu_features.h"
#include "format/storage.h"
#include "reader/dataset_internal.h"
#include "reader/augment.h"
#include "reader/erase.h"
#include "reader/geometry.h"
#include "reader/workbench.h"

/* What all samples of a loader share. Immutable while it runs. */
typedef struct stk_work_env {
    const stk_dataset *dataset;
    stk_geometry_rule rule;
    stk_augment_rule augment; /* steps after the geometry */
    stk_erase_rule erase;     /* when augment.erases */
    stk_family family;
    stk_dtype dtype;
    stk_layout layout;
    uint32_t channels;          /* delivered */
    stk_norm_table norm;        /* float dtypes, and de-interleaving of uint8 */
    bool arrays;                /* records are arrays, all like `array`, which is that of record array_id */
    stk_array array;
    uint64_t array_id;
    const struct stk_gather_entry *resident; /* gather: what the consumer has already, or NULL */
    bool all_resident;          /* every record of the data set */
    uint32_t width, height;     /* of an entry; 0 under STK_TRANSFORM_NONE, where a batch's first record decides */
} stk_work_env;

/* One view of one sample. */
typedef struct stk_work_item {
    uint64_t epoch, id;
    uint32_t occurrence, view;
    const stk_row *row;
    const uint8_t *data;          /* the payload; NULL in `size`, and of records that the consumer has */
    uint32_t width, height;       /* that the batch's entries must have */
    uint32_t entry;               /* number of the view in the batch */
    _Atomic uint64_t *cursor;     /* packed work: next free byte of the slot */
} stk_work_item;

typedef struct stk_work {
    const char *name;
    const char *range; /* what profilers call it */
    /* True: nothing is done to samples but to pick them; payloads are not read and batches have no bytes. */
    bool picks;
    /* True: every entry of a batch takes stk_work_fixed_bytes, and size is not called. */
    bool fixed;
    /* True: entries reserve what they need of the slot as they come (item->cursor; `size` is an upper bound),
     * behind a table of entry_bytes an entry at the slot's start; region is then the whole slot. */
    bool packed;
    size_t entry_bytes;
    /* Packed work: marks an entry of a sample that is left out. */
    void (*blank)(uint8_t *region, uint32_t entry, stk_status status);
    /* Bytes of the entry, from row and geometry alone: no payload is read. */
    stk_status (*size)(const stk_work_env *env, const stk_work_item *item, size_t *n_bytes, stk_error *error);
    /* Fills region with n_bytes bytes. Runs on the team's threads, several at once, each with its own bench. */
    stk_status (*run)(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item, uint8_t *region,
                      size_t n_bytes, stk_error *error);
} stk_work;

/* Pixels: height x width x channels elements of the dtype. */
extern const stk_work stk_work_pixels;
/* What a GPU decodes (include/stoker/gather.h). */
extern const stk_work stk_work_gather;
/* Nothing: the consumer wants to know which samples come. */
extern const stk_work stk_work_picks;

/* Arrays as they are. */
extern const stk_work stk_work_arrays;

/* Whether a selection (ids NULL: the whole data set) is of arrays, as its first readable record tells: *found, with that
 * record's type and shape and its number. An error when it begins with arrays none of which can be read. */
stk_status stk_work_find_array(const stk_dataset *dataset, const uint64_t *ids, uint64_t n_ids, stk_array *out,
                               uint64_t *id, bool *found, stk_error *error);

/* True when the consumer has record `id`: its payload is not wanted. */
bool stk_work_resident(const stk_work_env *env, uint64_t id);

/* Bytes of a decoded entry; false when that overflows. */
bool stk_work_fixed_bytes(const stk_work_env *env, uint32_t width, uint32_t height, size_t *n_bytes);

#endif
