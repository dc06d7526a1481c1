/* SPDX-License-Identifier: Apache-2.0
 *
 * Huffman codes: built ones are optimal, limited and canonical; the fast decoder agrees with the plain one on
 * good segments, random bits and damaged segments, for random tables. */
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/huffman.h"
#include "common/cpu_features.h"
#include "common/rng.h"
#include "support/check.h"

static const uint8_t AC_SIZES = STK_TILE_MAX_AC_BITS;

static bool ac_symbol(uint32_t s)
{
    return (s & 15) == 0 ? s == 0 || s == 0xf0 : (s & 15) <= AC_SIZES;
}

/* Random counts for the symbols of a kind; spread says how unequal they are. */
static void random_counts(stk_rng *rng, bool ac, uint32_t spread, uint32_t counts[256])
{
    memset(counts, 0, 256 * sizeof counts[0]);
    uint32_t share = 1 + (uint32_t)stk_rng_below(rng, 4);
    for (uint32_t s = 0; s < (ac ? 256u : STK_TILE_MAX_DC_SYMBOLS); s++) {
        if ((ac && !ac_symbol(s)) || stk_rng_below(rng, 4) >= share) continue;
        uint64_t bits = stk_rng_below(rng, spread);
        counts[s] = 1 + (uint32_t)(stk_rng_u64(rng) >> (63 - bits));
    }
    counts[0]++; /* at least one */
}

static uint64_t cost(const uint32_t counts[256], const uint32_t codes[256])
{
    uint64_t bits = 0;
    for (int s = 0; s < 256; s++)
        bits += (uint64_t)counts[s] * (codes[s] & 255);
    return bits;
}

/* Huffman's own algorithm without a limit, slow and simple; returns the cost, *longest the longest code. One
 * more symbol of weight 0 stands for the code that JPEG leaves free. */
static uint64_t plain_huffman(const uint32_t counts[256], uint32_t *longest)
{
    uint64_t weight[512], bits = 0;
    uint32_t depth[512], n = 0;
    weight[n] = 0, depth[n++] = 0;
    for (int s = 0; s < 256; s++) {
        if (counts[s] != 0) weight[n] = counts[s], depth[n++] = 0;
    }
    while (n > 1) {
        for (int pick = 0; pick < 2; pick++) { /* the two lightest to the end; of equals the shallower */
            uint32_t best = 0, last = n - 1 - (uint32_t)pick;
            for (uint32_t i = 1; i <= last; i++) {
                if (weight[i] < weight[best] || (weight[i] == weight[best] && depth[i] < depth[best]))
                    best = i;
            }
            uint64_t w = weight[best];
            uint32_t d = depth[best];
            weight[best] = weight[last], depth[best] = depth[last];
            weight[last] = w, depth[last] = d;
        }
        n--;
        weight[n - 1] += weight[n];
        depth[n - 1] = 1 + (depth[n - 1] > depth[n] ? depth[n - 1] : depth[n]);
        bits += weight[n - 1];
    }
    *longest = depth[0];
    return bits;
}

static void test_built_codes(void)
{
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    int compared = 0;
    for (int round = 0; round < 400; round++) {
        bool ac = round & 1;
        uint32_t counts[256], codes[256], longest;
        stk_huffman_spec spec, again;
        random_counts(&rng, ac, 1 + (uint32_t)round % 30, counts);
        stk_huffman_build(counts, &spec);
        stk_huffman_build(counts, &again);
        CHECK(memcmp(&spec, &again, sizeof spec) == 0);
        CHECK(stk_huffman_spec_valid(&spec, ac));
        stk_huffman_codes(&spec, codes);
        uint32_t used = 0;
        for (uint32_t s = 0; s < 256; s++) {
            uint32_t bits = codes[s] & 255;
            CHECK((bits != 0) == (counts[s] != 0));
            if (bits == 0) continue;
            CHECK(bits <= 16 && codes[s] >> 8 != (1u << bits) - 1); /* not all ones */
            used += 1u << (16 - bits);
        }
        CHECK(used < 65536);
        uint64_t best = plain_huffman(counts, &longest);
        if (longest <= 16) {
            CHECK_EQ(cost(counts, codes), best);
            compared++;
        } else {
            CHECK(cost(counts, codes) >= best);
        }
    }
    printf("%d of 400 codes compared with unlimited Huffman\n", compared);
    CHECK(compared > 200);
}

