/* SPDX-License-Identifier: Apache-2.0
 *
 * What the codecs share among themselves: the context's inside, the codec table, damage reports and the few
 * colour conversions that every format needs. Included only by files of this folder. */
#ifndef STK_CODEC_CODEC_INTERNAL_H
#define STK_CODEC_CODEC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "codec/kernels.h"

/* State that one file keeps in a context between images (libjpeg objects, built Huffman tables, cached axis
 * coefficients). Each slot belongs to one file; only that file knows what `state` points to. */
enum { STK_CTX_JPEG, STK_CTX_PNG, STK_CTX_TILES, STK_CTX_RENDER, STK_CTX_SLOTS };
typedef struct stk_ctx_slot {
    void *state;
    void (*close)(void *state); /* called when the context closes and state is not NULL */
} stk_ctx_slot;

typedef struct stk_scratch_area {
    uint8_t *data;
    size_t capacity;
} stk_scratch_area;

struct stk_codec_ctx {
    uint64_t max_pixels;
    stk_family family;
    const stk_kernels *kernels;
    stk_scratch_area scratch[STK_SCRATCH_COUNT];
    stk_ctx_slot slots[STK_CTX_SLOTS];
};

/* The slot's state, made on first use: n_bytes zeroed bytes; `close` must release what the state owns and
 * then free() it. */
stk_status stk_ctx_state(stk_codec_ctx *ctx, int slot, size_t n_bytes, void (*close)(void *state), void **out,
                         stk_error *error);

/* One format. Functions may trust that the encoding was chosen by sniff, nothing else. probe and decode are NULL
 * when the format's library was not there at build time. */
typedef struct stk_codec {
    stk_encoding encoding;
    bool (*sniff)(const uint8_t *data, size_t n_bytes);
    stk_status (*probe)(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error);
    stk_status (*decode)(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error);
    /* NULL = decode and drop the pixels. */
    stk_status (*check)(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_damage_report *damage,
                        stk_error *error);
    /* NULL = decode and point into the picture. */
    stk_status (*decode_box)(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_box box,
                             stk_image *out, stk_damage_report *damage, stk_error *error);
} stk_codec;

extern const stk_codec stk_codec_jpeg;
extern const stk_codec stk_codec_png;
extern const stk_codec stk_codec_bmp;
extern const stk_codec stk_codec_pnm;
/* In builds without their library these only sniff, so that such files are refused by name. */
extern const stk_codec stk_codec_webp;
extern const stk_codec stk_codec_tiff;
extern const stk_codec stk_codec_gif;

/* Notes one complaint: its kind is added to the mask; the first text stays. */
void stk_damage_note(stk_damage_report *damage, stk_damage kind, const char *format, ...) STK_PRINTF(3, 4);

/* Refuses sizes of 0 and above the context's limit, naming the limit. Called by every codec before anything
 * is allocated in proportion to a header's claim. */
stk_status stk_codec_check_size(const stk_codec_ctx *ctx, uint64_t width, uint64_t height, stk_error *error);

/* STK_ERR_ARGUMENT when the box is not inside a picture of image->width x image->height. */
stk_status stk_codec_check_box(stk_box box, const stk_image *image, stk_error *error);
/* Narrows *image to the box (stored coordinates); STK_ERR_ARGUMENT when it is not inside. */
stk_status stk_codec_point_into(stk_image *image, stk_box box, stk_error *error);

/* A picture of width x height x channels in STK_SCRATCH_PIXELS, rows packed. Content undefined. */
stk_status stk_codec_new_image(stk_codec_ctx *ctx, uint32_t width, uint32_t height, uint8_t channels,
                               stk_image *out, stk_error *error);

/* EXIF orientation out of a TIFF structure ("II*\0..." or "MM\0*..."), with or without "Exif\0\0" before it:
 * 1..8 (1 also for a tag with a value that means nothing), or 0 when it holds no such tag. */
uint8_t stk_exif_orientation(const uint8_t *tiff, size_t n_bytes);
/* What Pillow falls back to when EXIF has no such tag: the digit after tiff:Orientation=" or tiff:Orientation> in
 * an XMP packet. Results as above. */
uint8_t stk_xmp_orientation(const uint8_t *xmp, size_t n_bytes);

/* Pillow's L24: ITU-R 601-2 luma in 16-bit fixed point, rounded. */
static inline uint8_t stk_luma(uint8_t r, uint8_t g, uint8_t b)
{
    return (uint8_t)((r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16);
}
/* Rows of n pixels; in and out may be the same memory where out is not wider than in. */
void stk_row_rgb_to_l(const uint8_t *rgb, size_t n, uint8_t *l);
void stk_row_l_to_rgb(const uint8_t *l, size_t n, uint8_t *rgb);
/* A picture whose rows begin with width pixels of from_channels (1 or 3) bytes and have room for either: converts
 * them in place to image->channels. */
void stk_rows_to_mode(const stk_image *image, uint8_t from_channels);
/* Palette indices -> out_channels (1 or 3) bytes a pixel out of table; out may be the same memory as indices.
 * Returns the highest index met. */
uint8_t stk_row_palette(const uint8_t *indices, size_t n, const uint8_t table[256][3], uint8_t out_channels,
                        uint8_t *out);
/* Ink values as Pillow holds them (0 = none): Convert.c's cmyk2rgb. */
void stk_row_cmyk_to_rgb(const uint8_t *cmyk, size_t n, uint8_t *rgb);

#endif
