/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing with replacement in proportion to weights, in constant time: the alias method (Walker 1977, tables as
 * Vose 1991 builds them). Same weights, same table, on every machine. Immutable after open. */
#ifndef STK_READER_WEIGHTS_H
#define STK_READER_WEIGHTS_H

#include <stdint.h>

#include <stoker/status.h>

#include "common/rng.h"

typedef struct stk_weights stk_weights;

/* n >= 1 weights: finite, not negative, with a positive sum; 16 bytes a weight are kept. */
stk_status stk_weights_open(const double *weights, uint64_t n, stk_weights **out, stk_error *error);
void stk_weights_close(stk_weights **weights);

/* A number 0 .. n-1. One of weight 0 never comes. */
uint64_t stk_weights_draw(const stk_weights *weights, stk_rng *rng);

#endif
