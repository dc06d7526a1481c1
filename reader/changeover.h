/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading from a staged copy (stk_dataset_options.stage). When a data set is opened, a copy that is there is used at
 * once. Else a thread makes one, or waits for the process that does, and payloads are read from the source until it is
 * ready; from then on from the copy, within the same loaders. */
#ifndef STK_READER_CHANGEOVER_H
#define STK_READER_CHANGEOVER_H

#include <stoker/dataset.h>

#include "format/storage.h"
#include "reader/payload.h"

typedef struct stk_changeover stk_changeover;

/* source: the open storage of what lies at path, payload over it; both outlive the changeover. *index becomes the
 * storage whose index to use: the copy's when it is whole and there (owned by the changeover), else source. */
stk_status stk_changeover_open(const char *path, const stk_dataset_options *options, stk_storage *source,
                               stk_payload_source *payload, stk_changeover **out, stk_storage **index,
                               stk_error *error);
/* Stops the thread (what it copied is kept) and waits for it. Before the payload is closed. */
void stk_changeover_stop(stk_changeover *changeover);
/* After the payload was closed. */
void stk_changeover_close(stk_changeover **changeover);

void stk_changeover_state(const stk_changeover *changeover, stk_dataset_stage_info *out);

#endif
