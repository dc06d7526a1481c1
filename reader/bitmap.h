/* SPDX-License-Identifier: Apache-2.0
 *
 * One bit a record, set once and for all by any thread. The memory is reserved, not touched: opening a data set
 * of any size costs the same, and only the parts that are used take memory. */
#ifndef STK_READER_BITMAP_H
#define STK_READER_BITMAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

typedef struct stk_bitmap {
    _Atomic uint64_t *words;
    size_t n_bytes;
} stk_bitmap;

stk_status stk_bitmap_open(stk_bitmap *bitmap, uint64_t n_bits, stk_error *error);
void stk_bitmap_close(stk_bitmap *bitmap);

static inline bool stk_bitmap_get(const stk_bitmap *bitmap, uint64_t i)
{
    return atomic_load_explicit(&bitmap->words[i / 64], memory_order_relaxed) >> (i % 64) & 1;
}

static inline void stk_bitmap_set(const stk_bitmap *bitmap, uint64_t i)
{
    atomic_fetch_or_explicit(&bitmap->words[i / 64], (uint64_t)1 << (i % 64), memory_order_relaxed);
}

#endif
