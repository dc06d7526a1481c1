/* SPDX-License-Identifier: Apache-2.0
 *
 * Image codecs behind one table: which bytes are which format, what a header says, pixels, damage.
 * Third-party image headers are included only in their codec_<format>.c (jpeglib.h: codec_jpeg*.c).
 * Nothing here knows of shards; nothing in format/ knows of codecs. */
#ifndef STK_CODEC_CODEC_H
#define STK_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/pack.h>
#include <stoker/status.h>
#include <stoker/types.h>

/* Everything a thread keeps between images: libjpeg objects, scratch memory, built Huffman tables. One per
 * thread; not to be shared. Scratch that grew for an outlier (> 64 MiB) is given back at the next image. */
typedef struct stk_codec_ctx stk_codec_ctx;

typedef struct stk_codec_limits {
    uint64_t max_pixels; /* 0 = 178,956,970 */
} stk_codec_limits;

stk_status stk_codec_ctx_open(const stk_codec_limits *limits, stk_codec_ctx **out, stk_error *error);
void stk_codec_ctx_close(stk_codec_ctx **ctx);

/* What a header says. width and height are as stored (before orientation). */
typedef struct stk_image_info {
    stk_encoding encoding;
    uint32_t width, height;
    uint8_t channels;    /* 1 when the source is grey without palette and alpha, else 3 */
    uint8_t orientation; /* EXIF 1..8; 1 when absent or invalid (JPEG, PNG eXIf, WebP EXIF, TIFF tag) */
    bool tileable;       /* JPEG whose coefficients can become tiles (8 bit Huffman/arithmetic, 1 or 3
                            components as grey/YCbCr, integral sampling) */
} stk_image_info;

/* The format by content; STK_ENCODING_UNKNOWN when these bytes are no image that stoker knows. */
stk_encoding stk_codec_sniff(const uint8_t *data, size_t n_bytes);

/* True for bytes that are meant as a picture, readable or not: what sniff knows, formats that probe refuses by name
 * (HEIF, AVIF ...), a PNG signature mangled by a transfer in text mode. Such a file is to be named, not ignored. */
bool stk_codec_is_picture(const uint8_t *data, size_t n_bytes);

/* Parses the header. STK_ERR_IMAGE with one clause that says why; STK_ERR_LIMIT above max_pixels;
 * STK_ERR_UNSUPPORTED for valid files that no decoder here takes (12-bit or lossless JPEG, say; also well-known
 * formats that sniff does not know: HEIF, AVIF, JPEG XL, JPEG 2000, Photoshop, icons). */
stk_status stk_codec_probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                           stk_error *error);

/* What the decoder complained of. kinds is a mask of stk_damage. */
typedef struct stk_damage_report {
    uint32_t kinds;
    char text[200]; /* the first complaint in the library's own words */
} stk_damage_report;

/* Pixels in the context's scratch, valid until the next call with it. Rows are stride bytes apart. */
typedef struct stk_image {
    uint8_t *pixels;
    size_t stride;
    uint32_t width, height;
    uint8_t channels; /* 1 or 3, interleaved */
} stk_image;

/* Decodes to RGB8 or L8 exactly as Pillow's open().convert('RGB'|'L') does, orientation not applied.
 * Damage does not fail the call: it is reported. STK_ERR_IMAGE when no pixels came out. */
stk_status stk_codec_decode(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                            stk_mode mode, stk_image *out, stk_damage_report *damage, stk_error *error);

/* As decode, for damage only: the cheapest way that still meets every complaint a decode would make (JPEG:
 * entropy decoding without IDCT). */
stk_status stk_codec_check(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                           stk_damage_report *damage, stk_error *error);

/* Decodes a rectangle (stored coordinates, inside the image) with pixels equal to those of a full decode.
 * *out may point into a larger scratch picture; out->width/height are the rectangle's. JPEG uses crop and
 * skip of scanlines; other formats decode whole. */
stk_status stk_codec_decode_box(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                                stk_mode mode, stk_box box, stk_image *out, stk_damage_report *damage,
                                stk_error *error);

/* Baseline JPEG with optimal Huffman tables; orientation 2..8 writes an EXIF tag. Appends to nothing: out
 * is replaced. */
stk_status stk_codec_encode_jpeg(stk_codec_ctx *ctx, const stk_image *image, uint32_t quality, bool chroma_444,
                                 uint8_t orientation, stk_buffer *out, stk_error *error);
/* PNG, for extract and contact sheets. */
stk_status stk_codec_encode_png(stk_codec_ctx *ctx, const stk_image *image, stk_buffer *out, stk_error *error);

/* The context's growable scratch areas, by number, for the codecs and render.c themselves. Contents are
 * kept between calls with the same or a smaller size. 64-byte aligned, 64 bytes of readable slack. */
enum { STK_SCRATCH_PIXELS, STK_SCRATCH_TURN, STK_SCRATCH_RESAMPLE, STK_SCRATCH_PLANES, STK_SCRATCH_COEFS,
       STK_SCRATCH_OUTPUT, STK_SCRATCH_COUNT };
stk_status stk_codec_scratch(stk_codec_ctx *ctx, int area, size_t n_bytes, uint8_t **out, stk_error *error);

#endif
