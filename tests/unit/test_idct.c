/* SPDX-License-Identifier: Apache-2.0
 *
 * The inverse DCT: all families give the same bytes for ordinary, sparse and absurd coefficients, for every
 * layout of blocks in MCUs; and ordinary blocks are within one level of the transform computed in double.
 * (That they are libjpeg-turbo's bytes is what test_tiles compares.) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/huffman.h"
#include "codec/idct.h"
#include "common/rng.h"
#include "support/check.h"

enum { BLOCKS = 60, STRIDE = (BLOCKS + 4) * 8 };

static int16_t *coefs; /* BLOCKS blocks, in zigzag order */
static uint16_t quant[64];

typedef enum content { ORDINARY, SPARSE, DC_ONLY, ABSURD, CONTENTS } content;

static void random_coefs(stk_rng *rng, content what)
{
    for (int k = 0; k < 64; k++) {
        quant[k] = (uint16_t)(what == ABSURD ? stk_rng_below(rng, 65536) : 1 + stk_rng_below(rng, 12));
    }
    for (size_t i = 0; i < (size_t)BLOCKS * 64; i++) {
        size_t k = i % 64;
        int v = 0;
        switch (what) {
        case ORDINARY: v = (int)stk_rng_below(rng, 9) - 4; break;
        case SPARSE: v = stk_rng_below(rng, 12) == 0 ? (int)stk_rng_below(rng, 41) - 20 : 0; break;
        case DC_ONLY: break;
        default: v = (int)stk_rng_below(rng, 65536) - 32768; break;
        }
        if (k == 0 && what != ABSURD) v = (int)stk_rng_below(rng, 161) - 80;
        coefs[i] = (int16_t)v;
    }
}

/* Lays n_blocks blocks out as a component with `across` blocks an MCU has them, `between` blocks of others
 * after each MCU's. */
static stk_idct_row row_of(uint32_t n_blocks, uint32_t across, uint32_t between, uint8_t *out)
{
    return (stk_idct_row){.coefs = coefs,
                          .across = across,
                          .mcu_step = 64 * (size_t)(across + between),
                          .n_blocks = n_blocks,
                          .quant = quant,
                          .out = out,
                          .stride = STRIDE};
}

static bool same_samples(const uint8_t *a, const uint8_t *b, uint32_t n_blocks)
{
    for (size_t y = 0; y < 8; y++) {
        if (memcmp(a + y * STRIDE, b + y * STRIDE, 8 * (size_t)n_blocks) != 0) return false;
    }
    return true;
}

static void test_families_agree(void)
{
    static uint8_t want[8 * STRIDE], got[8 * STRIDE];
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    printf("families compared:");
    for (int family = STK_FAMILY_AVX2; family < STK_FAMILY_COUNT; family++) {
        if (!stk_family_available((stk_family)family)) continue;
        printf(" %s", stk_family_name((stk_family)family));
        for (int round = 0; round < 2000; round++) {
            uint32_t across = 1 + (uint32_t)round % 4, between = (uint32_t)stk_rng_below(&rng, 3);
            uint32_t n_mcus = 1 + (uint32_t)stk_rng_below(&rng, BLOCKS / (across + between) - 1);
            random_coefs(&rng, (content)(round % CONTENTS));
            stk_idct_row row = row_of(n_mcus * across, across, between, want);
            stk_idct_row_scalar(&row);
            row.out = got;
            stk_idct_row_for((stk_family)family)(&row);
            CHECK(same_samples(want, got, row.n_blocks));
        }
    }
    printf("\n");
}

static double exact_sample(const int16_t *block, uint32_t x, uint32_t y)
{
    double sum = 0;
    for (int k = 0; k < 64; k++) {
        uint32_t u = STK_ZIGZAG[k] & 7, v = STK_ZIGZAG[k] >> 3;
        double scale = (u == 0 ? sqrt(0.5) : 1) * (v == 0 ? sqrt(0.5) : 1) / 4;
        sum +=
            scale * block[k] * quant[k] * cos((2 * x + 1) * u * M_PI / 16) * cos((2 * y + 1) * v * M_PI / 16);
    }
    sum += 128;
    return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

static void test_accuracy(void)
{
    static uint8_t got[8 * STRIDE];
    stk_rng rng = stk_rng_for(2, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    double worst = 0;
    for (int round = 0; round < 30; round++) {
        random_coefs(&rng, (content)(round % 3));
        stk_idct_row row = row_of(BLOCKS, 1, 0, got);
        stk_idct_row_scalar(&row);
        for (uint32_t b = 0; b < BLOCKS; b += 7) {
            for (uint32_t y = 0; y < 8; y++)
                for (uint32_t x = 0; x < 8; x++) {
                    double d = fabs(got[y * STRIDE + 8 * b + x] - exact_sample(coefs + 64 * (size_t)b, x, y));
                    worst = d > worst ? d : worst;
                }
        }
    }
    printf("largest distance from the exact transform: %.3f levels\n", worst);
    CHECK(worst < 1.0);
}

int main(void)
{
    coefs = aligned_alloc(128, (size_t)BLOCKS * 128);
    if (coefs == NULL) return 1;
    RUN(test_families_agree);
    RUN(test_accuracy);
    free(coefs);
    return check_exit();
}
