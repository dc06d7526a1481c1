/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte matrices, transposed. */
#ifndef STK_CODEC_TRANSPOSE_H
#define STK_CODEC_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

/* n_rows rows of 16 bytes, pitch apart -> 16 rows of n_rows bytes. The input is readable and the output rows are
 * writable up to the next multiple of 16 rows. */
void stk_transpose_strip(const uint8_t *in, size_t in_pitch, size_t n_rows, uint8_t *out, size_t out_pitch);

#endif
