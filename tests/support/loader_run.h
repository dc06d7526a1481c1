/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a loader and writing down what it delivered: for each entry of an epoch its id, occurrence and a hash of
 * its pixels. */
#ifndef STK_TESTS_LOADER_RUN_H
#define STK_TESTS_LOADER_RUN_H

#include <stoker/stoker.h>

#include "common/hash.h"
#include "support/check.h"

typedef struct run_entry {
    uint64_t id, pixels;
    uint32_t occurrence;
    int32_t status;
    bool valid; /* not padding */
} run_entry;

typedef struct run_log {
    run_entry *entries;
    size_t n, capacity;
    uint64_t batches;
} run_log;

static inline void run_append(run_log *log, const stk_batch *b)
{
    for (uint32_t e = 0; e < b->n; e++) {
        if (log->n == log->capacity) {
            log->capacity = log->capacity * 2 + 256;
            log->entries = realloc(log->entries, log->capacity * sizeof *log->entries);
            if (log->entries == NULL) exit(1);
        }
        const uint8_t *data = (const uint8_t *)b->data + e * b->sample_bytes;
        log->entries[log->n++] = (run_entry){.id = b->ids[e],
                                             .pixels = stk_hash64(data, b->sample_bytes),
                                             .occurrence = b->occurrences[e],
                                             .status = b->statuses[e],
                                             .valid = e < b->n_valid};
    }
    log->batches++;
}

/* Takes up to max_batches batches, or until STK_END; true when the epoch ended. */
static inline bool run_batches(stk_loader *l, run_log *log, uint64_t max_batches)
{
    stk_error error;
    for (uint64_t k = 0; k < max_batches; k++) {
        stk_batch *b = NULL;
        stk_status status = stk_loader_next(l, 60000, &b, &error);
        if (status == STK_END) return true;
        CHECK_EQ(status, STK_OK);
        if (status != STK_OK) {
            fprintf(stderr, "%s\n", error.text);
            exit(1);
        }
        run_append(log, b);
        stk_batch_release(b);
    }
    return false;
}

static inline void run_free(run_log *log)
{
    free(log->entries);
    *log = (run_log){0};
}

static inline stk_dataset *run_open(const char *path)
{
    stk_error error;
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, NULL, &d, &error));
    if (d == NULL) exit(1);
    return d;
}

static inline stk_loader *run_loader(const stk_dataset *d, const stk_loader_options *o)
{
    stk_error error;
    stk_loader *l = NULL;
    CHECK_OK(stk_loader_open(d, o, &l, &error));
    if (l == NULL) exit(1);
    return l;
}

#endif
