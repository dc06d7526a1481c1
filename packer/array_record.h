/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays as sources: .npy files, and array payloads of other containers, become `array` records. */
#ifndef STK_PACKER_ARRAY_RECORD_H
#define STK_PACKER_ARRAY_RECORD_H

#include <stdbool.h>

#include <stoker/dataset.h>

/* Whether bytes begin like a .npy file or like an array payload (format/array_layout.h). */
bool stk_is_array(const uint8_t *head, size_t n_bytes);

/* The payload of the record in *out (an array payload is checked and copied). STK_ERR_IMAGE: damaged;
 * STK_ERR_UNSUPPORTED: Fortran order of several dimensions, types without a fixed number format. Source of the .npy
 * layout: NumPy's numpy/lib/format.py, versions 1.0 to 3.0. */
stk_status stk_array_from_bytes(const uint8_t *data, size_t n_bytes, stk_buffer *out, stk_error *error);

#endif
