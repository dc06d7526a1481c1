/* SPDX-License-Identifier: Apache-2.0
 *
 * Which data sets of an HDF5 file are the images, the labels and the columns. */
#ifndef STK_FORMAT_HDF5_SELECT_H
#define STK_FORMAT_HDF5_SELECT_H

#include <stoker/dataset.h>

#include "format/hdf5/hdf5_plan.h"

typedef enum stk_h5_kind {
    STK_H5_OWN_UNIFORM = 1, /* images + xxh3 of ours */
    STK_H5_OWN_BLOB = 2,    /* data + offset + length ... of ours */
    STK_H5_PIXELS_NHWC = 3, /* [N, H, W, C] or [N, H, W] (C = 1) */
    STK_H5_PIXELS_NCHW = 4,
    STK_H5_BLOBS = 5, /* one encoded image a row: opaque or variable-length bytes */
    STK_H5_ARRAYS = 6 /* anything numeric, served as it is */
} stk_h5_kind;

#define STK_H5_NONE UINT32_MAX

typedef struct stk_h5_selection {
    stk_h5_kind kind;
    uint32_t images; /* data set number */
    uint32_t labels; /* STK_H5_NONE: none */
    uint32_t text_labels; /* without labels: a data set of text by a label's name, for whoever makes classes of it */
    uint64_t n_rows;
    uint32_t width, height, channels; /* pixels kinds */
    bool own_arrays;                  /* arrays of ours, with xxh3 beside them */
    bool convert;                     /* elements are not uint8: mapped by options.range_min/max */
    char label_note[480], image_note[400]; /* a sentence on what was not read, and how to; "": nothing */
} stk_h5_selection;

/* Chooses by the options' paths, else by name and shape. STK_ERR_NOT_FOUND lists what there is. */
stk_status stk_h5_select(const stk_h5_plan *plan, const stk_dataset_options *options, const char *path,
                         stk_h5_selection *out, stk_error *error);

/* Number of the data set with this path; STK_H5_NONE. A leading slash is fine. */
uint32_t stk_h5_find(const stk_h5_plan *plan, const char *name);

/* "images [N, H, W, C]", "encoded images", "array", ...; NULL when the data set is neither. */
const char *stk_h5_looks_like(const stk_h5_dataset *d);

/* The file described as JSON text for info: library, data sets, layouts, what they look like, the choice. */
stk_status stk_h5_describe(const stk_h5_plan *plan, const stk_h5_selection *selection, stk_buffer *out,
                           stk_error *error);

/* The same for people: a line for each data set; zero-terminated. */
stk_status stk_h5_describe_lines(const stk_h5_plan *plan, const stk_h5_selection *selection, stk_buffer *out,
                                 stk_error *error);

#endif