static void test_limit(void)
{
    /* Fibonacci weights would give codes of up to 39 bits. */
    uint32_t counts[256] = {0}, codes[256], a = 1, b = 1, longest = 0;
    for (uint32_t s = 0, n = 0; n < 40; s++) {
        if (!ac_symbol(s)) continue;
        counts[s] = a;
        uint32_t next = a + b;
        a = b, b = next, n++;
    }
    stk_huffman_spec spec;
    stk_huffman_build(counts, &spec);
    CHECK(stk_huffman_spec_valid(&spec, true));
    stk_huffman_codes(&spec, codes);
    for (int s = 0; s < 256; s++)
        longest = (codes[s] & 255) > longest ? codes[s] & 255 : longest;
    CHECK_EQ(longest, 16);
}

static void test_spec_round_trip(void)
{
    stk_rng rng = stk_rng_for(2, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (int round = 0; round < 100; round++) {
        bool ac = round & 1;
        uint32_t counts[256];
        uint8_t bytes[16 + 256];
        stk_huffman_spec spec, read;
        random_counts(&rng, ac, 20, counts);
        stk_huffman_build(counts, &spec);
        size_t n = stk_huffman_spec_write(&spec, bytes);
        memset(&read, 0, sizeof read);
        CHECK_EQ(stk_huffman_spec_read(bytes, n, ac, &read), n);
        CHECK(memcmp(&spec, &read, sizeof spec) == 0);
        CHECK_EQ(stk_huffman_spec_read(bytes, n - 1, ac, &read), 0);
    }
}

static void test_invalid_specs(void)
{
    stk_huffman_spec spec = {.counts = {1, 1}, .n_symbols = 2, .symbols = {0, 1}};
    CHECK(stk_huffman_spec_valid(&spec, false));
    CHECK(stk_huffman_spec_valid(&spec, true));
    spec.symbols[1] = 0; /* twice the same */
    CHECK(!stk_huffman_spec_valid(&spec, true));
    spec.symbols[1] = 0x10; /* a run without a value */
    CHECK(!stk_huffman_spec_valid(&spec, true));
    spec.symbols[1] = 0x0b; /* too large for AC, not for DC */
    CHECK(!stk_huffman_spec_valid(&spec, true));
    CHECK(stk_huffman_spec_valid(&spec, false));
    spec.symbols[1] = 12;
    CHECK(!stk_huffman_spec_valid(&spec, false));
    spec = (stk_huffman_spec){
        .counts = {3}, .n_symbols = 3, .symbols = {0, 1, 2}}; /* more codes than bits allow */
    CHECK(!stk_huffman_spec_valid(&spec, true));
    spec = (stk_huffman_spec){.counts = {0}};
    CHECK(!stk_huffman_spec_valid(&spec, true));
}

/* ---- decoders ---- */

enum { MAX_SEGMENTS = 24, MAX_BYTES = 40000 };

typedef struct fixture {
    stk_huffman_tables *tables;
    uint32_t codes[STK_HUFFMAN_TABLES][256];
    uint8_t block_table[STK_TILE_MAX_BLOCKS];
    stk_huffman_segment segments[MAX_SEGMENTS];
    uint8_t *bytes; /* of the segments, followed by as much as a decoder may read */
    int16_t *want, *plain, *fast;
    stk_huffman_job job;
} fixture;

static void *aligned(size_t n)
{
    void *p = aligned_alloc(128, (n + 127) / 128 * 128);
    if (p == NULL) exit(1);
    return p;
}

static void fixture_open(fixture *x)
{
    size_t coefs = (size_t)MAX_SEGMENTS * STK_TILE_MAX_BLOCKS * 64 * sizeof(int16_t);
    memset(x, 0, sizeof *x);
    x->tables = aligned(sizeof *x->tables);
    x->want = aligned(coefs);
    x->plain = aligned(coefs);
    x->fast = aligned(coefs);
    x->bytes = calloc(1, MAX_SEGMENTS * MAX_BYTES);
    if (x->bytes == NULL) exit(1);
}

static void fixture_close(fixture *x)
{
    free(x->tables);
    free(x->want);
    free(x->plain);
    free(x->fast);
    free(x->bytes);
}

static void random_tables(fixture *x, stk_rng *rng)
{
    stk_tile_huffman specs;
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++) {
        uint32_t counts[256];
        random_counts(rng, t & 1, 1 + (uint32_t)stk_rng_below(rng, 30), counts);
        stk_huffman_build(counts, stk_huffman_spec_in(&specs, t));
        stk_huffman_codes(stk_huffman_spec_of(&specs, t), x->codes[t]);
    }
    stk_huffman_tables_build(x->tables, &specs, true);
}

