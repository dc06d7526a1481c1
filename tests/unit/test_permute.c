/* SPDX-License-Identifier: Apache-2.0 */
#include "common/permute.h"

#include <stdint.h>

#include "support/check.h"

static void every_value_once(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 100, 255, 256, 257, 4095, 65537};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t n = sizes[s];
        unsigned char *seen = calloc(n, 1);
        stk_permutation p;
        stk_permutation_init(&p, n, 7, s);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = stk_permute(&p, i);
            CHECK(v < n);
            if (v < n) seen[v]++;
        }
        for (uint64_t i = 0; i < n; i++) CHECK_EQ(seen[i], 1);
        free(seen);
    }
}

/* Stored shards and saved states depend on these very numbers (STK_PERMUTE_VERSION 1). */
static void golden(void)
{
    stk_permutation p;
    stk_permutation_init(&p, 1000003, 42, 3);
    uint64_t hash = 0;
    for (uint64_t i = 0; i < 1000003; i++) hash = hash * 6364136223846793005u + stk_permute(&p, i);
    CHECK(hash == 14754176692407401703u);
}

int main(void)
{
    RUN(every_value_once);
    RUN(golden);
    return check_exit();
}
