/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "py_slot.h"

void stk_py_close_dataset(stk_dataset *dataset)
{
    stk_dataset_close(&dataset);
}

void stk_py_close_writer(stk_writer *writer, int64_t pid)
{
    if ((int64_t)getpid() == pid) {
        stk_writer_close(&writer);
    }
}

stk_py_slot *stk_py_slot_new(void)
{
    stk_py_slot *slot = calloc(1, sizeof *slot);
    if (slot != NULL) {
        atomic_init(&slot->refs, 1);
        slot->pid = (int64_t)getpid();
    }
    return slot;
}

void stk_py_slot_unref(stk_py_slot *slot)
{
    if (slot == NULL || atomic_fetch_sub_explicit(&slot->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if ((int64_t)getpid() == slot->pid) {
        stk_batch_release(slot->batch);
        stk_device_batch_release(slot->device_batch, slot->stream);
    }
    free(slot);
}

stk_status stk_py_slot_status(const stk_py_slot *slot)
{
    return slot->full ? slot->status : STK_AGAIN;
}

const char *stk_py_slot_error(const stk_py_slot *slot)
{
    return slot->error.text;
}

stk_batch *stk_py_slot_batch(const stk_py_slot *slot)
{
    return slot->batch;
}

stk_device_batch *stk_py_slot_device_batch(const stk_py_slot *slot)
{
    return slot->device_batch;
}

void *stk_py_slot_stream(const stk_py_slot *slot)
{
    return slot->stream;
}
