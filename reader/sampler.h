/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sample comes when. An epoch is one sequence of places 0 .. length-1; a place's sample is a pure function
 * of (order, seed, epoch, place), so the whole state of a loader is one number, and ranks need not talk.
 *
 * Orders are versioned (STK_SAMPLER_VERSION_*): saved states name the version, golden tests hold the output. */
#ifndef STK_READER_SAMPLER_H
#define STK_READER_SAMPLER_H

#include <stdint.h>

#include <stoker/loader.h>
#include <stoker/status.h>

#include "common/permute.h"

enum {
    STK_SAMPLER_VERSION_SHUFFLE = 1,
    STK_SAMPLER_VERSION_SEQUENTIAL = 1,
    STK_SAMPLER_VERSION_PAGE = 1,
    STK_SAMPLER_VERSION_WEIGHTED = 1
};

/* Pages of the page-local order hold about this many bytes of payload. Reads are asked for by ranges of the
 * window, sorted, so larger pages would not make them more sequential; smaller windows start sooner and need
 * less memory (64 pages: 128 MiB). */
enum { STK_PAGE_BYTES = 2 << 20 };

typedef struct stk_sampler_options {
    stk_order order;
    uint64_t seed;
    uint64_t n_records;      /* of the data set */
    uint64_t total_bytes;    /* of the data set: mean record size, hence rows a page */
    const uint64_t *indices; /* NULL = all; copied */
    uint64_t n_indices;
    const double *weights; /* STK_ORDER_WEIGHTED: one a sample; copied */
    uint64_t n_draws;      /* STK_ORDER_WEIGHTED; 0 = number of samples */
    uint32_t repeats;
    uint32_t page_window;
    uint64_t chunk_rows; /* page order: pages are whole multiples of this many records; 0 = any */
} stk_sampler_options;

/* Immutable after open: any number of threads. */
typedef struct stk_sampler stk_sampler;

stk_status stk_sampler_open(const stk_sampler_options *options, stk_sampler **out, stk_error *error);
void stk_sampler_close(stk_sampler **sampler);

/* Places in an epoch. */
uint64_t stk_sampler_length(const stk_sampler *sampler);
/* Hash of everything but seed and data set that the sequence depends on (subset, weights, repeats ...). */
uint64_t stk_sampler_selection(const stk_sampler *sampler);
const char *stk_sampler_order_name(const stk_sampler *sampler);
uint32_t stk_sampler_order_version(const stk_sampler *sampler);

/* Keys of one epoch, and of the window last looked at. Owned by one thread at a time; cheap to make. */
typedef struct stk_sampler_view {
    uint64_t epoch;
    stk_permutation order; /* of samples, or of full pages */
    uint64_t short_slot;   /* page order: where the one page with fewer rows comes */
    uint64_t window;       /* page order: which one `inner` is of; UINT64_MAX = none */
    uint64_t window_start, window_end; /* places */
    stk_permutation inner;
} stk_sampler_view;

void stk_sampler_begin(const stk_sampler *sampler, uint64_t epoch, stk_sampler_view *view);

typedef struct stk_pick {
    uint64_t id;         /* position in the data set */
    uint32_t occurrence; /* repeat number; with weights the number of the draw */
} stk_pick;

/* The sample at a place < length. */
stk_pick stk_sampler_at(const stk_sampler *sampler, stk_sampler_view *view, uint64_t place);

/* First place of the page window after the one that holds place (length when it is the last); under other
 * orders length. Read-ahead sorts its requests within a window. */
uint64_t stk_sampler_window_end(const stk_sampler *sampler, stk_sampler_view *view, uint64_t place);

#endif
