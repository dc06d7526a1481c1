/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding tables: what every pattern of 11 bits begins with. They are built for each photograph, so building
 * must cost little beside decoding: entries are handled as 64-bit words, and runs of them are filled with
 * wide stores. */
#include "codec/huffman.h"

#include <assert.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { N_ENTRIES = 1 << STK_HUFFMAN_BITS };

/* An entry as a word (little-endian): where its fields are. */
#define BITS(n) ((uint64_t)(n))
#define ADVANCE(n) ((uint64_t)(n) << 8)
#define FIRST_BITS(n) ((uint64_t)(n) << 16)
#define FIRST_ADVANCE(n) ((uint64_t)(n) << 24)
#define FIRST_VALUE(v) ((uint64_t)(uint16_t)(v) << 32)
#define VALUE(v) ((uint64_t)(uint16_t)(v) << 48)
static_assert(sizeof(stk_huffman_entry) == 8, "entries are handled as words");

/* What may follow a first symbol when k bits are left, for all k: words[2^k + pattern] has the bits, advance
 * and value of the AC symbol that the pattern of k bits begins with; 0 where that symbol needs more bits. */
typedef struct continuations {
    uint64_t words[2 * N_ENTRIES];
} continuations;

static int value_of(uint32_t raw, uint32_t size)
{
    return raw >> (size - 1) ? (int)raw : (int)raw - (1 << size) + 1;
}

static void fill(uint64_t *at, uint32_t n, uint64_t word)
{
    for (uint32_t i = 0; i < n; i++)
        at[i] = word;
}

/* Words for the values first, first + 1, ... */
static void fill_rising(uint64_t *at, uint32_t n, uint64_t word, uint64_t step)
{
    for (uint32_t i = 0; i < n; i++)
        at[i] = word + i * step;
}

/* ---- what follows ---- */

/* All patterns of 11 bits that begin with one AC code of `bits` bits. */
static void fill_continuation(uint64_t *at, uint32_t bits, uint32_t symbol)
{
    uint32_t rest = STK_HUFFMAN_BITS - bits, size = symbol & 15, run = symbol >> 4;
    if (symbol == 0) {
        fill(at, 1u << rest, BITS(bits) | ADVANCE(1));
    } else if (size > rest) {
        fill(at, 1u << rest, 0);
    } else if (size == 0) {
        fill(at, 1u << rest, BITS(bits) | ADVANCE(32));
    } else {
        uint64_t word = BITS(bits + size) | ADVANCE(2 * (run + 1));
        for (uint32_t v = 0; v < 1u << size; v++) {
            fill(at + (v << (rest - size)), 1u << (rest - size), word | VALUE(value_of(v, size)));
        }
    }
}

/* Patterns of k bits out of those of k + 1 bits: every second one, where its symbol fits. */
static void halve(const uint64_t *longer, uint64_t *out, uint32_t k)
{
    for (uint32_t i = 0; i < 1u << k; i++) {
        uint64_t word = longer[2 * i];
        out[i] = (word & 255) <= k ? word : 0;
    }
}

static void fill_continuations(continuations *c, const stk_huffman_spec *ac)
{
    uint64_t *at = c->words + N_ENTRIES;
    uint32_t k = 0, filled = 0;
    for (uint32_t bits = 1; bits <= STK_HUFFMAN_BITS; bits++) {
        for (uint32_t i = 0; i < ac->counts[bits - 1]; i++, filled += 1u << (STK_HUFFMAN_BITS - bits)) {
            fill_continuation(at + filled, bits, ac->symbols[k++]);
        }
    }
    fill(at + filled, N_ENTRIES - filled, 0);
    for (uint32_t rest = STK_HUFFMAN_BITS; rest-- > 0;)
        halve(c->words + (2u << rest), c->words + (1u << rest), rest);
}

/* ---- tables ---- */

/* The patterns that begin with a symbol and have k bits after it. word: the entry for the symbol alone,
 * without its value; value: VALUE of it. */
