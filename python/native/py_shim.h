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
#include <stoker/pack.h>
#include <stoker/stage.h>
#include <stoker/status.h>
#include <stoker/verify.h>
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

/* Callbacks for the options of packing, verifying and staging: they call Python until the interpreter begins to end.
 * user: of a Callbacks object. */
bool stk_py_pack_progress(void *user, const stk_pack_progress *progress);
void stk_py_pack_issue(void *user, const stk_pack_issue *issue);
bool stk_py_verify_progress(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done);
void stk_py_verify_issue(void *user, const stk_verify_issue *issue);
bool stk_py_stage_progress(void *user, const stk_stage_progress *progress);
/* From now on none of them calls Python. Those that do are waited for, so long at most; not with the GIL held. */
void stk_py_end_callbacks(unsigned timeout_ms);
/* In the child of a fork(), which has none of the other threads. */
void stk_py_callbacks_forked(void);

/* Closing from a finaliser. A forked child does nothing with a writer: its copy may hold locked mutexes for ever.
 * pid: of the process that opened it. */
void stk_py_close_dataset(stk_dataset *dataset);
void stk_py_close_writer(stk_writer *writer, int64_t pid);

/* What the next call of a loader or an uploader gave: a batch, the end of an epoch or an error. Counted: the batch goes
 * back with the last reference, a device's after what `stream` was given until then. From any thread, with or without
 * the GIL; in a forked child nothing goes back. Python makes it before the call that fills it, so that no exception
 * between two instructions loses what came. */
typedef struct stk_py_slot stk_py_slot;

/* Empty; one reference. NULL: out of memory. */
stk_py_slot *stk_py_slot_new(void);
void stk_py_slot_unref(stk_py_slot *slot);
/* STK_AGAIN: it is empty. */
stk_status stk_py_slot_status(const stk_py_slot *slot);
/* The text that goes with an error's status. After STK_AGAIN: what the threads are at. */
const char *stk_py_slot_error(const stk_py_slot *slot);
stk_batch *stk_py_slot_batch(const stk_py_slot *slot);
stk_device_batch *stk_py_slot_device_batch(const stk_py_slot *slot);
void *stk_py_slot_stream(const stk_py_slot *slot);
/* Returns when the device has finished the batch. */
void stk_py_slot_wait(stk_py_slot *slot);

#define STK_PY_MAX_DIMENSIONS 5
/* A DLManagedTensor over the slot's device memory that owns a reference. shape and strides count elements; device_type,
 * type_code and type_bits as DLPack numbers them. NULL: out of memory. */
void *stk_py_slot_dlpack(stk_py_slot *slot, void *data, int device_type, int ndim, const int64_t *shape,
                         const int64_t *strides, int type_code, int type_bits);
/* The destructor of a PyCapsule named "dltensor" over such a tensor: frees it unless it was consumed. */
void stk_py_dlpack_capsule_free(void *capsule);

/* A loader or an uploader as Python holds it. Calls are counted, and closing waits for those under way: any thread may
 * close it at any moment, a finaliser too. No call runs Python code, so neither the garbage collector nor a signal's
 * handler ever finds one half-way on its own thread. Errors: those of the loader and uploader; STK_ERR_STATE once it
 * is closed, and in a forked child. */
typedef struct stk_py_core stk_py_core;

/* Not open yet. NULL: out of memory. */
stk_py_core *stk_py_core_new(void);
/* device_options NULL: batches in host memory. Called once. The data set must live until the core is closed. */
stk_status stk_py_core_open(stk_py_core *core, const stk_dataset *dataset, const stk_loader_options *options,
                            const stk_uploader_options *device_options, stk_error *error);
/* Returns when it is closed; a second time does nothing, and neither does a forked child. */
void stk_py_core_close(stk_py_core *core);
/* Closes it if need be. Nothing may be under way. */
void stk_py_core_free(stk_py_core *core);
/* Fills the slot; what it holds already is given again. STK_AGAIN: nothing came within timeout_ms. */
stk_status stk_py_core_next(stk_py_core *core, stk_py_slot *slot, void *stream, int timeout_ms);
/* The position, STK_STATE_BYTES of it; kept: a slot that was filled and that the caller has not used, or NULL. */
stk_status stk_py_core_state(stk_py_core *core, const stk_py_slot *kept, char *text, stk_error *error);
stk_status stk_py_core_restore(stk_py_core *core, const char *text, stk_error *error);
stk_status stk_py_core_set_epoch(stk_py_core *core, uint64_t epoch, stk_error *error);
stk_status stk_py_core_len(stk_py_core *core, uint64_t *out, stk_error *error);
/* Fills one of the two: device where there is one. */
stk_status stk_py_core_stats(stk_py_core *core, stk_loader_stats *host, stk_uploader_stats *device, stk_error *error);
/* The log's lines, also of a closed one. */
bool stk_py_core_log_waiting(const stk_py_core *core);
bool stk_py_core_log_take(stk_py_core *core, char *text, size_t capacity);

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
