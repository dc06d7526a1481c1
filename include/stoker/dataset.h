/* SPDX-License-Identifier: Apache-2.0
 *
 * A packed data set, opened for reading: a .stk file, a folder of shards with dataset.json, or an HDF5
 * file. Opening reads header, trailer, column table and metadata only: constant time and memory for any
 * number of records.
 *
 * Thread-safety: an open stk_dataset is immutable; every function here may be called on one handle from
 * any number of threads at once, except stk_dataset_close. */
#ifndef STOKER_DATASET_H
#define STOKER_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/status.h>
#include <stoker/types.h>

STK_BEGIN_DECLS

typedef struct stk_dataset stk_dataset;

/* How payload bytes are fetched. */
typedef enum stk_io {
    STK_IO_AUTO = 0, /* mmap on tmpfs and local disks (there when the set fits in half of the memory), pread on
                        network, FUSE and overlay file systems. A loader copies a set of small records (16 KiB on
                        average) into memory when it fits in an eighth of it and in 1 GiB. */
    STK_IO_MMAP = 1,
    STK_IO_PREAD = 2
} stk_io;

/* When a record's payload checksum is compared. */
typedef enum stk_verify_mode {
    STK_VERIFY_FIRST = 0, /* the first time this process touches the record */
    STK_VERIFY_ALWAYS = 1,
    STK_VERIFY_OFF = 2
} stk_verify_mode;

typedef struct stk_dataset_options {
    size_t struct_size;          /* filled by stk_dataset_options_init */
    stk_io io;                   /* STK_IO_AUTO */
    stk_verify_mode verify;      /* STK_VERIFY_FIRST */
    bool salvage;                /* false; true: open a file without its end by scanning its records. The metadata says
                                    then how many are "missing", and "end": false when more may have come last */
    const char *hdf5_images;     /* NULL = found by name and shape; path of the image data set (HDF5) */
    const char *hdf5_labels;     /* NULL = found; path of the label data set (HDF5) */
    double range_min, range_max; /* 0, 0 = not given; source range of non-uint8 images mapped to 0..255 */
    uint64_t max_pixels;         /* 178,956,970; larger records are refused (STK_ERR_LIMIT) */
    uint64_t max_record_bytes;   /* 4 GiB */
    const char *stage;           /* NULL; "auto" or a folder: read from a copy on a faster disk (stage.h). One that is
                                    there is used at once; else a thread makes it, or waits for the process that does,
                                    and reading changes over to it when it is ready. What the copy does not hold, or
                                    holds with a wrong checksum, is read from path. */
    bool hdf5_arrays;            /* false; true: an HDF5 data set that looks like images (masks [N, H, W] of uint8, say)
                                    is served as arrays, as it is */
} stk_dataset_options;

/* Fills *options with the defaults named above. */
STK_API void stk_dataset_options_init(stk_dataset_options *options);

/* Opens the data set at path. options may be NULL. On success *out owns the handle (close it with
 * stk_dataset_close); on failure *out is NULL. Errors name the path and, for a broken file, the offset. */
STK_API STK_NODISCARD stk_status stk_dataset_open(const char *path, const stk_dataset_options *options,
                                                  stk_dataset **out, stk_error *error);

/* Several data sets as one: the records of parts[0], then those of parts[1] ... Classes are joined by name, in the
 * order in which they first appear; columns by name, null where a part has no such column. Options are those of
 * parts[0]; what a part reads from a staged copy, now or later, is read from there here too. The parts stay the caller's
 * and must stay open as long as *out. Errors: STK_ERR_ARGUMENT for parts that do not go together (a column of two types,
 * named classes in one and numbers as labels in another). */
STK_API STK_NODISCARD stk_status stk_dataset_concat(const stk_dataset *const *parts, uint32_t n_parts,
                                                    stk_dataset **out, stk_error *error);

/* Image files that are not packed, for trying things out: slower than a packed set, and not checked by anything. */
typedef struct stk_file_list {
    const char *root;         /* folder */
    const char *const *paths; /* [n], relative to root: the records' column "path" */
    const int64_t *labels;    /* [n], -1 for none; NULL: no labels */
    uint64_t n;
    const char *const *class_names; /* [n_classes] */
    uint32_t n_classes;
} stk_file_list;

