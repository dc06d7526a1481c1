/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins a row of the container with the arrays that its payload may hold. */
#ifndef STK_READER_SAMPLE_ARRAY_H
#define STK_READER_SAMPLE_ARRAY_H

#include "reader/dataset_internal.h"

/* The array of a row whose payload lies at data; out->data points into it. STK_ERR_UNSUPPORTED for images,
 * STK_ERR_CORRUPT for a header that does not fit. */
stk_status stk_array_of_row(const stk_row *row, const uint8_t *data, stk_array *out, stk_error *error);

/* Bytes that a row's payload would have before the elements in a .stk shard; 0 when it has them (stk_row.array). */
size_t stk_array_bare_head(const stk_row *row);

#endif
