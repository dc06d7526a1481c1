/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/png_chunks.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "common/fail.h"

/* What a text chunk may inflate to in the search for an orientation (Pillow: 1 MiB, then it refuses). */
enum { MAX_TEXT = 1 << 20 };
enum { HEADER_BYTES = 8, CRC_BYTES = 4, IHDR_BYTES = 13 };
static const uint8_t SIGNATURE[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

typedef struct chunk {
    const uint8_t *type; /* 4 letters */
    const uint8_t *body;
    size_t n_body; /* bytes of the body that are there */
    bool cut;      /* the file ends inside it (CRC included) */
    size_t next;   /* offset of the next chunk */
} chunk;

static uint32_t load_big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is(const chunk *c, const char *type)
{
    return memcmp(c->type, type, 4) == 0;
}

bool stk_png_is(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= sizeof SIGNATURE && memcmp(data, SIGNATURE, sizeof SIGNATURE) == 0;
}

/* False when not even a chunk's header is left. */
static bool read_chunk(const uint8_t *data, size_t n_bytes, size_t offset, chunk *out)
{
    if (offset > n_bytes || n_bytes - offset < HEADER_BYTES) return false;
    size_t length = load_big32(data + offset), left = n_bytes - offset - HEADER_BYTES;
    out->type = data + offset + 4;
    out->body = data + offset + HEADER_BYTES;
    out->n_body = length < left ? length : left;
    out->cut = left < length || left - length < CRC_BYTES;
    out->next = out->cut ? n_bytes : offset + HEADER_BYTES + length + CRC_BYTES;
    return true;
}

static bool has_valid_type(const chunk *c)
{
    for (int i = 0; i < 4; i++) {
        uint8_t letter = c->type[i] | 0x20;
        if (letter < 'a' || letter > 'z') return false;
    }
    return true;
}

static bool crc_is_right(const chunk *c)
{
    uLong crc = crc32_z(0, c->type, 4);
    crc = crc32_z(crc, c->body, c->n_body);
    return crc == load_big32(c->body + c->n_body);
}

/* Lengths that the PNG specification fixes; a chunk outside them is one that a strict reader refuses. */
static bool has_valid_length(const chunk *c)
{
    static const struct {
        char type[5];
        uint32_t min, max;
    } rules[] = {{"gAMA", 4, 4},         {"cHRM", 32, 32}, {"sRGB", 1, 1},   {"pHYs", 9, 9},
                 {"tIME", 7, 7},         {"bKGD", 1, 6},   {"sBIT", 1, 4},   {"hIST", 2, 512},
                 {"oFFs", 9, 9},         {"acTL", 8, 8},   {"fcTL", 26, 26}, {"iCCP", 4, UINT32_MAX},
                 {"eXIf", 4, UINT32_MAX}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (is(c, rules[i].type)) return c->n_body >= rules[i].min && c->n_body <= rules[i].max;
    }
    return true;
}

/* zTXt and iCCP: keyword, 0, compression method, which must be 0 (deflate). */
static bool has_known_compression(const chunk *c)
{
    if (!is(c, "iCCP") && !is(c, "zTXt")) return true;
    const uint8_t *zero = memchr(c->body, 0, c->n_body);
    if (zero == NULL || zero + 1 >= c->body + c->n_body) return true;
    return zero[1] == 0;
}

static bool is_ancillary(const chunk *c)
{
    return (c->type[0] & 0x20) != 0;
}

/* Refuses what Pillow and libpng both refuse: without these chunks right, no pixel is. */
static stk_status check_critical(const chunk *c, stk_png_chunks *out, stk_error *error)
{
    if (is(c, "PLTE")) {
        if (c->cut || c->n_body % 3 != 0 || c->n_body == 0 || c->n_body > 768) {
            return stk_fail(error, STK_ERR_IMAGE, "the PNG palette has %zu bytes, which is not 1 to 256 colours",
                            c->n_body);
        }
        if (out->palette == NULL) {
            out->palette = c->body;
            out->n_palette = (uint32_t)c->n_body / 3;
        }
    } else if (is(c, "tRNS")) {
        size_t want = out->color_type == STK_PNG_RGB ? 6 : out->color_type == STK_PNG_GREY ? 2 : 0;
        if (c->n_body < want) {
            return stk_fail(error, STK_ERR_IMAGE, "the PNG transparency chunk has %zu bytes, not %zu", c->n_body,
                            want);
        }
    } else if (is(c, "IHDR")) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNG file has two headers");
    }
    return STK_OK;
}

