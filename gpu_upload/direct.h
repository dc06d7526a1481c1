/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an uploader's batches need no plan (hd_direct.h), and what such batches have in common. */
#ifndef STK_GPU_DIRECT_H
#define STK_GPU_DIRECT_H

#include <stoker/gather.h>
#include <stoker/loader.h>

#include "gpu_upload/device_memory.h"
#include "gpu_upload/hd_direct.h"

typedef struct stk_direct_set {
    bool on;
    stk_gpu_direct common;
    stk_gpu_block places; /* of all records, in device memory */
} stk_direct_set;

/* entries: [n_records] of the resident records; memory: where they are. Uploads the places on `stream` where it can be
 * done so, else leaves set->on false. */
stk_status stk_direct_open(stk_gpu_share *share, const stk_loader_options *options, const stk_gather_entry *entries,
                           uint64_t n_records, const uint8_t *memory, void *stream, stk_direct_set *set, stk_error *error);
void stk_direct_close(stk_gpu_share *share, stk_direct_set *set);

#endif
