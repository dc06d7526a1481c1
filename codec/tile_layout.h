/* SPDX-License-Identifier: Apache-2.0
 *
 * The `tiles` payload, byte by byte, and the arithmetic of its geometry. docs/format.md ("tiles") is the
 * specification; this header is what C and CUDA code share of it. Plain constants, structs and inline
 * functions: compiles as C11, C++17 and in device code, needs no library.
 *
 *   head | segment 0 | segment 1 | ...                  all integers little-endian
 *
 *   head:  0  magic "STKT"                 4  check: low 32 bits of XXH3-64 over the head from byte 8 on
 *          8  u32 head_bytes              12  u16 width           14  u16 height (pixels, as stored)
 *         16  u8 version                  17  u8 flags            18  u8 components (1 or 3)
 *         19  u8 tile_mcus                20  u8[3] sampling (h << 4 | v)     23  u8 n_quant
 *         24  u8[3] quant (a component's table)      27  u8 quant_wide (bit i: table i has 16-bit entries)
 *         28  u32 tables_id (UINT32_MAX = own Huffman tables)
 *         32  quantisation tables, zigzag order, 64 or 128 bytes each
 *             Huffman tables unless shared: for luma, then chroma: DC, AC; each 16 counts, then the symbols
 *             u16 length of each segment, row-major
 *
 * A segment holds tile_mcus MCUs of one MCU row as JPEG entropy-coded data without byte stuffing or markers,
 * starting at a byte, DC predictions 0 at its start, the last byte filled up with 1 bits. All segments of a
 * record hold the same number of blocks in the same order; MCUs and blocks outside the image are blocks
 * whose DC difference is 0 and whose AC coefficients are 0. Segments follow each other without gaps, so that
 * the segments of one MCU row under a crop are one range of bytes. */
#ifndef STK_CODEC_TILE_LAYOUT_H
#define STK_CODEC_TILE_LAYOUT_H

#include <stdint.h>

#ifdef __CUDACC__
#define STK_TILE_FN static __host__ __device__ inline
#else
#define STK_TILE_FN static inline
#endif

enum {
    STK_TILE_FIXED_BYTES = 32, /* of the head, before the tables */
    STK_TILE_VERSION = 1,
    STK_TILE_CHECKED_FROM = 8, /* the check covers [8, head_bytes) */

    STK_TILE_AT_MAGIC = 0,
    STK_TILE_AT_CHECK = 4,
    STK_TILE_AT_HEAD_BYTES = 8,
    STK_TILE_AT_WIDTH = 12,
    STK_TILE_AT_HEIGHT = 14,
    STK_TILE_AT_VERSION = 16,
    STK_TILE_AT_FLAGS = 17,
    STK_TILE_AT_COMPONENTS = 18,
    STK_TILE_AT_TILE_MCUS = 19,
    STK_TILE_AT_SAMPLING = 20,
    STK_TILE_AT_N_QUANT = 23,
    STK_TILE_AT_QUANT = 24,
    STK_TILE_AT_QUANT_WIDE = 27,
    STK_TILE_AT_TABLES_ID = 28,

    /* flags; a reader refuses bits that it does not know */
    STK_TILE_FLAG_SHARED_HUFFMAN = 1, /* Huffman tables: those of set tables_id */
    STK_TILE_FLAG_SHARED_QUANT = 2,   /* quant[] are numbers within set tables_id; n_quant = 0 */
    STK_TILE_FLAGS_KNOWN = 3,

    STK_TILE_MAX_MCUS = 8,        /* 64 px of 8 px MCUs */
    STK_TILE_MAX_MCU_BLOCKS = 10, /* JPEG's own limit for interleaved scans */
    STK_TILE_MAX_BLOCKS = STK_TILE_MAX_MCUS * STK_TILE_MAX_MCU_BLOCKS, /* of a segment */

    /* Limits of 8-bit baseline JPEG: DC differences of at most 11 bits, AC coefficients of at most 10. */
    STK_TILE_MAX_DC_BITS = 11,
    STK_TILE_MAX_AC_BITS = 10,
    STK_TILE_MAX_CODE_BITS = 16,
    /* No block takes more: 64 symbols of at most 16 + 11 bits. So a reader that follows garbage stays
     * within segment start + blocks * STK_TILE_BLOCK_BYTES_MAX, and lengths always fit 16 bits. */
    STK_TILE_BLOCK_BYTES_MAX = 64 * (STK_TILE_MAX_CODE_BITS + STK_TILE_MAX_DC_BITS) / 8,

    STK_TILE_MAX_DC_SYMBOLS = 12, /* 0 .. 11 */
    STK_TILE_MAX_AC_SYMBOLS = 162 /* 16 runs x 10 sizes, end of block, run of 16 */
};
#define STK_TILE_MAGIC UINT32_C(0x544b5453) /* "STKT" */
#define STK_TILE_OWN_TABLES UINT32_C(0xffffffff)

/* Everything that follows from size, sampling and tile width. Block order within an MCU is JPEG's: component
 * by component, rows of blocks top to bottom, blocks left to right. */
typedef struct stk_tile_geometry {
    uint32_t width, height; /* pixels, as stored */
    uint8_t n_components;   /* 1 or 3 */
    uint8_t tile_mcus;      /* MCUs of a segment */
    uint8_t h[3], v[3];     /* sampling factors; 1x1 for grey */
    uint8_t h_max, v_max;
    uint8_t first_block[3];      /* within an MCU, of each component */
    uint8_t mcu_blocks;          /* blocks of an MCU */
    uint32_t mcu_cols, mcu_rows; /* that cover the image */
    uint32_t tile_cols;          /* segments of an MCU row */
    uint32_t n_segments;         /* tile_cols * mcu_rows */
    uint32_t segment_blocks;     /* tile_mcus * mcu_blocks */
} stk_tile_geometry;

