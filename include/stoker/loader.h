/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches out of a data set: one team of OpenMP threads for the loader's life, one global sequence of
 * samples per epoch, batches delivered in order.
 *
 * Thread-safety: stk_loader_next and the other calls on one loader belong to one consumer thread at a time;
 * stk_batch_release may be called from any thread. Several loaders (train and validation) live side by
 * side. After fork() the child's calls on an inherited loader return STK_ERR_STATE. */
#ifndef STOKER_LOADER_H
#define STOKER_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>
#include <stoker/transform.h>
#include <stoker/types.h>

STK_BEGIN_DECLS

typedef struct stk_loader stk_loader;

typedef enum stk_order {
    STK_ORDER_SHUFFLE = 0,    /* exact: a stateless bijection of all samples */
    STK_ORDER_SEQUENTIAL = 1, /* as stored */
    STK_ORDER_PAGE = 2,       /* page-local: windows of pages out of a permutation of all pages */
    STK_ORDER_WEIGHTED = 3    /* with replacement, by weights */
} stk_order;

typedef enum stk_last {
    STK_LAST_KEEP = 0, /* the last batch may be smaller; over several ranks it is dealt out evenly */
    STK_LAST_DROP = 1, /* an incomplete last batch (over all ranks) is left out */
    STK_LAST_PAD = 2   /* filled with samples from the epoch's start; n_valid says how many are real */
} stk_last;

typedef enum stk_on_bad {
    STK_ON_BAD_ERROR = 0,     /* stk_loader_next returns the error, with the sample's id */
    STK_ON_BAD_SKIP = 1,      /* the sample's place stays, status set, pixels zero; counted */
    STK_ON_BAD_SUBSTITUTE = 2 /* another, good sample of the epoch takes its place; counted */
} stk_on_bad;

/* Memory for batches. acquire may be called from the consumer or from worker threads, one call at a time;
 * release from any thread. data must be aligned to 64 bytes. */
typedef struct stk_slot_allocator {
    void *user;
    stk_status (*acquire)(void *user, size_t n_bytes, void **data, void **handle, stk_error *error);
    void (*release)(void *user, void *data, void *handle);
} stk_slot_allocator;

struct stk_gather_entry; /* gather.h */

typedef void (*stk_log_fn)(void *user, const char *line);

/* Named ranges of time, for profilers (NVTX, say). Called by the loader's threads, nested: "stoker read" around the fetching
 * of a record's bytes, "stoker decode" or "stoker gather" around what is made of them. Both, or both NULL. */
typedef struct stk_ranges {
    void (*push)(const char *name); /* the name is static text */
    void (*pop)(void);
} stk_ranges;

typedef struct stk_loader_options {
    size_t struct_size;  /* filled by stk_loader_options_init */
    uint32_t batch_size; /* 256; 1 .. number of samples */
    uint32_t n_threads;  /* 0 = stk_cpu_usable_threads() - 1, at least 1 */
    stk_transform transform;
    stk_dtype dtype;         /* STK_DTYPE_U8 */
    stk_layout layout;       /* STK_LAYOUT_NHWC */
    float mean[3], std[3];   /* ImageNet's; used for float dtypes: (x/255 - mean) / std */
    bool norm_v2;            /* false: torchvision's ToTensor + Normalize; true: v2.ToDtype's steps */
    stk_order order;         /* STK_ORDER_SHUFFLE */
    uint64_t seed;           /* 0 */
    uint32_t rank, world;    /* 0, 1 */
    stk_last last;           /* STK_LAST_KEEP */
    stk_on_bad on_bad;       /* STK_ON_BAD_ERROR */
    const uint64_t *indices; /* NULL = all; sample ids of a subset, copied */
    uint64_t n_indices;
    const double *weights; /* STK_ORDER_WEIGHTED: one a sample (of the subset), copied */
    uint64_t n_draws;      /* STK_ORDER_WEIGHTED: samples an epoch; 0 = as many as there are */
    uint32_t repeats;      /* 1; repeated augmentation: each sample this many times an epoch */
    uint32_t n_views;      /* 1; views of each sample in a batch (contrastive learning) */
    uint32_t first_view;   /* 0; number of the first of them: loaders of one order and seed that differ here and in their
                              transform give further views of the same samples, of other sizes say */
    uint32_t page_window;  /* 64; STK_ORDER_PAGE: pages mixed at a time */
    uint32_t n_ahead;      /* 0 = auto (3); batches prepared ahead of the consumer */
    uint64_t read_ahead_bytes;      /* 0 = auto; budget of bytes asked for ahead of the decoders */
    const uint32_t *columns;        /* numeric columns delivered with each batch, copied */
    uint32_t n_columns;
    stk_slot_allocator allocator; /* all NULL = aligned host memory */
    bool gather; /* false; true: batches hold what a GPU decodes (gather.h), not pixels; width, height, channels,
                    dtype and layout of a batch then say what is to be made of it; the transform's steps and mixing
                    are the consumer's to do */
    const struct stk_gather_entry *gather_resident; /* NULL; [records] with gather: what the consumer has of the records
                                        already: entries as gathered of whole images (kind STK_GATHER_EMPTY: nothing), with
                                        `data` and `segments` in its own memory. Such a record is not read; its entries
                                        are these with another crop. Kept by the caller until stk_loader_close. */
    bool gather_picks; /* false; true: batches say which samples they are made of (ids, occurrences, labels, columns), and
                          no record is read: for a consumer that has all of them and draws crops by itself. data is of
                          no use then. */
    stk_ranges ranges;            /* none */
    stk_log_fn log;               /* NULL = silent; called from any thread, one at a time */
    void *log_user;
} stk_loader_options;

