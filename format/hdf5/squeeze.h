/* SPDX-License-Identifier: Apache-2.0
 *
 * The compressions of HDF5 chunks: zlib streams and LZF blocks (liblzf). zlib streams go through libdeflate where
 * the build has it: it knows that a chunk is whole and how long it becomes, and inflates photographs 1.5 to 1.8
 * times as fast (500 and 484 MB/s of a core where zlib 1.2.13 has 336 and 275). squeeze.c is the only file that
 * knows libdeflate and liblzf, squeeze_zlib.c the one that knows zlib. */
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

/* Decompressing; any thread. The result must have exactly n_out bytes, else false. Bytes behind the stream's end
 * are ignored, as HDF5 does. out is written nowhere else, but may hold anything after a failure. */
bool stk_unsqueeze_zlib(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out);
bool stk_unsqueeze_lzf(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out);

/* zlib itself, for builds without libdeflate; in the others the reference that tests compare with. */
bool stk_unsqueeze_zlib_plain(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out);
size_t stk_squeeze_zlib_plain(int level, const uint8_t *in, size_t n_in, uint8_t *out, size_t capacity);

#endif
