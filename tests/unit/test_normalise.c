/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/normalise.h"

#include <math.h>

#include "codec/kernels.h"
#include "common/hash.h"
#include "common/rng.h"
#include "support/check.h"

static const float MEAN[3] = {0.485f, 0.456f, 0.406f}, STD[3] = {0.229f, 0.224f, 0.225f};

/* ToTensor divides by 255 and v2.ToDtype(scale=True) multiplies by the float nearest 1/255; Normalize subtracts,
 * then divides, all in float32 (torchvision 0.29). The known values are numpy's. */
static void as_torchvision(void)
{
    static const struct {
        int channel, pixel;
        float v1, v2;
    } known[] = {
        {0, 0, -0x1.0f177a0000000p+1f, -0x1.0f177a0000000p+1f},
        {1, 1, -0x1.02549e0000000p+1f, -0x1.02549e0000000p+1f},
        {2, 255, 0x1.51eb860000000p+1f, 0x1.51eb860000000p+1f},
        {0, 128, 0x1.2f5e640000000p-4f, 0x1.2f5e640000000p-4f},
        {1, 200, 0x1.7737380000000p+0f, 0x1.77373c0000000p+0f},
        {2, 77, -0x1.d97e720000000p-2f, -0x1.d97e720000000p-2f},
    };
    stk_norm_table t, v2;
    stk_norm_table_fill(&t, STK_DTYPE_F32, 3, MEAN, STD, false);
    stk_norm_table_fill(&v2, STK_DTYPE_F32, 3, MEAN, STD, true);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        CHECK(t.f32[known[i].channel][known[i].pixel] == known[i].v1);
        CHECK(v2.f32[known[i].channel][known[i].pixel] == known[i].v2);
    }
    int differ = 0;
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 256; i++) {
            volatile float x = (float)i, y = (float)i;
            x = x / 255.0f;
            x = x - MEAN[c];
            x = x / STD[c];
            CHECK(t.f32[c][i] == x);
            y = y * 0.003921568859368563f;
            y = y - MEAN[c];
            y = y / STD[c];
            CHECK(v2.f32[c][i] == y);
            differ += x != y;
        }
    }
    CHECK(differ > 0); /* the two are not the same arithmetic */
}

/* The value of a float16 or bfloat16. */
static double decode(uint16_t h, bool bf16)
{
    int exponent_bits = bf16 ? 8 : 5, mantissa_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
    int exponent = h >> mantissa_bits & ((1 << exponent_bits) - 1), mantissa = h & ((1 << mantissa_bits) - 1);
    double v = exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                             : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return h & 0x8000 ? -v : v;
}

/* No neighbour is nearer, and of two that are equally near the even one is taken. */
static bool nearest_even(float x, uint16_t h, bool bf16)
{
    double d = fabs(decode(h, bf16) - (double)x);
    for (int step = -1; step <= 1; step += 2) {
        if (step < 0 && (h & 0x7fff) == 0) continue;
        double other = fabs(decode((uint16_t)(h + step), bf16) - (double)x);
        if (other < d || (other == d && (h & 1))) return false;
    }
    return (signbit(x) != 0) == (h >> 15 != 0);
}

static void rounding(void)
{
    stk_rng rng = stk_rng_for(5, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (int round = 0; round < 200; round++) {
        /* Small std for large values, large std for subnormal ones. */
        float mean[3], std[3];
        for (int c = 0; c < 3; c++) {
            mean[c] = (float)stk_rng_double(&rng);
            std[c] = (float)ldexp(stk_rng_double(&rng) + 0.5, (int)stk_rng_below(&rng, 32) - 8);
        }
        for (int bf16 = 0; bf16 < 2; bf16++) {
            stk_norm_table t;
            stk_norm_table_fill(&t, bf16 ? STK_DTYPE_BF16 : STK_DTYPE_F16, 3, mean, std, false);
            int bad = 0;
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 256; i++) bad += !nearest_even(t.f32[c][i], t.f16[c][i], bf16);
            CHECK_EQ(bad, 0);
        }
    }
}

static void special_values(void)
{
    const float mean[1] = {0.0f}, tiny[1] = {1e-6f}, minute[1] = {1e-38f};
    stk_norm_table t;
    stk_norm_table_fill(&t, STK_DTYPE_F16, 1, mean, tiny, false);
    CHECK_EQ(t.f16[0][255], 0x7c00); /* a million: infinity */
    CHECK_EQ(t.f16[0][0], 0);
    stk_norm_table_fill(&t, STK_DTYPE_BF16, 1, mean, minute, false);
    CHECK_EQ(t.f16[0][255], 0x7e96); /* 1e38 */
}

/* All dtypes, layouts, channel counts and odd sizes, every family against plain indexing; bytes beyond the end are
 * somebody else's. */
static void families_equal(void)
{
    static uint8_t pixels[3 * 700];
    static uint8_t want[3 * 800 * 4], got[3 * 800 * 4];
    stk_rng rng = stk_rng_for(6, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(stk_rng_u64(&rng) >> 9);
    static const size_t width[] = {1, 2, 2, 4};
    printf("kernel families run:");
    for (int f = 0; f < STK_FAMILY_COUNT; f++) {
        if (!stk_family_available((stk_family)f)) continue;
        CHECK_EQ(stk_kernels_for((stk_family)f)->family, f);
        printf(" %s", stk_family_name((stk_family)f));
        for (int dtype = 0; dtype < 4; dtype++) {
            for (int variant = 0; variant < 4; variant++) {
                uint32_t channels = variant & 1 ? 3 : 1;
                stk_layout layout = variant & 2 ? STK_LAYOUT_NCHW : STK_LAYOUT_NHWC;
                stk_norm_table t;
                stk_norm_table_fill(&t, (stk_dtype)dtype, channels, MEAN, STD, false);
                for (size_t n = 1; n < 700; n += 1 + n / 5) {
                    size_t plane = n + 5;
                    memset(want, 0xa5, sizeof want);
                    memset(got, 0xa5, sizeof got);
                    for (size_t i = 0; i < n * channels; i++) {
                        size_t c = i % channels, at = layout == STK_LAYOUT_NCHW ? c * plane + i / channels : i;
                        const void *element = dtype == STK_DTYPE_U8    ? (const void *)&pixels[i]
                                              : dtype == STK_DTYPE_F32 ? (const void *)&t.f32[c][pixels[i]]
                                                                       : (const void *)&t.f16[c][pixels[i]];
                        memcpy(want + at * width[dtype], element, width[dtype]);
                    }
                    stk_normalise((stk_family)f, &t, layout, pixels, n, got, plane);
                    CHECK(memcmp(want, got, sizeof want) == 0);
                }
            }
        }
    }
    printf("\n");
}

static void golden(void)
{
    stk_norm_table t;
    stk_hasher *hasher = stk_hasher_open();
    for (int v2 = 0; v2 < 2; v2++) {
        for (int dtype = STK_DTYPE_F16; dtype <= STK_DTYPE_F32; dtype++) {
            stk_norm_table_fill(&t, (stk_dtype)dtype, 3, MEAN, STD, v2);
            stk_hasher_add(hasher, t.f32, sizeof t.f32);
            stk_hasher_add(hasher, t.f16, sizeof t.f16);
        }
    }
    uint64_t hash = stk_hasher_result64(hasher);
    CHECK(hash == 0x30d1a8d66f1a1071u);
    stk_hasher_close(&hasher);
}

int main(void)
{
    RUN(as_torchvision);
    RUN(rounding);
    RUN(special_values);
    RUN(families_equal);
    RUN(golden);
    return check_exit();
}