STK_API void stk_loader_options_init(stk_loader_options *options);

/* The table that float batches of these options are made with, for consumers that finish pixels themselves: [3][256]
 * elements of options->dtype (not for uint8) to `table`, 4 * 768 bytes at most. */
STK_API void stk_loader_norm_table(const stk_loader_options *options, void *table);

/* How one sample of a batch (all of its views) is mixed with another. */
typedef struct stk_mixing {
    uint32_t partner; /* the other one's number in the batch, counted without views; its own: it is not mixed */
    bool cut;         /* CutMix: the box comes from the partner */
    stk_box box;
    double share; /* of the sample itself */
} stk_mixing;

/* One batch. Everything it points to stays valid and unchanged until stk_batch_release. */
typedef struct stk_batch {
    uint64_t epoch;
    uint64_t index;      /* of the batch within the epoch, on this rank */
    uint32_t n;          /* entries: samples * n_views, the views of one sample side by side */
    uint32_t n_valid;    /* entries that are real samples, the first ones; fewer than n under STK_LAST_PAD, and under
                            STK_LAST_KEEP on ranks for which an epoch's last step has no sample left (then n_views
                            entries of padding, so that all ranks have the same number of batches) */
    uint32_t height, width, channels;
    stk_dtype dtype;
    stk_layout layout;
    void *data; /* n * sample_bytes */
    size_t data_bytes;           /* used bytes of data */
    size_t sample_bytes;         /* of one entry, when all have the same */
    const uint64_t *offsets;     /* NULL: entry i starts at i * sample_bytes; else [n + 1] starts in data */
    const uint64_t *ids;         /* [n] sample ids: positions in the data set */
    const uint32_t *occurrences; /* [n] repeat numbers; under STK_ORDER_WEIGHTED the number of the draw */
    const int64_t *labels;       /* [n]; -1 where there is none */
    const int32_t *statuses;     /* [n] stk_status of each entry; STK_OK but under STK_ON_BAD_SKIP */
    const void *const *columns;  /* [n_columns] arrays as asked for in the options; null values are 0, floats NaN */
    uint32_t n_columns;
    void *handle; /* the allocator's handle of this batch's memory */
    const stk_array *array; /* NULL: images. Else the records are arrays, delivered as they are: this is the type and
                               shape of each entry (its data is NULL); data holds n of them, one after the other.
                               height, width and channels are 0 then, dtype and layout mean nothing. */
    /* Under transform.mix, else NULL: the label of what each entry was mixed with, and how much of the entry is its
     * own, 0 .. 1 (1 and its own label: not mixed). The loss is shares[i] * loss(labels[i]) + (1 - shares[i]) *
     * loss(labels2[i]). */
    const int64_t *labels2; /* [n] */
    const float *shares;    /* [n] */
    const stk_mixing *mixings; /* [n / n_views]; likewise: what was chosen for each sample. With gather the consumer does
                                  it; labels2 and shares are filled by then */
} stk_batch;

