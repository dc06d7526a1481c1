/* SPDX-License-Identifier: Apache-2.0
 *
 * The chunk structure of a PNG file, walked by ourselves: what libpng need not see (text, profiles, time ...) is
 * checked and dropped here, so that no ancillary chunk can cost memory or hide that the pixels are fine. */
#ifndef STK_CODEC_PNG_CHUNKS_H
#define STK_CODEC_PNG_CHUNKS_H

#include "codec/codec_internal.h"

typedef struct stk_png_chunks {
    uint32_t width, height;
    uint8_t bit_depth, color_type, interlace; /* as in IHDR, not validated beyond what the walk says */
    const uint8_t *ihdr;                      /* 13 bytes */
    const uint8_t *palette;                   /* n_palette * 3 bytes, or NULL */
    uint32_t n_palette;
    size_t first_idat;   /* offset of its length field */
    uint8_t orientation; /* 0 = none found */
} stk_png_chunks;

enum { STK_PNG_GREY = 0, STK_PNG_RGB = 2, STK_PNG_PALETTE = 3, STK_PNG_GREY_ALPHA = 4, STK_PNG_RGBA = 6 };

bool stk_png_is(const uint8_t *data, size_t n_bytes);

/* Walks all chunks. Complaints go to damage: wrong CRCs (only looked at when `checksums`), a file that ends
 * inside a chunk or without IEND, ancillary chunks of impossible lengths. STK_ERR_IMAGE when there is no usable
 * header or no image data. */
stk_status stk_png_walk(const uint8_t *data, size_t n_bytes, bool checksums, stk_png_chunks *out,
                        stk_damage_report *damage, stk_error *error);

/* The run of consecutive IDAT chunks: *offset (start with first_idat) is moved to the next chunk; false when that
 * is no IDAT. *body may be cut short by the file's end. */
bool stk_png_next_idat(const uint8_t *data, size_t n_bytes, size_t *offset, const uint8_t **body, size_t *n_body);

#endif
