/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

enum { BUFFER_ALIGN = 64, BUFFER_SLACK = 64 };

stk_status stk_buffer_reserve(stk_buffer *buffer, size_t capacity, stk_error *error)
{
    if (capacity <= buffer->capacity && buffer->data != NULL) return STK_OK;
    size_t grown = buffer->capacity + buffer->capacity / 2;
    size_t want = capacity > grown ? capacity : grown;
    size_t total;
    if (!stk_add_size(want, BUFFER_SLACK + BUFFER_ALIGN - 1, &total)) return stk_fail_memory(error, "a buffer");
    total &= ~(size_t)(BUFFER_ALIGN - 1);
    uint8_t *data = aligned_alloc(BUFFER_ALIGN, total);
    if (data == NULL) return stk_fail(error, STK_ERR_MEMORY, "out of memory for a buffer of %zu bytes", total);
    if (buffer->n_bytes > 0) memcpy(data, buffer->data, buffer->n_bytes);
    memset(data + want, 0, total - want);
    free(buffer->data);
    buffer->data = data;
    buffer->capacity = want;
    return STK_OK;
}

stk_status stk_buffer_resize(stk_buffer *buffer, size_t n_bytes, stk_error *error)
{
    STK_TRY(stk_buffer_reserve(buffer, n_bytes, error));
    buffer->n_bytes = n_bytes;
    return STK_OK;
}

stk_status stk_buffer_append(stk_buffer *buffer, const void *data, size_t n_bytes, stk_error *error)
{
    size_t total;
    if (!stk_add_size(buffer->n_bytes, n_bytes, &total)) return stk_fail_memory(error, "a buffer");
    STK_TRY(stk_buffer_reserve(buffer, total, error));
    if (n_bytes > 0) memcpy(buffer->data + buffer->n_bytes, data, n_bytes);
    buffer->n_bytes = total;
    return STK_OK;
}

stk_status stk_buffer_printf(stk_buffer *buffer, stk_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    stk_status status = n < 0 ? stk_fail(error, STK_ERR_INTERNAL, "formatting failed") : STK_OK;
    if (status == STK_OK) status = stk_buffer_reserve(buffer, buffer->n_bytes + (size_t)n + 1, error);
    if (status == STK_OK) {
        vsnprintf((char *)buffer->data + buffer->n_bytes, (size_t)n + 1, format, again);
        buffer->n_bytes += (size_t)n;
    }
    va_end(again);
    return status;
}

void stk_buffer_free(stk_buffer *buffer)
{
    if (buffer == NULL) return;
    free(buffer->data);
    *buffer = (stk_buffer){0};
}
