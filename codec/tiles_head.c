/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a tiles record: parsing with every check, and writing. */
#include <string.h>

#include "codec/tiles_internal.h"
#include "common/endian.h"
#include "common/fail.h"
#include "common/hash.h"

static uint32_t head_check(const uint8_t *head, uint32_t head_bytes)
{
    return (uint32_t)stk_hash64(head + STK_TILE_CHECKED_FROM, head_bytes - STK_TILE_CHECKED_FROM);
}

uint64_t stk_tile_sum_lengths(const uint8_t *lengths, size_t n)
{
    uint64_t sum = 0;
    while (n > 0) { /* in runs whose sum fits 32 bits: the compiler vectorises the inner loop */
        size_t run = n < 65536 ? n : 65536;
        uint32_t part = 0;
        for (size_t i = 0; i < run; i++)
            part += stk_load16(lengths + 2 * i);
        sum += part;
        lengths += 2 * run;
        n -= run;
    }
    return sum;
}

static stk_status bad(stk_error *error, const char *what)
{
    return stk_fail(error, STK_ERR_IMAGE, "not a valid tiles record: %s", what);
}

/* The fixed part, up to what geometry follows from it. */
static stk_status read_fixed(const uint8_t *in, size_t n_bytes, stk_tile_head *head, stk_error *error)
{
    if (n_bytes < STK_TILE_FIXED_BYTES || stk_load32(in + STK_TILE_AT_MAGIC) != STK_TILE_MAGIC) {
        return bad(error, "it does not begin with STKT");
    }
    if (in[STK_TILE_AT_VERSION] != STK_TILE_VERSION) {
        return stk_fail(error, STK_ERR_VERSION, "a tiles record of version %u; this stoker reads version %d",
                        in[STK_TILE_AT_VERSION], STK_TILE_VERSION);
    }
    head->flags = in[STK_TILE_AT_FLAGS];
    if ((head->flags & ~STK_TILE_FLAGS_KNOWN) != 0) {
        return stk_fail(error, STK_ERR_VERSION,
                        "a tiles record with flags 0x%02x that this stoker does not know",
                        (unsigned)head->flags);
    }
    head->head_bytes = stk_load32(in + STK_TILE_AT_HEAD_BYTES);
    if (head->head_bytes < STK_TILE_FIXED_BYTES || head->head_bytes > n_bytes) {
        return bad(error, "its head does not fit in it");
    }
    if (stk_load32(in + STK_TILE_AT_CHECK) != head_check(in, head->head_bytes)) {
        return stk_fail(error, STK_ERR_CHECKSUM, "a tiles record whose head does not match its checksum");
    }
    stk_tile_geometry *g = &head->g;
    g->width = stk_load16(in + STK_TILE_AT_WIDTH);
    g->height = stk_load16(in + STK_TILE_AT_HEIGHT);
    g->n_components = in[STK_TILE_AT_COMPONENTS];
    g->tile_mcus = in[STK_TILE_AT_TILE_MCUS];
    for (int c = 0; c < 3; c++) {
        g->h[c] = in[STK_TILE_AT_SAMPLING + c] >> 4;
        g->v[c] = in[STK_TILE_AT_SAMPLING + c] & 15;
    }
    if (!stk_tile_geometry_complete(g)) return bad(error, "impossible size or sampling");
    head->n_quant = in[STK_TILE_AT_N_QUANT];
    memcpy(head->quant_of, in + STK_TILE_AT_QUANT, 3);
    head->tables_id = stk_load32(in + STK_TILE_AT_TABLES_ID);
    if (stk_tile_head_shares(head) != (head->tables_id != STK_TILE_OWN_TABLES)) {
        return bad(error, "its flags and the number of its table set disagree");
    }
    return STK_OK;
}

/* Quantisation tables at *at; moves it on. */
static stk_status read_quant(const uint8_t *in, size_t *at, stk_tile_head *head, stk_error *error)
{
    bool shared = (head->flags & STK_TILE_FLAG_SHARED_QUANT) != 0;
    uint8_t wide = in[STK_TILE_AT_QUANT_WIDE];
    if (shared ? head->n_quant != 0 : head->n_quant < 1 || head->n_quant > head->g.n_components) {
        return bad(error, "impossible number of quantisation tables");
    }
    if (wide >> head->n_quant != 0) return bad(error, "widths of quantisation tables that it has not");
    for (uint32_t c = 0; c < head->g.n_components; c++) {
        if (!shared && head->quant_of[c] >= head->n_quant)
            return bad(error, "a quantisation table is missing");
    }
    for (uint32_t i = 0; i < head->n_quant; i++) {
        size_t size = (wide >> i & 1) != 0 ? 128 : 64;
        if (head->head_bytes - *at < size) return bad(error, "its head ends within a quantisation table");
        for (size_t k = 0; k < 64; k++) {
            head->quant[i][k] = size == 128 ? stk_load16(in + *at + 2 * k) : in[*at + k];
        }
        *at += size;
    }
    return STK_OK;
}

