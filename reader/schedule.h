/* SPDX-License-Identifier: Apache-2.0
 *
 * How the places of an epoch are dealt to ranks and steps. At each step rank r takes the batch_size places from
 * cursor + r * batch_size on, so what all ranks have consumed is always a prefix of the epoch, and the cursor
 * alone says where any number of ranks goes on. All ranks have the same number of steps. Pure functions. */
#ifndef STK_READER_SCHEDULE_H
#define STK_READER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/loader.h>

typedef struct stk_schedule {
    uint64_t length; /* places in an epoch */
    uint32_t batch_size;
    uint32_t rank, world;
    stk_last last;
} stk_schedule;

typedef struct stk_share {
    uint64_t first;   /* first place; the i-th sample is at place (first + i) % length */
    uint32_t n;       /* samples, at least 1 */
    uint32_t n_valid; /* those that are not padding: the first ones */
    uint64_t next;    /* cursor after this step */
} stk_share;

/* This rank's share of the step that begins at cursor. False when the epoch is over there. */
bool stk_schedule_share(const stk_schedule *schedule, uint64_t cursor, stk_share *out);

/* Steps from cursor to the end of the epoch. */
uint64_t stk_schedule_steps(const stk_schedule *schedule, uint64_t cursor);

#endif
