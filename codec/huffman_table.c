/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding tables: what every pattern of 11 bits begins with. Built for each photograph, so the filling is
 * written as runs of equal entries that the compiler turns into wide stores. */
#include "codec/huffman.h"

#include <string.h>

static inline void fill_run(stk_huffman_entry *at, uint32_t n, stk_huffman_entry entry)
{
    for (uint32_t i = 0; i < n; i++) at[i] = entry;
}

/* The entry for a code without value bits. */
static stk_huffman_entry bare_entry(uint32_t bits, uint32_t run, bool ac)
{
    stk_huffman_entry entry = {.n_bits = (uint8_t)bits, .advance = 2, .keep = -1};
    if (!ac) return entry; /* DC difference 0 */
    if (run == 15) {
        entry.advance = 32;
    } else { /* end of block: to the next multiple of 128 bytes */
        entry.advance = 126;
        entry.keep = -128;
    }
    return entry;
}

/* All entries that begin with one code of `bits` bits; at points to the first of them. */
static void fill_code(stk_huffman_entry *at, uint32_t bits, uint32_t symbol, bool ac)
{
    uint32_t rest = STK_HUFFMAN_BITS - bits, size = symbol & 15, run = ac ? symbol >> 4 : 0;
    if (size == 0) {
        fill_run(at, 1u << rest, bare_entry(bits, run, ac));
        return;
    }
    stk_huffman_entry entry = {.n_bits = (uint8_t)(bits + size), .advance = (uint8_t)(2 * (run + 1)), .keep = -1};
    if (size > rest) {
        entry.n_bits = 0;
        entry.code_bits = (uint8_t)bits;
        entry.size = (uint8_t)size;
        fill_run(at, 1u << rest, entry);
        return;
    }
    for (uint32_t v = 0; v < 1u << size; v++) {
        entry.value = (int16_t)(v >> (size - 1) ? (int)v : (int)v - (1 << size) + 1);
        fill_run(at + (v << (rest - size)), 1u << (rest - size), entry);
    }
}

static void build(stk_huffman_table *table, const stk_huffman_spec *spec, bool ac)
{
    uint32_t code = 0, k = 0, filled = 0;
    for (uint32_t bits = 1; bits <= STK_TILE_MAX_CODE_BITS; bits++) {
        table->offset[bits] = (int32_t)k - (int32_t)code;
        for (uint32_t i = 0; i < spec->counts[bits - 1]; i++, code++, k++) {
            if (bits > STK_HUFFMAN_BITS) continue;
            fill_code(table->entries + filled, bits, spec->symbols[k], ac);
            filled += 1u << (STK_HUFFMAN_BITS - bits);
        }
        table->limit[bits] = code << (STK_TILE_MAX_CODE_BITS - bits);
        code <<= 1;
    }
    memset(table->entries + filled, 0, ((1u << STK_HUFFMAN_BITS) - filled) * sizeof table->entries[0]);
    memcpy(table->symbols, spec->symbols, spec->n_symbols);
    memset(table->symbols + spec->n_symbols, 0, sizeof table->symbols - spec->n_symbols);
    table->ac = ac;
}

void stk_huffman_tables_build(stk_huffman_tables *tables, const stk_tile_huffman *specs, bool has_chroma)
{
    tables->specs = *specs;
    tables->has_chroma = has_chroma;
    for (int t = 0; t < (has_chroma ? STK_HUFFMAN_TABLES : 2); t++) {
        build(&tables->tables[t], stk_huffman_spec_of(specs, t), (t & 1) != 0);
    }
}
