/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of the user's columns (everything beside the image and its label). */
#ifndef STOKER_COLUMNS_H
#define STOKER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/export.h>

STK_BEGIN_DECLS

/* Element type of a column. The numbers are stored in files and never reused. */
typedef enum stk_type {
    STK_TYPE_BOOL = 1, /* one byte, 0 or 1 */
    STK_TYPE_I8 = 2,
    STK_TYPE_U8 = 3,
    STK_TYPE_I16 = 4,
    STK_TYPE_U16 = 5,
    STK_TYPE_I32 = 6,
    STK_TYPE_U32 = 7,
    STK_TYPE_I64 = 8,
    STK_TYPE_U64 = 9,
    STK_TYPE_F16 = 10,
    STK_TYPE_F32 = 11,
    STK_TYPE_F64 = 12,
    STK_TYPE_STRING = 20, /* UTF-8 */
    STK_TYPE_BYTES = 21
} stk_type;

/* "bool", "int8", ..., "float64", "string", "bytes". Never NULL; "unknown" for other values. */
STK_API const char *stk_type_name(stk_type type);

/* Bytes of one element; 0 for strings and bytes. */
STK_API size_t stk_type_size(stk_type type);

/* A column's description. Pointers live as long as the data set that gave it. */
typedef struct stk_column {
    const char *name; /* UTF-8, unique within a data set */
    stk_type type;
    uint32_t n_items; /* elements a row: 1 scalar, k > 1 fixed array, 0 variable length */
    bool nullable;    /* some rows may be null */
    bool dictionary;  /* strings stored once each (a storage detail; values read the same) */
} stk_column;

/* One row's value. */
typedef struct stk_value {
    bool is_null;
    size_t n_items; /* elements; for strings and bytes the number of bytes */
    size_t n_bytes; /* bytes in data */
    const void *data;
} stk_value;

/* An array of numbers: what records of STK_ENCODING_ARRAY hold. data is in C order, little-endian. */
#define STK_ARRAY_MAX_DIMS 16
typedef struct stk_array {
    stk_type type;                      /* one with a size */
    uint32_t n_dims;                    /* 0: a single number */
    uint64_t shape[STK_ARRAY_MAX_DIMS]; /* [n_dims] */
    size_t n_bytes;                     /* of the elements */
    const void *data;                   /* NULL where a text speaks of type and shape alone */
} stk_array;

STK_END_DECLS

#endif
