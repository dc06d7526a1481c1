/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw records: pixels as they stand. */
#ifndef STK_CODEC_RAW_H
#define STK_CODEC_RAW_H

#include "codec/render_plan.h"

/* Renders a raw record; the fill is written already and the plan is visible. Reads nothing outside
 * job->data[0 .. n_bytes). STK_ERR_CORRUPT when the payload is not width * height * channels bytes. */
stk_status stk_raw_render(stk_codec_ctx *ctx, const stk_render_job *job, const stk_render_plan *plan,
                          stk_error *error);

#endif
