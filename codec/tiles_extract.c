/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles -> an ordinary JPEG (ITU-T T.81) with the same coefficients: the record's segments become one scan
 * with Huffman tables made for it. */
#include <string.h>

#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"

/* ---- coefficients in natural order ---- */

typedef struct picture {
    stk_buffer blocks, rows;
    stk_coefs coefs;
} picture;

/* Memory for all blocks of the image's MCUs, and the pointers to their rows. One MCU a segment: then no
 * padding to whole tiles is coded. */
static stk_status picture_alloc(picture *p, const stk_tile_source *source, stk_error *error)
{
    stk_tile_geometry *g = &p->coefs.g;
    *g = source->head.g;
    g->tile_mcus = 1;
    (void)stk_tile_geometry_complete(g); /* fewer MCUs a tile are always possible */
    size_t n_blocks = (size_t)g->mcu_cols * g->mcu_rows * g->mcu_blocks, n_rows = 0, n_bytes;
    for (uint32_t c = 0; c < g->n_components; c++)
        n_rows += (size_t)g->mcu_rows * g->v[c];
    if (!stk_mul_size(n_blocks, 64 * sizeof(int16_t), &n_bytes))
        return stk_fail_memory(error, "coefficients");
    STK_TRY(stk_buffer_resize(&p->blocks, n_bytes, error));
    STK_TRY(stk_buffer_resize(&p->rows, n_rows * sizeof(int16_t *), error));
    const int16_t **row = (const int16_t **)(void *)p->rows.data;
    const int16_t *block = (const int16_t *)(void *)p->blocks.data;
    for (uint32_t c = 0; c < g->n_components; c++) {
        p->coefs.rows[c] = row;
        p->coefs.block_cols[c] = g->mcu_cols * g->h[c];
        p->coefs.block_rows[c] = g->mcu_rows * g->v[c];
        memcpy(p->coefs.quant[c], source->quant[c], sizeof p->coefs.quant[c]);
        for (uint32_t y = 0; y < p->coefs.block_rows[c]; y++) {
            *row++ = block;
            block += 64 * (size_t)p->coefs.block_cols[c];
        }
    }
    return STK_OK;
}

/* One decoded MCU row into its place. */
static void place_row(picture *p, uint32_t mcu_y, const int16_t *decoded)
{
    const stk_tile_geometry *g = &p->coefs.g;
    for (uint32_t m = 0; m < g->mcu_cols; m++) {
        for (uint32_t c = 0; c < g->n_components; c++) {
            for (uint32_t b = 0; b < (uint32_t)g->h[c] * g->v[c]; b++, decoded += 64) {
                uint32_t x = m * g->h[c] + b % g->h[c], y = mcu_y * g->v[c] + b / g->h[c];
                int16_t *block = (int16_t *)p->coefs.rows[c][y] + 64 * (size_t)x;
                for (int k = 0; k < 64; k++)
                    block[STK_ZIGZAG[k]] = decoded[k];
            }
        }
    }
}

static stk_status picture_fill(picture *p, stk_codec_ctx *ctx, const stk_tile_source *source,
                               stk_error *error)
{
    for (uint32_t y = 0; y < p->coefs.g.mcu_rows; y++) {
        int16_t *decoded;
        stk_tile_part part = {.n_tiles = source->head.g.tile_cols, .row = y, .n_rows = 1};
        STK_TRY(stk_tile_source_coefs(ctx, source, part, &decoded, error));
        stk_tile_sum_dc(&source->head.g, decoded, part.n_tiles);
        place_row(p, y, decoded);
    }
    return STK_OK;
}

/* ---- markers ---- */

enum { MARKERS_MAX = 2048 }; /* bytes of all of them */

typedef struct writer {
    uint8_t *at;
} writer;

static void put_u8(writer *w, uint32_t v)
{
    *w->at++ = (uint8_t)v;
}
static void put_u16(writer *w, uint32_t v)
{
    put_u8(w, v >> 8);
    put_u8(w, v & 255);
}
static void put_bytes(writer *w, const void *data, size_t n)
{
    memcpy(w->at, data, n);
    w->at += n;
}

