/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches as tensors in device memory: a loader, a pinned ring, one copy stream and one compute stream. Tiles and raw
 * records are decoded, resampled and normalised on the device (the CPU copies compressed bytes only), and changed by the
 * transform's steps and mixing there where that is asked for; other records join as pixels. The bytes are those of stk_loader's own batches. While batch i trains, batch i + 1 travels.
 *
 * Thread-safety: stk_uploader_next and the other calls on one uploader belong to one thread at a time;
 * stk_device_batch_release may be called from any thread, also at process exit and after stk_uploader_close. Several
 * uploaders, on one device or on several, live side by side. After fork() use is STK_ERR_STATE. */
#ifndef STOKER_GPU_UPLOAD_H
#define STOKER_GPU_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/loader.h>
#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_uploader stk_uploader;

typedef enum stk_decode {
    STK_DECODE_AUTO = 0, /* where an image costs least: a few are made on either side when an uploader opens. The CPU for
                            transforms with steps or mixing: the device takes these when asked to (GPU) */
    STK_DECODE_CPU = 1,
    STK_DECODE_GPU = 2
} stk_decode;

typedef enum stk_resident {
    STK_RESIDENT_AUTO = 0, /* on when the whole data set fits into a quarter of the device's free memory */
    STK_RESIDENT_ON = 1,   /* as many records as fit the budget; the rest is streamed */
    STK_RESIDENT_OFF = 2
} stk_resident;

typedef struct stk_uploader_options {
    size_t struct_size;      /* filled by stk_uploader_options_init */
    const char *backend;     /* NULL = "cuda"; "dummy": host memory, for tests; "dummy:lost=3" and so on: one
                                that fails (gpu_upload/dummy_device.h) */
    int device;              /* 0 */
    stk_decode decode;       /* STK_DECODE_AUTO */
    stk_resident resident;   /* STK_RESIDENT_OFF */
    uint64_t resident_bytes; /* 0 = half of the device's free memory; budget for resident records */
    uint64_t scratch_bytes;  /* 1 GiB; device memory for planes and pictures at most; larger batches go in groups of
                                whole samples. Steps need a batch's pictures once or twice more, a stream */
    uint32_t n_ahead;        /* 0 = 3; batches ready on the device ahead of the consumer */
    uint32_t n_streams;      /* 0 = 2; 1 .. 4 streams that take batches in turn, each with its share of scratch_bytes, so
                                that one batch's last blocks and the next one's first fill the device together */
} stk_uploader_options;
STK_API void stk_uploader_options_init(stk_uploader_options *options);

/* One batch on the device. Device pointers stay valid until stk_device_batch_release. */
typedef struct stk_device_batch {
    uint64_t epoch, index;
    uint32_t n, n_valid;
    uint32_t height, width, channels;
    stk_dtype dtype;
    stk_layout layout;
    void *data;                  /* device: n images */
    const int64_t *labels;       /* device [n] */
    const void *const *columns;  /* host array of device pointers, as in stk_batch */
    uint32_t n_columns;
    const uint64_t *ids;         /* host [n] */
    const int64_t *host_labels;  /* host [n] */
    const int32_t *statuses;     /* host [n]; complete once the device's work is done and stk_uploader_next or
                                    stk_device_batch_read was called after that: bits found invalid by the device are
                                    STK_ERR_IMAGE then, for all views of the sample, whose pixels are zero */
    int device;
    const stk_array *array;      /* host; as in stk_batch: NULL, or the type and shape of each entry of data */
    const int64_t *host_labels2; /* host [n]; under transform.mix as stk_batch.labels2, else NULL */
    const float *host_shares;    /* host [n]; likewise; with bits that the device finds invalid complete when statuses are */
} stk_device_batch;

/* Opens a loader over dataset with loader_options (allocator, gather and gather_resident are the uploader's own) and
 * starts. The data set must stay open until stk_uploader_close. Errors: STK_ERR_UNSUPPORTED (no CUDA part or driver:
 * one sentence), STK_ERR_DEVICE, STK_ERR_MEMORY. */
STK_API STK_NODISCARD stk_status stk_uploader_open(const stk_dataset *dataset, const stk_loader_options *loader_options,
                                                   const stk_uploader_options *options, stk_uploader **out,
                                                   stk_error *error);

/* Stops, waits for the device's work of this uploader, frees. Batches still held stay valid. Sets to NULL. */
STK_API void stk_uploader_close(stk_uploader **uploader);

/* The next batch, its work queued before everything that `stream` (a cudaStream_t; NULL = the legacy default stream) is
 * given from now on: the stream waits, not the host. timeout_ms, STK_END, STK_AGAIN as stk_loader_next. Invalid bits
 * found by the device count as STK_ERR_IMAGE of their sample: with on_bad=error the batch is not delivered when its
 * device work is done already, else the next call reports it. */
STK_API STK_NODISCARD stk_status stk_uploader_next(stk_uploader *uploader, void *stream, int timeout_ms,
                                                   stk_device_batch **out, stk_error *error);

/* Gives a batch back: its memory is written again only after what `stream` was given until now. NULL batch is fine. */
STK_API void stk_device_batch_release(stk_device_batch *batch, void *stream);

/* As the loader's. */
STK_API uint64_t stk_uploader_len(const stk_uploader *uploader);
STK_API STK_NODISCARD stk_status stk_uploader_set_epoch(stk_uploader *uploader, uint64_t epoch, stk_error *error);
STK_API STK_NODISCARD stk_status stk_uploader_state(const stk_uploader *uploader, char *text, stk_error *error);
STK_API STK_NODISCARD stk_status stk_uploader_restore(stk_uploader *uploader, const char *text, stk_error *error);

typedef struct stk_uploader_stats {
    stk_loader_stats loader;
    uint64_t batches, bad_on_device; /* the latter: samples */
    uint64_t uploaded_bytes;
    double upload_ms;         /* of copies, by events */
    double upload_gb_per_s;   /* of both: 1e9 bytes a second */
    double decode_ms;         /* of kernels, by events */
    uint64_t consumer_wait_ns;
    uint64_t resident_records, resident_bytes;
    uint64_t device_bytes, pinned_bytes; /* held now */
    uint64_t pageable_bytes; /* of host memory that could not be pinned: uploads from there are slower */
    bool fast_kernel;
    char device_name[128];
    char decode[224]; /* which side decodes, and why */
} stk_uploader_stats;
STK_API void stk_uploader_get_stats(stk_uploader *uploader, stk_uploader_stats *out);

/* For tests and for callers without a CUDA runtime of their own: copies n_bytes of a batch's device memory to host
 * memory, after all its work; batch->statuses is then complete. */
STK_API STK_NODISCARD stk_status stk_device_batch_read(const stk_device_batch *batch, const void *device_memory,
                                                       void *host_memory, size_t n_bytes, stk_error *error);

STK_END_DECLS

#endif
