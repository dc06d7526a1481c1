/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buffer.h"
#include "common/endian.h"
#include "format/array_layout.h"
#include "support/check.h"

static stk_error error;

static void shapes_round_trip(void)
{
    static const uint64_t shape[STK_ARRAY_MAX_DIMS] = {3, 1, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
    for (uint32_t n_dims = 0; n_dims <= STK_ARRAY_MAX_DIMS; n_dims++) {
        stk_buffer b = {0};
        stk_array_info info;
        uint64_t n = 1;
        for (uint32_t i = 0; i < n_dims; i++)
            n *= shape[i];
        CHECK_OK(stk_array_put_header(STK_TYPE_F32, n_dims, shape, &b, &error));
        CHECK_EQ(b.n_bytes % 64, 0);
        size_t head = b.n_bytes;
        CHECK_OK(stk_buffer_resize(&b, head + 4 * n, &error));
        CHECK_OK(stk_array_parse(b.data, b.n_bytes, &info, &error));
        CHECK_EQ(info.dtype, STK_TYPE_F32);
        CHECK_EQ(info.n_dims, n_dims);
        CHECK_EQ(info.n_items, n);
        CHECK_EQ(info.data_offset, head);
        CHECK_EQ(info.data_bytes, 4 * n);
        CHECK_STATUS(stk_array_parse(b.data, b.n_bytes - 1, &info, &error), STK_ERR_CORRUPT);
        CHECK_STATUS(stk_array_parse(b.data, 15, &info, &error), STK_ERR_CORRUPT);
        stk_buffer_free(&b);
    }
    stk_buffer b = {0};
    CHECK_STATUS(stk_array_put_header(STK_TYPE_F32, STK_ARRAY_MAX_DIMS + 1, shape, &b, &error),
                 STK_ERR_ARGUMENT);
    CHECK_STATUS(stk_array_put_header(STK_TYPE_STRING, 1, shape, &b, &error), STK_ERR_ARGUMENT);
}

static void empty_arrays(void)
{
    static const uint64_t shape[2] = {7, 0};
    stk_buffer b = {0};
    stk_array_info info;
    CHECK_OK(stk_array_put_header(STK_TYPE_I64, 2, shape, &b, &error));
    CHECK_OK(stk_array_parse(b.data, b.n_bytes, &info, &error));
    CHECK_EQ(info.n_items, 0);
    stk_buffer_free(&b);
}

/* 2^32 * 2^32 items would be 0 bytes in 64-bit arithmetic. */
static void overflow_is_refused(void)
{
    static const uint64_t shape[2] = {1ull << 32, 1ull << 32};
    stk_buffer b = {0};
    stk_array_info info;
    CHECK_OK(stk_array_put_header(STK_TYPE_U8, 2, shape, &b, &error));
    CHECK_STATUS(stk_array_parse(b.data, b.n_bytes, &info, &error), STK_ERR_CORRUPT);
    stk_store64(b.data + 24, 1ull << 31);
    b.data[4] = STK_TYPE_F64;
    CHECK_STATUS(stk_array_parse(b.data, b.n_bytes, &info, &error), STK_ERR_CORRUPT);
    stk_buffer_free(&b);
}

static void every_header_byte_matters(void)
{
    static const uint64_t shape[1] = {4};
    stk_buffer b = {0};
    stk_array_info info;
    CHECK_OK(stk_array_put_header(STK_TYPE_U16, 1, shape, &b, &error));
    CHECK_OK(stk_buffer_resize(&b, b.n_bytes + 8, &error));
    for (size_t i = 0; i < 24; i++) {
        if (i >= 8 && i < 16) continue; /* reserved */
        for (int bit = 0; bit < 8; bit++) {
            b.data[i] ^= (uint8_t)(1 << bit);
            stk_status status = stk_array_parse(b.data, b.n_bytes, &info, NULL);
            /* Another type of the same size is another type; all else is refused. */
            CHECK(status == STK_ERR_CORRUPT || (i == 4 && stk_type_size(info.dtype) == 2));
            b.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    stk_buffer_free(&b);
}

int main(void)
{
    RUN(shapes_round_trip);
    RUN(empty_arrays);
    RUN(overflow_is_refused);
    RUN(every_header_byte_matters);
    return check_exit();
}
