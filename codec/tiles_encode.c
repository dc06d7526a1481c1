/* SPDX-License-Identifier: Apache-2.0
 *
 * Coefficients -> tiles. One pass turns blocks into symbols and counts them, then the tables are made, then
 * one pass writes the codes: the coefficients, which are large, are looked at once. */
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

/* A dequantised block whose absolute values add up to no more stays within 16 bits in every step of the
 * inverse DCT, so that all decoders agree on it: each of the two passes multiplies by at most sqrt(2) cos(pi
 * / 16) = 1.3871 and the first by 4 more, 5900 x 4 x 1.3871 < 32768. No photograph of the corpus has a block
 * beyond it. */
#define EXTREME_SUM 5900u

typedef struct symboliser {
    const stk_coefs *coefs;
    const stk_tile_geometry *g;
    uint32_t (*counts)[256]; /* by table */
    int prediction[3];
    bool too_large; /* a value that baseline JPEG cannot hold */
    bool extreme;
    uint64_t spread[16][16]; /* nonzero bits of half a row of a block -> their bits in zigzag order */
    uint8_t size[256];       /* of a value by its magnitude */
} symboliser;

/* spread[i] serves coefficients 4 i .. 4 i + 3 of a block in natural order. */
static void fill_tables(symboliser *s)
{
    for (uint32_t m = 1; m < 256; m++)
        s->size[m] = (uint8_t)(s->size[m / 2] + 1);
    uint8_t zigzag_of[64];
    for (uint8_t k = 0; k < 64; k++)
        zigzag_of[STK_ZIGZAG[k]] = k;
    for (uint32_t i = 0; i < 16; i++) {
        for (uint32_t bits = 0; bits < 16; bits++) {
            uint64_t mask = 0;
            for (uint32_t b = 0; b < 4; b++) {
                if (bits >> b & 1) mask |= UINT64_C(1) << zigzag_of[4 * i + b];
            }
            s->spread[i][bits] = mask;
        }
    }
}

/* Bit i: coefficient i (natural order) is not 0. */
static inline uint64_t nonzero_mask(const int16_t *block)
{
#ifdef __SSE2__
    uint64_t mask = 0;
    const __m128i zero = _mm_setzero_si128();
    for (int i = 0; i < 4; i++) {
        __m128i a = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), zero);
        __m128i b =
            _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i + 8)), zero);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << (16 * i);
    }
    return ~mask;
#else
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++)
        mask |= (uint64_t)(block[i] != 0) << i;
    return mask;
#endif
}

static inline uint64_t zigzag_mask(const symboliser *s, uint64_t natural)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < 16; i++)
        mask |= s->spread[i][natural >> (4 * i) & 15];
    return mask;
}

/* The functions from here on write symbols at `at` and return the place after them: a pointer in the struct
 * would be stored and loaded again for each symbol. */
static inline uint32_t *put_symbol(const symboliser *s, uint32_t *at, uint32_t table, uint32_t symbol,
                                   uint32_t value)
{
    *at = table << 24 | symbol << 16 | value;
    s->counts[table][symbol]++;
    return at + 1;
}

static inline uint32_t magnitude_of(int v)
{
    return (uint32_t)(v < 0 ? -v : v);
}
/* JPEG's size of a value of 17 bits: 0 for 0. By table, since the baseline's instruction for it (BSR) is slow
 * on AMD. */
static inline uint32_t value_size(const symboliser *s, uint32_t magnitude)
{
    if (__builtin_expect(magnitude < 256, 1)) return s->size[magnitude];
    return magnitude < 65536 ? 8u + s->size[magnitude >> 8] : 17;
}
/* Its value bits: v itself, or v - 1 when negative, cut to that size. */
static inline uint32_t value_bits(int v, uint32_t size)
{
    return (uint32_t)(v + (v >> 31)) & ((1u << size) - 1) & 0xffff;
}

static inline uint32_t *put_dc(symboliser *s, uint32_t *at, uint32_t component, int dc)
{
    int difference = dc - s->prediction[component];
    s->prediction[component] = dc;
    uint32_t size = value_size(s, magnitude_of(difference));
    if (size > STK_TILE_MAX_DC_BITS) s->too_large = true;
    return put_symbol(s, at, component == 0 ? STK_HUFFMAN_DC0 : STK_HUFFMAN_DC1, size & 15,
                      value_bits(difference, size));
}