/* Opens the files of a list as records, in its order; all of it is copied. A file is looked at when it is first read,
 * so one that is missing or no image is an error of its record. options may be NULL. */
STK_API STK_NODISCARD stk_status stk_dataset_open_files(const stk_file_list *list, const stk_dataset_options *options,
                                                        stk_dataset **out, stk_error *error);

/* Closes and sets *dataset to NULL. NULL content is fine. Loaders over it must be closed first. */
STK_API void stk_dataset_close(stk_dataset **dataset);

/* Number of records. */
STK_API uint64_t stk_dataset_len(const stk_dataset *dataset);

/* Content identity: 32 lower-case hex digits (XXH3-128 over record checksums, index and metadata),
 * zero-terminated. Lives as long as the handle. */
STK_API const char *stk_dataset_id(const stk_dataset *dataset);

/* "stk", "stk-folder", "hdf5" ... Static text. */
STK_API const char *stk_dataset_container(const stk_dataset *dataset);

/* The road payload bytes take, one clause for people ("mmap", "pread", "H5Dread_chunk under a lock"). */
STK_API const char *stk_dataset_road(const stk_dataset *dataset);

/* How reading from a staged copy stands; of joined data sets, "copying" while one is copied, and "subset" when not all are
 * whole. */
typedef struct stk_dataset_stage_info {
    const char *state; /* "off" (not asked for), "copying" (read from path meanwhile), "whole", "subset", "needless" (no
                          place is faster), "failed". Static text. */
    uint64_t bytes;    /* that the copy in use holds; 0 = none is in use */
    const char *text;  /* the copy's folder, or why there is none; lives as long as the handle */
} stk_dataset_stage_info;
STK_API void stk_dataset_stage(const stk_dataset *dataset, stk_dataset_stage_info *out);

/* What makes random order slow here and what to do about it, one sentence; NULL where nothing does (only foreign
 * HDF5 with many images a compressed chunk has such a thing). Lives as long as the handle. */
STK_API const char *stk_dataset_slow_pattern(const stk_dataset *dataset);

/* Foreign HDF5: all data sets in the file, one a line (path, type, shape, layout, what it looks like); else NULL.
 * Lives as long as the handle. */
STK_API const char *stk_dataset_contents(const stk_dataset *dataset);

/* Total size of the data set's files in bytes. */
STK_API uint64_t stk_dataset_bytes(const stk_dataset *dataset);

/* The metadata as JSON text (UTF-8): "version", "classes", "encoding", "transform", "exif", "mode",
 * "check" ... (docs/format.md). Lives as long as the handle. */
STK_API const char *stk_dataset_metadata(const stk_dataset *dataset);

/* Class names in label order; 0 classes when labels are plain numbers or absent. The name lives as long
 * as the handle; NULL when i is out of range. */
STK_API uint32_t stk_dataset_classes(const stk_dataset *dataset);
STK_API const char *stk_dataset_class_name(const stk_dataset *dataset, uint32_t i);

/* True when records carry labels. */
STK_API bool stk_dataset_has_labels(const stk_dataset *dataset);

/* What is known of a record without touching its payload. */
typedef struct stk_record_info {
    int64_t label;          /* -1: none */
    uint32_t width, height; /* pixels, turned; 0 for arrays */
    uint8_t channels;       /* 1 or 3 as delivered; 0 for arrays */
    uint8_t orientation;    /* EXIF 1..8; 1 = as stored. Applied on every read. */
    stk_encoding encoding;
    uint64_t n_bytes; /* of the stored payload */
    uint64_t offset;  /* of the payload in its file; UINT64_MAX when it has none (filtered HDF5) */
    uint64_t xxh3;    /* XXH3-64 of the payload */
    uint32_t shard;   /* number of the file it lies in */
} stk_record_info;

