/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tiles_*.c files share: the parsed head, shared table sets, the encoder's view of coefficients and
 * the state kept in a context. Not for other files of this folder. */
#ifndef STK_CODEC_TILES_INTERNAL_H
#define STK_CODEC_TILES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/codec_internal.h"
#include "codec/huffman.h"
#include "codec/tile_layout.h"
#include "codec/tiles.h"

/* ---- the head ---- */

typedef struct stk_tile_head {
    stk_tile_geometry g;
    uint8_t flags;
    uint8_t n_quant;     /* tables in the head */
    uint8_t quant_of[3]; /* a component's table, in the head or in the set */
    uint32_t tables_id;  /* STK_TILE_OWN_TABLES = none */
    uint32_t head_bytes;
    uint16_t quant[3][64];    /* the head's tables, zigzag order */
    stk_tile_huffman huffman; /* the head's tables; empty when shared */
    const uint8_t *lengths;   /* n_segments u16, in the record */
} stk_tile_head;

/* Parses a record and validates every byte of its head: structure, check, tables, and that the lengths add up
 * to the record's end. STK_ERR_IMAGE, STK_ERR_CHECKSUM or STK_ERR_VERSION say what is wrong. */
stk_status stk_tile_head_read(const uint8_t *tiles, size_t n_bytes, stk_tile_head *out, stk_error *error);

/* Bytes that the head will take, and its writing. `lengths` are not read: the caller fills them in at
 * out + head_bytes - 2 * n_segments and then calls seal, which computes the check. */
uint32_t stk_tile_head_bytes(const stk_tile_head *head);
void stk_tile_head_write(const stk_tile_head *head, uint8_t *out);
void stk_tile_head_seal(uint8_t *out, uint32_t head_bytes);

static inline bool stk_tile_head_shares(const stk_tile_head *head)
{
    return (head->flags & (STK_TILE_FLAG_SHARED_HUFFMAN | STK_TILE_FLAG_SHARED_QUANT)) != 0;
}

/* Sum of n lengths. */
uint64_t stk_tile_sum_lengths(const uint8_t *lengths, size_t n);

/* ---- shared sets (tiles_tables.c) ---- */

enum { STK_TILE_SET_MAX_QUANT = 255 };

struct stk_tile_tables {
    stk_huffman_tables huffman;              /* first: keeps the allocation's alignment */
    uint32_t codes[STK_HUFFMAN_TABLES][256]; /* for the encoder */
    uint32_t n_quant;
    uint16_t quant[STK_TILE_SET_MAX_QUANT][64]; /* zigzag order */
};

/* Writes a set as a blob; quant: n_quant tables in zigzag order. */
stk_status stk_tile_tables_write(const stk_tile_huffman *huffman, const uint16_t (*quant)[64],
                                 uint32_t n_quant, stk_buffer *out, stk_error *error);

/* ---- state in the context (tiles_state.c) ---- */

typedef struct stk_tile_state {
    stk_huffman_tables *own; /* built for the record at hand; 128-byte aligned */
    stk_buffer symbols;      /* the encoder's */
    stk_buffer ends;         /* u32 per segment: symbols up to its end */
    stk_buffer rows;         /* pointers to block rows */
} stk_tile_state;

stk_status stk_tile_state_of(stk_codec_ctx *ctx, stk_tile_state **out, stk_error *error);
/* Gives back buffers that an outlier made large. */
void stk_tile_state_trim(stk_tile_state *state);

/* ---- encoding (tiles_encode.c) ---- */

/* Quantised coefficients of a JPEG. g: size, components and sampling; its tile_mcus is the encoder's. */
typedef struct stk_coefs {
    stk_tile_geometry g;
    uint16_t quant[3][64]; /* zigzag order */
    /* rows[c][y] = block_cols[c] blocks of 64 in natural order: those that hold samples of the image. */
    const int16_t *const *rows[3];
    uint32_t block_cols[3], block_rows[3];
} stk_coefs;

/* Codes them into out. *extreme is set when a block's coefficients are so large that decoders which work in
 * 16 bits and ones that do not could differ. STK_ERR_UNSUPPORTED for values that baseline JPEG cannot hold.
 */
stk_status stk_tiles_encode(stk_codec_ctx *ctx, stk_coefs *coefs, const stk_tile_options *options,
                            stk_buffer *out, bool *extreme, stk_error *error);

typedef uint32_t stk_symbol_counts[STK_HUFFMAN_TABLES][256];

/* All symbols of the image, in the order of segments, into state->symbols: u32 each, value bits in 0..15 (as
 * many as the symbol's low four bits say), symbol in 16..23, table in 24..25. Ends of segments go into
 * state->ends. coefs->g is complete. continuous: DC predictions run on through all segments, as in a JPEG
 * without restart markers. Adds to counts. */
stk_status stk_tile_symbolise(stk_tile_state *state, const stk_coefs *coefs, bool continuous,
                              stk_symbol_counts counts, bool *extreme, stk_error *error);

/* Statistics only: adds the symbol counts of the coefficients. */
stk_status stk_tiles_count(stk_codec_ctx *ctx, stk_coefs *coefs, uint32_t tile_pixels,
                           stk_symbol_counts counts, stk_error *error);

/* ---- reading JPEGs (codec_jpeg_coefs.c) ---- */

/* Called while libjpeg holds the coefficients; they are gone when it returns. */
typedef stk_status (*stk_coefs_body)(stk_codec_ctx *ctx, stk_coefs *coefs, void *arg, stk_error *error);

/* Reads a JPEG's coefficients and runs body on them. STK_ERR_UNSUPPORTED, with the reason, for everything
 * that cannot become tiles without changing what libjpeg-turbo makes of the file; any warning of libjpeg is
 * such a reason. */
stk_status stk_jpeg_coefs_read(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes, stk_coefs_body body,
                               void *arg, stk_error *error);

/* Decodes a JPEG with libjpeg-turbo to raw planes and compares the samples that belong to the image with
 * those of planes, which must hold the whole image. */
struct stk_planes;
stk_status stk_jpeg_planes_equal(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                                 const struct stk_planes *planes, bool *equal, stk_error *error);

/* ---- decoding (tiles_decode.c) ---- */

/* The tables that a record is decoded with. */
typedef struct stk_tile_source {
    stk_tile_head head;
    const uint8_t *tiles;
    size_t n_bytes;
    const stk_huffman_tables *huffman;
    const uint16_t *quant[3];
} stk_tile_source;

/* Reads the head and finds or builds its tables. */
stk_status stk_tile_source_open(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                                const stk_tile_tables *tables, stk_tile_source *out, stk_error *error);

/* Segments [tile, tile + n_tiles) of the MCU rows [row, row + n_rows). */
typedef struct stk_tile_part {
    uint32_t tile, n_tiles, row, n_rows;
} stk_tile_part;

/* Decodes them into STK_SCRATCH_COEFS: segments row-major, blocks in segment order, 64 coefficients in zigzag
 * order, DC as differences. */
stk_status stk_tile_source_coefs(stk_codec_ctx *ctx, const stk_tile_source *source, stk_tile_part part,
                                 int16_t **out, stk_error *error);

/* MCU rows that decode_box decodes at a time when it needs n_tiles of each. */
uint32_t stk_tile_band_rows(const stk_tile_geometry *g, uint32_t n_tiles);

/* DC differences -> DC, in n_tiles segments of one MCU row. */
void stk_tile_sum_dc(const stk_tile_geometry *g, int16_t *coefs, uint32_t n_tiles);

#endif