static inline uint32_t *put_block(symboliser *s, uint32_t *at, uint32_t component, const int16_t *block)
{
    const uint32_t table = component == 0 ? STK_HUFFMAN_AC0 : STK_HUFFMAN_AC1;
    const uint16_t *quant = s->coefs->quant[component];
    at = put_dc(s, at, component, block[0]);
    uint64_t sum = (uint64_t)magnitude_of(block[0]) * quant[0];
    uint32_t last = 0, magnitudes = 0;
    for (uint64_t mask = zigzag_mask(s, nonzero_mask(block)) & ~UINT64_C(1); mask != 0; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(mask), run = k - last - 1;
        int v = block[STK_ZIGZAG[k]];
        uint32_t magnitude = magnitude_of(v), size = value_size(s, magnitude);
        last = k;
        magnitudes |= magnitude;
        sum += (uint64_t)magnitude * quant[k];
        for (; run > 15; run -= 16)
            at = put_symbol(s, at, table, 0xf0, 0);
        at = put_symbol(s, at, table, run << 4 | size, value_bits(v, size));
    }
    if (last < 63) at = put_symbol(s, at, table, 0, 0);
    if (magnitudes >> STK_TILE_MAX_AC_BITS != 0) s->too_large = true;
    if (sum > EXTREME_SUM) s->extreme = true;
    return at;
}

static uint32_t *put_padding(const symboliser *s, uint32_t *at, uint32_t component)
{
    at = put_symbol(s, at, component == 0 ? STK_HUFFMAN_DC0 : STK_HUFFMAN_DC1, 0, 0);
    return put_symbol(s, at, component == 0 ? STK_HUFFMAN_AC0 : STK_HUFFMAN_AC1, 0, 0);
}

static uint32_t *put_mcu(symboliser *s, uint32_t *at, uint32_t mcu_x, uint32_t mcu_y)
{
    const stk_coefs *coefs = s->coefs;
    for (uint32_t c = 0; c < s->g->n_components; c++) {
        for (uint32_t j = 0; j < s->g->v[c]; j++) {
            uint32_t y = mcu_y * s->g->v[c] + j;
            for (uint32_t i = 0; i < s->g->h[c]; i++) {
                uint32_t x = mcu_x * s->g->h[c] + i;
                if (x < coefs->block_cols[c] && y < coefs->block_rows[c]) {
                    at = put_block(s, at, c, coefs->rows[c][y] + 64 * (size_t)x);
                } else {
                    at = put_padding(s, at, c);
                }
            }
        }
    }
    return at;
}

/* MCUs of a segment for a tile of so many pixels. Where the image's width is no multiple, tiles are made as
 * narrow as their number allows, so that less padding is coded. */
static uint8_t tile_mcus(const stk_coefs *coefs, uint32_t tile_pixels)
{
    uint32_t h_max = 1;
    for (uint32_t c = 0; c < coefs->g.n_components; c++) {
        if (coefs->g.h[c] > h_max) h_max = coefs->g.h[c];
    }
    uint32_t unit = 8 * h_max, cols = (coefs->g.width + unit - 1) / unit;
    uint32_t most = tile_pixels / unit > 1 ? tile_pixels / unit : 1;
    uint32_t tiles = (cols + most - 1) / most;
    return (uint8_t)((cols + tiles - 1) / tiles);
}

static stk_status prepare(stk_coefs *coefs, uint32_t tile_pixels, stk_error *error)
{
    if (tile_pixels != 16 && tile_pixels != 32 && tile_pixels != 64) {
        return stk_fail(error, STK_ERR_ARGUMENT, "tiles of %u pixels; choose 16, 32 or 64", tile_pixels);
    }
    coefs->g.tile_mcus = tile_mcus(coefs, tile_pixels);
    if (!stk_tile_geometry_complete(&coefs->g)) {
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "a JPEG whose size or sampling factors tiles cannot hold");
    }
    return STK_OK;
}

