/* SPDX-License-Identifier: Apache-2.0
 *
 * The page-local order: pages of `rows` samples are permuted (all pages of the set, so that a class-sorted set
 * comes out mixed), cut into windows of at least `page_window` pages, and the samples of a window are permuted
 * among themselves. The last page may hold fewer rows; it takes a random slot among the others, so that
 * it is not always seen last. Everything is arithmetic on the place: no list of pages is kept. */
#include "reader/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/rng.h"
#include "reader/weights.h"

__extension__ typedef unsigned __int128 u128;

struct stk_sampler {
    stk_order order;
    uint64_t seed;
    uint64_t n;      /* samples to choose from */
    uint64_t drawn;  /* places before repeats */
    uint64_t length; /* drawn * repeats */
    uint32_t repeats;
    uint64_t *indices;    /* NULL = identity */
    stk_weights *weights; /* NULL but under STK_ORDER_WEIGHTED */
    uint64_t rows;        /* page order: samples a page */
    uint64_t n_pages, n_windows;
    uint64_t selection;
};

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static stk_status copy_indices(stk_sampler *s, const stk_sampler_options *o, stk_error *error)
{
    s->n = o->n_records;
    if (o->indices == NULL) return STK_OK;
    size_t n_bytes;
    if (o->n_indices == 0) return stk_fail(error, STK_ERR_ARGUMENT, "the subset (indices) is empty");
    if (!stk_mul_size(o->n_indices, sizeof *s->indices, &n_bytes)) return stk_fail_memory(error, "the subset");
    s->indices = malloc(n_bytes);
    if (s->indices == NULL) return stk_fail_memory(error, "the subset");
    for (uint64_t i = 0; i < o->n_indices; i++) {
        if (o->indices[i] >= o->n_records)
            return stk_fail(error, STK_ERR_ARGUMENT, "indices[%llu] is %llu, but the data set has %llu records",
                            (unsigned long long)i, (unsigned long long)o->indices[i],
                            (unsigned long long)o->n_records);
        s->indices[i] = o->indices[i];
    }
    s->n = o->n_indices;
    /* Neighbours in a page must be neighbours on disk, whatever order the caller listed them in. */
    if (o->order == STK_ORDER_PAGE) qsort(s->indices, (size_t)s->n, sizeof *s->indices, compare_ids);
    return STK_OK;
}

static void plan_pages(stk_sampler *s, const stk_sampler_options *o)
{
    uint64_t mean = o->n_records > 0 ? o->total_bytes / o->n_records : 0;
    if (mean == 0) mean = 1;
    s->rows = STK_PAGE_BYTES / mean;
    if (s->rows == 0) s->rows = 1;
    if (o->chunk_rows > 1) s->rows = (s->rows + o->chunk_rows - 1) / o->chunk_rows * o->chunk_rows;
    if (s->rows > s->n) s->rows = s->n;
    s->n_pages = (s->n + s->rows - 1) / s->rows;
    s->n_windows = s->n_pages / o->page_window;
    if (s->n_windows == 0) s->n_windows = 1;
}

/* Two loaders with equal selections walk the same sequence for the same seed. */
static stk_status hash_selection(stk_sampler *s, const stk_sampler_options *o, stk_error *error)
{
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return stk_fail_memory(error, "the sampler");
    uint64_t head[8] = {(uint64_t)o->order, s->n, s->length, o->repeats, s->indices != NULL, s->rows, s->n_windows,
                        o->weights != NULL};
    stk_hasher_add(hasher, head, sizeof head);
    if (s->indices != NULL) stk_hasher_add(hasher, s->indices, (size_t)s->n * sizeof *s->indices);
    if (o->order == STK_ORDER_WEIGHTED) stk_hasher_add(hasher, o->weights, (size_t)s->n * sizeof *o->weights);
    s->selection = stk_hasher_result64(hasher);
    stk_hasher_close(&hasher);
    return STK_OK;
}