static void check_chunk(const chunk *c, bool checksums, stk_damage_report *damage)
{
    if (!has_valid_length(c)) {
        stk_damage_note(damage, STK_DAMAGE_HEADER, "%.4s chunk of %zu bytes", (const char *)c->type, c->n_body);
    } else if (!has_known_compression(c)) {
        stk_damage_note(damage, STK_DAMAGE_HEADER, "%.4s chunk with an unknown compression method",
                        (const char *)c->type);
    }
    if (checksums && !crc_is_right(c)) {
        stk_damage_note(damage, STK_DAMAGE_CHECKSUM, "CRC error in chunk %.4s", (const char *)c->type);
    }
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ImageMagick's "Raw profile type exif": a newline, a name, a length, then EXIF in hexadecimal lines. */
static uint8_t raw_profile_orientation(const uint8_t *text, size_t n_bytes)
{
    uint8_t exif[4096]; /* IFD0 comes first; an orientation beyond this is not worth more */
    size_t n = 0, i = 0;
    for (int lines = 0; lines < 3 && i < n_bytes; i++) lines += text[i] == '\n';
    int high = -1;
    for (; i < n_bytes && n < sizeof exif; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0) continue;
        if (high >= 0) exif[n++] = (uint8_t)(high << 4 | digit);
        high = high >= 0 ? -1 : digit;
    }
    return stk_exif_orientation(exif, n);
}

typedef uint8_t (*orientation_fn)(const uint8_t *data, size_t n_bytes);

/* Text that is compressed: inflated up to MAX_TEXT, looked at, forgotten. Text that does not inflate, or would
 * inflate to more, has no orientation. */
static uint8_t inflated_orientation(const uint8_t *data, size_t n_bytes, orientation_fn parse)
{
    uLongf n_text = MAX_TEXT;
    uint8_t *text = malloc(MAX_TEXT), orientation = 0;
    if (text != NULL && uncompress(text, &n_text, data, (uLong)n_bytes) == Z_OK)
        orientation = parse(text, n_text);
    free(text);
    return orientation;
}

/* What parse makes of the text chunk's value when the chunk has this keyword; else 0. */
static uint8_t text_orientation(const chunk *c, const char *keyword, orientation_fn parse)
{
    size_t n_key = strlen(keyword) + 1; /* with its zero */
    if (c->n_body < n_key || memcmp(c->body, keyword, n_key) != 0) return 0;
    const uint8_t *p = c->body + n_key, *end = c->body + c->n_body;
    bool compressed = is(c, "zTXt");
    if (is(c, "iTXt")) { /* flag, method, language, 0, translated keyword, 0, text */
        if (end - p < 2) return 0;
        compressed = p[0] != 0;
        p += 2;
        for (int i = 0; i < 2; i++) {
            p = memchr(p, 0, (size_t)(end - p));
            if (p == NULL) return 0;
            p++;
        }
    } else if (compressed) {
        if (p == end) return 0;
        p++; /* method */
    }
    return compressed ? inflated_orientation(p, (size_t)(end - p), parse) : parse(p, (size_t)(end - p));
}

typedef struct orientations {
    uint8_t exif, profile, xmp;
} orientations;

