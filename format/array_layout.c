/* SPDX-License-Identifier: Apache-2.0 */
#include "format/array_layout.h"

#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

enum { DATA_ALIGN = 64 };

static const uint8_t array_magic[4] = {0xf5, 'A', 'R', 'R'};

size_t stk_array_head_bytes(uint32_t n_dims)
{
    size_t used = sizeof(stk_array_header) + n_dims * sizeof(uint64_t);
    return (used + DATA_ALIGN - 1) & ~(size_t)(DATA_ALIGN - 1);
}

stk_status stk_array_parse(const uint8_t *payload, size_t n_bytes, stk_array_info *out, stk_error *error)
{
    stk_array_header header;
    if (n_bytes < sizeof header)
        return stk_fail(error, STK_ERR_CORRUPT, "an array of %zu bytes has no header", n_bytes);
    memcpy(&header, payload, sizeof header);
    size_t size = stk_type_size((stk_type)header.dtype);
    if (memcmp(header.magic, array_magic, sizeof array_magic) != 0 || size == 0 ||
        header.n_dims > STK_ARRAY_MAX_DIMS || header.data_offset != stk_array_head_bytes(header.n_dims) ||
        header.data_offset > n_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "an array's header is damaged or of an unknown type");
    *out = (stk_array_info){.dtype = (stk_type)header.dtype,
                            .n_dims = header.n_dims,
                            .n_items = 1,
                            .data_offset = header.data_offset};
    uint64_t n_data = 0;
    bool fits = true;
    for (uint32_t i = 0; i < out->n_dims; i++) {
        out->shape[i] = stk_load64(payload + sizeof header + 8 * (size_t)i);
        fits = fits && stk_mul_u64(out->n_items, out->shape[i], &out->n_items);
    }
    fits = fits && stk_mul_u64(out->n_items, size, &n_data);
    out->data_bytes = n_bytes - out->data_offset;
    if (!fits || n_data != out->data_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "an array's shape does not fit its %zu bytes",
                        out->data_bytes);
    return STK_OK;
}

stk_status stk_array_view(const uint8_t *payload, size_t n_bytes, stk_array *out, stk_error *error)
{
    stk_array_info info;
    STK_TRY(stk_array_parse(payload, n_bytes, &info, error));
    *out = (stk_array){.type = info.dtype,
                       .n_dims = info.n_dims,
                       .n_bytes = info.data_bytes,
                       .data = payload + info.data_offset};
    memcpy(out->shape, info.shape, info.n_dims * sizeof *info.shape);
    return STK_OK;
}

bool stk_array_same(const stk_array *a, const stk_array *b)
{
    return a->type == b->type && a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape) == 0;
}

stk_status stk_array_put_header(stk_type dtype, uint32_t n_dims, const uint64_t *shape, stk_buffer *out,
                                stk_error *error)
{
    static const uint8_t zeros[DATA_ALIGN];
    if (stk_type_size(dtype) == 0 || n_dims > STK_ARRAY_MAX_DIMS)
        return stk_fail(error, STK_ERR_ARGUMENT, "no array of %s with %u dimensions (at most %d)",
                        stk_type_name(dtype), n_dims, STK_ARRAY_MAX_DIMS);
    size_t offset = stk_array_head_bytes(n_dims), used = sizeof(stk_array_header) + n_dims * sizeof *shape;
    stk_array_header header = {
        .dtype = (uint8_t)dtype, .n_dims = (uint8_t)n_dims, .data_offset = (uint16_t)offset};
    memcpy(header.magic, array_magic, sizeof array_magic);
    STK_TRY(stk_buffer_append(out, &header, sizeof header, error));
    if (n_dims > 0) STK_TRY(stk_buffer_append(out, shape, n_dims * sizeof *shape, error));
    return stk_buffer_append(out, zeros, offset - used, error);
}
