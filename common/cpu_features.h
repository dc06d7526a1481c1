/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel family runs. Chosen once per call site: pass the result on, do not ask in inner loops. */
#ifndef STK_COMMON_CPU_FEATURES_H
#define STK_COMMON_CPU_FEATURES_H

#include <stdbool.h>

#include <stoker/cpu.h>

typedef enum stk_family {
    STK_FAMILY_SCALAR = 0,
    STK_FAMILY_AVX2 = 1,   /* AVX2 + BMI2 (Haswell, Zen and later) */
    STK_FAMILY_AVX512 = 2, /* AVX-512 F/BW/VL/DQ + VBMI + VNNI (Ice Lake, Zen 4 and later) */
    STK_FAMILY_NEON = 3,   /* reserved */
    STK_FAMILY_COUNT = 4
} stk_family;

/* True when this CPU and operating system can run the family and this build contains it. */
bool stk_family_available(stk_family family);
const char *stk_family_name(stk_family family);
/* The family to use: STOKER_CPU's, else the best available. */
stk_status stk_family_choose(stk_family *out, stk_error *error);

#endif
