/* SPDX-License-Identifier: Apache-2.0
 *
 * What one thread needs to turn records into pixels, kept between records: decoder, payload scratch, a strip of
 * pixels. */
#ifndef STK_READER_WORKBENCH_H
#define STK_READER_WORKBENCH_H

#include "codec/codec.h"
#include "common/cpu_features.h"
#include "reader/payload.h"

typedef struct stk_workbench {
    stk_codec_ctx *codec;
    stk_payload_ctx payload;
    stk_buffer pixels;  /* uint8 picture before it becomes floats or planes */
    stk_buffer scratch; /* what augmentations need beside it */
} stk_workbench;

stk_status stk_workbench_open(const stk_payload_source *source, uint64_t max_pixels, stk_workbench **out,
                              stk_error *error);
void stk_workbench_close(stk_workbench **bench);

#endif
