/* SPDX-License-Identifier: Apache-2.0
 *
 * The segments under a box, for decoders elsewhere (a GPU): found and copied, not decoded. */
#include <string.h>

#include "codec/tiles_internal.h"
#include "common/fail.h"

static stk_status cut_tables(const stk_tile_head *head, const stk_tile_tables *tables, stk_tile_cut *out,
                             stk_error *error)
{
    if (stk_tile_head_shares(head) && tables == NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "a tiles record that needs table set %u, which was not given",
                        (unsigned)head->tables_id);
    bool shared_huffman = (head->flags & STK_TILE_FLAG_SHARED_HUFFMAN) != 0;
    bool shared_quant = (head->flags & STK_TILE_FLAG_SHARED_QUANT) != 0;
    if (shared_huffman && head->g.n_components == 3 && !tables->huffman.has_chroma)
        return stk_fail(error, STK_ERR_IMAGE, "a tiles record in colour that names a table set for grey");
    out->huffman = shared_huffman ? tables->huffman.specs : head->huffman;
    memset(out->quant, 0, sizeof out->quant);
    for (uint32_t c = 0; c < head->g.n_components; c++) {
        uint32_t q = head->quant_of[c];
        if (shared_quant && q >= tables->n_quant)
            return stk_fail(error, STK_ERR_IMAGE, "a tiles record that names quantisation table %u of a set of %u", q,
                            (unsigned)tables->n_quant);
        memcpy(out->quant[c], shared_quant ? tables->quant[q] : head->quant[q], sizeof out->quant[c]);
    }
    return STK_OK;
}

stk_status stk_tiles_cut(const uint8_t *tiles, size_t n_bytes, const stk_tile_tables *tables, stk_box box,
                         stk_tile_cut *out, stk_error *error)
{
    stk_tile_head head;
    STK_TRY(stk_tile_head_read(tiles, n_bytes, &head, error));
    STK_TRY(cut_tables(&head, tables, out, error));
    const stk_tile_geometry *g = &head.g;
    if (box.width < 1 || box.height < 1 || box.x < 0 || box.y < 0 || (int64_t)box.x + box.width > g->width ||
        (int64_t)box.y + box.height > g->height)
        return stk_fail(error, STK_ERR_ARGUMENT, "the box is not inside the %ux%u picture", g->width, g->height);
    out->geometry = *g;
    out->lengths = head.lengths;
    out->first = tiles + head.head_bytes;
    stk_tile_window *w = &out->window;
    stk_tile_window_of(g, (uint32_t)box.x, (uint32_t)box.y, (uint32_t)box.width, (uint32_t)box.height, w);
    uint32_t n = w->tile_x1 - w->tile_x0;
    out->n_segments = n * (w->mcu_y1 - w->mcu_y0);
    out->segment_bytes = 0;
    for (uint32_t row = w->mcu_y0; row < w->mcu_y1; row++)
        out->segment_bytes += stk_tile_sum_lengths(head.lengths + 2 * ((size_t)row * g->tile_cols + w->tile_x0), n);
    return STK_OK;
}

void stk_tile_cut_copy(const stk_tile_cut *cut, uint32_t *offsets, uint16_t *lengths, uint8_t *segments)
{
    const stk_tile_window *w = &cut->window;
    uint32_t columns = cut->geometry.tile_cols, n = w->tile_x1 - w->tile_x0, at = 0;
    size_t row_at = (size_t)stk_tile_sum_lengths(cut->lengths, (size_t)w->mcu_y0 * columns); /* of the record's row */
    for (uint32_t row = w->mcu_y0; row < w->mcu_y1; row++) {
        const uint8_t *in = cut->lengths + 2 * (size_t)row * columns;
        size_t from = row_at + (size_t)stk_tile_sum_lengths(in, w->tile_x0);
        uint32_t begin = at;
        memcpy(lengths, in + 2 * (size_t)w->tile_x0, 2 * (size_t)n);
        for (uint32_t t = 0; t < n; t++) {
            *offsets++ = at;
            at += *lengths++;
        }
        memcpy(segments + begin, cut->first + from, at - begin);
        row_at += (size_t)stk_tile_sum_lengths(in, columns);
    }
}
