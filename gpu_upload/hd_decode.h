/* SPDX-License-Identifier: Apache-2.0
 *
 * One segment, decoded by one thread: the plain form that defines the result. The CUDA fast kernel does the same
 * steps for 32 segments of a warp in lockstep. */
#ifndef STK_GPU_HD_DECODE_H
#define STK_GPU_HD_DECODE_H

#include <stoker/gather.h>

#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/hd_huffman.h"
#include "gpu_upload/hd_idct.h"

/* The four tables of an image: 0 DC luma, 1 AC luma, 2 DC chroma, 3 AC chroma. */
typedef struct stk_hd_tables {
    stk_hd_long longs[4];
} stk_hd_tables;

STK_HD const uint8_t *stk_hd_symbols(const stk_gather_tables *t, int table)
{
    return table & 1 ? t->ac_symbols[table >> 1] : t->dc_symbols[table >> 1];
}

/* Bits of a segment, most significant first. Reads never leave [0, end). */
typedef struct stk_hd_bits {
    const uint8_t *base;
    uint64_t end; /* bytes that may be read from base */
    uint64_t bit; /* next bit, from base */
} stk_hd_bits;

STK_HD uint32_t stk_hd_window(const stk_hd_bits *b)
{
    uint64_t byte = b->bit >> 3, v = 0;
    for (int i = 0; i < 5; i++) v = v << 8 | (byte + (uint64_t)i < b->end ? b->base[byte + (uint64_t)i] : 0u);
    return (uint32_t)(v >> (8 - (b->bit & 7)));
}

/* One block into coefs[64] (natural order, zero at entry), dequantised by quant (zigzag order). False when invalid. */
STK_HD int stk_hd_block(stk_hd_bits *bits, const stk_hd_tables *tables, const stk_gather_tables *t, int chroma,
                        const uint16_t *quant, int32_t *dc, int32_t *coefs, const uint8_t *natural_of)
{
    uint32_t window = stk_hd_window(bits);
    stk_hd_entry e = stk_hd_slow_entry(&tables->longs[chroma * 2], stk_hd_symbols(t, chroma * 2), 0, window, 0);
    if (e == 0) return 0;
    *dc += stk_hd_extend(window << STK_HD_CODE_BITS(e), STK_HD_SIZE(e));
    bits->bit += STK_HD_CODE_BITS(e) + STK_HD_SIZE(e);
    coefs[0] = stk_hd_times(*dc, quant[0]);
    for (uint32_t k = 1; k < 64;) {
        window = stk_hd_window(bits);
        e = stk_hd_slow_entry(&tables->longs[chroma * 2 + 1], stk_hd_symbols(t, chroma * 2 + 1), 1, window, 0);
        if (e == 0) return 0;
        uint32_t size = STK_HD_SIZE(e);
        int32_t v = stk_hd_extend(window << STK_HD_CODE_BITS(e), size);
        bits->bit += STK_HD_CODE_BITS(e) + size;
        k += STK_HD_ADVANCE(e);
        if (STK_HD_ADVANCE(e) == 64) break;
        if (k > 64) return 0;
        coefs[natural_of[k - 1]] = stk_hd_times(v, quant[k - 1]);
    }
    return 1;
}

/* The inverse DCT of a block in natural order to 64 bytes. */
STK_HD void stk_hd_idct(const int32_t *coefs, uint8_t *out)
{
    int32_t work[64];
    for (int c = 0; c < 8; c++) {
        int32_t in[8], o[8];
        for (int r = 0; r < 8; r++) in[r] = coefs[r * 8 + c];
        stk_hd_idct_1d(in, o, 1 << (STK_HD_COLUMN_SHIFT - 1));
        for (int r = 0; r < 8; r++) work[r * 8 + c] = o[r] >> STK_HD_COLUMN_SHIFT;
    }
    for (int r = 0; r < 8; r++) {
        int32_t o[8];
        stk_hd_idct_1d(work + r * 8, o, 1 << (STK_HD_ROW_SHIFT - 1));
        for (int c = 0; c < 8; c++) out[r * 8 + c] = stk_hd_sample(o[c]);
    }
}

/* Where block `b` of MCU `m` of segment `s` of the image goes: byte offset in the scratch. */
STK_HD uint64_t stk_hd_block_at(const stk_gpu_image *im, uint32_t s, uint32_t m, uint32_t b)
{
    uint32_t c = im->block_component[b], row = s / im->n_tiles, tile = s % im->n_tiles;
    const stk_hd_plane *p = &im->planes[c];
    uint32_t bx = (tile * im->tile_mcus + m) * im->h[c] + im->block_x[b];
    uint32_t by = row * im->v[c] + im->block_y[b];
    return p->at + ((uint64_t)by * p->block_stride + bx) * 64;
}

/* Segment s of the window in the listing of offsets and lengths. */
STK_HD uint32_t stk_hd_listed(const stk_gpu_image *im, uint32_t s)
{
    return im->first_listed + s / im->n_tiles * im->listed_stride + s % im->n_tiles;
}

/* Segment s; natural_of: zigzag position -> natural. Returns 0 where its bits are invalid (planes then hold
 * whatever came out until there). */
STK_HD int stk_hd_segment(const stk_gpu_image *im, const stk_gather_tables *t, const stk_hd_tables *tables,
                          const uint32_t *offsets, const uint8_t *base, uint64_t readable, uint32_t s,
                          const uint8_t *natural_of, uint8_t *scratch)
{
    const uint16_t *lengths = (const uint16_t *)(const void *)(offsets + im->n_listed);
    const uint32_t listed = stk_hd_listed(im, s);
    uint64_t begin = (uint64_t)offsets[listed] * 8, end = begin + lengths[listed] * 8u;
    int32_t dc[3] = {0, 0, 0};
    stk_hd_bits bits;
    bits.base = base;
    bits.end = readable;
    bits.bit = begin;
    for (uint32_t m = 0; m < im->tile_mcus; m++)
        for (uint32_t b = 0; b < im->mcu_blocks; b++) {
            int32_t coefs[64];
            for (int i = 0; i < 64; i++) coefs[i] = 0;
            uint32_t c = im->block_component[b];
            if (!stk_hd_block(&bits, tables, t, c > 0, t->quant[c], &dc[c], coefs, natural_of) || bits.bit > end) return 0;
            stk_hd_idct(coefs, scratch + stk_hd_block_at(im, s, m, b));
        }
    return end - bits.bit <= 7;
}

#endif
