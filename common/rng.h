/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers by counter: every choice is a pure function of (seed, epoch, sample id, occurrence, view,
 * purpose), so that it does not depend on threads, ranks, batch sizes or what was drawn before. */
#ifndef STK_COMMON_RNG_H
#define STK_COMMON_RNG_H

#include <stdint.h>

/* A CUDA kernel draws the same numbers by the same code. */
#ifdef __CUDACC__
#define STK_RNG_INLINE static inline __host__ __device__
#else
#define STK_RNG_INLINE static inline
#endif

/* What a choice is for. Part of the pixel contract: numbers are never changed. */
typedef enum stk_purpose {
    STK_PURPOSE_CROP = 1,
    STK_PURPOSE_FLIP = 2,
    STK_PURPOSE_ORDER = 3,
    STK_PURPOSE_WEIGHT = 4,
    STK_PURPOSE_SUBSTITUTE = 5,
    STK_PURPOSE_AUGMENT = 6, /* step k of a transform: 6 + 256 k */
    STK_PURPOSE_ERASED = 7,  /* the random values in erased boxes */
    STK_PURPOSE_MIX = 8      /* of a batch: `sample` is its first position in the epoch */
    /* further ones follow from here */
} stk_purpose;

typedef struct stk_rng {
    uint64_t key, counter;
} stk_rng;

/* SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection of 64-bit words that mixes well. */
STK_RNG_INLINE uint64_t stk_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

STK_RNG_INLINE stk_rng stk_rng_for(uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t occurrence, uint32_t view,
                                   stk_purpose purpose)
{
    uint64_t key = stk_mix64(seed);
    key = stk_mix64(key ^ epoch);
    key = stk_mix64(key ^ sample);
    key = stk_mix64(key ^ ((uint64_t)occurrence << 32 | view));
    key = stk_mix64(key ^ (uint64_t)purpose);
    stk_rng rng = {key, 0};
    return rng;
}

STK_RNG_INLINE uint64_t stk_rng_u64(stk_rng *rng)
{
    return stk_mix64(rng->key + 0x9e3779b97f4a7c15u * rng->counter++);
}

/* Uniform in [0, 1), 53 bits. */
STK_RNG_INLINE double stk_rng_double(stk_rng *rng)
{
    return (double)(stk_rng_u64(rng) >> 11) * (1.0 / 9007199254740992.0);
}

/* The upper half of a product. */
STK_RNG_INLINE uint64_t stk_rng_high(uint64_t a, uint64_t b)
{
    #ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
    #else
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)a * b >> 64);
    #endif
}

/* Uniform in 0 .. n-1 (n >= 1) by Lemire's multiplication with rejection: no bias. */
STK_RNG_INLINE uint64_t stk_rng_below(stk_rng *rng, uint64_t n)
{
    uint64_t x = stk_rng_u64(rng);
    if (x * n < n) {
        uint64_t threshold = (0 - n) % n;
        while (x * n < threshold) x = stk_rng_u64(rng);
    }
    return stk_rng_high(x, n);
}

#endif
