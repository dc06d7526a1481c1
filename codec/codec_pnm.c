/* SPDX-License-Identifier: Apache-2.0
 *
 * Portable bitmaps, graymaps and pixmaps: P1 to P6, any maxval up to 65535. netpbm's pbm(5), pgm(5), ppm(5) are
 * the specification, Pillow's PpmImagePlugin the reference for pixels. */
#include "codec/codec_internal.h"

#include <math.h>
#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

enum { MAX_TOKEN = 10 };

typedef struct anymap {
    char kind; /* '1' ... '6' */
    uint32_t width, height, maxval;
    size_t pixels; /* offset of the data */
} anymap;

typedef struct reader {
    const uint8_t *p, *end;
} reader;

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_comment(reader *r)
{
    while (r->p < r->end && *r->p != '\n' && *r->p != '\r') r->p++;
    if (r->p < r->end) r->p++;
}

static void skip_space(reader *r)
{
    while (r->p < r->end) {
        if (*r->p == '#') {
            skip_comment(r);
        } else if (is_space(*r->p)) {
            r->p++;
        } else {
            return;
        }
    }
}

/* Digits and the one white space (or comment) that ends them. False for anything else, and at the file's end. */
static bool read_number(reader *r, uint32_t *out)
{
    skip_space(r);
    uint64_t value = 0;
    int n = 0;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++, n++) {
        if (n == MAX_TOKEN) return false;
        value = value * 10 + (uint64_t)(*r->p - '0');
    }
    if (n == 0 || value > UINT32_MAX) return false;
    *out = (uint32_t)value;
    if (r->p == r->end) return true;
    if (*r->p == '#') {
        skip_comment(r);
        return true;
    }
    return is_space(*r->p++);
}

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 4 || data[0] != 'P' || data[1] < '1' || data[1] > '6' ||
        !(is_space(data[2]) || data[2] == '#')) {
        return false;
    }
    /* So that a text that happens to begin with "P1 " is not called a broken image. */
    reader r = {.p = data + 2, .end = data + n_bytes};
    skip_space(&r);
    return r.p < r.end && (*r.p == '-' || (*r.p >= '0' && *r.p <= '9'));
}

static bool is_plain(const anymap *m)
{
    return m->kind <= '3';
}

static bool is_bitmap(const anymap *m)
{
    return m->kind == '1' || m->kind == '4';
}

static uint32_t channels_of(const anymap *m)
{
    return m->kind == '3' || m->kind == '6' ? 3 : 1;
}

static stk_status read_header(const uint8_t *data, size_t n_bytes, anymap *m, stk_error *error)
{
    reader r = {.p = data + 2, .end = data + n_bytes};
    *m = (anymap){.kind = (char)data[1], .maxval = 1};
    if (!read_number(&r, &m->width) || !read_number(&r, &m->height)) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNM header has no valid width and height");
    }
    if (!is_bitmap(m) && (!read_number(&r, &m->maxval) || m->maxval == 0 || m->maxval > 65535)) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNM header has no valid maximum value (1 to 65535)");
    }
    m->pixels = (size_t)(r.p - data);
    return STK_OK;
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    (void)ctx;
    anymap m;
    STK_TRY(read_header(data, n_bytes, &m, error));
    out->width = m.width;
    out->height = m.height;
    out->channels = (uint8_t)channels_of(&m);
    return STK_OK;
}

/* Pillow's round(value / maxval * 255), in double, halves to even; more than maxval is 255. Bitmaps: 1 is black.
 */
static uint8_t scaled(const anymap *m, uint32_t value)
{
    if (is_bitmap(m)) return value ? 0 : 255;
    if (m->maxval == 255) return (uint8_t)value;
    double v = rint((double)value / (double)m->maxval * 255.0);
    return v >= 255.0 ? 255 : (uint8_t)v;
}

/* Returns the number of whole rows that were there. */
static uint32_t read_binary(const anymap *m, const uint8_t *data, size_t n_bytes, const stk_image *out)
{
    uint64_t n = (uint64_t)m->width * channels_of(m);
    uint64_t stride = is_bitmap(m) ? (n + 7) / 8 : m->maxval > 255 ? 2 * n : n;
    uint8_t table[256];
    for (uint32_t v = 0; v < 256; v++) table[v] = scaled(m, v);
    for (uint32_t y = 0; y < m->height; y++) {
        uint64_t at = m->pixels + y * stride;
        if (!stk_range_inside(at, stride, n_bytes)) return y;
        const uint8_t *in = data + at;
        uint8_t *to = out->pixels + y * out->stride;
        for (uint64_t i = 0; i < n; i++) {
            if (is_bitmap(m)) {
                to[i] = table[in[i >> 3] >> (7 - (i & 7)) & 1];
            } else if (m->maxval > 255) {
                to[i] = scaled(m, (uint32_t)in[2 * i] << 8 | in[2 * i + 1]);
            } else {
                to[i] = table[in[i]];
            }
        }
    }
    return m->height;
}

/* One sample of a plain file. False at the end of the data; *valid false for what is no sample. */
static bool read_sample(const anymap *m, reader *r, uint32_t *value, bool *valid)
{
    skip_space(r);
    if (r->p == r->end) return false;
    if (is_bitmap(m)) { /* one digit each; white space between them is optional */
        *value = (uint32_t)(*r->p++ - '0');
        *valid = *value <= 1;
    } else {
        *valid = read_number(r, value) && *value <= m->maxval;
    }
    return *valid;
}

static stk_status read_plain(const anymap *m, const uint8_t *data, size_t n_bytes, const stk_image *out,
                             uint32_t *n_rows, stk_error *error)
{
    reader r = {.p = data + m->pixels, .end = data + n_bytes};
    size_t n = (size_t)m->width * channels_of(m);
    for (*n_rows = 0; *n_rows < m->height; (*n_rows)++) {
        uint8_t *to = out->pixels + *n_rows * out->stride;
        for (size_t i = 0; i < n; i++) {
            uint32_t value = 0;
            bool valid = true;
            if (!read_sample(m, &r, &value, &valid)) {
                if (valid) return STK_OK;
                return stk_fail(error, STK_ERR_IMAGE, "the PNM data has something that is no sample in row %u",
                                (unsigned)*n_rows);
            }
            to[i] = scaled(m, value);
        }
    }
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    anymap m;
    STK_TRY(read_header(data, n_bytes, &m, error));
    STK_TRY(stk_codec_check_size(ctx, m.width, m.height, error));
    uint8_t room = mode == STK_MODE_RGB || channels_of(&m) == 3 ? 3 : 1;
    STK_TRY(stk_codec_new_image(ctx, m.width, m.height, room, out, error));
    out->channels = mode == STK_MODE_L ? 1 : 3;
    uint32_t n_rows = 0;
    if (is_plain(&m)) {
        STK_TRY(read_plain(&m, data, n_bytes, out, &n_rows, error));
    } else {
        n_rows = read_binary(&m, data, n_bytes, out);
    }
    if (n_rows == 0) return stk_fail(error, STK_ERR_IMAGE, "the PNM file ends before its first row does");
    if (n_rows < m.height) {
        stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "PNM data ends in row %u of %u", (unsigned)n_rows,
                        (unsigned)m.height);
        memset(out->pixels + n_rows * out->stride, 0, (m.height - n_rows) * out->stride);
    }
    stk_rows_to_mode(out, (uint8_t)channels_of(&m));
    return STK_OK;
}

const stk_codec stk_codec_pnm = {
    .encoding = STK_ENCODING_PNM,
    .sniff = sniff,
    .probe = probe,
    .decode = decode,
};
