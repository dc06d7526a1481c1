/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable byte buffers: stk_buffer of the public API, and printf into them. */
#ifndef STK_COMMON_BUFFER_H
#define STK_COMMON_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>

/* Makes room for at least capacity bytes (contents kept; grows by half so that appends are linear). The
 * data is aligned to 64 bytes and followed by 64 readable slack bytes, so that vector code may over-read. */
stk_status stk_buffer_reserve(stk_buffer *buffer, size_t capacity, stk_error *error);
/* Sets n_bytes, reserving as needed; new bytes are undefined. */
stk_status stk_buffer_resize(stk_buffer *buffer, size_t n_bytes, stk_error *error);
stk_status stk_buffer_append(stk_buffer *buffer, const void *data, size_t n_bytes, stk_error *error);
/* Appends formatted text; the buffer stays zero-terminated (the zero is not counted in n_bytes). */
stk_status stk_buffer_printf(stk_buffer *buffer, stk_error *error, const char *format, ...) STK_PRINTF(3, 4);

#endif
