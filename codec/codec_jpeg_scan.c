/* SPDX-License-Identifier: Apache-2.0
 *
 * A fast "is this scan whole?": walks the Huffman codes of a baseline scan without making coefficients of them,
 * two to three times as fast as libjpeg's decoder. It only ever says yes where libjpeg would meet nothing to
 * complain of; whatever looks unusual is left to libjpeg, which then says what it is. */
#include "codec/codec_jpeg.h"

#include <string.h>

/* Codes of up to LOOK bits are found by one look-up; longer ones (a few in a hundred) by their length's limit. */
enum { LOOK = 10, LONGEST = 16, DONE = 64 };

/* What a symbol costs and does: the bits of its code and of the value behind it, and how far it moves on in the
 * block (64: the block ends). bits is 0 where no code of up to LOOK bits fits. */
typedef struct step {
    uint8_t bits, advance;
} step;

typedef struct code_table {
    step look[1 << LOOK];
    int32_t limit[LONGEST + 1]; /* the first code after those of this length, left-aligned to 16 bits */
    int32_t first[LONGEST + 1]; /* the first code of this length */
    int32_t index[LONGEST + 1]; /* its symbol's number */
    const uint8_t *symbols;
    bool dc;
} code_table;

static step step_of(const code_table *t, uint8_t symbol, int length)
{
    if (t->dc) return (step){.bits = (uint8_t)(length + symbol), .advance = 1};
    int size = symbol & 15, run = symbol >> 4, advance = DONE; /* as libjpeg: no size and no 15 ends the block */
    if (size != 0 || run == 15) advance = run + 1;
    return (step){.bits = (uint8_t)(length + size), .advance = (uint8_t)advance};
}

/* False for a table whose codes overrun their lengths; libjpeg refuses such when it starts a scan. */
static bool build(code_table *t, const JHUFF_TBL *from, bool dc)
{
    memset(t->look, 0, sizeof t->look);
    t->symbols = from->huffval;
    t->dc = dc;
    int32_t code = 0, n = 0;
    for (int length = 1; length <= LONGEST; length++, code <<= 1) {
        t->first[length] = code;
        t->index[length] = n;
        if (code + from->bits[length] > 1 << length || n + from->bits[length] > 256) return false;
        for (int i = 0; i < from->bits[length]; i++, code++, n++) {
            if (length > LOOK) continue;
            step s = step_of(t, from->huffval[n], length);
            step *to = t->look + (code << (LOOK - length));
            for (int k = 0; k < 1 << (LOOK - length); k++) to[k] = s;
        }
        t->limit[length] = code << (LONGEST - length);
    }
    return true;
}

/* Entropy-coded bytes as bits, left-aligned. Stuffed zeros are taken out. At a marker the bits go on as zeros,
 * and `fake` counts them. */
typedef struct bit_reader {
    uint64_t bits;
    int count, fake;
    const uint8_t *p, *end;
    const uint8_t *free_end; /* up to here there is no 0xff */
} bit_reader;

static void find_next_ff(bit_reader *r)
{
    const uint8_t *ff = memchr(r->p, 0xff, (size_t)(r->end - r->p));
    r->free_end = ff != NULL ? ff : r->end;
}

static void fill_by_bytes(bit_reader *r)
{
    while (r->count <= 56) {
        uint64_t byte = 0;
        if (r->p < r->free_end) {
            byte = *r->p++;
        } else if (r->end - r->p >= 2 && r->p[0] == 0xff && r->p[1] == 0) {
            byte = 0xff;
            r->p += 2;
            find_next_ff(r);
        } else {
            r->fake += 8; /* a marker, or the end of the data */
        }
        r->bits |= byte << (56 - r->count);
        r->count += 8;
    }
}

static inline void fill(bit_reader *r)
{
    if (r->free_end - r->p < 8) {
        fill_by_bytes(r);
        return;
    }
    uint64_t next;
    memcpy(&next, r->p, sizeof next);
    r->bits |= __builtin_bswap64(next) >> r->count;
    r->p += (63 - r->count) >> 3;
    r->count |= 56;
}

/* The step of a code longer than LOOK bits; bits 0 when there is no such code. */
static step long_step(const code_table *t, uint64_t bits)
{
    int32_t top = (int32_t)(bits >> 48);
    int length = LOOK + 1;
    while (length <= LONGEST && top >= t->limit[length]) length++;
    if (length > LONGEST) return (step){0, 0};
    int32_t number = t->index[length] + (top >> (LONGEST - length)) - t->first[length];
    return number >= 0 && number < 256 ? step_of(t, t->symbols[number], length) : (step){0, 0};
}