static stk_status read_huffman(const uint8_t *in, size_t *at, stk_tile_head *head, stk_error *error)
{
    memset(&head->huffman, 0, sizeof head->huffman); /* tables that are not here are empty ones */
    if ((head->flags & STK_TILE_FLAG_SHARED_HUFFMAN) != 0) return STK_OK;
    int n_tables = head->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES;
    for (int t = 0; t < n_tables; t++) {
        size_t n = stk_huffman_spec_read(in + *at, head->head_bytes - *at, (t & 1) != 0,
                                         stk_huffman_spec_in(&head->huffman, t));
        if (n == 0) return bad(error, "a Huffman table is invalid");
        *at += n;
    }
    return STK_OK;
}

stk_status stk_tile_head_read(const uint8_t *tiles, size_t n_bytes, stk_tile_head *out, stk_error *error)
{
    STK_TRY(read_fixed(tiles, n_bytes, out, error));
    size_t at = STK_TILE_FIXED_BYTES;
    STK_TRY(read_quant(tiles, &at, out, error));
    STK_TRY(read_huffman(tiles, &at, out, error));
    if (out->head_bytes - at != 2 * (size_t)out->g.n_segments)
        return bad(error, "its number of segment lengths is wrong");
    out->lengths = tiles + at;
    if (stk_tile_sum_lengths(out->lengths, out->g.n_segments) != n_bytes - out->head_bytes) {
        return bad(error, "its segments do not end where it ends");
    }
    return STK_OK;
}

static bool quant_wide(const uint16_t *quant)
{
    uint32_t any = 0;
    for (int k = 0; k < 64; k++)
        any |= quant[k];
    return any > 255;
}

uint32_t stk_tile_head_bytes(const stk_tile_head *head)
{
    uint32_t n = STK_TILE_FIXED_BYTES + 2 * head->g.n_segments;
    for (uint32_t i = 0; i < head->n_quant; i++)
        n += quant_wide(head->quant[i]) ? 128 : 64;
    if ((head->flags & STK_TILE_FLAG_SHARED_HUFFMAN) == 0) {
        int n_tables = head->g.n_components == 1 ? 2 : STK_HUFFMAN_TABLES;
        for (int t = 0; t < n_tables; t++)
            n += 16u + stk_huffman_spec_of(&head->huffman, t)->n_symbols;
    }
    return n;
}

static uint8_t *write_quant(const stk_tile_head *head, uint8_t *fixed, uint8_t *at)
{
    for (uint32_t i = 0; i < head->n_quant; i++) {
        bool wide = quant_wide(head->quant[i]);
        if (wide) fixed[STK_TILE_AT_QUANT_WIDE] |= (uint8_t)(1u << i);
        for (uint32_t k = 0; k < 64; k++) {
            if (wide) {
                stk_store16(at, head->quant[i][k]);
                at += 2;
            } else {
                *at++ = (uint8_t)head->quant[i][k];
            }
        }
    }
    return at;
}

void stk_tile_head_write(const stk_tile_head *head, uint8_t *out)
{
    const stk_tile_geometry *g = &head->g;
    memset(out, 0, STK_TILE_FIXED_BYTES);
    stk_store32(out + STK_TILE_AT_MAGIC, STK_TILE_MAGIC);
    stk_store32(out + STK_TILE_AT_HEAD_BYTES, stk_tile_head_bytes(head));
    stk_store16(out + STK_TILE_AT_WIDTH, (uint16_t)g->width);
    stk_store16(out + STK_TILE_AT_HEIGHT, (uint16_t)g->height);
    out[STK_TILE_AT_VERSION] = STK_TILE_VERSION;
    out[STK_TILE_AT_FLAGS] = head->flags;
    out[STK_TILE_AT_COMPONENTS] = g->n_components;
    out[STK_TILE_AT_TILE_MCUS] = g->tile_mcus;
    for (uint32_t c = 0; c < g->n_components; c++) {
        out[STK_TILE_AT_SAMPLING + c] = (uint8_t)(g->h[c] << 4 | g->v[c]);
        out[STK_TILE_AT_QUANT + c] = head->quant_of[c];
    }
    out[STK_TILE_AT_N_QUANT] = head->n_quant;
    stk_store32(out + STK_TILE_AT_TABLES_ID, head->tables_id);
    uint8_t *at = write_quant(head, out, out + STK_TILE_FIXED_BYTES);
    if ((head->flags & STK_TILE_FLAG_SHARED_HUFFMAN) == 0) {
        int n_tables = g->n_components == 1 ? 2 : STK_HUFFMAN_TABLES;
        for (int t = 0; t < n_tables; t++)
            at += stk_huffman_spec_write(stk_huffman_spec_of(&head->huffman, t), at);
    }
}

void stk_tile_head_seal(uint8_t *out, uint32_t head_bytes)
{
    stk_store32(out + STK_TILE_AT_CHECK, head_check(out, head_bytes));
}

stk_status stk_tiles_probe(const uint8_t *tiles, size_t n_bytes, stk_tile_info *out, stk_error *error)
{
    stk_tile_head head;
    STK_TRY(stk_tile_head_read(tiles, n_bytes, &head, error));
    out->width = head.g.width;
    out->height = head.g.height;
    out->channels = head.g.n_components;
    out->tables_id = head.tables_id;
    return STK_OK;
}
