/* SPDX-License-Identifier: Apache-2.0
 *
 * BASE/KEY.status: how the making of a copy gets on, or why it failed, for those who did not see it. Losing it loses
 * nothing but a message. */
#ifndef STK_STAGING_STAGE_OUTCOME_H
#define STK_STAGING_STAGE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/stage.h>

typedef struct stk_stage_outcome {
    uint64_t bytes_done, bytes_total;
    char failure[STK_STAGE_TEXT]; /* "" = none */
} stk_stage_outcome;

void stk_stage_outcome_write(const char *base, const char *key, const stk_stage_outcome *outcome);
/* All zero when there is none. */
void stk_stage_outcome_read(const char *base, const char *key, stk_stage_outcome *out);
void stk_stage_outcome_remove(const char *base, const char *key);

#endif
