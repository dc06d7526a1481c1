/* SPDX-License-Identifier: Apache-2.0
 *
 * Size arithmetic that says so when it overflows. True = fine. */
#ifndef STK_COMMON_CHECKED_H
#define STK_COMMON_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool stk_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool stk_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool stk_add_u64(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool stk_mul_u64(uint64_t a, uint64_t b, uint64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* True when the range [offset, offset + n) lies inside [0, end). */
static inline bool stk_range_inside(uint64_t offset, uint64_t n, uint64_t end)
{
    return offset <= end && n <= end - offset;
}

#endif
