/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/schedule.h"

static uint64_t step_places(const stk_schedule *s) { return (uint64_t)s->batch_size * s->world; }

/* An incomplete last step under STK_LAST_KEEP is dealt out evenly, lower ranks first, since a rank without a
 * batch would leave the others waiting in their all-reduce. Ranks for which nothing is left (fewer samples than
 * ranks) repeat one from the epoch's start as padding. */
static void share_rest(const stk_schedule *s, uint64_t cursor, uint64_t rest, stk_share *out)
{
    uint64_t each = rest / s->world, extra = rest % s->world;
    uint64_t before = s->rank * each + (s->rank < extra ? s->rank : extra);
    uint32_t n = (uint32_t)(each + (s->rank < extra ? 1 : 0));
    *out = (stk_share){.first = cursor + before, .n = n, .n_valid = n, .next = s->length};
    if (n == 0) *out = (stk_share){.first = s->rank % s->length, .n = 1, .n_valid = 0, .next = s->length};
}

bool stk_schedule_share(const stk_schedule *s, uint64_t cursor, stk_share *out)
{
    if (cursor >= s->length) return false;
    uint64_t rest = s->length - cursor;
    if (rest < step_places(s)) {
        if (s->last == STK_LAST_DROP) return false;
        if (s->last == STK_LAST_KEEP) {
            share_rest(s, cursor, rest, out);
            return true;
        }
    }
    uint64_t before = (uint64_t)s->rank * s->batch_size;
    uint64_t valid = before >= rest ? 0 : rest - before;
    if (valid > s->batch_size) valid = s->batch_size;
    uint64_t next = rest < step_places(s) ? s->length : cursor + step_places(s);
    *out = (stk_share){.first = (cursor + before) % s->length, .n = s->batch_size, .n_valid = (uint32_t)valid,
                       .next = next};
    return true;
}

uint64_t stk_schedule_steps(const stk_schedule *s, uint64_t cursor)
{
    uint64_t rest = cursor < s->length ? s->length - cursor : 0;
    uint64_t whole = rest / step_places(s);
    return whole + (s->last != STK_LAST_DROP && rest % step_places(s) != 0 ? 1 : 0);
}
