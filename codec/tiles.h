/* SPDX-License-Identifier: Apache-2.0
 *
 * tiles: a JPEG's quantised coefficients as independent Huffman segments (docs/format.md, "tiles").
 * Pack time: stk_tiles_from_*. Read time: stk_tiles_decode_box, called by render.c. */
#ifndef STK_CODEC_TILES_H
#define STK_CODEC_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

#include "codec/codec.h"
#include "codec/tile_layout.h"

struct stk_planes; /* codec/planes.h */

/* A set of Huffman (and quantisation) tables shared by many small images. Immutable once built; may be used
 * by many threads. The blob is what a shard stores. */
typedef struct stk_tile_tables stk_tile_tables;
stk_status stk_tile_tables_open(const uint8_t *blob, size_t n_bytes, stk_tile_tables **out, stk_error *error);
void stk_tile_tables_close(stk_tile_tables **tables);

/* Collects statistics of JPEGs, in any order with the same result, and makes a blob of them. Every symbol
 * that a JPEG can contain gets a code, so that a set made from some images fits all. */
typedef struct stk_tile_trainer stk_tile_trainer;
stk_status stk_tile_trainer_open(stk_tile_trainer **out, stk_error *error);
/* Not a tileable JPEG: STK_ERR_UNSUPPORTED, nothing added. One thread at a time. */
stk_status stk_tile_trainer_add(stk_tile_trainer *trainer, stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                                uint32_t tile_pixels, stk_error *error);
stk_status stk_tile_trainer_blob(const stk_tile_trainer *trainer, stk_buffer *out, stk_error *error);
void stk_tile_trainer_close(stk_tile_trainer **trainer);

typedef struct stk_tile_options {
    uint32_t tile_pixels;          /* 16, 32 or 64 */
    const stk_tile_tables *tables; /* NULL = optimal tables of its own; else used when it is smaller */
    uint32_t tables_id;            /* stored in the record when tables are used */
} stk_tile_options;

/* JPEG -> tiles, pixels unchanged, verified by decoding both. STK_ERR_UNSUPPORTED (with the reason) when the
 * source must stay verbatim: CMYK/YCCK, 12 bit, lossless, damaged, verification failed. */
stk_status stk_tiles_from_jpeg(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                               const stk_tile_options *options, stk_buffer *out, stk_error *error);
/* RGB or L pixels -> tiles (a JPEG encoder with libjpeg-turbo's own DCT, quantisation and subsampling, so
 * that the pixels equal those of encode_jpeg + decode). */
stk_status stk_tiles_from_image(stk_codec_ctx *ctx, const stk_image *image, uint32_t quality, bool chroma_444,
                                const stk_tile_options *options, stk_buffer *out, stk_error *error);
/* Tiles -> an ordinary baseline JPEG with the same coefficients, orientation written as an EXIF tag. */
stk_status stk_tiles_to_jpeg(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                             const stk_tile_tables *tables, uint8_t orientation, stk_buffer *out, stk_error *error);

typedef struct stk_tile_info {
    uint32_t width, height; /* as stored */
    uint8_t channels;
    uint32_t tables_id; /* UINT32_MAX = its own tables */
} stk_tile_info;
/* Parses and validates a record's head (its own checksum included). */
stk_status stk_tiles_probe(const uint8_t *tiles, size_t n_bytes, stk_tile_info *out, stk_error *error);

/* Read time: decodes the segments under `box` (stored coordinates, inside the image), widened as exact fancy
 * upsampling needs, into planes in the context's scratch (valid until its next use). Invalid codes, overruns
 * and bits left over are STK_ERR_IMAGE, alike in every family. `tables` is needed when the record names a
 * shared set. */
stk_status stk_tiles_decode_box(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                                const stk_tile_tables *tables, stk_box box, struct stk_planes *out,
                                stk_error *error);

/* For a GPU: the segments under a box as they lie in the record, nothing decoded. */
typedef struct stk_tile_cut {
    stk_tile_geometry geometry;
    stk_tile_window window;
    uint32_t n_segments;    /* under the window */
    size_t segment_bytes;   /* of them */
    /* Used by stk_tile_cut_copy. */
    const uint8_t *lengths; /* u16 of all segments, in the record */
    const uint8_t *first;   /* the record's first segment */
    uint16_t quant[3][64];  /* zigzag order, a component each */
    stk_tile_huffman huffman;
} stk_tile_cut;

/* Validates the record's head and finds what a decoder of `box` (stored coordinates) needs. The result points into
 * the record. Errors as stk_tiles_decode_box. */
stk_status stk_tiles_cut(const uint8_t *tiles, size_t n_bytes, const stk_tile_tables *tables, stk_box box,
                         stk_tile_cut *out, stk_error *error);
/* Copies the segments one after the other to `segments` (segment_bytes); offsets and lengths get n_segments elements,
 * offsets counting from there. segments NULL: nothing is copied, and offsets count from the record's first segment. */
void stk_tile_cut_copy(const stk_tile_cut *cut, uint32_t *offsets, uint16_t *lengths, uint8_t *segments);

#endif
