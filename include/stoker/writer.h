/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing sample by sample: for programs that have their images in memory, in a database or in a stream, and no
 * folder of files. What is written is byte for byte what stk_pack writes of a folder with the same files in the
 * same order; only DST.sources is not made, since there are no sources to come back to.
 *
 * Samples wait in an unnamed file beside DST until there are enough of them for all threads, and are then encoded
 * in parallel. The output appears with stk_writer_finish, whole, or not at all.
 *
 * Thread-safety: a writer belongs to one thread at a time. */
#ifndef STOKER_WRITER_H
#define STOKER_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/pack.h>
#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_writer stk_writer;

typedef struct stk_writer_options {
    size_t struct_size;           /* filled by stk_writer_options_init */
    const stk_pack_options *pack; /* NULL = defaults. How images become records; format, force, shard_bytes, cache,
                                     n_threads and the callbacks as in stk_pack. Refused: part, shuffle, quarantine.
                                     Without meaning here: manifest and its columns, root, resume, rehash, source. */
    const stk_column *columns;    /* of every sample; copied. A value of a column that is not nullable must be there.
                                     The name "path" is taken. */
    uint32_t n_columns;
    const char *const *class_names; /* label 0, 1, ...; copied. n_classes 0: labels are plain numbers, or absent */
    uint32_t n_classes;
    const char *metadata; /* NULL, or a JSON object whose members join the data set's metadata; copied */
} stk_writer_options;
STK_API void stk_writer_options_init(stk_writer_options *options);

typedef enum stk_item_kind {
    STK_ITEM_FILE = 0,   /* the content of an image file (JPEG, PNG ...) or of a .npy */
    STK_ITEM_PIXELS = 1, /* height x width x channels bytes, rows from the top: kept as raw pixels by encode auto and keep */
    STK_ITEM_ARRAY = 2   /* elements in C order, little-endian: an `array` record */
} stk_item_kind;

/* One sample. Start with {0} and label -1. Everything is copied before stk_writer_add returns. */
typedef struct stk_item {
    stk_item_kind kind;
    const char *path; /* raw bytes, what stk_dataset's column "path" gives; NULL = the sample's number, 8 digits */
    const void *data;
    size_t n_bytes;
    uint32_t width, height, channels; /* PIXELS; channels 1 (grey) or 3 (RGB) */
    stk_type dtype;                   /* ARRAY; a type with a size */
    uint32_t n_dims;                  /* ARRAY; at most 16 */
    const uint64_t *shape;            /* ARRAY */
    int64_t label;                    /* -1: none; below n_classes where there are classes */
    const stk_value *values;          /* [n_columns]; n_items elements, or bytes of text, at data. n_bytes is not read */
} stk_item;

/* Begins an output at dst ("x.stk", "folder/" or "x.h5"). Errors: STK_ERR_ARGUMENT, STK_ERR_EXISTS (and not
 * options.pack->force), STK_ERR_BUSY, STK_ERR_IO. *out on success, NULL on failure. */
STK_API STK_NODISCARD stk_status stk_writer_open(const char *dst, const stk_writer_options *options, stk_writer **out,
                                                 stk_error *error);

/* Adds a sample. STK_ERR_ARGUMENT: the item itself is wrong; nothing was added, and the writer goes on. Any other
 * error ends the writer: an image that cannot be stored (under on_bad or on_damaged "fail"; the text names its path;
 * it may be one added earlier), a full disk, STK_ERR_CANCELLED by the progress callback. */
STK_API STK_NODISCARD stk_status stk_writer_add(stk_writer *writer, const stk_item *item, stk_error *error);

/* Samples added so far. */
STK_API uint64_t stk_writer_len(const stk_writer *writer);

/* Encodes what waits, ends the output and puts it in place; DST.report.jsonl lists what was left out. report may be
 * NULL. Without a single record: STK_ERR_NOT_FOUND, and no output. */
STK_API STK_NODISCARD stk_status stk_writer_finish(stk_writer *writer, stk_pack_report *report, stk_error *error);

/* Frees; what was not finished leaves no trace. Sets *writer to NULL. */
STK_API void stk_writer_close(stk_writer **writer);

STK_END_DECLS

#endif
