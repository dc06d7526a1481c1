/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3 checksums (libxxhash, inlined; the only file that includes it is hash.c). */
#ifndef STK_COMMON_HASH_H
#define STK_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct stk_hash128 {
    uint64_t low, high;
} stk_hash128;

uint64_t stk_hash64(const void *data, size_t n_bytes);
stk_hash128 stk_hash128_of(const void *data, size_t n_bytes);

/* Streaming form. NULL when out of memory. */
typedef struct stk_hasher stk_hasher;
stk_hasher *stk_hasher_open(void);
void stk_hasher_add(stk_hasher *hasher, const void *data, size_t n_bytes);
uint64_t stk_hasher_result64(const stk_hasher *hasher);
stk_hash128 stk_hasher_result128(const stk_hasher *hasher);
void stk_hasher_reset(stk_hasher *hasher);
void stk_hasher_close(stk_hasher **hasher);

/* 32 lower-case hex digits, high half first, and a zero. */
void stk_hash128_text(stk_hash128 hash, char text[33]);

#endif
