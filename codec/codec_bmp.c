/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows bitmaps: headers of 12, 40, 52, 56, 64, 108 and 124 bytes; 1, 4, 8, 16, 24 and 32 bits; bit fields,
 * RLE4 and RLE8. Microsoft's "Bitmap Storage" is the specification, Pillow's BmpImagePlugin the reference for
 * pixels. */
#include "codec/codec_internal.h"

#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40, MASKED_HEADER = 52 };
enum { RAW = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3 };

typedef struct channel_mask {
    uint32_t mask, shift, max; /* max 0: the channel is absent */
} channel_mask;

typedef struct bitmap {
    uint32_t width, height;
    bool top_down;
    uint32_t bits, compression;
    size_t pixels; /* offset of the pixel data */
    uint32_t n_colors;
    bool grey; /* the palette is the grey ramp (or black and white): Pillow's modes L and 1 */
    uint8_t palette[256][3];
    channel_mask masks[3]; /* red, green, blue; for 16 and 32 bits */
} bitmap;

static bool is_header_size(uint32_t size)
{
    static const uint32_t sizes[] = {12, 40, 52, 56, 64, 108, 124};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (size == sizes[i]) return true;
    }
    return false;
}

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= FILE_HEADER + 4 && data[0] == 'B' && data[1] == 'M' &&
           is_header_size(stk_load32(data + 14));
}

static stk_status set_mask(channel_mask *m, uint32_t mask, stk_error *error)
{
    *m = (channel_mask){.mask = mask};
    if (mask == 0) return STK_OK;
    m->shift = (uint32_t)__builtin_ctz(mask);
    m->max = mask >> m->shift;
    if ((m->max & (m->max + 1)) != 0 || m->max > 0xffff) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a BMP with bit mask %#x", (unsigned)mask);
    }
    return STK_OK;
}

static stk_status set_masks(bitmap *b, uint32_t red, uint32_t green, uint32_t blue, stk_error *error)
{
    STK_TRY(set_mask(&b->masks[0], red, error));
    STK_TRY(set_mask(&b->masks[1], green, error));
    return set_mask(&b->masks[2], blue, error);
}

/* The layouts of 16 and 32 bits; *extra is set to the bytes that the masks take after a 40-byte header. */
static stk_status read_masks(bitmap *b, const uint8_t *data, size_t n_bytes, uint32_t header, size_t *extra,
                             stk_error *error)
{
    if (b->compression == RAW || b->bits == 24) {
        if (b->bits == 16) return set_masks(b, 0x7c00, 0x3e0, 0x1f, error);
        return set_masks(b, 0xff0000, 0xff00, 0xff, error);
    }
    if (header < MASKED_HEADER) *extra = 12;
    if (n_bytes < FILE_HEADER + INFO_HEADER + 12) {
        return stk_fail(error, STK_ERR_IMAGE, "the BMP file ends inside its header");
    }
    const uint8_t *p = data + FILE_HEADER + INFO_HEADER;
    uint32_t red = stk_load32(p), green = stk_load32(p + 4), blue = stk_load32(p + 8);
    if (b->bits == 32 && (red | green | blue) == 0) return set_masks(b, 0xff0000, 0xff00, 0xff, error);
    return set_masks(b, red, green, blue, error);
}

static void read_palette(bitmap *b, const uint8_t *data, size_t n_bytes, size_t offset, size_t entry)
{
    uint32_t n = b->n_colors < 256 ? b->n_colors : 256;
    b->grey = true;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = offset + i * entry;
        if (!stk_range_inside(at, 3, n_bytes)) {
            b->grey = false;
            return; /* what is not there stays black */
        }
        for (int c = 0; c < 3; c++) b->palette[i][c] = data[at + (size_t)(2 - c)];
        uint8_t ramp = (uint8_t)(b->n_colors == 2 ? i * 255 : i);
        b->grey = b->grey && b->palette[i][0] == ramp && b->palette[i][1] == ramp && b->palette[i][2] == ramp;
    }
}

static stk_status read_dimensions(bitmap *b, const uint8_t *data, uint32_t header)
{
    const uint8_t *p = data + FILE_HEADER;
    if (header == CORE_HEADER) {
        b->width = stk_load16(p + 4);
        b->height = stk_load16(p + 6);
        b->bits = stk_load16(p + 10);
        return STK_OK;
    }
    b->width = stk_load32(p + 4);
    b->height = stk_load32(p + 8);
    b->top_down = (b->height >> 24) == 0xff; /* a small negative number */
    if (b->top_down) b->height = 0u - b->height;
    b->bits = stk_load16(p + 14);
    b->compression = stk_load32(p + 16);
    b->n_colors = stk_load32(p + 32);
    return STK_OK;
}