typedef struct bits {
    uint8_t *at;
    uint32_t n;
} bits;

static void put(bits *w, uint32_t value, uint32_t n)
{
    while (n-- > 0) {
        if (w->n == 0) *w->at = 0;
        *w->at = (uint8_t)(*w->at | (value >> n & 1) << (7 - w->n));
        if (++w->n == 8) w->n = 0, w->at++;
    }
}

static void put_value(bits *w, const uint32_t codes[256], uint32_t symbol, uint32_t raw)
{
    put(w, codes[symbol] >> 8, codes[symbol] & 255);
    put(w, raw, symbol & 15);
}

static int16_t value_of(uint32_t raw, uint32_t size)
{
    if (size == 0) return 0;
    return (int16_t)(raw >> (size - 1) ? (int)raw : (int)raw - (1 << size) + 1);
}

/* A random symbol that the table has and that fits before the block's end. */
static uint32_t pick_symbol(const uint32_t codes[256], stk_rng *rng, uint32_t k)
{
    for (;;) {
        uint32_t s = (uint32_t)stk_rng_below(rng, 256);
        if (codes[s] == 0 || (k != 0 && k + (s >> 4) > 63)) continue;
        return s;
    }
}

static void random_block(fixture *x, bits *w, uint32_t table, int16_t *block, stk_rng *rng, uint32_t density)
{
    const uint32_t *dc = x->codes[2 * table], *ac = x->codes[2 * table + 1];
    uint32_t symbol = pick_symbol(dc, rng, 0), raw = (uint32_t)stk_rng_u64(rng) & ((1u << (symbol & 15)) - 1);
    put_value(w, dc, symbol, raw);
    block[0] = value_of(raw, symbol);
    for (uint32_t k = 1; k < 64; k++) {
        bool can_end = ac[0] != 0, end = can_end && stk_rng_below(rng, 64) >= density;
        symbol = end ? 0 : pick_symbol(ac, rng, k);
        raw = (uint32_t)stk_rng_u64(rng) & ((1u << (symbol & 15)) - 1);
        put_value(w, ac, symbol, raw);
        if (symbol == 0) return;
        k += symbol >> 4;
        block[k] = value_of(raw, symbol & 15);
    }
}

/* Random segments, good ones, at odd addresses; the job for them. */
static void random_segments(fixture *x, stk_rng *rng)
{
    uint32_t n_blocks = 1 + (uint32_t)stk_rng_below(rng, stk_rng_below(rng, 2) ? STK_TILE_MAX_BLOCKS : 12);
    uint32_t n_segments = 1 + (uint32_t)stk_rng_below(rng, MAX_SEGMENTS),
             density = (uint32_t)stk_rng_below(rng, 65);
    memset(x->want, 0, (size_t)n_segments * n_blocks * 128);
    for (uint32_t b = 0; b < n_blocks; b++)
        x->block_table[b] = (uint8_t)stk_rng_below(rng, 2);
    uint8_t *at = x->bytes + stk_rng_below(rng, 8);
    for (uint32_t i = 0; i < n_segments; i++) {
        bits w = {at, 0};
        for (uint32_t b = 0; b < n_blocks; b++) {
            random_block(x, &w, x->block_table[b], x->want + ((size_t)i * n_blocks + b) * 64, rng, density);
        }
        while (w.n != 0)
            put(&w, 1, 1);
        x->segments[i] = (stk_huffman_segment){.data = at, .n_bytes = (uint32_t)(w.at - at)};
        at = w.at;
    }
    x->job = (stk_huffman_job){.segments = x->segments,
                               .n_segments = n_segments,
                               .n_blocks = n_blocks,
                               .block_table = x->block_table,
                               .tables = x->tables};
}

static bool run(const fixture *x, stk_huffman_decode_fn decode, int16_t *coefs)
{
    stk_huffman_job job = x->job;
    job.coefs = coefs;
    memset(coefs, 0, (size_t)job.n_segments * job.n_blocks * 128);
    return decode(&job);
}

/* Both decoders: the same verdict, and the same coefficients when it is a good one. */
static bool agree(const fixture *x, bool *good)
{
    bool plain = run(x, stk_huffman_decode_scalar, x->plain), fast = run(x, stk_huffman_decode_fast, x->fast);
    *good = plain;
    if (plain != fast) return false;
    return !plain || memcmp(x->plain, x->fast, (size_t)x->job.n_segments * x->job.n_blocks * 128) == 0;
}

