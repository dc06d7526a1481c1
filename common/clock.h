/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_COMMON_CLOCK_H
#define STK_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that never jumps. About 25 ns a call (vDSO). */
static inline uint64_t stk_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
