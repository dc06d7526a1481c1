/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/weights.h"

#include <float.h>
#include <stdlib.h>

#include "common/checked.h"
#include "common/fail.h"

typedef struct column {
    double stay; /* probability of the column's own number */
    uint64_t other;
} column;

struct stk_weights {
    uint64_t n;
    column columns[];
};

static stk_status check_weights(const double *weights, uint64_t n, double *sum, uint64_t *largest,
                                stk_error *error)
{
    *sum = 0;
    *largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0 && weights[i] <= DBL_MAX))
            return stk_fail(error, STK_ERR_ARGUMENT,
                            "weights[%llu] is %g; weights must be finite and not negative", (unsigned long long)i,
                            weights[i]);
        *sum += weights[i];
        if (weights[i] > weights[*largest]) *largest = i;
    }
    if (!(*sum > 0 && *sum <= DBL_MAX))
        return stk_fail(error, STK_ERR_ARGUMENT, "the weights add up to %g; their sum must be positive and finite",
                        *sum);
    return STK_OK;
}

/* work holds a stack of columns with less than their share from the front, of those with more from the back. */
static void build(stk_weights *w, const double *weights, double sum, uint64_t largest, uint64_t *work)
{
    uint64_t n = w->n, n_small = 0, large = n;
    for (uint64_t i = 0; i < n; i++) {
        w->columns[i] = (column){.stay = weights[i] / sum * (double)n, .other = i};
        if (w->columns[i].stay < 1)
            work[n_small++] = i;
        else
            work[--large] = i;
    }
    while (n_small > 0 && large < n) {
        uint64_t s = work[--n_small], l = work[large];
        w->columns[s].other = l;
        w->columns[l].stay = (w->columns[l].stay + w->columns[s].stay) - 1;
        if (w->columns[l].stay < 1) {
            large++;
            work[n_small++] = l;
        }
    }
    /* What is left should have exactly 1; rounding may have left a number of weight 0 here, which must not
     * come out. */
    while (large < n) w->columns[work[large++]].stay = 1;
    while (n_small > 0) {
        uint64_t s = work[--n_small];
        w->columns[s] = weights[s] > 0 ? (column){.stay = 1, .other = s} : (column){.stay = 0, .other = largest};
    }
}

stk_status stk_weights_open(const double *weights, uint64_t n, stk_weights **out, stk_error *error)
{
    *out = NULL;
    double sum;
    uint64_t largest;
    STK_TRY(check_weights(weights, n, &sum, &largest, error));
    size_t n_bytes;
    if (!stk_mul_size((size_t)n, sizeof(column), &n_bytes) ||
        !stk_add_size(n_bytes, sizeof(stk_weights), &n_bytes))
        return stk_fail_memory(error, "the weights");
    stk_weights *w = malloc(n_bytes);
    uint64_t *work = malloc((size_t)n * sizeof *work);
    if (w == NULL || work == NULL) {
        free(w);
        free(work);
        return stk_fail_memory(error, "the weights");
    }
    w->n = n;
    build(w, weights, sum, largest, work);
    free(work);
    *out = w;
    return STK_OK;
}

void stk_weights_close(stk_weights **weights)
{
    free(*weights);
    *weights = NULL;
}

uint64_t stk_weights_draw(const stk_weights *weights, stk_rng *rng)
{
    uint64_t i = stk_rng_below(rng, weights->n);
    const column *c = &weights->columns[i];
    return stk_rng_double(rng) < c->stay ? i : c->other;
}
