/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast segment decoder. Huffman decoding is a chain: the next code begins where this one ends, about 12
 * cycles later. Segments are independent, so two of them are decoded side by side, their state in registers,
 * and the CPU overlaps the two chains (four chains do not fit the registers and gain nothing). A step looks
 * 11 bits up and takes one or two symbols from it: run, value and end of block are arithmetic on the table's
 * entry, and the next table is chosen by conditional moves. What is left as branches is rare: a symbol longer
 * than 11 bits, a block that is full without an end-of-block code, the end of a segment.
 *
 * Memory safety: no symbol is accepted that would leave its block, so all writes are within the segment's
 * blocks. A block takes at most 64 symbols of at most 27 bits, so reads stay within STK_TILE_BLOCK_BYTES_MAX
 * a block plus the 8 bytes of a load. */
#include <string.h>

#include "codec/huffman.h"

#define INLINE static inline __attribute__((always_inline))

enum { TURN = 5 }; /* steps on one load of bits: at most 55 of the 57 it gives */

typedef const stk_huffman_entry *entries;

typedef struct stream {
    uint64_t at;    /* next bit, as an address: byte address * 8 + bit */
    uint64_t end;   /* of the segment, likewise */
    uintptr_t coef; /* address of the next coefficient: a multiple of 128 bytes where a block begins */
    entries table;
    const entries *tables; /* the current block's DC table in the segment's sequence of tables */
} stream;

/* A stream's state in registers. bits: the 57 bits that come next, left-aligned, then a marker bit, then
 * zeros: where the marker has moved to says how many bits were taken, which saves counting them. */
typedef struct lane {
    uint64_t bits;
    uintptr_t coef;
    entries table;
    const entries *tables;
} lane;

typedef struct queue {
    const stk_huffman_job *job;
    uint32_t next;           /* segment */
    const entries *sequence; /* DC, AC for each block, then END */
} queue;

/* Where a segment has been decoded, no table follows: all entries lead to the slow way, which sees it. */
static const stk_huffman_entry END[1 << STK_HUFFMAN_BITS];

typedef enum outcome { GOES_ON, ENDED, BAD } outcome;

INLINE uint64_t load_bits(uint64_t at)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)(at >> 3), sizeof word);
    return __builtin_bswap64(word) << (at & 7);
}

enum { MARKER = 6 };

INLINE uint64_t load_marked(uint64_t at)
{
    return (load_bits(at) & ~UINT64_C(127)) | UINT64_C(1) << MARKER;
}

/* The next bit of a lane; at: where its bits were loaded. */
INLINE uint64_t position(const lane *x, uint64_t at)
{
    return at + (uint64_t)__builtin_ctzll(x->bits) - MARKER;
}

/* Gives the stream the next segment; false when there is none. */
static bool take_segment(stream *s, queue *q)
{
    if (q->next == q->job->n_segments) return false;
    const stk_huffman_segment *segment = &q->job->segments[q->next];
    s->at = (uint64_t)(uintptr_t)segment->data << 3;
    s->end = s->at + 8 * (uint64_t)segment->n_bytes;
    s->coef = (uintptr_t)(q->job->coefs + (size_t)q->next * q->job->n_blocks * 64);
    s->tables = q->sequence;
    s->table = q->sequence[0];
    q->next++;
    return true;
}

/* The last bit lies in the segment's last byte. */
static bool ended_well(const stream *s)
{
    return s->at <= s->end && s->at + 8 > s->end;
}

/* ---- the rare ways ---- */

/* The value that the top `size` bits (0 .. 11) stand for. */
INLINE int16_t value_of(uint64_t bits, uint32_t size)
{
    int64_t raw = (int64_t)(bits >> 1 >> (63 - size));
    int64_t negative = ~((int64_t)bits >> 63);
    return (int16_t)(raw + (negative & (1 - (INT64_C(1) << size))));
}

/* A symbol whose code is longer than the table's index: symbol << 8 | bits of the code; 0 = invalid. By value
 * and without pointers to a lane: a lane whose address is taken would live in memory. */
static __attribute__((noinline)) uint32_t long_code(entries table_entries, uint64_t bits)
{
    const stk_huffman_table *table = (const stk_huffman_table *)(const void *)table_entries;
    uint32_t top = (uint32_t)(bits >> 48), n = STK_HUFFMAN_BITS + 1;
    while (n <= STK_TILE_MAX_CODE_BITS && top >= table->limit[n])
        n++;
    if (n > STK_TILE_MAX_CODE_BITS) return 0;
    int32_t index = (int32_t)(top >> (STK_TILE_MAX_CODE_BITS - n)) + table->offset[n];
    return (uint32_t)table->symbols[index & 255] << 8 | n;
}

INLINE bool is_ac(entries table_entries)
{
    return ((const stk_huffman_table *)(const void *)table_entries)->ac;
}

/* Sets one coefficient `advance` bytes on (or ends the block when value and advance are those of the end). */
INLINE outcome set_one(lane *x, uintptr_t advance, int16_t value)
{
    uintptr_t coef = x->coef + advance;
    if (((x->coef ^ (coef - 1)) & 128) != 0) return BAD; /* a run past the block's end */
    ((int16_t *)coef)[-1] = value;
    x->coef = coef;
    if ((coef & 127) == 0) x->tables += 2;
    x->table = x->tables[(coef & 127) != 0];
    return GOES_ON;
}