stk_status stk_tile_symbolise(stk_tile_state *state, const stk_coefs *coefs, bool continuous,
                              stk_symbol_counts counts, bool *extreme, stk_error *error)
{
    const stk_tile_geometry *g = &coefs->g;
    size_t row_symbols = (size_t)g->tile_cols * g->segment_blocks * 64; /* at most */
    symboliser s = {.coefs = coefs, .g = g, .counts = counts};
    fill_tables(&s);
    STK_TRY(stk_buffer_resize(&state->ends, (size_t)g->n_segments * sizeof(uint32_t), error));
    uint32_t *ends = (uint32_t *)(void *)state->ends.data;
    size_t n = 0;
    for (uint32_t y = 0; y < g->mcu_rows; y++) {
        STK_TRY(stk_buffer_reserve(&state->symbols, (n + row_symbols) * sizeof(uint32_t), error));
        uint32_t *first = (uint32_t *)(void *)state->symbols.data;
        uint32_t *at = first + n;
        for (uint32_t t = 0; t < g->tile_cols; t++) {
            if (!continuous) memset(s.prediction, 0, sizeof s.prediction);
            for (uint32_t m = 0; m < g->tile_mcus; m++)
                at = put_mcu(&s, at, t * g->tile_mcus + m, y);
            *ends++ = (uint32_t)(at - first);
        }
        n = (size_t)(at - first);
        state->symbols.n_bytes = n * sizeof(uint32_t);
        if (n > UINT32_MAX - row_symbols) return stk_fail(error, STK_ERR_LIMIT, "a JPEG too large for tiles");
    }
    if (s.too_large) {
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "coefficients larger than an 8-bit baseline JPEG can hold");
    }
    *extreme = s.extreme;
    return STK_OK;
}

stk_status stk_tiles_count(stk_codec_ctx *ctx, stk_coefs *coefs, uint32_t tile_pixels,
                           stk_symbol_counts counts, stk_error *error)
{
    stk_tile_state *state;
    bool extreme;
    STK_TRY(stk_tile_state_of(ctx, &state, error));
    STK_TRY(prepare(coefs, tile_pixels, error));
    return stk_tile_symbolise(state, coefs, false, counts, &extreme, error);
}

/* Bits that the counted symbols take with these codes, values not counted; UINT64_MAX when one has no code.
 */
static uint64_t code_bits(const stk_symbol_counts counts, const uint32_t (*codes)[256], int n_tables)
{
    uint64_t bits = 0;
    for (int t = 0; t < n_tables; t++) {
        for (int s = 0; s < 256; s++) {
            if (counts[t][s] != 0 && codes[t][s] == 0) return UINT64_MAX;
            bits += (uint64_t)counts[t][s] * (codes[t][s] & 255);
        }
    }
    return bits;
}

static uint64_t all_value_bits(const stk_symbol_counts counts, int n_tables)
{
    uint64_t bits = 0;
    for (int t = 0; t < n_tables; t++) {
        for (uint32_t s = 0; s < 256; s++)
            bits += (uint64_t)counts[t][s] * (s & 15);
    }
    return bits;
}

/* The head's own quantisation tables, equal ones once. */
static void own_quant(const stk_coefs *coefs, stk_tile_head *head)
{
    head->n_quant = 0;
    for (uint32_t c = 0; c < coefs->g.n_components; c++) {
        uint8_t i = 0;
        while (i < head->n_quant && memcmp(head->quant[i], coefs->quant[c], sizeof head->quant[i]) != 0)
            i++;
        if (i == head->n_quant) memcpy(head->quant[head->n_quant++], coefs->quant[c], sizeof head->quant[i]);
        head->quant_of[c] = i;
    }
}

/* The set's quantisation tables, when it has all that are needed. */
static bool shared_quant(const stk_coefs *coefs, const stk_tile_tables *set, stk_tile_head *head)
{
    for (uint32_t c = 0; c < coefs->g.n_components; c++) {
        uint32_t i = 0;
        while (i < set->n_quant && memcmp(set->quant[i], coefs->quant[c], sizeof set->quant[i]) != 0)
            i++;
        if (i == set->n_quant) return false;
        head->quant_of[c] = (uint8_t)i;
    }
    head->n_quant = 0;
    return true;
}

static void set_codes(const stk_tile_huffman *huffman, int n_tables, uint32_t codes[STK_HUFFMAN_TABLES][256])
{
    for (int t = 0; t < n_tables; t++)
        stk_huffman_codes(stk_huffman_spec_of(huffman, t), codes[t]);
}