static stk_status check_layout(const bitmap *b, stk_error *error)
{
    bool indexed = b->bits == 1 || b->bits == 4 || b->bits == 8;
    bool direct = b->bits == 16 || b->bits == 24 || b->bits == 32;
    bool fits = (b->compression == RAW && (indexed || direct)) || (b->compression == BITFIELDS && direct) ||
                (b->compression == RLE8 && b->bits == 8) || (b->compression == RLE4 && b->bits == 4);
    if (fits) return STK_OK;
    if (!indexed && !direct) return stk_fail(error, STK_ERR_UNSUPPORTED, "a BMP of %u bits", (unsigned)b->bits);
    return stk_fail(error, STK_ERR_UNSUPPORTED, "a BMP of %u bits with compression %u", (unsigned)b->bits,
                    (unsigned)b->compression);
}

static stk_status read_header(const uint8_t *data, size_t n_bytes, bitmap *b, stk_error *error)
{
    memset(b, 0, sizeof *b);
    uint32_t header = stk_load32(data + FILE_HEADER);
    if (n_bytes < FILE_HEADER + (size_t)header) {
        return stk_fail(error, STK_ERR_IMAGE, "the BMP file ends inside its header");
    }
    STK_TRY(read_dimensions(b, data, header));
    STK_TRY(check_layout(b, error));
    size_t after = FILE_HEADER + (size_t)header, entry = header == CORE_HEADER ? 3 : 4, extra = 0;
    b->pixels = stk_load32(data + 10);
    if (b->bits > 8) {
        STK_TRY(read_masks(b, data, n_bytes, header, &extra, error));
        if (b->pixels == 0) b->pixels = after + extra;
        return STK_OK;
    }
    if (b->n_colors == 0) b->n_colors = 1u << b->bits;
    if (b->n_colors > 65536) {
        return stk_fail(error, STK_ERR_IMAGE, "the BMP header says %u palette colours", (unsigned)b->n_colors);
    }
    /* Some writers forget the palette in the offset. */
    if (b->pixels == 0 || b->pixels == after) b->pixels = after + entry * b->n_colors;
    read_palette(b, data, n_bytes, after, entry);
    return STK_OK;
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    (void)ctx;
    bitmap b;
    STK_TRY(read_header(data, n_bytes, &b, error));
    out->width = b.width;
    out->height = b.height;
    out->channels = b.bits <= 8 && b.grey ? 1 : 3;
    return STK_OK;
}

/* v of 0..max -> 0..255 as Pillow's unpackers do: v * 255 / max, rounded down. */
static inline uint8_t scaled(uint32_t pixel, const channel_mask *m)
{
    if (m->max == 0) return 0;
    return (uint8_t)(((pixel & m->mask) >> m->shift) * 255u / m->max);
}

/* One stored row -> palette indices (bits <= 8) or RGB. */
static void unpack_row(const bitmap *b, const uint8_t *in, uint8_t *out)
{
    for (uint32_t x = 0; x < b->width; x++) {
        if (b->bits == 1) {
            out[x] = in[x >> 3] >> (7 - (x & 7)) & 1;
        } else if (b->bits == 4) {
            out[x] = in[x >> 1] >> (x & 1 ? 0 : 4) & 15;
        } else if (b->bits == 8) {
            out[x] = in[x];
        } else if (b->bits == 24) {
            out[3 * x] = in[3 * x + 2];
            out[3 * x + 1] = in[3 * x + 1];
            out[3 * x + 2] = in[3 * x];
        } else {
            uint32_t pixel = b->bits == 16 ? stk_load16(in + 2 * (size_t)x) : stk_load32(in + 4 * (size_t)x);
            for (size_t c = 0; c < 3; c++) out[3 * x + c] = scaled(pixel, &b->masks[c]);
        }
    }
}

static uint8_t *row_of(const bitmap *b, const stk_image *out, uint32_t stored)
{
    uint32_t y = b->top_down ? stored : b->height - 1 - stored;
    return out->pixels + y * out->stride;
}

/* Returns the number of whole rows that were there. */
static uint32_t read_raw(const bitmap *b, const uint8_t *data, size_t n_bytes, const stk_image *out)
{
    uint64_t stride = (((uint64_t)b->width * b->bits + 31) / 32) * 4,
             row = ((uint64_t)b->width * b->bits + 7) / 8;
    for (uint32_t i = 0; i < b->height; i++) {
        uint64_t at = b->pixels + i * stride; /* below 2^63: width and height were checked */
        if (!stk_range_inside(at, row, n_bytes)) return i;
        unpack_row(b, data + at, row_of(b, out, i));
    }
    return b->height;
}

typedef struct rle {
    const bitmap *b;
    const stk_image *out;
    const uint8_t *p, *end;
    uint32_t x, row; /* stored row: the first is the lowest line of a usual file */
    bool overflowed;
} rle;