INLINE outcome slow_step(lane *x, stream *s, const stk_huffman_entry *entry)
{
    uint64_t at = position(x, s->at), bits = load_bits(at);
    uint32_t code_bits = entry->first_bits, size = (uint32_t)entry->first_value, advance = entry->advance;
    if (__builtin_expect(code_bits == 0, 0)) {
        if (x->table == END) return ENDED;
        uint32_t found = long_code(x->table, bits), symbol = found >> 8;
        if (found == 0) return BAD;
        code_bits = found & 255;
        size = symbol & 15;
        advance = is_ac(x->table) ? 2 * (symbol >> 4) + 2 : 2;
        if (symbol == 0 && is_ac(x->table)) advance = 128 - (x->coef & 127); /* to the block's end, value 0 */
    }
    s->at = at + code_bits + size;
    x->bits = load_marked(s->at);
    return set_one(x, advance, value_of(bits << code_bits, size));
}

/* ---- the usual way ---- */

/* Within a block goes on with its AC table; after an end-of-block code (bit 0 of advance) with the next
 * block's DC table. The compiler would make a branch of it, mispredicted once a block; hence conditional
 * moves by hand. */
INLINE void choose_next(lane *x, uintptr_t coef, uintptr_t advance)
{
    uintptr_t rounded = (coef + 127) & ~(uintptr_t)127;
#if defined(__x86_64__)
    const stk_huffman_entry *chosen;
    const entries *next = x->tables + 2;
    __asm__("mov 8(%[tables]), %[chosen]\n\t"
            "testb $1, %b[advance]\n\t"
            "cmovnz 16(%[tables]), %[chosen]\n\t"
            "cmovnz %[next], %[tables]\n\t"
            "cmovnz %[rounded], %[coef]"
            : [chosen] "=&r"(chosen), [tables] "+&r"(x->tables), [coef] "+&r"(coef)
            : [advance] "q"(advance), [next] "r"(next), [rounded] "r"(rounded)
            : "cc", "memory");
    x->table = chosen;
    x->coef = coef;
#else
    bool ended = (advance & 1) != 0;
    x->table = ended ? x->tables[2] : x->tables[1];
    x->tables = ended ? x->tables + 2 : x->tables;
    x->coef = ended ? rounded : coef;
#endif
}

INLINE outcome step(lane *x, stream *s)
{
    const stk_huffman_entry *entry = &x->table[x->bits >> (64 - STK_HUFFMAN_BITS)];
    uint32_t n_bits = entry->n_bits;
    if (__builtin_expect(n_bits == 0, 0)) return slow_step(x, s, entry);
    uintptr_t advance = entry->advance, coef = x->coef + advance;
    if (__builtin_expect(((x->coef ^ coef) & 128) != 0, 0)) {
        /* The block is full with the first symbol or the second: the second may belong to the next block. */
        x->bits <<= entry->first_bits;
        return set_one(x, entry->first_advance, entry->first_value);
    }
    x->bits <<= n_bits & 63;
    ((int16_t *)(x->coef + entry->first_advance))[-1] = entry->first_value;
    int16_t value = entry->value;
    choose_next(x, coef, advance);
    ((int16_t *)x->coef)[-1] = value;
    return GOES_ON;
}

INLINE lane load_lane(const stream *s)
{
    return (lane){.bits = load_marked(s->at), .coef = s->coef, .table = s->table, .tables = s->tables};
}

INLINE void store_lane(const lane *x, stream *s)
{
    s->at = position(x, s->at);
    s->coef = x->coef;
    s->table = x->table;
    s->tables = x->tables;
}

/* Five steps of both streams, or fewer when one ends: *which then says which. */
INLINE outcome turn_of_two(stream streams[2], uint32_t *which)
{
    lane a = load_lane(&streams[0]), b = load_lane(&streams[1]);
    outcome result = GOES_ON;
    *which = 0;
#pragma GCC unroll 5
    for (int i = 0; i < TURN; i++) {
        result = step(&a, &streams[0]);
        if (__builtin_expect(result != GOES_ON, 0)) break;
        result = step(&b, &streams[1]);
        if (__builtin_expect(result != GOES_ON, 0)) {
            *which = 1;
            break;
        }
    }
    store_lane(&a, &streams[0]);
    store_lane(&b, &streams[1]);
    return result;
}

static __attribute__((noinline)) outcome turn_of_one(stream *s)
{
    lane a = load_lane(s);
    outcome result = GOES_ON;
#pragma GCC unroll 5
    for (int i = 0; i < TURN && result == GOES_ON; i++)
        result = step(&a, s);
    store_lane(&a, s);
    return result;
}

bool stk_huffman_decode_fast(const stk_huffman_job *job)
{
    entries sequence[2 * STK_TILE_MAX_BLOCKS + 1];
    for (uint32_t b = 0; b < job->n_blocks; b++) {
        const stk_huffman_table *table = &job->tables->tables[2 * job->block_table[b]];
        sequence[2 * b] = table[0].entries;
        sequence[2 * b + 1] = table[1].entries;
    }
    sequence[2 * job->n_blocks] = END;
    queue q = {.job = job, .sequence = sequence};
    stream streams[2];
    uint32_t n = 0, which = 0;
    while (n < 2 && take_segment(&streams[n], &q))
        n++;
    while (n == 2) {
        outcome result = turn_of_two(streams, &which);
        if (__builtin_expect(result == GOES_ON, 1)) continue;
        if (result == BAD || !ended_well(&streams[which])) return false;
        if (take_segment(&streams[which], &q)) continue;
        streams[which] = streams[--n];
    }
    while (n == 1) {
        outcome result = turn_of_one(&streams[0]);
        if (result == GOES_ON) continue;
        if (result == BAD || !ended_well(&streams[0])) return false;
        if (!take_segment(&streams[0], &q)) n--;
    }
    return true;
}
