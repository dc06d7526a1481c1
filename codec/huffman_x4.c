/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast segment decoder. Huffman decoding is a chain: the next code begins where this one ends, about 12
 * cycles later. Segments are independent, so four of them are decoded in turns of five symbols; the CPU's
 * out-of-order window overlaps the four chains. Within a turn there is no branch on the data but the rare
 * ones (a code that the table does not cover whole, the end of a segment): end of block, run and value are
 * all arithmetic on a table entry, and the next table is chosen by conditional moves.
 *
 * Memory safety needs no check per symbol. Every symbol moves the coefficient pointer on by 2 to 128 bytes and
 * the segment ends when it reaches the segment's end: writes stay within 32 bytes after it. A block thus
 * takes at most 64 symbols of at most 27 bits, so reads stay within STK_TILE_BLOCK_BYTES_MAX a block. */
#include <string.h>

#include "codec/huffman.h"

enum { STREAMS = 4, TURN = 5 }; /* 5 entries take at most 55 of the 57 bits that a refill gives */

typedef struct stream {
    uint64_t at;                     /* next bit, as an address: byte address * 8 + bit */
    uintptr_t coef;                  /* byte address of the next coefficient */
    const stk_huffman_entry *table;
    const stk_huffman_entry *const *tables; /* the current block's DC table in the segment's sequence */
    uintptr_t coef_end;
    uint64_t end;                    /* of the segment, bits */
} stream;

typedef struct queue {
    const stk_huffman_job *job;
    uint32_t next; /* segment */
    const stk_huffman_entry *const *first, *const *last; /* sequence of tables: DC, AC for each block */
} queue;

static inline uint64_t load_bits(uint64_t at)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)(at >> 3), sizeof word);
    return __builtin_bswap64(word) << (at & 7);
}

/* Gives the stream the next segment; false when there is none. */
static bool take_segment(stream *s, queue *q)
{
    if (q->next == q->job->n_segments) return false;
    const stk_huffman_segment *segment = &q->job->segments[q->next];
    size_t block_bytes = 64 * sizeof(int16_t), n_bytes = q->job->n_blocks * block_bytes;
    s->at = (uint64_t)(uintptr_t)segment->data << 3;
    s->end = s->at + 8 * (uint64_t)segment->n_bytes;
    s->coef = (uintptr_t)q->job->coefs + q->next * n_bytes;
    s->coef_end = s->coef + n_bytes;
    s->tables = q->first;
    s->table = q->first[0];
    q->next++;
    return true;
}

/* True when the segment ended as it should: no run went past a block's end (then the sequence of tables would
 * lag behind), and the last bit lies in the last byte. */
static bool ended_well(const stream *s, const queue *q)
{
    return s->coef == s->coef_end && s->tables == q->last && s->at <= s->end && s->at + 8 > s->end;
}

/* A symbol whose code or value is longer than the table's index. Moves at and coef on; false when the code is
 * invalid. */
static __attribute__((noinline)) bool slow_symbol(const stk_huffman_entry *entries, const stk_huffman_entry *entry,
                                                  uint64_t *at, uintptr_t *coef)
{
    uint64_t bits = load_bits(*at);
    uint32_t code_bits = entry->code_bits, size = entry->size, advance = entry->advance;
    intptr_t keep = -1;
    if (code_bits == 0) {
        const stk_huffman_table *table = (const stk_huffman_table *)(const void *)entries;
        uint32_t top = (uint32_t)(bits >> 48);
        code_bits = STK_HUFFMAN_BITS + 1;
        while (code_bits <= STK_TILE_MAX_CODE_BITS && top >= table->limit[code_bits]) code_bits++;
        if (code_bits > STK_TILE_MAX_CODE_BITS) return false;
        int32_t index = (int32_t)(top >> (STK_TILE_MAX_CODE_BITS - code_bits)) + table->offset[code_bits];
        uint32_t symbol = table->symbols[index & 255], run = table->ac ? symbol >> 4 : 0;
        size = symbol & 15;
        advance = 2 * (run + 1);
        if (table->ac && symbol == 0) {
            advance = 126;
            keep = -128;
        }
    }
    int value = 0;
    if (size != 0) {
        uint32_t raw = (uint32_t)(bits << code_bits >> (64 - size));
        value = raw >> (size - 1) ? (int)raw : (int)raw - (1 << size) + 1;
    }
    *at += code_bits + size;
    *coef = (*coef + advance) & (uintptr_t)keep;
    ((int16_t *)*coef)[-1] = (int16_t)value;
    return true;
}