static void fill_pairs(uint64_t *at, uint32_t k, uint64_t word, uint64_t value, const continuations *c)
{
    const uint64_t *next = c->words + (1u << k);
#ifdef __SSE2__
    const __m128i words = _mm_set1_epi64x((long long)word), alone = _mm_set1_epi64x((long long)value);
    if (k > 0) {
        for (uint32_t i = 0; i < 1u << k; i += 2) {
            __m128i n = _mm_loadu_si128((const __m128i *)(const void *)(next + i));
            __m128i none = _mm_cmpeq_epi32(n, _mm_setzero_si128()); /* bits are never 0 otherwise */
            none = _mm_shuffle_epi32(none, _MM_SHUFFLE(2, 2, 0, 0));
            n = _mm_or_si128(n, _mm_and_si128(none, alone));
            _mm_storeu_si128((__m128i *)(void *)(at + i), _mm_add_epi64(words, n));
        }
        return;
    }
#endif
    for (uint32_t i = 0; i < 1u << k; i++)
        at[i] = word + (next[i] != 0 ? next[i] : value);
}

/* A symbol with value bits: all of them follow within the table's index. */
static void fill_values(uint64_t *at, uint32_t bits, uint32_t size, uint32_t advance, const continuations *c)
{
    uint32_t k = STK_HUFFMAN_BITS - bits - size, half = 1u << (size - 1);
    uint64_t word = BITS(bits + size) | ADVANCE(advance) | FIRST_BITS(bits + size) | FIRST_ADVANCE(advance);
    if (k == 0) {
        const uint64_t step = VALUE(1) | FIRST_VALUE(1);
        int least = value_of(0, size);
        fill_rising(at, half, word | VALUE(least) | FIRST_VALUE(least), step);
        fill_rising(at + half, half, word | VALUE(half) | FIRST_VALUE(half), step);
        return;
    }
    for (uint32_t v = 0; v < 2 * half; v++) {
        int value = value_of(v, size);
        fill_pairs(at + (v << k), k, word | FIRST_VALUE(value), VALUE(value), c);
    }
}

/* All patterns that begin with one code of `bits` bits. */
static void fill_code(uint64_t *at, uint32_t bits, uint32_t symbol, bool ac, const continuations *c)
{
    uint32_t rest = STK_HUFFMAN_BITS - bits, size = symbol & 15, run = ac ? symbol >> 4 : 0;
    uint32_t advance = 2 * (run + 1);
    if (ac && symbol == 0) { /* end of block: its "value" is a coefficient that is 0 anyway */
        fill(at, 1u << rest, BITS(bits) | ADVANCE(1) | FIRST_BITS(bits) | FIRST_ADVANCE(2));
    } else if (size > rest) {
        fill(at, 1u << rest, ADVANCE(advance) | FIRST_BITS(bits) | FIRST_VALUE(size));
    } else if (size == 0) {
        fill_pairs(at, rest, BITS(bits) | ADVANCE(advance) | FIRST_BITS(bits) | FIRST_ADVANCE(advance), 0, c);
    } else {
        fill_values(at, bits, size, advance, c);
    }
}

static void build(stk_huffman_table *table, const stk_huffman_spec *spec, bool ac, const continuations *c)
{
    uint64_t *entries = (uint64_t *)(void *)table->entries;
    uint32_t code = 0, k = 0, filled = 0;
    for (uint32_t bits = 1; bits <= STK_TILE_MAX_CODE_BITS; bits++) {
        table->offset[bits] = (int32_t)k - (int32_t)code;
        for (uint32_t i = 0; i < spec->counts[bits - 1]; i++, code++, k++) {
            if (bits > STK_HUFFMAN_BITS) continue;
            fill_code(entries + filled, bits, spec->symbols[k], ac, c);
            filled += 1u << (STK_HUFFMAN_BITS - bits);
        }
        table->limit[bits] = code << (STK_TILE_MAX_CODE_BITS - bits);
        code <<= 1;
    }
    fill(entries + filled, N_ENTRIES - filled, 0);
    memcpy(table->symbols, spec->symbols, spec->n_symbols);
    memset(table->symbols + spec->n_symbols, 0, sizeof table->symbols - spec->n_symbols);
    table->ac = ac;
}

void stk_huffman_tables_build(stk_huffman_tables *tables, const stk_tile_huffman *specs, bool has_chroma)
{
    continuations c;
    tables->specs = *specs;
    tables->has_chroma = has_chroma;
    for (int i = 0; i < (has_chroma ? 2 : 1); i++) {
        fill_continuations(&c, &specs->ac[i]);
        build(&tables->tables[2 * i], &specs->dc[i], false, &c);
        build(&tables->tables[2 * i + 1], &specs->ac[i], true, &c);
    }
}