static void put(rle *r, uint8_t index)
{
    if (r->x >= r->b->width || r->row >= r->b->height) {
        r->overflowed = true;
        return;
    }
    row_of(r->b, r->out, r->row)[r->x++] = index;
}

static void put_run(rle *r, uint32_t n, uint8_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        put(r, r->b->bits == 8 ? value : (uint8_t)(i & 1 ? value & 15 : value >> 4));
    }
}

/* Absolute mode: n literal indices, padded to a 16-bit boundary of the data. False when the data ends. */
static bool put_literals(rle *r, uint32_t n)
{
    size_t n_bytes = r->b->bits == 8 ? n : (n + 1) / 2;
    size_t left = (size_t)(r->end - r->p);
    if (left < n_bytes) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (r->b->bits == 8) {
            put(r, r->p[i]);
        } else {
            put(r, r->p[i / 2] >> (i & 1 ? 0 : 4) & 15);
        }
    }
    n_bytes += n_bytes & 1;
    r->p += n_bytes < left ? n_bytes : left;
    return true;
}

/* Escapes: end of line, end of bitmap (false), delta, literals. */
static bool escape(rle *r, uint8_t code)
{
    switch (code) {
    case 0:
        r->x = 0;
        r->row++;
        return true;
    case 1: return false;
    case 2:
        if (r->end - r->p < 2) return false;
        r->x += r->p[0];
        r->row += r->p[1];
        r->p += 2;
        return true;
    default: return put_literals(r, code);
    }
}

/* Returns the rows begun; every row counts that an end of line, a delta or the end of the bitmap has passed. */
static uint32_t read_rle(const bitmap *b, const uint8_t *data, size_t n_bytes, const stk_image *out,
                         stk_damage_report *damage)
{
    memset(out->pixels, 0, out->stride * out->height); /* deltas leave pixels out */
    if (b->pixels >= n_bytes) return 0;
    rle r = {.b = b, .out = out, .p = data + b->pixels, .end = data + n_bytes};
    while (r.end - r.p >= 2 && r.row < b->height) {
        uint8_t n = r.p[0], value = r.p[1];
        r.p += 2;
        if (n > 0) {
            put_run(&r, n, value);
        } else if (!escape(&r, value)) {
            break;
        }
    }
    if (r.overflowed) stk_damage_note(damage, STK_DAMAGE_OVERFLOW, "BMP runs longer than their rows");
    /* The last row need not be ended. */
    return r.row < b->height && r.x == b->width ? r.row + 1 : r.row;
}

/* Rows of indices or RGB -> the mode, in place. */
static void convert_rows(const bitmap *b, stk_mode mode, const stk_image *out)
{
    uint8_t table[256][3];
    for (int i = 0; i < 256; i++) {
        const uint8_t *rgb = b->palette[i];
        memcpy(table[i], rgb, 3);
        if (mode == STK_MODE_L) table[i][0] = stk_luma(rgb[0], rgb[1], rgb[2]);
    }
    for (uint32_t y = 0; y < out->height; y++) {
        uint8_t *row = out->pixels + y * out->stride;
        if (b->bits <= 8) {
            (void)stk_row_palette(row, out->width, (const uint8_t(*)[3])table, out->channels, row);
        } else if (mode == STK_MODE_L) {
            stk_row_rgb_to_l(row, out->width, row);
        }
    }
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    bitmap b;
    STK_TRY(read_header(data, n_bytes, &b, error));
    STK_TRY(stk_codec_check_size(ctx, b.width, b.height, error));
    uint8_t room = b.bits > 8 || mode == STK_MODE_RGB ? 3 : 1;
    STK_TRY(stk_codec_new_image(ctx, b.width, b.height, room, out, error));
    out->channels = mode == STK_MODE_L ? 1 : 3;
    bool packed = b.compression == RLE4 || b.compression == RLE8;
    uint32_t n_rows = packed ? read_rle(&b, data, n_bytes, out, damage) : read_raw(&b, data, n_bytes, out);
    if (n_rows == 0) return stk_fail(error, STK_ERR_IMAGE, "the BMP file ends before its first row");
    if (n_rows < b.height) {
        stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "BMP data ends in row %u of %u", (unsigned)n_rows,
                        (unsigned)b.height);
        for (uint32_t i = packed ? b.height : n_rows; i < b.height; i++)
            memset(row_of(&b, out, i), 0, out->stride);
    }
    convert_rows(&b, mode, out);
    return STK_OK;
}

const stk_codec stk_codec_bmp = {
    .encoding = STK_ENCODING_BMP,
    .sniff = sniff,
    .probe = probe,
    .decode = decode,
};
