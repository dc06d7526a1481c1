/* SPDX-License-Identifier: Apache-2.0
 *
 * What py_core.c fills, py_batches.c counts and py_dlpack.c lends out. */
#ifndef STK_PY_SLOT_H
#define STK_PY_SLOT_H

#include <stdatomic.h>

#include "py_shim.h"

struct stk_py_slot {
    atomic_int refs;
    int64_t pid;
    stk_batch *batch;               /* one of the two, */
    stk_device_batch *device_batch; /* with the consumer's stream */
    void *stream;
    bool full; /* something came: the three below are set */
    stk_status status;
    stk_error error;
    char before[STK_STATE_BYTES]; /* the position without it; empty: not known */
};

#endif
