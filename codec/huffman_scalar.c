/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain segment decoder, after ITU-T T.81 F.2.2: one segment, one bit at a time. It defines which
 * segments are valid and what they mean; the fast decoder must agree on every input. */
#include "codec/huffman.h"

typedef struct reader {
    const uint8_t *data;
    uint32_t n_bits, at; /* of the segment */
    bool bad;
} reader;

static uint32_t read_bit(reader *r)
{
    if (r->at >= r->n_bits) {
        r->bad = true;
        return 0;
    }
    uint32_t bit = (uint32_t)r->data[r->at >> 3] >> (7 - (r->at & 7)) & 1u;
    r->at++;
    return bit;
}

static uint32_t read_symbol(reader *r, const stk_huffman_spec *spec)
{
    uint32_t code = 0, first = 0, index = 0; /* first code of this length, its symbol's index */
    for (uint32_t i = 0; i < 16; i++) {
        code = code << 1 | read_bit(r);
        first <<= 1;
        if (code - first < spec->counts[i]) return spec->symbols[index + code - first];
        first += spec->counts[i];
        index += spec->counts[i];
    }
    r->bad = true;
    return 0;
}

static int read_value(reader *r, uint32_t size)
{
    if (size == 0) return 0;
    int value = 0;
    for (uint32_t i = 0; i < size; i++)
        value = value << 1 | (int)read_bit(r);
    return value >> (size - 1) ? value : value - (1 << size) + 1;
}

static void read_block(reader *r, const stk_huffman_spec *dc, const stk_huffman_spec *ac, int16_t *block)
{
    block[0] = (int16_t)read_value(r, read_symbol(r, dc));
    for (uint32_t k = 1; k < 64 && !r->bad; k++) {
        uint32_t symbol = read_symbol(r, ac), run = symbol >> 4, size = symbol & 15;
        if (symbol == 0) return;
        k += run;
        if (k > 63) {
            r->bad = true;
            return;
        }
        block[k] = (int16_t)read_value(r, size);
    }
}

bool stk_huffman_decode_scalar(const stk_huffman_job *job)
{
    const stk_tile_huffman *specs = &job->tables->specs;
    int16_t *block = job->coefs;
    for (uint32_t i = 0; i < job->n_segments; i++) {
        reader r = {.data = job->segments[i].data, .n_bits = 8 * job->segments[i].n_bytes};
        for (uint32_t b = 0; b < job->n_blocks; b++, block += 64) {
            int t = job->block_table[b];
            read_block(&r, &specs->dc[t], &specs->ac[t], block);
            if (r.bad) return false;
        }
        if (r.n_bits - r.at > 7) return false;
    }
    return true;
}
