/* SPDX-License-Identifier: Apache-2.0
 *
 * Device batches as DLPack tensors: the ABI of dlpack.h's unversioned tensors, which every consumer reads
 * (https://dmlc.github.io/dlpack/latest/c_api.html). */
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "py_slot.h"

typedef struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t type_code, type_bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements */
    uint64_t byte_offset;
} dlpack_tensor;

typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

void stk_py_slot_wait(stk_py_slot *slot)
{
    /* Reading a byte comes after all of the batch's work; an error of the device shows at the next batch. */
    uint8_t byte;
    if (stk_device_batch_read(slot->device_batch, slot->device_batch->data, &byte, 1, NULL) != STK_OK) {
        return;
    }
}

/* The tensor with its shape and strides in one piece, so that one call frees all of it. */
typedef struct shared_tensor {
    dlpack_managed managed;
    int64_t shape[STK_PY_MAX_DIMENSIONS], strides[STK_PY_MAX_DIMENSIONS];
} shared_tensor;

static void delete_tensor(dlpack_managed *managed)
{
    stk_py_slot_unref(managed->context);
    free(managed);
}

void *stk_py_slot_dlpack(stk_py_slot *slot, void *data, int device_type, int ndim,
                                const int64_t *shape, const int64_t *strides, int type_code, int type_bits)
{
    if (ndim < 0 || ndim > STK_PY_MAX_DIMENSIONS) {
        return NULL;
    }
    shared_tensor *shared = calloc(1, sizeof *shared);
    if (shared == NULL) {
        return NULL;
    }
    memcpy(shared->shape, shape, (size_t)ndim * sizeof *shape);
    memcpy(shared->strides, strides, (size_t)ndim * sizeof *strides);
    shared->managed = (dlpack_managed){.tensor = {.data = data,
                                                  .device_type = device_type,
                                                  .device_id = slot->device_batch->device,
                                                  .ndim = ndim,
                                                  .type_code = (uint8_t)type_code,
                                                  .type_bits = (uint8_t)type_bits,
                                                  .lanes = 1,
                                                  .shape = shared->shape,
                                                  .strides = shared->strides},
                                       .context = slot,
                                       .deleter = delete_tensor};
    atomic_fetch_add_explicit(&slot->refs, 1, memory_order_relaxed);
    return shared;
}

void stk_py_dlpack_capsule_free(void *capsule)
{
    /* A consumer renames the capsule and takes the tensor over. */
    if (!PyCapsule_IsValid(capsule, "dltensor")) {
        return;
    }
    dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed != NULL) {
        managed->deleter(managed);
    }
}
