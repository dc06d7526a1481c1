/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "py_shim.h"

void stk_py_close_dataset(stk_dataset *dataset)
{
    stk_dataset_close(&dataset);
}

void stk_py_close_loader(stk_loader *loader, int64_t pid)
{
    if ((int64_t)getpid() == pid) {
        stk_loader_close(&loader);
    }
}

void stk_py_close_uploader(stk_uploader *uploader, int64_t pid)
{
    if ((int64_t)getpid() == pid) {
        stk_uploader_close(&uploader);
    }
}

void stk_py_close_writer(stk_writer *writer, int64_t pid)
{
    if ((int64_t)getpid() == pid) {
        stk_writer_close(&writer);
    }
}

struct stk_py_slot {
    int64_t pid;
    stk_batch *batch;
};

stk_py_slot *stk_py_slot_new(stk_batch *batch, int64_t pid)
{
    stk_py_slot *slot = malloc(sizeof *slot);
    if (slot != NULL) {
        *slot = (stk_py_slot){.pid = pid, .batch = batch};
    }
    return slot;
}

void stk_py_slot_free(stk_py_slot *slot)
{
    if (slot == NULL) {
        return;
    }
    if ((int64_t)getpid() == slot->pid) {
        stk_batch_release(slot->batch);
    }
    free(slot);
}
