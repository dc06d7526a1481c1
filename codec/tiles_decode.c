/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles -> planes: the segments under a rectangle, MCU row by MCU row in bands that stay in cache. Every
 * length and table was validated by the head's parser; the segment decoders cannot leave their buffers
 * (huffman.h); what is left to do here is to give them memory that is readable as far as they may go. */
#include <string.h>

#include "codec/idct.h"
#include "codec/planes.h"
#include "codec/tiles_internal.h"
#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

/* Coefficients of one band: about half of a core's second-level cache. */
#define BAND_BYTES ((size_t)384 << 10)

enum { BLOCK_BYTES = 64 * sizeof(int16_t), ALIGN = 128 };

static stk_huffman_decode_fn decoder_for(stk_family family)
{
    return family == STK_FAMILY_SCALAR ? stk_huffman_decode_scalar : stk_huffman_decode_fast;
}

/* ---- tables ---- */

static stk_status find_tables(stk_codec_ctx *ctx, const stk_tile_tables *tables, stk_tile_source *s,
                              stk_error *error)
{
    const stk_tile_head *head = &s->head;
    if (stk_tile_head_shares(head) && tables == NULL) {
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "a tiles record that needs table set %u, which was not given",
                        (unsigned)head->tables_id);
    }
    if ((head->flags & STK_TILE_FLAG_SHARED_HUFFMAN) != 0) {
        s->huffman = &tables->huffman;
    } else {
        stk_tile_state *state;
        STK_TRY(stk_tile_state_of(ctx, &state, error));
        stk_huffman_tables_build(state->own, &head->huffman, head->g.n_components == 3);
        s->huffman = state->own;
    }
    if (head->g.n_components == 3 && !s->huffman->has_chroma) {
        return stk_fail(error, STK_ERR_IMAGE, "a tiles record in colour that names a table set for grey");
    }
    bool shared = (head->flags & STK_TILE_FLAG_SHARED_QUANT) != 0;
    for (uint32_t c = 0; c < head->g.n_components; c++) {
        if (shared && head->quant_of[c] >= tables->n_quant) {
            return stk_fail(error, STK_ERR_IMAGE,
                            "a tiles record that names quantisation table %u of a set of %u",
                            (unsigned)head->quant_of[c], (unsigned)tables->n_quant);
        }
        s->quant[c] = shared ? tables->quant[head->quant_of[c]] : head->quant[head->quant_of[c]];
    }
    return STK_OK;
}

stk_status stk_tile_source_open(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                                const stk_tile_tables *tables, stk_tile_source *out, stk_error *error)
{
    STK_TRY(stk_tile_head_read(tiles, n_bytes, &out->head, error));
    out->tiles = tiles;
    out->n_bytes = n_bytes;
    return find_tables(ctx, tables, out, error);
}

/* ---- segments ---- */

/* One band's memory: coefficients, the list of segments, a copy of the record's last bytes. */
typedef struct band {
    const stk_tile_source *source;
    uint32_t tile_x0, n_tiles; /* of each row */
    uint32_t max_rows;
    int16_t *coefs;
    stk_huffman_segment *segments;
    uint8_t *tail;
    uint8_t block_table[STK_TILE_MAX_BLOCKS];
    size_t reach; /* bytes that a segment decoder may read from a segment's start */
    size_t at;    /* of the next segment to list, in the record */
    size_t next;  /* its number */
} band;

static size_t row_bytes(const band *b)
{
    return (size_t)b->n_tiles * b->source->head.g.segment_blocks * BLOCK_BYTES;
}

static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Lays a band of at most max_rows rows out in STK_SCRATCH_COEFS. */
static stk_status band_open(stk_codec_ctx *ctx, band *b, const stk_tile_source *source, uint32_t tile_x0,
                            uint32_t n_tiles, uint32_t max_rows, stk_error *error)
{
    const stk_tile_geometry *g = &source->head.g;
    *b = (band){.source = source, .tile_x0 = tile_x0, .n_tiles = n_tiles, .max_rows = max_rows};
    b->reach = g->segment_blocks * (size_t)STK_TILE_BLOCK_BYTES_MAX + 8;
    for (uint32_t i = 0; i < g->segment_blocks; i++) {
        uint32_t block = i % g->mcu_blocks;
        b->block_table[i] = g->n_components == 3 && block >= g->first_block[1];
    }
    size_t coefs = align_up(row_bytes(b) * max_rows);
    size_t list = align_up(sizeof(stk_huffman_segment) * n_tiles * max_rows);
    uint8_t *memory;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_COEFS, coefs + list + 2 * b->reach + ALIGN, &memory, error));
    memory += -(uintptr_t)memory & (ALIGN - 1);
    b->coefs = (int16_t *)(void *)memory;
    b->segments = (stk_huffman_segment *)(void *)(memory + coefs);
    b->tail = memory + coefs + list;
    b->at = source->head.head_bytes;
    return STK_OK;
}

