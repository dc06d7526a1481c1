/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader needs of a container, behind one table: .stk shard, folder of shards, HDF5. A storage gives
 * rows (where a payload lies and how it is encoded), columns, metadata; payload bytes are then fetched by
 * the reader itself from the row's file, or by the storage where they have no place of their own. */
#ifndef STK_FORMAT_STORAGE_H
#define STK_FORMAT_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>
#include <stoker/status.h>
#include <stoker/types.h>

#include "common/file.h"

typedef struct stk_row {
    uint64_t offset; /* of the payload in file `file`; UINT64_MAX: ask fetch */
    uint64_t n_bytes;
    uint64_t xxh3;
    int64_t label;          /* -1: none */
    uint32_t width, height; /* turned */
    uint32_t file;
    uint32_t tables; /* number of the shared table set + 1; 0: none */
    uint8_t encoding;
    uint8_t orientation; /* 1..8 */
    uint8_t channels;    /* 1 or 3 as delivered; 0 for arrays */
    uint8_t has_xxh3;    /* 0 for foreign containers without checksums */
    const stk_array *array; /* STK_ENCODING_ARRAY: the payload is the elements of such an array alone; the storage's.
                               NULL: it begins with a header (array_layout.h) */
} stk_row;

typedef struct stk_storage stk_storage;

/* One finding of ops->check: where (file number, offset in it; record UINT64_MAX when it is not one record's)
 * and what, in a sentence that names the file. */
typedef struct stk_storage_issue {
    uint64_t record, offset;
    uint32_t file;
    const char *reason;
} stk_storage_issue;
typedef void (*stk_storage_issue_fn)(void *user, const stk_storage_issue *issue);

/* Thread-safety: after open, every entry but close may be called from any number of threads. */
typedef struct stk_storage_ops {
    const char *name; /* "stk", "stk-folder", "hdf5" */
    void (*close)(stk_storage *self);
    /* Row i (i < n_rows is the caller's duty). Checks the index block on its first touch and the row's bounds
     * at each. */
    stk_status (*row)(stk_storage *self, uint64_t i, stk_row *out, stk_error *error);
    /* The open file with number `file` (opened lazily); fd stays open until close. */
    stk_status (*file)(stk_storage *self, uint32_t file, stk_file *out, uint64_t *n_bytes, stk_error *error);
    /* Payload into dst (row->n_bytes bytes) where it has no place of its own; NULL: never needed. */
    stk_status (*fetch)(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error);
    /* Column c of row i into the caller's buffer, as stk_dataset_value. */
    stk_status (*value)(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                        stk_value *out, stk_error *error);
    /* Shared table set t: bytes that live until close. */
    stk_status (*tables)(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                         stk_error *error);
    /* Everything but the payloads: index, values, table sets, metadata, data set id. Each finding goes to fn,
     * on the calling thread. STK_OK when all could be looked at, whatever was found. NULL: nothing to check.
     */
    stk_status (*check)(stk_storage *self, stk_storage_issue_fn fn, void *user, stk_error *error);
    /* Compares record i with the copy of its row that lies before the payload (for salvage): STK_ERR_CORRUPT
     * when they differ. NULL: there is no copy. */
    stk_status (*check_record)(stk_storage *self, uint64_t i, stk_error *error);
} stk_storage_ops;

/* The common head of every storage; implementations embed it first. */
struct stk_storage {
    const stk_storage_ops *ops;
    uint64_t n_rows;
    uint64_t total_bytes; /* of all files */
    uint32_t n_files;
    uint32_t n_columns;
    const stk_column *columns;
    uint32_t n_classes;
    const char *const *class_names;
    bool has_labels;
    uint32_t n_table_sets;
    char id[33];          /* data set id, hex */
    const char *metadata; /* JSON text: an object */
    const char *road;     /* one clause; NULL = the reader's own mmap/pread */
    uint64_t chunk_rows;  /* rows that are decoded together; 0 or 1: each by itself */
    const char *slow;     /* what is slow about random order, and what to do; NULL = nothing */
    const char *contents; /* what else the file holds, a line each, for people; NULL = nothing */
    uint32_t text_labels; /* a column + 1 whose text names each row's class, where has_labels is false; 0 = none */
    const char *label_note, *image_note; /* a sentence on what was not read of another program's file; NULL = nothing */
};

/* Opens whatever lies at path: by content (magic), not by name. options may be NULL. Of the options only
 * salvage and those of HDF5 matter here: limits on pixels and bytes of a record are for whoever fetches its
 * payload. */
stk_status stk_storage_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                            stk_error *error);
void stk_storage_close(stk_storage **storage);

/* What lies at path, without opening it: "stk", "stk-folder" (whether it has a manifest is not looked at) or "hdf5".
 * STK_ERR_UNSUPPORTED for anything else. *name is static text. */
stk_status stk_storage_sniff(const char *path, const char **name, stk_error *error);

#endif
