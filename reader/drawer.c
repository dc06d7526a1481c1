/* SPDX-License-Identifier: Apache-2.0 */
#include <stoker/gather.h>

#include <stdlib.h>

#include "common/fail.h"
#include "reader/augment.h"

struct stk_drawer {
    stk_augment_rule rule;
    uint64_t seed;
};

stk_status stk_drawer_open(const stk_transform *transform, uint64_t seed, stk_drawer **out, stk_error *error)
{
    *out = NULL;
    stk_drawer *d = malloc(sizeof *d);
    if (d == NULL) return stk_fail_memory(error, "the transform's steps");
    stk_status status = stk_augment_rule_init(&d->rule, transform, error);
    if (status != STK_OK) {
        free(d);
        return status;
    }
    d->seed = seed;
    *out = d;
    return STK_OK;
}

void stk_drawer_close(stk_drawer **drawer)
{
    if (drawer == NULL) return;
    free(*drawer);
    *drawer = NULL;
}

void stk_drawer_draw(const stk_drawer *drawer, uint64_t epoch, uint64_t sample, uint32_t occurrence, uint32_t view,
                     uint32_t width, uint32_t height, stk_drawn_steps *out)
{
    const stk_draw_key key = {drawer->seed, epoch, sample, occurrence, view};
    stk_augment_draw(&drawer->rule, &key, width, height, out);
}
