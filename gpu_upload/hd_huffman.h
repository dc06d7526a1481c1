/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman decoding of tile segments, one symbol a step. Segments are valid exactly when codec/huffman_scalar.c
 * says so: an invalid code, a run past the block, more bits than there are, or a whole byte left over make one
 * bad. */
#ifndef STK_GPU_HD_HUFFMAN_H
#define STK_GPU_HD_HUFFMAN_H

#include "gpu_upload/hd_base.h"

enum { STK_HD_AC_BITS = 10, STK_HD_DC_BITS = 8 };

/* A table entry, or what the slow way finds: bits 0-4 length of the code, 5-8 size of the value, 9-15 positions to
 * advance (run + 1; 64 = end of block), bit 16 always set. 0 = a code longer than the table, or none. */
typedef uint32_t stk_hd_entry;
#define STK_HD_CODE_BITS(e) ((e) & 31u)
#define STK_HD_SIZE(e) ((e) >> 5 & 15u)
#define STK_HD_ADVANCE(e) ((e) >> 9 & 127u)

/* For codes longer than a table: codes of l bits are below limit[l] (left-aligned to 16 bits); the symbol is
 * symbols[(code >> (16 - l)) + offset[l]]. */
typedef struct stk_hd_long {
    uint32_t limit[17];
    int32_t offset[17];
} stk_hd_long;

STK_HD stk_hd_entry stk_hd_entry_of(int ac, uint32_t code_bits, uint32_t symbol)
{
    uint32_t size = ac ? symbol & 15u : symbol, run = ac ? symbol >> 4 : 0;
    uint32_t advance = ac && symbol == 0 ? 64u : run + 1u;
    return code_bits | size << 5 | advance << 9 | 1u << 16;
}

/* limit and offset of one table from its counts. */
STK_HD void stk_hd_long_build(const uint8_t counts[16], stk_hd_long *out)
{
    uint32_t code = 0;
    int32_t index = 0;
    out->limit[0] = 0;
    out->offset[0] = 0;
    for (int l = 1; l <= 16; l++) {
        out->offset[l] = index - (int32_t)code;
        code += counts[l - 1];
        index += counts[l - 1];
        out->limit[l] = code << (16 - l);
        code <<= 1;
    }
}

/* The entry for a prefix of `bits` bits: by a search, so that any thread can build any entry. 0 when the code is
 * longer or there is none. */
STK_HD stk_hd_entry stk_hd_table_entry(const stk_hd_long *table, const uint8_t *symbols, int ac, uint32_t prefix,
                                       uint32_t bits)
{
    uint32_t top = prefix << (16 - bits);
    for (uint32_t l = 1; l <= bits; l++)
        if (top < table->limit[l]) {
            uint32_t index = (uint32_t)((int32_t)(top >> (16 - l)) + table->offset[l]);
            return stk_hd_entry_of(ac, l, symbols[ac ? (index < 168u ? index : 167u) : index & 15u]);
        }
    return 0;
}

/* The slow way, for codes longer than `bits`: window = the next 32 bits. 0 = invalid. */
STK_HD stk_hd_entry stk_hd_slow_entry(const stk_hd_long *table, const uint8_t *symbols, int ac, uint32_t window,
                                      uint32_t bits)
{
    uint32_t top = window >> 16;
    for (uint32_t l = bits + 1; l <= 16; l++)
        if (top < table->limit[l]) {
            uint32_t index = (uint32_t)((int32_t)(top >> (16 - l)) + table->offset[l]);
            return stk_hd_entry_of(ac, l, symbols[ac ? (index < 168u ? index : 167u) : index & 15u]);
        }
    return 0;
}

/* The value that follows a code: size bits at the top of x (T.81, figure F.12). size 0 gives 0. */
STK_HD int32_t stk_hd_extend(uint32_t x, uint32_t size)
{
    uint32_t bits = (x >> 1) >> (31u - size);
    int32_t low = x >> 31 ? 0 : (int32_t)(1u << size) - 1;
    return size == 0 ? 0 : (int32_t)bits - low;
}

#endif
