/* SPDX-License-Identifier: Apache-2.0
 *
 * A stateless bijection of 0 .. n-1: exact shuffles without a permutation array. Versioned: golden tests
 * hold its output, since stored shards (--shuffle) and saved loader states depend on it. */
#ifndef STK_COMMON_PERMUTE_H
#define STK_COMMON_PERMUTE_H

#include <stdint.h>

enum { STK_PERMUTE_VERSION = 1 };

/* Keys for one shuffle, derived once from (seed, epoch). */
typedef struct stk_permutation {
    uint64_t n;
    uint32_t half_bits;
    uint64_t keys[6];
} stk_permutation;

void stk_permutation_init(stk_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch);

/* The image of i (i < n): each value 0 .. n-1 occurs once. */
uint64_t stk_permute(const stk_permutation *p, uint64_t i);

#endif