/* Moves on to segment number `to`, which is not before the current one. */
static void skip_to(band *b, size_t to)
{
    b->at += (size_t)stk_tile_sum_lengths(b->source->head.lengths + 2 * b->next, to - b->next);
    b->next = to;
}

/* Lists the segments of the band's rows [row, row + n_rows). Segments so near to the record's end that the
 * decoder could read beyond it are listed in a copy that is long enough. */
static void list_segments(band *b, uint32_t row, uint32_t n_rows)
{
    const stk_tile_source *s = b->source;
    stk_huffman_segment *out = b->segments;
    size_t copied_from = SIZE_MAX;
    for (uint32_t y = row; y < row + n_rows; y++) {
        skip_to(b, (size_t)y * s->head.g.tile_cols + b->tile_x0);
        size_t row_at = b->at;
        for (uint32_t t = 0; t < b->n_tiles; t++, b->next++) {
            uint32_t n_bytes = stk_load16(s->head.lengths + 2 * b->next);
            out->n_bytes = n_bytes;
            out->data = s->tiles + b->at;
            if (s->n_bytes - b->at < b->reach) {
                if (copied_from == SIZE_MAX) {
                    copied_from = b->at;
                    memcpy(b->tail, s->tiles + b->at, s->n_bytes - b->at);
                    memset(b->tail + (s->n_bytes - b->at), 0, b->reach);
                }
                out->data = b->tail + (b->at - copied_from);
            }
            out++;
            b->at += n_bytes;
        }
        for (; row_at < b->at; row_at += 64)
            __builtin_prefetch(s->tiles + row_at);
    }
}

static stk_status band_decode(stk_codec_ctx *ctx, band *b, uint32_t row, uint32_t n_rows, stk_error *error)
{
    list_segments(b, row, n_rows);
    memset(b->coefs, 0, row_bytes(b) * n_rows);
    stk_huffman_job job = {
        .segments = b->segments,
        .n_segments = b->n_tiles * n_rows,
        .n_blocks = b->source->head.g.segment_blocks,
        .block_table = b->block_table,
        .tables = b->source->huffman,
        .coefs = b->coefs,
    };
    if (decoder_for(ctx->family)(&job)) return STK_OK;
    return stk_fail(error, STK_ERR_IMAGE,
                    "a damaged tiles record: invalid code or wrong length in MCU rows %u to %u",
                    (unsigned)row, (unsigned)(row + n_rows - 1));
}

stk_status stk_tile_source_coefs(stk_codec_ctx *ctx, const stk_tile_source *source, stk_tile_part part,
                                 int16_t **out, stk_error *error)
{
    band b;
    STK_TRY(band_open(ctx, &b, source, part.tile, part.n_tiles, part.n_rows, error));
    STK_TRY(band_decode(ctx, &b, part.row, part.n_rows, error));
    *out = b.coefs;
    return STK_OK;
}

/* ---- planes ---- */

void stk_tile_sum_dc(const stk_tile_geometry *g, int16_t *coefs, uint32_t n_tiles)
{
    for (uint32_t t = 0; t < n_tiles; t++) {
        uint16_t dc[3] = {0};
        for (uint32_t m = 0; m < g->tile_mcus; m++) {
            for (uint32_t c = 0; c < g->n_components; c++) {
                for (uint32_t i = 0; i < (uint32_t)g->h[c] * g->v[c]; i++, coefs += 64) {
                    dc[c] = (uint16_t)(dc[c] + (uint16_t)coefs[0]);
                    coefs[0] = (int16_t)dc[c];
                }
            }
        }
    }
}

static stk_status planes_open(stk_codec_ctx *ctx, const stk_tile_geometry *g, const stk_tile_window *w,
                              stk_planes *out, stk_error *error)
{
    *out = (stk_planes){.n_components = g->n_components,
                        .h_max = g->h_max,
                        .v_max = g->v_max,
                        .image_width = g->width,
                        .image_height = g->height};
    size_t total = 0, at[3] = {0};
    for (uint32_t c = 0; c < g->n_components; c++) {
        uint32_t blocks = (w->mcu_x1 - w->mcu_x0) * g->h[c];
        out->h_factor[c] = g->h[c];
        out->v_factor[c] = g->v[c];
        out->x0[c] = w->mcu_x0 * g->h[c] * 8;
        out->y0[c] = w->mcu_y0 * g->v[c] * 8;
        out->width[c] = blocks * 8;
        out->height[c] = (w->mcu_y1 - w->mcu_y0) * g->v[c] * 8;
        /* The tail writes and reads 64 bytes on either side of each row (planes.h). */
        out->stride[c] = (blocks + STK_IDCT_GROUP - 1) / STK_IDCT_GROUP * STK_IDCT_GROUP * 8 + 64;
        at[c] = total + 64;
        total += 64 + align_up(out->stride[c] * out->height[c]); /* < 2^40 a component */
    }
    uint8_t *memory;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_PLANES, total, &memory, error));
    for (uint32_t c = 0; c < g->n_components; c++)
        out->data[c] = memory + at[c];
    return STK_OK;
}