/* Where Pillow looks: eXIf, else a raw EXIF profile in text; and XMP when those have no such tag. */
static void note_orientation(const chunk *c, orientations *found)
{
    if (is(c, "eXIf")) {
        if (found->exif == 0) found->exif = stk_exif_orientation(c->body, c->n_body);
    } else if (is(c, "tEXt") || is(c, "zTXt") || is(c, "iTXt")) {
        if (found->profile == 0) {
            found->profile = text_orientation(c, "Raw profile type exif", raw_profile_orientation);
        }
        if (found->xmp == 0) found->xmp = text_orientation(c, "XML:com.adobe.xmp", stk_xmp_orientation);
    }
}

static stk_status read_header(const uint8_t *data, size_t n_bytes, stk_png_chunks *out, size_t *next,
                              stk_error *error)
{
    chunk c;
    if (!read_chunk(data, n_bytes, sizeof SIGNATURE, &c) || !is(&c, "IHDR") || c.cut || c.n_body != IHDR_BYTES) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNG file does not begin with a whole header");
    }
    if (!crc_is_right(&c)) return stk_fail(error, STK_ERR_IMAGE, "CRC error in the PNG header (IHDR)");
    *out = (stk_png_chunks){.ihdr = c.body,
                            .width = load_big32(c.body),
                            .height = load_big32(c.body + 4),
                            .bit_depth = c.body[8],
                            .color_type = c.body[9],
                            .interlace = c.body[12]};
    *next = c.next;
    return STK_OK;
}

/* One chunk after the header. *done when the walk ends with it. */
static stk_status walk_chunk(const chunk *c, size_t offset, bool checksums, stk_png_chunks *out,
                             stk_damage_report *damage, bool *done, stk_error *error)
{
    bool in_front = out->first_idat == 0;
    if (!has_valid_type(c)) {
        if (in_front) return stk_fail(error, STK_ERR_IMAGE, "the PNG file has bytes where a chunk should begin");
        stk_damage_note(damage, STK_DAMAGE_EXTRANEOUS, "bytes after the PNG image data that are no chunk");
        *done = true;
        return STK_OK;
    }
    if (in_front && is(c, "IDAT")) out->first_idat = offset;
    if (in_front && is(c, "IEND")) *done = true;
    if (in_front) STK_TRY(check_critical(c, out, error));
    if (c->cut) {
        stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "the file ends inside chunk %.4s", (const char *)c->type);
        *done = true;
        return STK_OK;
    }
    check_chunk(c, checksums, damage);
    *done = *done || is(c, "IEND");
    return STK_OK;
}

stk_status stk_png_walk(const uint8_t *data, size_t n_bytes, bool checksums, stk_png_chunks *out,
                        stk_damage_report *damage, stk_error *error)
{
    size_t offset = 0;
    STK_TRY(read_header(data, n_bytes, out, &offset, error));
    orientations found = {0};
    bool done = false;
    chunk c;
    while (!done && read_chunk(data, n_bytes, offset, &c)) {
        STK_TRY(walk_chunk(&c, offset, checksums, out, damage, &done, error));
        if (is_ancillary(&c)) note_orientation(&c, &found);
        offset = c.next;
    }
    if (out->first_idat == 0) return stk_fail(error, STK_ERR_IMAGE, "the PNG file has no image data");
    if (out->color_type == STK_PNG_PALETTE && out->palette == NULL) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNG file has no palette");
    }
    if (!done) stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "the PNG file ends without its end chunk");
    out->orientation = found.exif != 0 ? found.exif : found.profile != 0 ? found.profile : found.xmp;
    return STK_OK;
}

bool stk_png_next_idat(const uint8_t *data, size_t n_bytes, size_t *offset, const uint8_t **body, size_t *n_body)
{
    chunk c;
    if (!read_chunk(data, n_bytes, *offset, &c) || !is(&c, "IDAT")) return false;
    *body = c.body;
    *n_body = c.n_body;
    *offset = c.next;
    return true;
}