/* Fills in what follows from width, height, n_components, tile_mcus, h and v. Returns 0 when these cannot
 * be: then nothing may be done with the geometry. Sizes are at most 65,535, so nothing overflows. */
STK_TILE_FN int stk_tile_geometry_complete(stk_tile_geometry *g)
{
    uint32_t c, blocks = 0;
    if (g->width == 0 || g->height == 0 || g->width > 65535 || g->height > 65535) return 0;
    if (g->n_components != 1 && g->n_components != 3) return 0;
    if (g->tile_mcus == 0 || g->tile_mcus > STK_TILE_MAX_MCUS) return 0;
    g->h_max = g->v_max = 1;
    for (c = 0; c < g->n_components; c++) {
        if (g->h[c] < 1 || g->h[c] > 4 || g->v[c] < 1 || g->v[c] > 4) return 0;
        if (g->h[c] > g->h_max) g->h_max = g->h[c];
        if (g->v[c] > g->v_max) g->v_max = g->v[c];
        g->first_block[c] = (uint8_t)blocks;
        blocks += (uint32_t)g->h[c] * g->v[c];
    }
    if (blocks > STK_TILE_MAX_MCU_BLOCKS) return 0;
    for (c = 0; c < g->n_components; c++) {
        if (g->h_max % g->h[c] != 0 || g->v_max % g->v[c] != 0) return 0;
    }
    if (g->n_components == 1 && blocks != 1) return 0; /* a lone component has no sampling */
    g->mcu_blocks = (uint8_t)blocks;
    g->mcu_cols = (g->width + 8u * g->h_max - 1) / (8u * g->h_max);
    g->mcu_rows = (g->height + 8u * g->v_max - 1) / (8u * g->v_max);
    g->tile_cols = (g->mcu_cols + g->tile_mcus - 1) / g->tile_mcus;
    g->n_segments = g->tile_cols * g->mcu_rows;
    g->segment_blocks = (uint32_t)g->tile_mcus * blocks;
    return 1;
}

/* Samples of component c that belong to the image: ceil(size * factor / max). */
STK_TILE_FN uint32_t stk_tile_samples_wide(const stk_tile_geometry *g, uint32_t c)
{
    return (g->width * g->h[c] + g->h_max - 1u) / g->h_max;
}
STK_TILE_FN uint32_t stk_tile_samples_high(const stk_tile_geometry *g, uint32_t c)
{
    return (g->height * g->v[c] + g->v_max - 1u) / g->v_max;
}

/* MCUs and tiles that a rectangle of pixels needs; ends are exclusive. */
typedef struct stk_tile_window {
    uint32_t mcu_x0, mcu_x1, mcu_y0, mcu_y1;
    uint32_t tile_x0, tile_x1; /* segments [tile_x0, tile_x1) of each MCU row */
} stk_tile_window;

/* First and end MCU of an axis for pixels [at, at + n): widened by one subsampled sample on both sides where
 * the image has one, which is what fancy upsampling looks at. unit = pixels of an MCU, ratio = the greatest
 * max / factor of a component, count = MCUs of the axis. */
STK_TILE_FN void stk_tile_axis_window(uint32_t at, uint32_t n, uint32_t unit, uint32_t ratio, uint32_t count,
                                      uint32_t *first, uint32_t *end)
{
    uint32_t low = at, high = at + n - 1;
    if (ratio > 1) {
        low = low < ratio ? 0 : low - ratio;
        high += ratio;
    }
    *first = low / unit;
    *end = high / unit + 1 < count ? high / unit + 1 : count;
}

/* The window of the rectangle [x, x + w) x [y, y + h), which must lie inside the image and not be empty. */
STK_TILE_FN void stk_tile_window_of(const stk_tile_geometry *g, uint32_t x, uint32_t y, uint32_t w,
                                    uint32_t h, stk_tile_window *out)
{
    uint32_t c, ratio_x = 1, ratio_y = 1;
    for (c = 0; c < g->n_components; c++) {
        if ((uint32_t)(g->h_max / g->h[c]) > ratio_x) ratio_x = (uint32_t)(g->h_max / g->h[c]);
        if ((uint32_t)(g->v_max / g->v[c]) > ratio_y) ratio_y = (uint32_t)(g->v_max / g->v[c]);
    }
    stk_tile_axis_window(x, w, 8u * g->h_max, ratio_x, g->mcu_cols, &out->mcu_x0, &out->mcu_x1);
    stk_tile_axis_window(y, h, 8u * g->v_max, ratio_y, g->mcu_rows, &out->mcu_y0, &out->mcu_y1);
    out->tile_x0 = out->mcu_x0 / g->tile_mcus;
    out->tile_x1 = (out->mcu_x1 - 1) / g->tile_mcus + 1;
}

/* A Huffman table as JPEG's DHT has it: counts[i] codes of i + 1 bits, symbols in code order. */
typedef struct stk_huffman_spec {
    uint8_t counts[16];
    uint16_t n_symbols;
    uint8_t symbols[STK_TILE_MAX_AC_SYMBOLS];
} stk_huffman_spec;

/* The tables of a record or of a shared set: [0] luma, [1] chroma. */
typedef struct stk_tile_huffman {
    stk_huffman_spec dc[2], ac[2];
} stk_tile_huffman;

#endif
