/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman coding of tile segments: codes as JPEG has them (at most 16 bits, canonical), built by
 * package-merge, and two decoders with the same results: a plain one that defines what is right, and a fast
 * one that decodes two segments at once, up to two symbols a step, without branches on the data. Included
 * only by tiles_*.c and huffman_*.c. */
#ifndef STK_CODEC_HUFFMAN_H
#define STK_CODEC_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/tile_layout.h"

/* Which of the four tables: the number is also the table's place in a record. */
enum { STK_HUFFMAN_DC0, STK_HUFFMAN_AC0, STK_HUFFMAN_DC1, STK_HUFFMAN_AC1, STK_HUFFMAN_TABLES };

/* Zigzag position -> place in an 8x8 block, row by row (ITU-T T.81, figure A.6). */
extern const uint8_t STK_ZIGZAG[64];

/* True when the counts make a prefix code and the symbols are distinct and within a baseline JPEG's: DC sizes
 * 0..11; AC sizes 1..10 with any run, 0x00 and 0xF0. */
bool stk_huffman_spec_valid(const stk_huffman_spec *spec, bool ac);
/* Reads 16 counts and the symbols from the n bytes at in. Returns the bytes read, 0 when they are no valid
 * table. */
size_t stk_huffman_spec_read(const uint8_t *in, size_t n_bytes, bool ac, stk_huffman_spec *out);
/* Writes them; returns the bytes written (16 + n_symbols). */
size_t stk_huffman_spec_write(const stk_huffman_spec *spec, uint8_t *out);
/* Spec number `table` (STK_HUFFMAN_DC0 ...) of a pair of pairs. */
const stk_huffman_spec *stk_huffman_spec_of(const stk_tile_huffman *huffman, int table);
stk_huffman_spec *stk_huffman_spec_in(stk_tile_huffman *huffman, int table);

/* Optimal codes of at most 16 bits for the symbols with counts[s] > 0 (at least one, all valid in a tile),
 * the code of all ones left free as JPEG wants. Deterministic: ties go by symbol. */
void stk_huffman_build(const uint32_t counts[256], stk_huffman_spec *out);

/* For encoders: codes[symbol] = code << 8 | bits; 0 for symbols without a code. */
void stk_huffman_codes(const stk_huffman_spec *spec, uint32_t codes[256]);

/* One step of the fast decoder: what the next STK_HUFFMAN_BITS bits of a segment mean. One symbol with its
 * value bits, or two where both fit. A symbol that does not fit is left to the slow way. */
enum { STK_HUFFMAN_BITS = 11 };
typedef struct stk_huffman_entry {
    uint8_t n_bits;     /* of the step; 0 = take the slow way */
    uint8_t advance;    /* of the coefficient pointer, bytes; bit 0 set: then on to the next block */
    uint8_t first_bits; /* of the first symbol. Slow way: of its code alone; 0 = code longer than the table */
    uint8_t first_advance; /* for the first symbol */
    int16_t first_value; /* of the coefficient before the pointer so advanced. Slow way: bits of the value */
    int16_t value;       /* of the coefficient before the pointer after the step */
} stk_huffman_entry;

typedef struct stk_huffman_table {
    _Alignas(64) stk_huffman_entry entries[1 << STK_HUFFMAN_BITS]; /* built as words, with wide stores */
    /* For codes longer than the table: codes of l bits are below limit[l] (left-aligned to 16 bits), and
     * symbols[(code >> (16 - l)) + offset[l]]. */
    uint32_t limit[STK_TILE_MAX_CODE_BITS + 1];
    int32_t offset[STK_TILE_MAX_CODE_BITS + 1];
    uint8_t symbols[256]; /* padded so that a masked index stays inside */
    bool ac;
} stk_huffman_table;

/* Everything that a decoder needs of a record's or a set's tables. 128-byte aligned by its owner. */
typedef struct stk_huffman_tables {
    stk_huffman_table tables[STK_HUFFMAN_TABLES];
    stk_tile_huffman specs;
    bool has_chroma;
} stk_huffman_tables;

/* Builds the tables of valid specs. */
void stk_huffman_tables_build(stk_huffman_tables *tables, const stk_tile_huffman *specs, bool has_chroma);

typedef struct stk_huffman_segment {
    const uint8_t *data; /* readable to data + n_blocks * STK_TILE_BLOCK_BYTES_MAX + 8, whatever n_bytes is */
    uint32_t n_bytes;
} stk_huffman_segment;

typedef struct stk_huffman_job {
    const stk_huffman_segment *segments;
    uint32_t n_segments;
    uint32_t n_blocks;          /* of a segment, 1 .. STK_TILE_MAX_BLOCKS */
    const uint8_t *block_table; /* for each block of a segment: 0 luma, 1 chroma */
    const stk_huffman_tables *tables;
    /* n_segments * n_blocks blocks of 64, zero at entry, 128-byte aligned. Filled with the coefficients in
     * zigzag order, DC as differences. */
    int16_t *coefs;
} stk_huffman_job;

/* Decodes all segments of the job. False when a segment has an invalid code, a run past the block's end,
 * needs more bits than it has or leaves a whole byte over; the coefficients are then undefined (but inside
 * coefs). */
typedef bool (*stk_huffman_decode_fn)(const stk_huffman_job *job);
bool stk_huffman_decode_scalar(const stk_huffman_job *job);
bool stk_huffman_decode_fast(const stk_huffman_job *job);

#endif