static stk_status set_up(stk_sampler *s, const stk_sampler_options *o, stk_error *error)
{
    s->order = o->order;
    s->seed = o->seed;
    s->repeats = o->repeats;
    STK_TRY(copy_indices(s, o, error));
    if (s->n == 0) return stk_fail(error, STK_ERR_ARGUMENT, "the data set has no records");
    s->drawn = s->n;
    if (o->order == STK_ORDER_WEIGHTED) {
        if (o->weights == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "the weighted order needs weights");
        STK_TRY(stk_weights_open(o->weights, s->n, &s->weights, error));
        if (o->n_draws != 0) s->drawn = o->n_draws;
    } else if (o->weights != NULL || o->n_draws != 0) {
        return stk_fail(error, STK_ERR_ARGUMENT, "weights and n_draws belong to the weighted order only");
    }
    if (o->order == STK_ORDER_PAGE) plan_pages(s, o);
    if (!stk_mul_u64(s->drawn, s->repeats, &s->length) || s->length > UINT64_MAX / 4)
        return stk_fail(error, STK_ERR_ARGUMENT, "an epoch of %llu samples, %u times each, is too long",
                        (unsigned long long)s->drawn, s->repeats);
    if (s->weights != NULL && s->length > UINT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT, "n_draws * repeats must be below 2^32; use more epochs");
    return hash_selection(s, o, error);
}

stk_status stk_sampler_open(const stk_sampler_options *options, stk_sampler **out, stk_error *error)
{
    *out = NULL;
    if (options->repeats == 0) return stk_fail(error, STK_ERR_ARGUMENT, "repeats must be at least 1");
    if (options->order == STK_ORDER_PAGE && options->page_window < 64)
        return stk_fail(error, STK_ERR_ARGUMENT, "page_window must be at least 64 pages: fewer mix too little");
    stk_sampler *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "the sampler");
    stk_status status = set_up(s, options, error);
    if (status == STK_OK)
        *out = s;
    else
        stk_sampler_close(&s);
    return status;
}

void stk_sampler_close(stk_sampler **sampler)
{
    if (*sampler == NULL) return;
    free((*sampler)->indices);
    stk_weights_close(&(*sampler)->weights);
    free(*sampler);
    *sampler = NULL;
}

uint64_t stk_sampler_length(const stk_sampler *sampler) { return sampler->length; }
uint64_t stk_sampler_selection(const stk_sampler *sampler) { return sampler->selection; }

const char *stk_sampler_order_name(const stk_sampler *sampler)
{
    switch (sampler->order) {
    case STK_ORDER_SHUFFLE: return "shuffle";
    case STK_ORDER_SEQUENTIAL: return "sequential";
    case STK_ORDER_PAGE: return "page";
    case STK_ORDER_WEIGHTED: return "weighted";
    }
    return "unknown";
}

uint32_t stk_sampler_order_version(const stk_sampler *sampler)
{
    switch (sampler->order) {
    case STK_ORDER_SHUFFLE: return STK_SAMPLER_VERSION_SHUFFLE;
    case STK_ORDER_SEQUENTIAL: return STK_SAMPLER_VERSION_SEQUENTIAL;
    case STK_ORDER_PAGE: return STK_SAMPLER_VERSION_PAGE;
    case STK_ORDER_WEIGHTED: return STK_SAMPLER_VERSION_WEIGHTED;
    }
    return 0;
}

void stk_sampler_begin(const stk_sampler *s, uint64_t epoch, stk_sampler_view *view)
{
    *view = (stk_sampler_view){.epoch = epoch, .window = UINT64_MAX};
    if (s->order == STK_ORDER_SHUFFLE) stk_permutation_init(&view->order, s->n, s->seed, epoch);
    if (s->order == STK_ORDER_PAGE) {
        stk_permutation_init(&view->order, s->n_pages - 1, s->seed, epoch);
        stk_rng rng = stk_rng_for(s->seed, epoch, 0, 1, 0, STK_PURPOSE_ORDER);
        view->short_slot = stk_rng_below(&rng, s->n_pages);
    }
}