/* After a symbol: within a block goes on with its AC table, else with the next block's DC table. The compiler
 * would make a branch of it that is mispredicted once a block; hence conditional moves by hand. */
static inline void choose_table(uintptr_t coef, const stk_huffman_entry **table,
                                const stk_huffman_entry *const **tables)
{
#if defined(__x86_64__)
    const stk_huffman_entry *chosen;
    const stk_huffman_entry *const *next = *tables + 2;
    __asm__("mov 8(%[tables]), %[chosen]\n\t"
            "testb $127, %b[coef]\n\t"
            "cmovz 16(%[tables]), %[chosen]\n\t"
            "cmovz %[next], %[tables]"
            : [chosen] "=&r"(chosen), [tables] "+&r"(*tables)
            : [coef] "q"(coef), [next] "r"(next)
            : "cc", "memory");
    *table = chosen;
#else
    const stk_huffman_entry *const *s = *tables;
    bool ended = (coef & 127) == 0;
    *table = ended ? s[2] : s[1];
    *tables = ended ? s + 2 : s;
#endif
}

typedef enum turn_result { TURN_ON, TURN_ENDED, TURN_BAD } turn_result;

static inline __attribute__((always_inline)) turn_result turn(stream *s)
{
    uint64_t at = s->at, bits = load_bits(at);
    uintptr_t coef = s->coef;
    const uintptr_t coef_end = s->coef_end;
    const stk_huffman_entry *table = s->table;
    const stk_huffman_entry *const *tables = s->tables;
    turn_result result = TURN_ON;
#pragma GCC unroll 5
    for (int i = 0; i < TURN; i++) {
        const stk_huffman_entry *entry = &table[bits >> (64 - STK_HUFFMAN_BITS)];
        uint32_t n_bits = entry->n_bits;
        if (__builtin_expect(n_bits == 0, 0)) {
            if (!slow_symbol(table, entry, &at, &coef)) return TURN_BAD;
            bits = load_bits(at);
        } else {
            bits <<= n_bits & 63;
            at += n_bits;
            coef = (coef + entry->advance) & (uintptr_t)(intptr_t)entry->keep;
            ((int16_t *)coef)[-1] = entry->value;
        }
        choose_table(coef, &table, &tables);
        if (__builtin_expect(coef >= coef_end, 0)) {
            result = TURN_ENDED;
            break;
        }
    }
    s->at = at;
    s->coef = coef;
    s->table = table;
    s->tables = tables;
    return result;
}

static bool run_streams(stream *streams, uint32_t n, queue *q)
{
    while (n > 0) {
        for (uint32_t i = 0; i < n; i++) {
            turn_result result = turn(&streams[i]);
            if (__builtin_expect(result == TURN_ON, 1)) continue;
            if (result == TURN_BAD || !ended_well(&streams[i], q)) return false;
            if (take_segment(&streams[i], q)) continue;
            streams[i] = streams[--n];
            i--;
        }
    }
    return true;
}

bool stk_huffman_decode_x4(const stk_huffman_job *job)
{
    const stk_huffman_entry *sequence[2 * STK_TILE_MAX_BLOCKS + 1];
    for (uint32_t b = 0; b < job->n_blocks; b++) {
        uint32_t t = 2u * job->block_table[b];
        sequence[2 * b] = job->tables->tables[t].entries;
        sequence[2 * b + 1] = job->tables->tables[t + 1].entries;
    }
    sequence[2 * job->n_blocks] = sequence[0]; /* never read from, but chosen */
    queue q = {.job = job, .first = sequence, .last = sequence + 2 * job->n_blocks};
    stream streams[STREAMS];
    uint32_t n = 0;
    while (n < STREAMS && take_segment(&streams[n], &q)) n++;
    return run_streams(streams, n, &q);
}
