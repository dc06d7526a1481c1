/* SPDX-License-Identifier: Apache-2.0
 *
 * libjpeg's accurate integer inverse DCT ("islow": Loeffler, Ligtenberg, Moschytz 1989, 13-bit constants), as
 * libjpeg-turbo's vector code computes it: 16-bit products and sums, saturation between and after the passes.
 * All families give the same bytes for every input, also for coefficients that no encoder makes. */
#ifndef STK_CODEC_IDCT_H
#define STK_CODEC_IDCT_H

#include <stddef.h>
#include <stdint.h>

#include "common/cpu_features.h"

/* Blocks of one component that lie side by side in a plane. In memory they come MCU by MCU: `across` blocks,
 * then a step to the next MCU's. */
typedef struct stk_idct_row {
    const int16_t *coefs;  /* first block; 64 coefficients in zigzag order, 16-byte aligned */
    uint32_t across;       /* blocks of this row in an MCU */
    size_t mcu_step;       /* coefficients from one MCU to the next */
    uint32_t n_blocks;     /* >= 1 */
    const uint16_t *quant; /* zigzag order */
    uint8_t *out; /* 8 rows; n_blocks rounded up to a multiple of STK_IDCT_GROUP blocks may be written */
    size_t stride;
} stk_idct_row;

enum { STK_IDCT_GROUP = 4 };

typedef void (*stk_idct_row_fn)(const stk_idct_row *row);

/* The fastest one of a family. */
stk_idct_row_fn stk_idct_row_for(stk_family family);

void stk_idct_row_scalar(const stk_idct_row *row);
#if defined(__x86_64__)
void stk_idct_row_avx2(const stk_idct_row *row);
void stk_idct_row_avx512(const stk_idct_row *row);
#endif

/* The constants, times 2^13 and rounded. */
enum {
    STK_IDCT_BITS = 13,
    STK_IDCT_0_298 = 2446,
    STK_IDCT_0_390 = 3196,
    STK_IDCT_0_541 = 4433,
    STK_IDCT_0_765 = 6270,
    STK_IDCT_0_899 = 7373,
    STK_IDCT_1_175 = 9633,
    STK_IDCT_1_501 = 12299,
    STK_IDCT_1_847 = 15137,
    STK_IDCT_1_961 = 16069,
    STK_IDCT_2_053 = 16819,
    STK_IDCT_2_562 = 20995,
    STK_IDCT_3_072 = 25172,
    /* Shifts after the passes: the first leaves 2 more bits in. */
    STK_IDCT_SHIFT_1 = STK_IDCT_BITS - 2,
    STK_IDCT_SHIFT_2 = STK_IDCT_BITS + 2 + 3
};

/* A walk over the blocks of a row. */
typedef struct stk_idct_walk {
    const int16_t *block;
    uint32_t within;
} stk_idct_walk;
static inline const int16_t *stk_idct_next(stk_idct_walk *walk, const stk_idct_row *row)
{
    const int16_t *block = walk->block;
    walk->block += 64;
    if (++walk->within == row->across) {
        walk->within = 0;
        walk->block += row->mcu_step - 64 * (size_t)row->across;
    }
    return block;
}

#endif
