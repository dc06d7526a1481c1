/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cpu_features.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

static const char *const FAMILY_NAMES[STK_FAMILY_COUNT] = {"scalar", "avx2", "avx512", "neon"};

const char *stk_family_name(stk_family family)
{
    return (unsigned)family < STK_FAMILY_COUNT ? FAMILY_NAMES[family] : "unknown";
}

#if defined(__x86_64__)
/* __builtin_cpu_supports also checks that the operating system saves the registers (XGETBV). */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
}
#endif

bool stk_family_available(stk_family family)
{
    switch (family) {
    case STK_FAMILY_SCALAR: return true;
#if defined(__x86_64__)
    case STK_FAMILY_AVX2: return has_avx2();
    case STK_FAMILY_AVX512: return has_avx512();
#endif
    default: return false;
    }
}

static stk_family best_family(void)
{
    for (int f = STK_FAMILY_COUNT - 1; f > 0; f--)
        if (stk_family_available((stk_family)f)) return (stk_family)f;
    return STK_FAMILY_SCALAR;
}

stk_status stk_family_choose(stk_family *out, stk_error *error)
{
    const char *forced = getenv("STOKER_CPU");
    if (forced == NULL || forced[0] == '\0') {
        *out = best_family();
        return STK_OK;
    }
    for (int f = 0; f < STK_FAMILY_COUNT; f++) {
        if (strcmp(forced, FAMILY_NAMES[f]) != 0) continue;
        if (!stk_family_available((stk_family)f))
            return stk_fail(error, STK_ERR_ARGUMENT,
                            "STOKER_CPU=%s: this CPU or build has no %s kernels; unset it or use %s", forced, forced,
                            FAMILY_NAMES[best_family()]);
        *out = (stk_family)f;
        return STK_OK;
    }
    return stk_fail(error, STK_ERR_ARGUMENT, "STOKER_CPU=%s: unknown; use scalar, avx2 or avx512", forced);
}

stk_status stk_cpu_family(const char **name, stk_error *error)
{
    stk_family family = STK_FAMILY_SCALAR;
    *name = NULL;
    STK_TRY(stk_family_choose(&family, error));
    *name = stk_family_name(family);
    return STK_OK;
}
