/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are tiles already, as sources: each becomes an ordinary JPEG of the same coefficients, which a pack
 * then takes like any other file. With the options of the first pack the tiles come out as they were. */
#ifndef STK_PACKER_TILES_SOURCE_H
#define STK_PACKER_TILES_SOURCE_H

#include "format/storage.h"

typedef struct stk_tiles_source stk_tiles_source;

/* Builds the storage's shared tables, if any. The storage must outlive the source. */
stk_status stk_tiles_source_open(stk_storage *storage, uint64_t max_pixels, stk_tiles_source **out, stk_error *error);
void stk_tiles_source_close(stk_tiles_source **source);

/* The payload of a tiles row as a JPEG file; out is replaced. Any number of threads. */
stk_status stk_tiles_source_jpeg(stk_tiles_source *source, const stk_row *row, const uint8_t *payload, stk_buffer *out,
                                 stk_error *error);

#endif