/* One symbol with its value's bits; false for an invalid code. The bits are rarely short here, so the test costs
 * next to nothing; without fill()s at a steady rhythm elsewhere it would be mispredicted all the time. */
static inline bool take(bit_reader *r, const code_table *t, int *k)
{
    if (__builtin_expect(r->count < 31, 0)) fill(r); /* a code and its value have at most 31 bits */
    step s = t->look[r->bits >> (64 - LOOK)];
    if (__builtin_expect(s.bits == 0, 0)) {
        s = long_step(t, r->bits);
        if (s.bits == 0) return false;
    }
    r->bits <<= s.bits;
    r->count -= s.bits;
    *k += s.advance;
    return true;
}

typedef struct scan {
    bit_reader reader;
    const code_table *dc[D_MAX_BLOCKS_IN_MCU], *ac[D_MAX_BLOCKS_IN_MCU];
    int n_blocks;
} scan;

/* Bits are refilled every four symbols, which use 23 on average. */
static bool walk_mcu(scan *s)
{
    bit_reader r = s->reader; /* in registers meanwhile */
    for (int b = 0; b < s->n_blocks; b++) {
        const code_table *ac = s->ac[b];
        int k = 0;
        if (!take(&r, s->dc[b], &k)) return false;
        while (k < DCTSIZE2) {
            fill(&r);
            for (int i = 0; i < 4 && k < DCTSIZE2; i++) {
                if (!take(&r, ac, &k)) return false;
            }
        }
    }
    s->reader = r;
    return r.count >= r.fake; /* no bit was used that was not there */
}

/* After an interval: less than a byte may be left over, and exactly this marker must follow. */
static bool ends_with(scan *s, uint8_t marker)
{
    bit_reader *r = &s->reader;
    /* Whole bytes that were read ahead go back only when there are none: then the data ended where it should. */
    if (r->count - r->fake >= 8) return false;
    return r->end - r->p >= 2 && r->p == r->free_end && r->p[0] == 0xff && r->p[1] == marker;
}

static void restart(scan *s)
{
    bit_reader *r = &s->reader;
    *r = (bit_reader){.p = r->p + 2, .end = r->end};
    find_next_ff(r);
}

static bool walk_all(const struct jpeg_decompress_struct *c, scan *s)
{
    uint64_t n_mcus = (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan, to_go = c->restart_interval;
    uint8_t number = 0;
    for (uint64_t i = 0; i < n_mcus; i++, to_go--) {
        if (c->restart_interval != 0 && to_go == 0) {
            if (!ends_with(s, (uint8_t)(JPEG_RST0 + number))) return false;
            restart(s);
            number = (number + 1) & 7;
            to_go = c->restart_interval;
        }
        if (!walk_mcu(s)) return false;
    }
    return ends_with(s, JPEG_EOI);
}

bool stk_jpeg_scan_is_whole(struct jpeg_decompress_struct *c)
{
    if (c->progressive_mode || c->arith_code || c->comps_in_scan != c->num_components) return false;
    if (c->Ss != 0 || c->Se != DCTSIZE2 - 1 || c->Ah != 0 || c->Al != 0) return false;
    code_table *tables = (*c->mem->alloc_large)((j_common_ptr)c, JPOOL_IMAGE, 2 * NUM_HUFF_TBLS * sizeof *tables);
    unsigned built = 0;
    scan s = {.reader = {.p = c->src->next_input_byte, .end = c->src->next_input_byte + c->src->bytes_in_buffer},
              .n_blocks = c->blocks_in_MCU};
    for (int b = 0; b < s.n_blocks; b++) {
        const jpeg_component_info *component = c->cur_comp_info[c->MCU_membership[b]];
        int dc = component->dc_tbl_no, ac = component->ac_tbl_no;
        if (c->dc_huff_tbl_ptrs[dc] == NULL || c->ac_huff_tbl_ptrs[ac] == NULL) return false;
        code_table *to_dc = tables + dc, *to_ac = tables + NUM_HUFF_TBLS + ac;
        if (!(built & 1u << dc) && !build(to_dc, c->dc_huff_tbl_ptrs[dc], true)) return false;
        if (!(built & 16u << ac) && !build(to_ac, c->ac_huff_tbl_ptrs[ac], false)) return false;
        built |= 1u << dc | 16u << ac;
        s.dc[b] = to_dc;
        s.ac[b] = to_ac;
    }
    find_next_ff(&s.reader);
    return walk_all(c, &s);
}
