/* SPDX-License-Identifier: Apache-2.0
 *
 * Optimal length-limited codes by package-merge (Larmore, Hirschberg: "A fast algorithm for optimal
 * length-limited Huffman codes", 1990), in its plain form: with at most 163 symbols and 16 levels it is some
 * thousand steps. */
#include "codec/huffman.h"

#include <string.h>

enum { MAX_ITEMS = STK_TILE_MAX_AC_SYMBOLS + 1, LEVELS = STK_TILE_MAX_CODE_BITS };

typedef struct items {
    uint32_t n;
    uint16_t symbol[MAX_ITEMS]; /* by rising weight */
    uint64_t weight[MAX_ITEMS];
} items;

/* JPEG forbids the code of all ones. A pseudo symbol of no weight is given a place in the tree: being the
 * lightest, it gets a longest code, and being ordered last among these, that code is the one of all ones. */
static void collect(const uint32_t counts[256], items *out)
{
    out->symbol[0] = 256;
    out->weight[0] = 0;
    out->n = 1;
    for (uint16_t s = 0; s < 256; s++) {
        if (counts[s] == 0) continue;
        uint32_t at = out->n;
        while (at > 1 && out->weight[at - 1] > counts[s]) {
            out->weight[at] = out->weight[at - 1];
            out->symbol[at] = out->symbol[at - 1];
            at--;
        }
        out->weight[at] = counts[s];
        out->symbol[at] = s;
        out->n++;
    }
}

/* Merges the items with the pairs of `list` by weight, items first among equals. */
static uint32_t merge(const items *in, const uint64_t *list, uint32_t n_list, uint64_t *out, uint8_t *is_item)
{
    uint32_t item = 0, pair = 0, n = 0, n_pairs = n_list / 2;
    while (item < in->n || pair < n_pairs) {
        uint64_t packed = pair < n_pairs ? list[2 * pair] + list[2 * pair + 1] : UINT64_MAX;
        bool take_item = item < in->n && in->weight[item] <= packed;
        is_item[n] = take_item;
        out[n++] = take_item ? in->weight[item++] : packed;
        if (!take_item) pair++;
    }
    return n;
}

/* lengths[i] = code length of item i. */
static void package_merge(const items *in, uint8_t lengths[MAX_ITEMS])
{
    uint64_t lists[2][2 * MAX_ITEMS];
    uint8_t is_item[LEVELS][2 * MAX_ITEMS];
    uint32_t n = 0;
    for (uint32_t level = 0; level < LEVELS; level++) {
        n = merge(in, lists[(level + 1) & 1], n, lists[level & 1], is_item[level]);
    }
    memset(lengths, 0, MAX_ITEMS);
    uint32_t take = 2 * in->n - 2;
    for (uint32_t level = LEVELS; level-- > 0;) {
        uint32_t n_items = 0;
        for (uint32_t i = 0; i < take; i++)
            n_items += is_item[level][i];
        for (uint32_t i = 0; i < n_items; i++)
            lengths[i]++;
        take = 2 * (take - n_items);
    }
}

void stk_huffman_build(const uint32_t counts[256], stk_huffman_spec *out)
{
    items in;
    uint8_t lengths[MAX_ITEMS];
    collect(counts, &in);
    package_merge(&in, lengths);
    uint8_t bits_of[256] = {0};
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < in.n; i++) {
        if (in.symbol[i] < 256) bits_of[in.symbol[i]] = lengths[i];
    }
    for (uint32_t bits = 1; bits <= 16; bits++) {
        for (uint32_t s = 0; s < 256; s++) {
            if (bits_of[s] != bits) continue;
            out->counts[bits - 1]++;
            out->symbols[out->n_symbols++] = (uint8_t)s;
        }
    }
}
