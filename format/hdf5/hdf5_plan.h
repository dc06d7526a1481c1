/* SPDX-License-Identifier: Apache-2.0
 *
 * What an HDF5 file holds, as plain bytes: made by a child process that runs libhdf5 on the file, checked and
 * used by the parent, which never calls libhdf5 itself. libhdf5 before 1.14.4 has known holes that a crafted
 * file can reach, and any version takes one lock for all reads: so it parses behind a wall, once, and data is
 * read by our own pread from then on.
 *
 * A plan is one block of memory: stk_h5_plan, then n_datasets stk_h5_dataset, then n_chunks stk_h5_chunk, then
 * text bytes. The parent trusts nothing in it (stk_h5_plan_check). */
#ifndef STK_FORMAT_HDF5_PLAN_H
#define STK_FORMAT_HDF5_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

enum {
    STK_H5_MAX_RANK = 8,
    STK_H5_MAX_FILTERS = 6,
    STK_H5_MAX_DATASETS = 4096,
    STK_H5_MAX_CHUNKS = 64 << 20,
    STK_H5_NAME = 256
};
#define STK_H5_NO_ADDRESS UINT64_MAX

typedef enum stk_h5_class {
    STK_H5_INTEGER = 1,
    STK_H5_FLOAT = 2,
    STK_H5_BOOL = 3,    /* h5py's enum of FALSE and TRUE */
    STK_H5_TEXT = 4,    /* fixed-length strings, element_bytes each */
    STK_H5_OPAQUE = 5,  /* fixed-length blobs */
    STK_H5_VLEN = 6,    /* variable-length bytes: 16-byte references into global heaps */
    STK_H5_VLEN_TEXT = 7,
    STK_H5_OTHER = 8
} stk_h5_class;

typedef enum stk_h5_layout {
    STK_H5_CONTIGUOUS = 1,
    STK_H5_CHUNKED = 2,
    STK_H5_COMPACT = 3, /* the bytes are in the plan's text */
    STK_H5_ELSEWHERE = 4 /* external or virtual: refused by name */
} stk_h5_layout;

typedef struct stk_h5_filter {
    uint32_t id; /* HDF5's registry: 1 deflate, 2 shuffle, 3 fletcher32, 32000 LZF */
    uint32_t reserved;
} stk_h5_filter;

/* One chunk; its place in the grid is its number (row-major over the chunk grid). */
typedef struct stk_h5_chunk {
    uint64_t address; /* in the file; STK_H5_NO_ADDRESS: never written */
    uint32_t n_bytes;
    uint32_t filter_mask;
} stk_h5_chunk;

typedef struct stk_h5_dataset {
    char name[STK_H5_NAME]; /* path without the leading slash */
    uint32_t class_;        /* stk_h5_class */
    uint32_t layout;        /* stk_h5_layout */
    uint32_t element_bytes;
    uint8_t is_signed, big_endian, utf8, raw_edges; /* raw_edges: partial edge chunks are not filtered */
    uint32_t rank;
    uint32_t n_filters;
    uint64_t dims[STK_H5_MAX_RANK];
    uint64_t chunk[STK_H5_MAX_RANK];
    stk_h5_filter filters[STK_H5_MAX_FILTERS];
    uint64_t address;     /* contiguous */
    uint64_t first_chunk; /* in the plan's chunk table */
    uint64_t n_chunks;    /* 0 though chunked: not listed (asked for through the child) */
    uint64_t text_offset, text_bytes; /* compact data */
    uint8_t fill[16];                 /* fill value, element_bytes of it (elements up to 16 bytes) */
    char filter_names[64];            /* for people: "gzip, shuffle" */
} stk_h5_dataset;

typedef struct stk_h5_plan {
    uint64_t magic;
    uint64_t plan_bytes;
    uint32_t status; /* stk_status of parsing */
    uint32_t own;    /* 1: written by stoker */
    uint32_t n_datasets;
    uint32_t n_classes; /* class_names: n_classes strings of class_width bytes in the text */
    uint32_t class_width, reserved;
    uint64_t n_chunks;
    uint64_t text_bytes;
    uint64_t metadata_offset, metadata_bytes; /* in the text; JSON of own files */
    uint64_t class_offset;
    char id[40];
    char library[32]; /* "1.10.8" */
    char error[512];
} stk_h5_plan;
#define STK_H5_PLAN_MAGIC UINT64_C(0x314e414c50354853)

static inline const stk_h5_dataset *stk_h5_datasets(const stk_h5_plan *plan)
{
    return (const stk_h5_dataset *)(plan + 1);
}
static inline const stk_h5_chunk *stk_h5_chunks(const stk_h5_plan *plan)
{
    return (const stk_h5_chunk *)(stk_h5_datasets(plan) + plan->n_datasets);
}
static inline const char *stk_h5_text(const stk_h5_plan *plan)
{
    return (const char *)(stk_h5_chunks(plan) + plan->n_chunks);
}

/* Everything in a plan of n_bytes bytes for a file of file_bytes bytes is inside its bounds, its products do not
 * overflow, its strings end. */
stk_status stk_h5_plan_check(const stk_h5_plan *plan, size_t n_bytes, uint64_t file_bytes, const char *path,
                             stk_error *error);

/* Child side (hdf5_parse.c, the only file that reads with libhdf5): parses the file at path into a plan in
 * memory made with malloc. Returns NULL only when out of memory; errors are in the plan. keep gets an open handle
 * for stk_h5_read_chunk, or NULL when all chunks are listed. */
typedef struct stk_h5_open_file stk_h5_open_file;
stk_h5_plan *stk_h5_parse(const char *path, size_t *n_bytes, stk_h5_open_file **keep);
/* Raw bytes of a chunk of an unlisted data set, malloc'ed; NULL on error. */
uint8_t *stk_h5_read_chunk(stk_h5_open_file *file, uint32_t dataset, uint64_t chunk, uint32_t *n_bytes,
                           uint32_t *filter_mask);

#endif
