/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared table sets: the blob that a container stores, and its built form.
 *
 *   0  magic "STKH"     4  check: low 32 bits of XXH3-64 of the rest     8  u8 version
 *   9  u8 n_quant      10  u16 reserved, 0
 *  12  four Huffman tables (DC, AC of luma, DC, AC of chroma): 16 counts, then the symbols
 *      n_quant quantisation tables, zigzag order, 64 u16 each */
#include <stdlib.h>
#include <string.h>

#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "common/hash.h"

#define SET_MAGIC UINT32_C(0x484b5453) /* "STKH" */
enum { SET_FIXED_BYTES = 12, SET_CHECKED_FROM = 8, SET_VERSION = 1, QUANT_BYTES = 128 };

static uint32_t set_check(const uint8_t *blob, size_t n_bytes)
{
    return (uint32_t)stk_hash64(blob + SET_CHECKED_FROM, n_bytes - SET_CHECKED_FROM);
}

stk_status stk_tile_tables_write(const stk_tile_huffman *huffman, const uint16_t (*quant)[64],
                                 uint32_t n_quant, stk_buffer *out, stk_error *error)
{
    size_t n_bytes = SET_FIXED_BYTES + (size_t)n_quant * QUANT_BYTES;
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++)
        n_bytes += 16u + stk_huffman_spec_of(huffman, t)->n_symbols;
    STK_TRY(stk_buffer_resize(out, n_bytes, error));
    uint8_t *at = out->data;
    memset(at, 0, SET_FIXED_BYTES);
    stk_store32(at, SET_MAGIC);
    at[8] = SET_VERSION;
    at[9] = (uint8_t)n_quant;
    at += SET_FIXED_BYTES;
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++)
        at += stk_huffman_spec_write(stk_huffman_spec_of(huffman, t), at);
    for (uint32_t i = 0; i < n_quant; i++) {
        for (uint32_t k = 0; k < 64; k++, at += 2)
            stk_store16(at, quant[i][k]);
    }
    stk_store32(out->data + 4, set_check(out->data, n_bytes));
    return STK_OK;
}

static stk_status bad(stk_error *error, const char *what)
{
    return stk_fail(error, STK_ERR_CORRUPT, "not a valid set of tile tables: %s", what);
}

static stk_status read_set(const uint8_t *blob, size_t n_bytes, stk_tile_huffman *huffman,
                           stk_tile_tables *set, stk_error *error)
{
    if (n_bytes < SET_FIXED_BYTES || stk_load32(blob) != SET_MAGIC)
        return bad(error, "it does not begin with STKH");
    if (blob[8] != SET_VERSION) {
        return stk_fail(error, STK_ERR_VERSION,
                        "a set of tile tables of version %u; this stoker reads version %d", blob[8],
                        SET_VERSION);
    }
    if (stk_load32(blob + 4) != set_check(blob, n_bytes)) {
        return stk_fail(error, STK_ERR_CHECKSUM, "a set of tile tables that does not match its checksum");
    }
    size_t at = SET_FIXED_BYTES;
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++) {
        size_t n =
            stk_huffman_spec_read(blob + at, n_bytes - at, (t & 1) != 0, stk_huffman_spec_in(huffman, t));
        if (n == 0) return bad(error, "a Huffman table is invalid");
        at += n;
    }
    set->n_quant = blob[9];
    if (n_bytes - at != set->n_quant * (size_t)QUANT_BYTES) return bad(error, "its length is wrong");
    for (uint32_t i = 0; i < set->n_quant; i++) {
        for (uint32_t k = 0; k < 64; k++, at += 2)
            set->quant[i][k] = stk_load16(blob + at);
    }
    return STK_OK;
}

stk_status stk_tile_tables_open(const uint8_t *blob, size_t n_bytes, stk_tile_tables **out, stk_error *error)
{
    *out = NULL;
    size_t size = (sizeof(stk_tile_tables) + 127) / 128 * 128;
    stk_tile_tables *set = aligned_alloc(128, size);
    if (set == NULL) return stk_fail_memory(error, "a set of tile tables");
    memset(set, 0, size);
    stk_tile_huffman huffman;
    stk_status status;
    STK_GOTO(read_set(blob, n_bytes, &huffman, set, error));
    stk_huffman_tables_build(&set->huffman, &huffman, true);
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++)
        stk_huffman_codes(stk_huffman_spec_of(&huffman, t), set->codes[t]);
    *out = set;
    return STK_OK;
cleanup:
    free(set);
    return status;
}

void stk_tile_tables_close(stk_tile_tables **tables)
{
    free(*tables);
    *tables = NULL;
}