static void test_decoders_on_good_segments(void)
{
    fixture x;
    fixture_open(&x);
    stk_rng rng = stk_rng_for(3, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (int round = 0; round < 300; round++) {
        bool good;
        random_tables(&x, &rng);
        random_segments(&x, &rng);
        CHECK(agree(&x, &good));
        CHECK(good);
        CHECK(memcmp(x.want, x.plain, (size_t)x.job.n_segments * x.job.n_blocks * 128) == 0);
    }
    fixture_close(&x);
}

static void test_decoders_on_damage(void)
{
    fixture x;
    fixture_open(&x);
    stk_rng rng = stk_rng_for(4, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    int n_good = 0, n_bad = 0;
    for (int round = 0; round < 6000; round++) {
        bool good;
        if (round % 20 == 0) random_tables(&x, &rng);
        if (round % 10 == 0) random_segments(&x, &rng);
        uint32_t i = (uint32_t)stk_rng_below(&rng, x.job.n_segments);
        stk_huffman_segment *s = &x.segments[i];
        uint8_t *byte = (uint8_t *)s->data + (s->n_bytes > 0 ? stk_rng_below(&rng, s->n_bytes) : 0);
        uint8_t byte_before = *byte;
        uint32_t length_before = s->n_bytes;
        switch (round % 5) {
        case 0: s->n_bytes = s->n_bytes > 0 ? s->n_bytes - 1 : 1; break;
        case 1: s->n_bytes++; break;
        default: *byte = (uint8_t)(*byte ^ (1u << stk_rng_below(&rng, 8))); break;
        }
        CHECK(agree(&x, &good));
        if (round % 5 <= 1) CHECK(!good); /* a wrong length is always seen */
        n_good += good;
        n_bad += !good;
        *byte = byte_before;
        s->n_bytes = length_before;
    }
    printf("one bit flipped or a length changed: %d found, %d valid by chance\n", n_bad, n_good);
    CHECK(n_bad > 3000 && n_good > 50);
    fixture_close(&x);
}

static void test_decoders_on_garbage(void)
{
    fixture x;
    fixture_open(&x);
    stk_rng rng = stk_rng_for(5, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    int n_good = 0;
    for (int round = 0; round < 3000; round++) {
        bool good;
        if (round % 10 == 0) random_tables(&x, &rng);
        uint32_t n_blocks = 1 + (uint32_t)stk_rng_below(&rng, round & 1 ? 2 : STK_TILE_MAX_BLOCKS);
        uint32_t n_segments = 1 + (uint32_t)stk_rng_below(&rng, 6);
        for (uint32_t b = 0; b < n_blocks; b++)
            x.block_table[b] = (uint8_t)stk_rng_below(&rng, 2);
        uint8_t *at = x.bytes;
        for (uint32_t i = 0; i < n_segments; i++) {
            uint32_t n = (uint32_t)stk_rng_below(&rng, round & 1 ? 8 : 600);
            for (uint32_t j = 0; j < n; j++) {
                uint64_t r = stk_rng_u64(&rng);
                at[j] = round % 3 == 0 ? 0xff : round % 3 == 1 ? 0 : (uint8_t)r;
                if (r >> 60 == 0) at[j] = (uint8_t)(r >> 8);
            }
            x.segments[i] = (stk_huffman_segment){.data = at, .n_bytes = n};
            at += n;
        }
        x.job = (stk_huffman_job){.segments = x.segments,
                                  .n_segments = n_segments,
                                  .n_blocks = n_blocks,
                                  .block_table = x.block_table,
                                  .tables = x.tables};
        CHECK(agree(&x, &good));
        n_good += good;
    }
    printf("%d of 3000 garbage inputs are valid by chance\n", n_good);
    fixture_close(&x);
}

int main(void)
{
    RUN(test_built_codes);
    RUN(test_limit);
    RUN(test_spec_round_trip);
    RUN(test_invalid_specs);
    if (!stk_family_available(STK_FAMILY_AVX2)) {
        printf("the fast decoder was not run: this CPU has no AVX2 family\n");
        return check_exit();
    }
    RUN(test_decoders_on_good_segments);
    RUN(test_decoders_on_damage);
    RUN(test_decoders_on_garbage);
    return check_exit();
}
