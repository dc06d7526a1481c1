/* SPDX-License-Identifier: Apache-2.0
 *
 * The compressions of HDF5 chunks: zlib streams (libdeflate: two to three times zlib's speed, and decoding
 * never writes past the given room) and LZF blocks (liblzf). squeeze.c is the only file that knows them. */
#ifndef STK_FORMAT_HDF5_SQUEEZE_H
#define STK_FORMAT_HDF5_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

/* One thread's compressor; level as in hdf5_compress.h. */
typedef struct stk_squeezer stk_squeezer;
bool stk_squeeze_has_lzf(void);
stk_status stk_squeezer_open(int level, stk_squeezer **out, stk_error *error);
/* Compresses n_in bytes; 0 when the result would not fit into capacity. */
size_t stk_squeezer_run(stk_squeezer *s, const uint8_t *in, size_t n_in, uint8_t *out, size_t capacity);
void stk_squeezer_close(stk_squeezer **s);

/* Decompressing; any thread. The result must have exactly n_out bytes, else false. */
bool stk_unsqueeze_zlib(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out);
bool stk_unsqueeze_lzf(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out);

#endif
