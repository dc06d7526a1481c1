/* SPDX-License-Identifier: Apache-2.0
 *
 * A balanced Feistel network over the smallest even number of bits that holds n, with cycle walking: values
 * outside 0 .. n-1 are sent through again until they land inside (at most 4 times n, so fewer than four
 * rounds on average). Six rounds of SplitMix64's finaliser: Luby-Rackoff needs four for strong
 * pseudo-randomness with ideal round functions; two more for small halves. */
#include "common/permute.h"

#include "common/rng.h"

enum { ROUNDS = 6 };

void stk_permutation_init(stk_permutation *p, uint64_t n, uint64_t seed, uint64_t epoch)
{
    p->n = n;
    uint32_t bits = 2;
    while (bits < 64 && (n > ((uint64_t)1 << bits))) bits += 2;
    p->half_bits = bits / 2;
    stk_rng rng = stk_rng_for(seed, epoch, 0, 0, 0, STK_PURPOSE_ORDER);
    for (int r = 0; r < ROUNDS; r++) p->keys[r] = stk_rng_u64(&rng);
}

static uint64_t feistel(const stk_permutation *p, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << p->half_bits) - 1;
    uint64_t left = x >> p->half_bits, right = x & mask;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t next = left ^ (stk_mix64(right ^ p->keys[r]) & mask);
        left = right;
        right = next;
    }
    return left << p->half_bits | right;
}

uint64_t stk_permute(const stk_permutation *p, uint64_t i)
{
    if (p->n <= 1) return 0;
    do i = feistel(p, i);
    while (i >= p->n);
    return i;
}