/* The first place of a page slot (slots are pages in their permuted order). */
static uint64_t slot_start(const stk_sampler *s, const stk_sampler_view *view, uint64_t slot)
{
    uint64_t missing = s->n_pages * s->rows - s->n;
    return slot * s->rows - (slot > view->short_slot ? missing : 0);
}

static uint64_t slot_of(const stk_sampler *s, const stk_sampler_view *view, uint64_t place)
{
    uint64_t missing = s->n_pages * s->rows - s->n, short_start = view->short_slot * s->rows;
    if (place < short_start) return place / s->rows;
    if (place < short_start + s->rows - missing) return view->short_slot;
    return (place + missing) / s->rows;
}

/* Makes `inner` the permutation of the window that holds place. Window w has the slots
 * floor(w P / W) .. floor((w + 1) P / W) - 1 for P pages in W windows. */
static void enter_window(const stk_sampler *s, stk_sampler_view *view, uint64_t place)
{
    if (view->window != UINT64_MAX && place >= view->window_start && place < view->window_end) return;
    u128 slot = slot_of(s, view, place);
    uint64_t w = (uint64_t)(((slot + 1) * s->n_windows - 1) / s->n_pages);
    view->window = w;
    view->window_start = slot_start(s, view, (uint64_t)((u128)w * s->n_pages / s->n_windows));
    view->window_end = w + 1 == s->n_windows
                           ? s->n
                           : slot_start(s, view, (uint64_t)((u128)(w + 1) * s->n_pages / s->n_windows));
    stk_rng rng = stk_rng_for(s->seed, view->epoch, w, 2, 0, STK_PURPOSE_ORDER);
    stk_permutation_init(&view->inner, view->window_end - view->window_start, stk_rng_u64(&rng), view->epoch);
}

static uint64_t page_local(const stk_sampler *s, stk_sampler_view *view, uint64_t place)
{
    enter_window(s, view, place);
    uint64_t mixed = view->window_start + stk_permute(&view->inner, place - view->window_start);
    uint64_t slot = slot_of(s, view, mixed);
    uint64_t page = s->n_pages - 1;
    if (slot != view->short_slot) page = stk_permute(&view->order, slot < view->short_slot ? slot : slot - 1);
    return page * s->rows + (mixed - slot_start(s, view, slot));
}

stk_pick stk_sampler_at(const stk_sampler *s, stk_sampler_view *view, uint64_t place)
{
    uint64_t draw = s->repeats == 1 ? place : place / s->repeats;
    uint32_t occurrence = s->repeats == 1 ? 0 : (uint32_t)(place % s->repeats);
    uint64_t k = draw;
    switch (s->order) {
    case STK_ORDER_SHUFFLE: k = stk_permute(&view->order, draw); break;
    case STK_ORDER_SEQUENTIAL: break;
    case STK_ORDER_PAGE: k = page_local(s, view, draw); break;
    case STK_ORDER_WEIGHTED: {
        /* Counting how often a sample came before would cost a replay on resuming; the number of the draw
         * keeps repeated draws apart just as well. */
        stk_rng rng = stk_rng_for(s->seed, view->epoch, draw, 0, 0, STK_PURPOSE_WEIGHT);
        k = stk_weights_draw(s->weights, &rng);
        occurrence = (uint32_t)place;
        break;
    }
    }
    return (stk_pick){.id = s->indices == NULL ? k : s->indices[k], .occurrence = occurrence};
}

uint64_t stk_sampler_window_end(const stk_sampler *s, stk_sampler_view *view, uint64_t place)
{
    if (s->order != STK_ORDER_PAGE) return s->length;
    enter_window(s, view, place / s->repeats);
    return view->window_end * s->repeats;
}
