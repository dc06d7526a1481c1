/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressing HDF5 chunks on several threads, coming out in the order in which they went in. */
#ifndef STK_FORMAT_HDF5_COMPRESS_H
#define STK_FORMAT_HDF5_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

typedef struct stk_compress_pool stk_compress_pool;

/* level 1..9: zlib streams as HDF5's deflate filter has them; -1: LZF blocks as h5py's filter 32000. */
stk_status stk_compress_pool_open(int level, size_t chunk_bytes, uint32_t n_threads, stk_compress_pool **out,
                                  stk_error *error);
/* True when a chunk must be taken before the next is put. */
bool stk_compress_pool_full(const stk_compress_pool *pool);
bool stk_compress_pool_empty(const stk_compress_pool *pool);
/* Copies chunk_bytes bytes and compresses them in the background. */
stk_status stk_compress_pool_put(stk_compress_pool *pool, const uint8_t *chunk, stk_error *error);
/* Waits for the oldest chunk. *filter_mask is 1 when it was stored uncompressed (it did not shrink). The data
 * is valid until the next put. */
stk_status stk_compress_pool_take(stk_compress_pool *pool, const uint8_t **data, size_t *n_bytes,
                                  uint32_t *filter_mask, stk_error *error);
void stk_compress_pool_close(stk_compress_pool **pool);

#endif
