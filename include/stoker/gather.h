/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches for a GPU to decode: with stk_loader_options.gather set, a batch's memory holds no pixels but what
 * pixels are made of, picked from the records by the loader's threads with plain copies:
 *
 *   stk_gather_entry[n] | data of the entries, each 64-byte aligned, in no particular order
 *
 * Everything in it was validated on the host (geometry, offsets, tables); the entropy-coded bits were not. All
 * integers little-endian. stk_gpu_uploader (gpu_upload.h) is the consumer; others may be written.
 *
 * A transform's steps and mixing are the consumer's too: an stk_drawer tells what they come to, and stk_batch.mixing. */
#ifndef STOKER_GATHER_H
#define STOKER_GATHER_H

#include <stdint.h>

#include <stoker/export.h>
#include <stoker/status.h>
#include <stoker/transform.h>

STK_BEGIN_DECLS

enum {
    STK_GATHER_EMPTY = 0, /* a bad sample: pixels are zero; status says why */
    STK_GATHER_TILES = 1, /* segments of a tiles record */
    STK_GATHER_RAW = 2    /* rows of pixels */
};

/* Tables of a tiles record as they lie at its data (STK_GATHER_TABLES_BYTES), followed by
 * uint32 offsets[n_segments] of the segments, row-major, from `segments`, and uint16 lengths[n_segments]. */
typedef struct stk_gather_tables {
    uint16_t quant[3][64];     /* zigzag order, a component each */
    uint8_t counts[4][16];     /* Huffman: DC luma, AC luma, DC chroma, AC chroma; codes of i + 1 bits */
    uint8_t dc_symbols[2][16]; /* at most 12 */
    uint8_t ac_symbols[2][168]; /* at most 162 */
} stk_gather_tables;
#define STK_GATHER_TABLES_BYTES 816

/* One view of one sample. */
typedef struct stk_gather_entry {
    uint32_t kind;
    int32_t status;    /* stk_status of the sample on the host */
    uint64_t data;     /* offset of the entry's data from the batch's first byte */
    uint64_t segments; /* tiles: what segment offsets count from: bytes from the batch's first byte */
    uint32_t data_bytes;
    uint32_t n_segments;
    /* The crop in stored coordinates (before orientation). RAW: data is exactly these rows, interleaved. */
    uint32_t crop_x, crop_y, crop_width, crop_height;
    uint32_t full_width, full_height; /* the turned crop is resampled to this size */
    int32_t window_x, window_y;       /* top left of the output within it */
    uint8_t orientation;              /* EXIF 1..8 */
    uint8_t filter;                   /* stk_filter */
    uint8_t vertical_first;           /* 1: the vertical pass comes first where both are needed */
    uint8_t flip;
    uint8_t channels; /* 1 or 3, of the source */
    uint8_t fill[3];  /* outside the resampled picture */
    /* tiles */
    uint32_t width, height; /* of the image as stored */
    uint8_t n_components, tile_mcus;
    uint8_t h[3], v[3];
    uint32_t tile_x0, n_tiles; /* segments of each MCU row that are needed */
    uint32_t mcu_y0, n_rows;   /* MCU rows that are needed */
    /* 1: `data` and `segments` count from the consumer's own memory, where the whole record is, as
     * stk_loader_options.gather_resident has it: tables, offsets and lengths of all its segments (TILES), or all its
     * rows, width x height (RAW). n_segments is that of the window nevertheless. */
    uint8_t resident;
    uint8_t reserved[23];
} stk_gather_entry;
#define STK_GATHER_ENTRY_BYTES 128

/* ---- What the transform's steps come to for one view of one sample. */

enum { STK_DRAWN_OPS_MAX = 256, STK_DRAWN_BOXES_MAX = 16 };

typedef struct stk_drawn_steps {
    uint32_t n_ops, n_boxes;
    stk_pixel_op ops[STK_DRAWN_OPS_MAX];    /* one after the other, on the uint8 RGB or grey picture after its flip */
    stk_box boxes[STK_DRAWN_BOXES_MAX]; /* to be erased in the finished entry, later ones over earlier ones */
} stk_drawn_steps;

/* Draws as the loader of these options would. Immutable: any number of threads may use one. */
typedef struct stk_drawer stk_drawer;

/* Copies the transform's steps. Errors: STK_ERR_ARGUMENT names the step and what is wrong with it. *out on success,
 * NULL on failure. */
STK_API STK_NODISCARD stk_status stk_drawer_open(const stk_transform *transform, uint64_t seed, stk_drawer **out,
                                                 stk_error *error);
STK_API void stk_drawer_close(stk_drawer **drawer);

/* The choices for one view (stk_batch.ids, .occurrences, the loader's first_view plus the place in the batch modulo
 * n_views) of width x height pixels. *out is some 8 KB, of which only what is counted is written. */
STK_API void stk_drawer_draw(const stk_drawer *drawer, uint64_t epoch, uint64_t sample, uint32_t occurrence,
                             uint32_t view, uint32_t width, uint32_t height, stk_drawn_steps *out);

STK_END_DECLS

#endif