/* Inverse DCT of one MCU row of the window; coefs: its segments, row: counted from the window's top. */
static void transform_row(const stk_tile_source *s, const stk_tile_window *w, stk_idct_row_fn idct,
                          const int16_t *coefs, uint32_t row, const stk_planes *planes)
{
    const stk_tile_geometry *g = &s->head.g;
    size_t mcu_coefs = 64 * (size_t)g->mcu_blocks;
    const int16_t *first = coefs + mcu_coefs * (w->mcu_x0 - w->tile_x0 * g->tile_mcus);
    for (uint32_t c = 0; c < g->n_components; c++) {
        for (uint32_t j = 0; j < g->v[c]; j++) {
            stk_idct_row job = {
                .coefs = first + 64 * (size_t)(g->first_block[c] + j * g->h[c]),
                .across = g->h[c],
                .mcu_step = mcu_coefs,
                .n_blocks = (w->mcu_x1 - w->mcu_x0) * g->h[c],
                .quant = s->quant[c],
                .out = (uint8_t *)planes->data[c] + 8 * (size_t)(row * g->v[c] + j) * planes->stride[c],
                .stride = planes->stride[c],
            };
            idct(&job);
        }
    }
}

uint32_t stk_tile_band_rows(const stk_tile_geometry *g, uint32_t n_tiles)
{
    size_t one_row = (size_t)n_tiles * g->segment_blocks * BLOCK_BYTES;
    return one_row < BAND_BYTES ? (uint32_t)(BAND_BYTES / one_row) : 1;
}

static stk_status decode_window(stk_codec_ctx *ctx, const stk_tile_source *s, const stk_tile_window *w,
                                const stk_planes *planes, stk_error *error)
{
    const stk_tile_geometry *g = &s->head.g;
    uint32_t n_tiles = w->tile_x1 - w->tile_x0, n_rows = w->mcu_y1 - w->mcu_y0;
    size_t one_row = (size_t)n_tiles * g->segment_blocks * BLOCK_BYTES;
    uint32_t rows_a_band = stk_tile_band_rows(g, n_tiles);
    if (rows_a_band > n_rows) rows_a_band = n_rows;
    stk_idct_row_fn idct = stk_idct_row_for(ctx->family);
    band b;
    STK_TRY(band_open(ctx, &b, s, w->tile_x0, n_tiles, rows_a_band, error));
    for (uint32_t row = 0; row < n_rows; row += rows_a_band) {
        uint32_t n = n_rows - row < rows_a_band ? n_rows - row : rows_a_band;
        STK_TRY(band_decode(ctx, &b, w->mcu_y0 + row, n, error));
        for (uint32_t y = 0; y < n; y++) {
            int16_t *coefs = b.coefs + (one_row / sizeof(int16_t)) * y;
            stk_tile_sum_dc(g, coefs, n_tiles);
            transform_row(s, w, idct, coefs, row + y, planes);
        }
    }
    return STK_OK;
}

stk_status stk_tiles_decode_box(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                                const stk_tile_tables *tables, stk_box box, stk_planes *out, stk_error *error)
{
    stk_tile_source source;
    stk_tile_window window;
    STK_TRY(stk_tile_source_open(ctx, tiles, n_bytes, tables, &source, error));
    const stk_tile_geometry *g = &source.head.g;
    if (box.x < 0 || box.y < 0 || box.width <= 0 || box.height <= 0 ||
        (int64_t)box.x + box.width > g->width || (int64_t)box.y + box.height > g->height) {
        return stk_fail(error, STK_ERR_ARGUMENT, "a box of %dx%d at %d,%d is not inside a picture of %ux%u",
                        box.width, box.height, box.x, box.y, (unsigned)g->width, (unsigned)g->height);
    }
    stk_tile_window_of(g, (uint32_t)box.x, (uint32_t)box.y, (uint32_t)box.width, (uint32_t)box.height,
                       &window);
    STK_TRY(planes_open(ctx, g, &window, out, error));
    return decode_window(ctx, &source, &window, out, error);
}