/* Describes record i. Errors: STK_ERR_ARGUMENT (i out of range), STK_ERR_CORRUPT (index damaged). */
STK_API STK_NODISCARD stk_status stk_dataset_record(const stk_dataset *dataset, uint64_t i,
                                                    stk_record_info *out, stk_error *error);

/* Columns. Besides the user's columns there is always "path": the source's path relative to SRC, as raw
 * bytes, unless packed with paths off. */
STK_API uint32_t stk_dataset_columns(const stk_dataset *dataset);
STK_API STK_NODISCARD stk_status stk_dataset_column(const stk_dataset *dataset, uint32_t column,
                                                    stk_column *out, stk_error *error);
/* Column number by name; UINT32_MAX when there is none. */
STK_API uint32_t stk_dataset_find_column(const stk_dataset *dataset, const char *name);

/* Reads one value into the caller's buffer. out->data points into buffer. When capacity is too small the
 * status is STK_ERR_LIMIT and out->n_bytes says what is needed. */
STK_API STK_NODISCARD stk_status stk_dataset_value(const stk_dataset *dataset, uint32_t column, uint64_t i,
                                                   void *buffer, size_t capacity, stk_value *out,
                                                   stk_error *error);

/* A buffer owned by the caller and reused between calls; start with {0}. Freed by stk_buffer_free. */
typedef struct stk_buffer {
    uint8_t *data;
    size_t n_bytes;
    size_t capacity;
} stk_buffer;
STK_API void stk_buffer_free(stk_buffer *buffer);

/* The stored payload of record i, checksum compared as options.verify says. */
STK_API STK_NODISCARD stk_status stk_dataset_payload(const stk_dataset *dataset, uint64_t i, stk_buffer *out,
                                                     stk_error *error);

/* Record i as a file that other software opens: verbatim records as they were; tiles as an ordinary
 * baseline JPEG with the same pixels and orientation tag; raw as PNG; arrays as .npy. *extension (static
 * text, "jpg", "png", ...) may be NULL. */
STK_API STK_NODISCARD stk_status stk_dataset_extract(const stk_dataset *dataset, uint64_t i, stk_buffer *out,
                                                     const char **extension, stk_error *error);

/* The reference path for one image: decode, turn, crop, resample, flip. */
typedef struct stk_image_request {
    size_t struct_size;   /* filled by stk_image_request_init */
    stk_box box;          /* all 0 = the whole image; must lie inside it */
    uint32_t out_width;   /* 0 = the box's width */
    uint32_t out_height;  /* 0 = the box's height */
    stk_filter filter;    /* STK_FILTER_BILINEAR */
    stk_pixels pixels;    /* STK_PIXELS_PILLOW13 */
    stk_color color;      /* STK_COLOR_RGB */
    bool flip_horizontal; /* false */
    bool ignore_damage;   /* false; true: deliver what the decoder gave although it complained */
} stk_image_request;
STK_API void stk_image_request_init(stk_image_request *request);

/* Decodes record i into out: out_height rows of out_width * channels bytes, no padding. request may be
 * NULL (whole image). Errors: STK_ERR_DAMAGED / STK_ERR_IMAGE / STK_ERR_CHECKSUM name the record. */
STK_API STK_NODISCARD stk_status stk_dataset_image(const stk_dataset *dataset, uint64_t i,
                                                   const stk_image_request *request, stk_buffer *out,
                                                   uint32_t *width, uint32_t *height, uint32_t *channels,
                                                   stk_error *error);

/* Record i as an array: its elements go to buffer (out->data points into it, aligned to 64 bytes). Errors:
 * STK_ERR_UNSUPPORTED (the record is an image), and those of reading it. */
STK_API STK_NODISCARD stk_status stk_dataset_array(const stk_dataset *dataset, uint64_t i, stk_buffer *buffer,
                                                   stk_array *out, stk_error *error);

/* What an array is, for people: "float32 [3, 224, 224]". Writes at most capacity bytes with their zero; returns text. */
STK_API const char *stk_array_text(const stk_array *array, char *text, size_t capacity);

STK_END_DECLS

#endif
