/* SPDX-License-Identifier: Apache-2.0
 *
 * What the Python layer needs in C beside the public API: loops over many records that would be slow in
 * Python, batches whose memory outlives the loader, and log lines without calling Python from C threads. */
#ifndef STK_PY_SHIM_H
#define STK_PY_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/gpu_upload.h>
#include <stoker/loader.h>
#include <stoker/status.h>
#include <stoker/writer.h>

/* Labels of n records; ids may be NULL (records 0 .. n-1). */
stk_status stk_py_labels(const stk_dataset *dataset, const uint64_t *ids, uint64_t n, int64_t *labels,
                         stk_error *error);

/* (height, width) of n records: sizes holds 2 * n numbers. */
stk_status stk_py_sizes(const stk_dataset *dataset, const uint64_t *ids, uint64_t n, uint32_t *sizes,
                        stk_error *error);

/* A column with a fixed number of elements a row: n * row_bytes bytes into values; nulls[i] is 1 where the
 * value is null (the row's bytes are then 0). */
stk_status stk_py_fixed_column(const stk_dataset *dataset, uint32_t column, const uint64_t *ids, uint64_t n,
                               size_t row_bytes, void *values, uint8_t *nulls, stk_error *error);

/* A column of strings, bytes or variable arrays: the rows' bytes one after the other in *values, row i at
 * offsets[i] .. offsets[i + 1] (n + 1 offsets). */
stk_status stk_py_variable_column(const stk_dataset *dataset, uint32_t column, const uint64_t *ids, uint64_t n,
                                  uint64_t *offsets, uint8_t *nulls, stk_buffer *values, stk_error *error);

/* The crops of a batch's n entries, views of one sample side by side. */
stk_status stk_py_crops(const stk_dataset *dataset, const stk_loader_options *options, uint64_t epoch,
                        const uint64_t *ids, const uint32_t *occurrences, uint32_t n, uint32_t n_views, stk_crop *crops,
                        stk_error *error);

/* Closing from a finaliser. A forked child does nothing: its copy of the loader has no threads and may hold
 * locked mutexes for ever. pid: of the process that opened the handle. */
void stk_py_close_dataset(stk_dataset *dataset);
void stk_py_close_loader(stk_loader *loader, int64_t pid);
void stk_py_close_uploader(stk_uploader *uploader, int64_t pid);
void stk_py_close_writer(stk_writer *writer, int64_t pid);

/* A batch that goes back to its loader, with the same rule, when Python frees the arrays over it. */
typedef struct stk_py_slot stk_py_slot;

/* Takes over the batch. NULL: out of memory, batch not taken. */
stk_py_slot *stk_py_slot_new(stk_batch *batch, int64_t pid);
/* Gives the batch back. From any thread; NULL is fine. */
void stk_py_slot_free(stk_py_slot *slot);

/* A device batch shared by the tensors made over it, counted: it goes back to the uploader with the last one,
 * after what `stream` was given until then. From any thread, with or without the GIL. */
typedef struct stk_py_device_slot stk_py_device_slot;

/* Takes over the batch; one reference. NULL: out of memory, batch not taken. */
stk_py_device_slot *stk_py_device_slot_new(stk_device_batch *batch, void *stream, int64_t pid);
void stk_py_device_slot_unref(stk_py_device_slot *slot);
/* Returns when the device has finished the batch. */
void stk_py_device_slot_wait(stk_py_device_slot *slot);

#define STK_PY_MAX_DIMENSIONS 5
/* A DLManagedTensor over the slot's memory that owns a reference. shape and strides count elements; device_type,
 * type_code and type_bits as DLPack numbers them. NULL: out of memory. */
void *stk_py_device_slot_dlpack(stk_py_device_slot *slot, void *data, int device_type, int ndim,
                                const int64_t *shape, const int64_t *strides, int type_code, int type_bits);
/* The destructor of a PyCapsule named "dltensor" over such a tensor: frees it unless it was consumed. */
void stk_py_dlpack_capsule_free(void *capsule);

/* Log lines kept until Python asks for them, the last 64. Worker threads never wait for the GIL. */
typedef struct stk_py_log stk_py_log;
stk_py_log *stk_py_log_new(void);
void stk_py_log_free(stk_py_log *log);
/* Makes options send their lines to log. */
void stk_py_log_attach(stk_py_log *log, stk_loader_options *options);
/* Takes the oldest line into text (capacity bytes with the zero); false when there is none. */
bool stk_py_log_take(stk_py_log *log, char *text, size_t capacity);
/* Cheap test for stk_py_log_take. */
bool stk_py_log_waiting(const stk_py_log *log);

/* The stoker command's main(). */
int stk_py_command(int argc, char **argv);

#endif
