/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_READER_NPY_H
#define STK_READER_NPY_H

#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

/* Turns an array into a NumPy .npy file, version 1.0; out is replaced. */
stk_status stk_npy_from_array(const stk_array *array, stk_buffer *out, stk_error *error);

#endif