/* Starts the team and returns at once. The data set must stay open until stk_loader_close. Ownership as
 * everywhere: *out on success, NULL on failure.
 *
 * Whether batches are of images or of arrays is decided by the selection's first record that can be read; its type and
 * shape are those of all batches. A record that differs is a bad sample (STK_ERR_ARGUMENT names it and both shapes),
 * handled as on_bad says. Arrays are delivered as they are: STK_ERR_ARGUMENT for a transform other than
 * STK_TRANSFORM_NONE, a dtype other than the default, or gather. */
STK_API STK_NODISCARD stk_status stk_loader_open(const stk_dataset *dataset, const stk_loader_options *options,
                                                 stk_loader **out, stk_error *error);

/* Stops the team (the samples in flight are finished first) and frees everything. Batches still held stay
 * valid until released. Sets *loader to NULL. */
STK_API void stk_loader_close(stk_loader **loader);

/* The next batch, waiting up to timeout_ms (-1 = without end, 0 = not at all: STK_AGAIN). When the time is up, the
 * error's text says what the threads are at (reading, decoding) and with which record. STK_END once at
 * the end of each epoch; the call after it gives the next epoch's first batch. On an error of on_bad=error
 * the batch is not delivered; the loader stays usable and goes on with the next batch. */
STK_API STK_NODISCARD stk_status stk_loader_next(stk_loader *loader, int timeout_ms, stk_batch **out,
                                                 stk_error *error);

/* Gives a batch back. From any thread, also after stk_loader_close. NULL is fine. */
STK_API void stk_batch_release(stk_batch *batch);

/* Batches an epoch on this rank. */
STK_API uint64_t stk_loader_len(const stk_loader *loader);

/* Continues with the first batch of the given epoch; batches prepared ahead are dropped. */
STK_API STK_NODISCARD stk_status stk_loader_set_epoch(stk_loader *loader, uint64_t epoch, stk_error *error);

/* State after the last delivered batch, as JSON text of at most STK_STATE_BYTES bytes with its zero:
 * version, data set id, order and its version, seed, epoch, cursor (global position). */
#define STK_STATE_BYTES 1024
STK_API STK_NODISCARD stk_status stk_loader_state(const stk_loader *loader, char *text, stk_error *error);
/* Continues at a state, also one saved with another world size. Another data set, order or seed is
 * STK_ERR_ARGUMENT. */
STK_API STK_NODISCARD stk_status stk_loader_restore(stk_loader *loader, const char *text, stk_error *error);

/* Which part of a record an entry shows. The box is resampled to full_width x full_height; of that the window of
 * out_width x out_height at (window_x, window_y) is delivered (negative: padding), and then mirrored when flip is
 * set. A point (x, y) of the record, in turned pixels, so lies at ((x - box.x) * full_width / box.width - window_x, ...)
 * of the entry, or, flipped, at out_width minus that. */
typedef struct stk_crop {
    stk_box box;
    uint32_t full_width, full_height;
    int32_t window_x, window_y;
    uint32_t out_width, out_height;
    bool flip;
} stk_crop;

/* The crop of an entry of a batch, from what the batch says of it: a pure function, the same on every thread, rank
 * and device. view: first_view and the entry's number in the batch modulo n_views. Of the options transform and seed are used.
 * Errors: STK_ERR_ARGUMENT, STK_ERR_UNSUPPORTED (an array). */
STK_API STK_NODISCARD stk_status stk_loader_crop(const stk_dataset *dataset, const stk_loader_options *options,
                                                 uint64_t epoch, uint64_t sample_id, uint32_t occurrence,
                                                 uint32_t view, stk_crop *out, stk_error *error);

/* Counters since open. Times are sums over threads, in nanoseconds. */
typedef struct stk_loader_stats {
    uint64_t batches, samples, bad_samples, substituted;
    uint64_t bytes_read;       /* payload bytes handed to decoders */
    uint64_t read_ns;          /* waiting for bytes, checksums */
    uint64_t decode_ns;        /* decode + resample + convert */
    uint64_t consumer_wait_ns; /* stk_loader_next waiting for a batch */
    uint64_t worker_wait_ns;   /* workers waiting for free slots */
    uint64_t surplus_slots;    /* slots taken beyond n_ahead because the consumer held all */
    uint32_t n_threads;
    uint32_t slots;
    const char *decoder; /* which side decodes, and why: one clause, static text */
} stk_loader_stats;
STK_API void stk_loader_get_stats(const stk_loader *loader, stk_loader_stats *out);

STK_END_DECLS

#endif
