/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman tables as a record holds them: validating, reading, writing, and the canonical codes they stand
 * for. */
#include "codec/huffman.h"

#include <string.h>

const uint8_t STK_ZIGZAG[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static bool symbol_valid(uint8_t symbol, bool ac)
{
    if (!ac) return symbol <= STK_TILE_MAX_DC_BITS;
    uint32_t run = symbol >> 4, size = symbol & 15u;
    return size == 0 ? run == 0 || run == 15 : size <= STK_TILE_MAX_AC_BITS;
}

bool stk_huffman_spec_valid(const stk_huffman_spec *spec, bool ac)
{
    uint32_t n_symbols = 0, used = 0; /* used: code space in units of 2^-16 */
    for (uint32_t i = 0; i < 16; i++) {
        n_symbols += spec->counts[i];
        used += (uint32_t)spec->counts[i] << (15 - i);
    }
    uint32_t most = ac ? STK_TILE_MAX_AC_SYMBOLS : STK_TILE_MAX_DC_SYMBOLS;
    if (n_symbols == 0 || n_symbols > most || n_symbols != spec->n_symbols || used > 65536) return false;
    uint64_t seen[4] = {0};
    for (uint32_t i = 0; i < n_symbols; i++) {
        uint8_t s = spec->symbols[i];
        if (!symbol_valid(s, ac) || (seen[s >> 6] >> (s & 63) & 1) != 0) return false;
        seen[s >> 6] |= UINT64_C(1) << (s & 63);
    }
    return true;
}

size_t stk_huffman_spec_read(const uint8_t *in, size_t n_bytes, bool ac, stk_huffman_spec *out)
{
    if (n_bytes < 16) return 0;
    size_t n_symbols = 0;
    for (size_t i = 0; i < 16; i++)
        n_symbols += in[i];
    if (n_symbols > sizeof out->symbols || n_symbols > n_bytes - 16) return 0;
    memcpy(out->counts, in, 16);
    memcpy(out->symbols, in + 16, n_symbols);
    out->n_symbols = (uint16_t)n_symbols;
    return stk_huffman_spec_valid(out, ac) ? 16 + n_symbols : 0;
}

size_t stk_huffman_spec_write(const stk_huffman_spec *spec, uint8_t *out)
{
    memcpy(out, spec->counts, 16);
    memcpy(out + 16, spec->symbols, spec->n_symbols);
    return 16u + spec->n_symbols;
}

const stk_huffman_spec *stk_huffman_spec_of(const stk_tile_huffman *huffman, int table)
{
    return table & 1 ? &huffman->ac[table >> 1] : &huffman->dc[table >> 1];
}

stk_huffman_spec *stk_huffman_spec_in(stk_tile_huffman *huffman, int table)
{
    return table & 1 ? &huffman->ac[table >> 1] : &huffman->dc[table >> 1];
}

void stk_huffman_codes(const stk_huffman_spec *spec, uint32_t codes[256])
{
    memset(codes, 0, 256 * sizeof codes[0]);
    uint32_t code = 0, k = 0;
    for (uint32_t bits = 1; bits <= 16; bits++) {
        for (uint32_t i = 0; i < spec->counts[bits - 1]; i++)
            codes[spec->symbols[k++]] = code++ << 8 | bits;
        code <<= 1;
    }
}
