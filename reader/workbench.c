/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/workbench.h"

#include <stdlib.h>

#include "common/fail.h"

stk_status stk_workbench_open(const stk_payload_source *source, uint64_t max_pixels, stk_workbench **out,
                              stk_error *error)
{
    *out = NULL;
    stk_workbench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) return stk_fail_memory(error, "a decoding thread");
    stk_codec_limits limits = {.max_pixels = max_pixels};
    stk_status status = stk_codec_ctx_open(&limits, &bench->codec, error);
    if (status == STK_OK) status = stk_payload_ctx_init(&bench->payload, source, error);
    if (status == STK_OK)
        *out = bench;
    else
        stk_workbench_close(&bench);
    return status;
}

void stk_workbench_close(stk_workbench **bench)
{
    if (*bench == NULL) return;
    stk_codec_ctx_close(&(*bench)->codec);
    stk_payload_ctx_free(&(*bench)->payload);
    stk_buffer_free(&(*bench)->pixels);
    stk_buffer_free(&(*bench)->scratch);
    free(*bench);
    *bench = NULL;
}
