/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash.h"

#include <stdio.h>
#include <stdlib.h>

/* Inlined: the checksum of a record is on the hot path, and the shared library (0.8.1 in Debian 12) picks
 * no vector path at run time, while here the compiler's own target decides. */
#define XXH_INLINE_ALL
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#elif defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include <xxhash.h>
#if defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

struct stk_hasher {
    XXH3_state_t *state;
};

uint64_t stk_hash64(const void *data, size_t n_bytes)
{
    return XXH3_64bits(data, n_bytes);
}

static stk_hash128 to_hash128(XXH128_hash_t h)
{
    return (stk_hash128){.low = h.low64, .high = h.high64};
}

stk_hash128 stk_hash128_of(const void *data, size_t n_bytes)
{
    return to_hash128(XXH3_128bits(data, n_bytes));
}

stk_hasher *stk_hasher_open(void)
{
    stk_hasher *hasher = malloc(sizeof *hasher);
    if (hasher == NULL) return NULL;
    hasher->state = XXH3_createState();
    if (hasher->state == NULL) {
        free(hasher);
        return NULL;
    }
    stk_hasher_reset(hasher);
    return hasher;
}

void stk_hasher_reset(stk_hasher *hasher)
{
    /* The 64- and 128-bit digests share one state: the reset and update functions are the same. */
    XXH3_128bits_reset(hasher->state);
}

void stk_hasher_add(stk_hasher *hasher, const void *data, size_t n_bytes)
{
    XXH3_128bits_update(hasher->state, data, n_bytes);
}

uint64_t stk_hasher_result64(const stk_hasher *hasher)
{
    return XXH3_64bits_digest(hasher->state);
}

stk_hash128 stk_hasher_result128(const stk_hasher *hasher)
{
    return to_hash128(XXH3_128bits_digest(hasher->state));
}

void stk_hasher_close(stk_hasher **hasher)
{
    if (*hasher == NULL) return;
    XXH3_freeState((*hasher)->state);
    free(*hasher);
    *hasher = NULL;
}

void stk_hash128_text(stk_hash128 hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