static void put_jfif(writer *w)
{
    static const uint8_t jfif[] = {'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
    put_u16(w, 0xffe0);
    put_u16(w, 2 + sizeof jfif);
    put_bytes(w, jfif, sizeof jfif);
}

/* A little-endian TIFF of one directory with one entry: 0x0112, SHORT, one value. */
static void put_exif(writer *w, uint8_t orientation)
{
    uint8_t exif[32] = {'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1};
    exif[24] = orientation;
    put_u16(w, 0xffe1);
    put_u16(w, 2 + sizeof exif);
    put_bytes(w, exif, sizeof exif);
}

/* Each component gets a table of its own number unless an earlier one has the same. */
static bool put_quant(writer *w, const stk_coefs *coefs, uint8_t table_of[3])
{
    bool any_wide = false;
    for (uint8_t c = 0; c < coefs->g.n_components; c++) {
        table_of[c] = c;
        for (uint8_t d = 0; d < c; d++) {
            if (memcmp(coefs->quant[c], coefs->quant[d], sizeof coefs->quant[c]) == 0)
                table_of[c] = table_of[d];
        }
        if (table_of[c] != c) continue;
        bool wide = false;
        for (int k = 0; k < 64; k++)
            wide |= coefs->quant[c][k] > 255;
        any_wide |= wide;
        put_u16(w, 0xffdb);
        put_u16(w, wide ? 131 : 67);
        put_u8(w, (wide ? 16u : 0u) + c);
        for (int k = 0; k < 64; k++) {
            if (wide) {
                put_u16(w, coefs->quant[c][k]);
            } else {
                put_u8(w, coefs->quant[c][k]);
            }
        }
    }
    return any_wide;
}

/* Baseline (SOF0); extended (SOF1) when a quantisation table needs 16 bits, which baseline does not allow. */
static void put_frame(writer *w, const stk_tile_geometry *g, bool wide, const uint8_t table_of[3])
{
    put_u16(w, wide ? 0xffc1 : 0xffc0);
    put_u16(w, 8 + 3u * g->n_components);
    put_u8(w, 8);
    put_u16(w, g->height);
    put_u16(w, g->width);
    put_u8(w, g->n_components);
    for (uint32_t c = 0; c < g->n_components; c++) {
        put_u8(w, c + 1);
        put_u8(w, (uint32_t)g->h[c] << 4 | g->v[c]);
        put_u8(w, table_of[c]);
    }
}

static void put_huffman(writer *w, const stk_huffman_spec *spec, int table)
{
    put_u16(w, 0xffc4);
    put_u16(w, 2 + 1 + 16u + spec->n_symbols);
    put_u8(w, (uint32_t)(table & 1) << 4 | (uint32_t)(table >> 1)); /* class, number */
    w->at += stk_huffman_spec_write(spec, w->at);
}

static void put_scan(writer *w, uint32_t n_components)
{
    put_u16(w, 0xffda);
    put_u16(w, 6 + 2 * n_components);
    put_u8(w, n_components);
    for (uint32_t c = 0; c < n_components; c++) {
        put_u8(w, c + 1);
        put_u8(w, c == 0 ? 0x00 : 0x11);
    }
    put_u8(w, 0);
    put_u8(w, 63);
    put_u8(w, 0);
}

static void put_markers(writer *w, const stk_coefs *coefs, uint8_t orientation,
                        const stk_tile_huffman *huffman)
{
    uint8_t table_of[3];
    put_u16(w, 0xffd8);
    put_jfif(w);
    if (orientation >= 2 && orientation <= 8) put_exif(w, orientation);
    bool wide = put_quant(w, coefs, table_of);
    put_frame(w, &coefs->g, wide, table_of);
    for (int t = 0; t < (coefs->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES); t++) {
        put_huffman(w, stk_huffman_spec_of(huffman, t), t);
    }
    put_scan(w, coefs->g.n_components);
}

/* ---- the scan ---- */

static void put_stuffed(writer *w, uint32_t byte)
{
    put_u8(w, byte & 255);
    if ((byte & 255) == 255) put_u8(w, 0);
}

static void put_symbols(writer *w, const uint32_t *symbols, size_t n, const uint32_t *codes)
{
    uint64_t bits = 0;
    uint32_t n_bits = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = codes[symbols[i] >> 16], size = symbols[i] >> 16 & 15;
        bits = bits << ((code & 255) + size) | (uint64_t)(code >> 8) << size | (symbols[i] & 0xffff);
        for (n_bits += (code & 255) + size; n_bits >= 8; n_bits -= 8)
            put_stuffed(w, (uint32_t)(bits >> (n_bits - 8)));
    }
    if (n_bits > 0) put_stuffed(w, (uint32_t)(bits << (8 - n_bits)) | 0xffu >> n_bits);
}

static stk_status write_jpeg(stk_codec_ctx *ctx, const stk_coefs *coefs, uint8_t orientation, stk_buffer *out,
                             stk_error *error)
{
    stk_tile_state *state;
    stk_symbol_counts counts = {{0}};
    stk_tile_huffman huffman;
    uint32_t codes[STK_HUFFMAN_TABLES][256];
    bool extreme;
    STK_TRY(stk_tile_state_of(ctx, &state, error));
    stk_tile_state_trim(state);
    STK_TRY(stk_tile_symbolise(state, coefs, true, counts, &extreme, error));
    for (int t = 0; t < (coefs->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES); t++) {
        stk_huffman_build(counts[t], stk_huffman_spec_in(&huffman, t));
        stk_huffman_codes(stk_huffman_spec_of(&huffman, t), codes[t]);
    }
    /* A symbol takes at most 27 bits, every byte may be stuffed. */
    size_t n = state->symbols.n_bytes / sizeof(uint32_t), n_bytes;
    if (!stk_mul_size(n, 7, &n_bytes)) return stk_fail_memory(error, "a JPEG");
    STK_TRY(stk_buffer_resize(out, n_bytes + MARKERS_MAX, error));
    writer w = {.at = out->data};
    put_markers(&w, coefs, orientation, &huffman);
    put_symbols(&w, (const uint32_t *)(const void *)state->symbols.data, n, codes[0]);
    put_u16(&w, 0xffd9);
    out->n_bytes = (size_t)(w.at - out->data);
    return STK_OK;
}

stk_status stk_tiles_to_jpeg(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                             const stk_tile_tables *tables, uint8_t orientation, stk_buffer *out,
                             stk_error *error)
{
    stk_tile_source source;
    picture p = {.blocks = {0}};
    stk_status status;
    STK_TRY(stk_tile_source_open(ctx, tiles, n_bytes, tables, &source, error));
    STK_TRY(stk_codec_check_size(ctx, source.head.g.width, source.head.g.height, error));
    STK_GOTO(picture_alloc(&p, &source, error));
    STK_GOTO(picture_fill(&p, ctx, &source, error));
    STK_GOTO(write_jpeg(ctx, &p.coefs, orientation, out, error));
cleanup:
    stk_buffer_free(&p.blocks);
    stk_buffer_free(&p.rows);
    return status;
}