/* Chooses between own and shared tables, fills head and codes. Returns the bits of the coded symbols. */
static uint64_t choose_tables(const stk_coefs *coefs, const stk_symbol_counts counts,
                              const stk_tile_options *options, stk_tile_head *head,
                              uint32_t codes[STK_HUFFMAN_TABLES][256])
{
    int n_tables = coefs->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES;
    stk_tile_head own = {.g = coefs->g, .tables_id = STK_TILE_OWN_TABLES};
    for (int t = 0; t < n_tables; t++)
        stk_huffman_build(counts[t], stk_huffman_spec_in(&own.huffman, t));
    own_quant(coefs, &own);
    set_codes(&own.huffman, n_tables, codes);
    uint64_t own_bits = code_bits(counts, (const uint32_t(*)[256])codes, n_tables);
    *head = own;
    if (options->tables == NULL) return own_bits;
    stk_tile_head shared = {
        .g = coefs->g, .tables_id = options->tables_id, .flags = STK_TILE_FLAG_SHARED_HUFFMAN};
    if (shared_quant(coefs, options->tables, &shared)) {
        shared.flags |= STK_TILE_FLAG_SHARED_QUANT;
    } else {
        own_quant(coefs, &shared);
    }
    uint64_t shared_bits = code_bits(counts, options->tables->codes, n_tables);
    if (shared_bits == UINT64_MAX) return own_bits;
    if (shared_bits / 8 + stk_tile_head_bytes(&shared) > own_bits / 8 + stk_tile_head_bytes(&own))
        return own_bits;
    *head = shared;
    memcpy(codes, options->tables->codes, sizeof options->tables->codes);
    return shared_bits;
}

/* Writes the symbols [at, end) at out, which has 8 bytes more than they need. Returns their end. */
static uint8_t *write_segment(const uint32_t *at, const uint32_t *end,
                              const uint32_t codes[STK_HUFFMAN_TABLES][256], uint8_t *out)
{
    const uint32_t *all_codes = codes[0];
    uint64_t bits = 0;
    uint32_t n_bits = 0;
    for (; at < end; at++) {
        uint32_t code = all_codes[*at >> 16], size = *at >> 16 & 15;
        bits = bits << ((code & 255) + size) | (uint64_t)(code >> 8) << size | (*at & 0xffff);
        n_bits += (code & 255) + size;
        stk_store64(out, __builtin_bswap64(bits << (64 - n_bits)));
        out += n_bits >> 3;
        n_bits &= 7;
    }
    if (n_bits == 0) return out;
    *out = (uint8_t)(bits << (8 - n_bits) | 0xffu >> n_bits);
    return out + 1;
}

stk_status stk_tiles_encode(stk_codec_ctx *ctx, stk_coefs *coefs, const stk_tile_options *options,
                            stk_buffer *out, bool *extreme, stk_error *error)
{
    stk_tile_state *state;
    stk_symbol_counts counts = {{0}};
    stk_tile_head head;
    uint32_t codes[STK_HUFFMAN_TABLES][256];
    STK_TRY(stk_tile_state_of(ctx, &state, error));
    STK_TRY(prepare(coefs, options->tile_pixels, error));
    STK_TRY(stk_tile_symbolise(state, coefs, false, counts, extreme, error));
    int n_tables = coefs->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES;
    uint64_t n_bits = choose_tables(coefs, (const uint32_t(*)[256])counts, options, &head, codes) +
                      all_value_bits((const uint32_t(*)[256])counts, n_tables);
    uint32_t head_bytes = stk_tile_head_bytes(&head), n_segments = head.g.n_segments;
    STK_TRY(stk_buffer_resize(out, head_bytes + (size_t)(n_bits / 8) + n_segments + 8, error));
    stk_tile_head_write(&head, out->data);
    uint8_t *at = out->data + head_bytes, *lengths = at - 2 * (size_t)n_segments;
    const uint32_t *symbols = (const uint32_t *)(const void *)state->symbols.data;
    const uint32_t *ends = (const uint32_t *)(const void *)state->ends.data;
    for (uint32_t i = 0; i < n_segments; i++) {
        uint8_t *end = write_segment(symbols + (i == 0 ? 0 : ends[i - 1]), symbols + ends[i],
                                     (const uint32_t(*)[256])codes, at);
        stk_store16(lengths + 2 * (size_t)i, (uint16_t)(end - at));
        at = end;
    }
    out->n_bytes = (size_t)(at - out->data);
    stk_tile_head_seal(out->data, head_bytes);
    return STK_OK;
}
