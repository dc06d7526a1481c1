/* SPDX-License-Identifier: Apache-2.0
 *
 * Dealing an epoch to ranks: every place once, equal numbers of steps, prefixes, other worlds from any cursor. */
#include "reader/schedule.h"

#include "support/check.h"

enum { MAX_PLACES = 3000 };

/* Walks all ranks in step from cursor; counts places; returns the number of steps. */
static uint64_t walk(uint64_t length, uint32_t batch, uint32_t world, stk_last last, uint64_t cursor,
                     uint8_t *seen)
{
    uint64_t steps = 0;
    stk_schedule s = {.length = length, .batch_size = batch, .world = world, .last = last};
    uint64_t want_steps = stk_schedule_steps(&s, cursor);
    for (;;) {
        uint64_t next = 0;
        uint32_t ended = 0;
        for (uint32_t r = 0; r < world; r++) {
            stk_share share;
            s.rank = r;
            if (!stk_schedule_share(&s, cursor, &share)) {
                ended++;
                continue;
            }
            CHECK(share.n >= 1 && share.n <= batch && share.n_valid <= share.n);
            if (last == STK_LAST_PAD) CHECK_EQ(share.n, batch);
            if (r > 0) CHECK_EQ(share.next, next);
            next = share.next;
            for (uint32_t i = 0; i < share.n_valid; i++) {
                uint64_t place = share.first + i;
                CHECK(place >= cursor && place < share.next); /* so what is consumed is a prefix */
                if (place < length) seen[place]++;
            }
        }
        CHECK(ended == 0 || ended == world);
        if (ended > 0) break;
        CHECK(next > cursor);
        cursor = next;
        steps++;
    }
    CHECK_EQ(steps, want_steps);
    return steps;
}

static void every_place_once(void)
{
    static uint8_t seen[MAX_PLACES];
    static const uint64_t lengths[] = {1, 2, 7, 8, 9, 31, 64, 100, 1000, 2999};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        for (uint32_t world = 1; world <= 9; world += 2) {
            for (uint32_t batch = 1; batch <= 40 && batch <= lengths[k]; batch += 13) {
                uint64_t n = lengths[k], step = (uint64_t)batch * world;
                for (int last = STK_LAST_KEEP; last <= STK_LAST_PAD; last++) {
                    memset(seen, 0, sizeof seen);
                    uint64_t steps = walk(n, batch, world, (stk_last)last, 0, seen);
                    uint64_t whole = last == STK_LAST_DROP ? n / step * step : n;
                    for (uint64_t p = 0; p < n; p++) CHECK_EQ(seen[p], p < whole);
                    CHECK_EQ(steps, last == STK_LAST_DROP ? n / step : (n + step - 1) / step);
                }
            }
        }
    }
}

/* Stop after any number of steps, go on with another world and batch size: each place still once. */
static void another_world(void)
{
    static uint8_t seen[MAX_PLACES];
    enum { N = 997 };
    for (uint32_t world = 1; world <= 5; world++) {
        for (uint32_t other = 1; other <= 5; other++) {
            for (uint64_t steps = 0; steps < 6; steps++) {
                memset(seen, 0, sizeof seen);
                uint64_t cursor = 0;
                for (uint64_t k = 0; k < steps; k++) {
                    for (uint32_t r = 0; r < world; r++) {
                        stk_schedule s = {.length = N, .batch_size = 20, .rank = r, .world = world};
                        stk_share share;
                        CHECK(stk_schedule_share(&s, cursor, &share));
                        for (uint32_t i = 0; i < share.n; i++) seen[share.first + i]++;
                        if (r + 1 == world) cursor = share.next;
                    }
                }
                walk(N, 17, other, STK_LAST_KEEP, cursor, seen);
                for (uint64_t p = 0; p < N; p++) CHECK_EQ(seen[p], 1);
            }
        }
    }
}

/* Fewer samples than ranks in the last step: every rank still gets a batch, padded where nothing is left. */
static void fewer_than_ranks(void)
{
    for (uint32_t r = 0; r < 8; r++) {
        stk_schedule s = {.length = 19, .batch_size = 2, .rank = r, .world = 8, .last = STK_LAST_KEEP};
        stk_share share;
        CHECK(stk_schedule_share(&s, 16, &share));
        CHECK_EQ(share.n, 1);
        CHECK_EQ(share.n_valid, r < 3);
        CHECK(share.first < 19);
        CHECK_EQ(share.next, 19);
    }
}

static void padding_wraps(void)
{
    for (uint32_t r = 0; r < 4; r++) {
        stk_schedule s = {.length = 10, .batch_size = 8, .rank = r, .world = 4, .last = STK_LAST_PAD};
        stk_share share;
        CHECK(stk_schedule_share(&s, 0, &share));
        CHECK_EQ(share.n, 8);
        CHECK_EQ(share.n_valid, r == 0 ? 8 : r == 1 ? 2 : 0);
        CHECK_EQ(share.first, r * 8 % 10);
        CHECK_EQ(share.next, 10);
        CHECK(!stk_schedule_share(&s, 10, &share));
    }
}

int main(void)
{
    RUN(every_place_once);
    RUN(another_world);
    RUN(fewer_than_ranks);
    RUN(padding_wraps);
    return check_exit();
}
