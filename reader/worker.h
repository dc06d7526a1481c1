/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread of the team does: claim samples, look them up, read, run the work, deal with bad ones. */
#ifndef STK_READER_WORKER_H
#define STK_READER_WORKER_H

#include "reader/pipeline.h"

/* Works until the pipeline stops. */
void stk_worker_loop(stk_pipeline *p, stk_worker *worker);

#endif
