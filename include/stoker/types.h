/* SPDX-License-Identifier: Apache-2.0
 *
 * Small value types shared by the public headers. All are plain data. */
#ifndef STOKER_TYPES_H
#define STOKER_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <stoker/export.h>

STK_BEGIN_DECLS

/* How a record's payload is encoded. The numbers are stored in files and never reused. */
typedef enum stk_encoding {
    STK_ENCODING_UNKNOWN = 0,
    STK_ENCODING_JPEG = 1, /* the source's bytes, verbatim (also MPO: its first picture) */
    STK_ENCODING_PNG = 2,
    STK_ENCODING_WEBP = 3,
    STK_ENCODING_TIFF = 4,
    STK_ENCODING_BMP = 5,
    STK_ENCODING_PNM = 6,
    STK_ENCODING_GIF = 7,
    STK_ENCODING_TILES = 16, /* a JPEG's coefficients as independent segments (docs/format.md) */
    STK_ENCODING_RAW = 17,   /* width * height * channels bytes, rows top to bottom, no padding */
    STK_ENCODING_ARRAY = 18  /* an array of any dtype and shape (header + elements) */
} stk_encoding;

/* A flag on any of them: the record's bytes are lost, and stk_repair could not make them anew. */
enum { STK_ENCODING_DEAD = 128 };

/* "jpeg", "png", ..., "tiles", "raw", "array"; "dead" for any with STK_ENCODING_DEAD,
 * "unknown" for other values. Never NULL. */
STK_API const char *stk_encoding_name(stk_encoding encoding);

/* Colour model in which pixels are delivered or stored as raw. */
typedef enum stk_mode {
    STK_MODE_RGB = 0, /* 3 channels; whatever the source is, as Pillow's convert('RGB') */
    STK_MODE_L = 1    /* 1 channel; as Pillow's convert('L') */
} stk_mode;

/* Resampling filters, with Pillow's supports and coefficients. */
typedef enum stk_filter {
    STK_FILTER_BILINEAR = 0,
    STK_FILTER_BICUBIC = 1,
    STK_FILTER_BOX = 2,
    STK_FILTER_HAMMING = 3,
    STK_FILTER_LANCZOS = 4,
    STK_FILTER_NEAREST = 5 /* masks: Pillow's NEAREST */
} stk_filter;

/* Which Pillow's pass order the resampler follows where it matters (docs/pixels.md). */
typedef enum stk_pixels {
    STK_PIXELS_PILLOW13 = 0, /* vertical pass first when h_in-h_out > 0 and > 2*(w_in-w_out) */
    STK_PIXELS_PILLOW12 = 1  /* horizontal first, except h_in > 100 * w_in (Pillow <= 12.3) */
} stk_pixels;

typedef enum stk_color {
    STK_COLOR_RGB = 0,
    STK_COLOR_BGR = 1 /* channels swapped on output, as cv2.imread gives them */
} stk_color;

typedef enum stk_dtype {
    STK_DTYPE_U8 = 0,
    STK_DTYPE_F16 = 1,
    STK_DTYPE_BF16 = 2,
    STK_DTYPE_F32 = 3
} stk_dtype;

typedef enum stk_layout {
    STK_LAYOUT_NHWC = 0, /* channels_last in memory */
    STK_LAYOUT_NCHW = 1
} stk_layout;

/* A rectangle in pixels, in turned coordinates (after EXIF orientation), 0,0 = top left. */
typedef struct stk_box {
    int32_t x, y, width, height;
} stk_box;

STK_END_DECLS

#endif
