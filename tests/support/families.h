/* SPDX-License-Identifier: Apache-2.0
 *
 * One codec context for each kernel family that this machine can run, scalar first, and a line that says which
 * these are, so that a log shows what was compared. */
#ifndef STK_TESTS_FAMILIES_H
#define STK_TESTS_FAMILIES_H

#include <stdio.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "codec/kernels.h"
#include "common/cpu_features.h"

typedef struct families {
    stk_codec_ctx *ctx[STK_FAMILY_COUNT];
    const char *name[STK_FAMILY_COUNT];
    int n;
} families;

/* Ends the program when a family that the CPU has is not the one that the context got. */
static inline families families_open(void)
{
    families f = {0};
    printf("kernel families run:");
    for (int i = 0; i < STK_FAMILY_COUNT; i++) {
        if (!stk_family_available((stk_family)i)) continue;
        stk_error error;
        setenv("STOKER_CPU", stk_family_name((stk_family)i), 1);
        if (stk_codec_ctx_open(NULL, &f.ctx[f.n], &error) != STK_OK ||
            stk_codec_kernels(f.ctx[f.n])->family != (stk_family)i) {
            printf(" %s cannot be had\n", stk_family_name((stk_family)i));
            exit(1);
        }
        f.name[f.n++] = stk_family_name((stk_family)i);
        printf(" %s", stk_family_name((stk_family)i));
    }
    unsetenv("STOKER_CPU");
    printf("\n");
    return f;
}

static inline void families_close(families *f)
{
    for (int i = 0; i < f->n; i++) stk_codec_ctx_close(&f->ctx[i]);
}

#endif
