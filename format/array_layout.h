/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of an `array` record (docs/format.md): a small header with type and shape, then the elements in
 * C order, little-endian, from a multiple of 64 bytes on (payloads lie at multiples of 64, so they are
 * aligned). */
#ifndef STK_FORMAT_ARRAY_LAYOUT_H
#define STK_FORMAT_ARRAY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>
#include <stoker/status.h>

typedef struct stk_array_header {
    uint8_t magic[4];
    uint8_t dtype; /* an stk_type with a size */
    uint8_t n_dims;
    uint16_t data_offset; /* of the elements, from the payload's start */
    uint64_t reserved;
    /* uint64 shape[n_dims] follows */
} stk_array_header;
_Static_assert(sizeof(stk_array_header) == 16, "array header");

typedef struct stk_array_info {
    stk_type dtype;
    uint32_t n_dims; /* 0 = a single value */
    uint64_t shape[STK_ARRAY_MAX_DIMS];
    uint64_t n_items;
    size_t data_offset, data_bytes;
} stk_array_info;

/* Parses and checks a payload: header, shape and length must fit each other exactly. STK_ERR_CORRUPT. */
stk_status stk_array_parse(const uint8_t *payload, size_t n_bytes, stk_array_info *out, stk_error *error);

/* The same as a public description; out->data points into payload. */
stk_status stk_array_view(const uint8_t *payload, size_t n_bytes, stk_array *out, stk_error *error);

/* Whether two arrays have one type and shape. */
bool stk_array_same(const stk_array *a, const stk_array *b);

/* Bytes of the header of an array with this many dimensions. */
size_t stk_array_head_bytes(uint32_t n_dims);

/* Appends the header for an array of this type and shape to out, padded so that the elements can follow. */
stk_status stk_array_put_header(stk_type dtype, uint32_t n_dims, const uint64_t *shape, stk_buffer *out,
                                stk_error *error);

#endif
