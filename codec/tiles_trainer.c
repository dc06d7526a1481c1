/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes shared table sets: sums of symbol counts and a census of quantisation tables over many images. Both
 * are sums, so the order of images does not matter. */
#include <stdlib.h>
#include <string.h>

#include "codec/tiles_internal.h"
#include "common/checked.h"
#include "common/fail.h"

/* How many quantisation tables a set holds at most: the most frequent ones. */
enum { SET_QUANT = 64 };

typedef struct quant_census {
    uint16_t table[64]; /* zigzag order */
    uint64_t n;
} quant_census;

struct stk_tile_trainer {
    uint64_t counts[STK_HUFFMAN_TABLES][256];
    quant_census *quant; /* sorted by table */
    size_t n_quant, capacity;
};

stk_status stk_tile_trainer_open(stk_tile_trainer **out, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? STK_OK : stk_fail_memory(error, "a tile trainer");
}

void stk_tile_trainer_close(stk_tile_trainer **trainer)
{
    if (*trainer == NULL) return;
    free((*trainer)->quant);
    free(*trainer);
    *trainer = NULL;
}

/* Where the table is, or where it belongs. */
static size_t find_quant(const stk_tile_trainer *trainer, const uint16_t table[64], bool *found)
{
    size_t low = 0, high = trainer->n_quant;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(trainer->quant[middle].table, table, sizeof trainer->quant[middle].table);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found = false;
    return low;
}

static stk_status grow_quant(stk_tile_trainer *trainer, size_t capacity, stk_error *error)
{
    if (capacity <= trainer->capacity) return STK_OK;
    size_t wanted = capacity < 16 ? 16 : capacity * 2, n_bytes;
    if (!stk_mul_size(wanted, sizeof(quant_census), &n_bytes))
        return stk_fail_memory(error, "a tile trainer");
    quant_census *quant = realloc(trainer->quant, n_bytes);
    if (quant == NULL) return stk_fail_memory(error, "a tile trainer");
    trainer->quant = quant;
    trainer->capacity = wanted;
    return STK_OK;
}

/* There is room. */
static void count_quant(stk_tile_trainer *trainer, const uint16_t table[64])
{
    bool found;
    size_t at = find_quant(trainer, table, &found);
    if (!found) {
        memmove(trainer->quant + at + 1, trainer->quant + at, (trainer->n_quant - at) * sizeof(quant_census));
        memcpy(trainer->quant[at].table, table, sizeof trainer->quant[at].table);
        trainer->quant[at].n = 0;
        trainer->n_quant++;
    }
    trainer->quant[at].n++;
}

typedef struct add_job {
    stk_tile_trainer *trainer;
    uint32_t tile_pixels;
} add_job;

static stk_status add_body(stk_codec_ctx *ctx, stk_coefs *coefs, void *arg, stk_error *error)
{
    add_job *job = arg;
    stk_symbol_counts counts = {{0}};
    STK_TRY(stk_tiles_count(ctx, coefs, job->tile_pixels, counts, error));
    STK_TRY(grow_quant(job->trainer, job->trainer->n_quant + 3, error));
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++) {
        for (int s = 0; s < 256; s++)
            job->trainer->counts[t][s] += counts[t][s];
    }
    for (uint32_t c = 0; c < coefs->g.n_components; c++)
        count_quant(job->trainer, coefs->quant[c]);
    return STK_OK;
}

stk_status stk_tile_trainer_add(stk_tile_trainer *trainer, stk_codec_ctx *ctx, const uint8_t *jpeg,
                                size_t n_bytes, uint32_t tile_pixels, stk_error *error)
{
    add_job job = {.trainer = trainer, .tile_pixels = tile_pixels};
    return stk_jpeg_coefs_read(ctx, jpeg, n_bytes, add_body, &job, error);
}

static bool is_symbol(int table, uint32_t symbol)
{
    uint32_t run = symbol >> 4, size = symbol & 15;
    if ((table & 1) == 0) return symbol <= STK_TILE_MAX_DC_BITS;
    return size == 0 ? run == 0 || run == 15 : size <= STK_TILE_MAX_AC_BITS;
}

/* Codes for every symbol a tile can contain. Counts beyond 32 bits are scaled down; what never occurred
 * counts as once. */
static void train(const uint64_t sums[256], int table, stk_huffman_spec *out)
{
    uint64_t most = 0;
    uint32_t counts[256] = {0};
    int shift = 0;
    for (int s = 0; s < 256; s++)
        most = sums[s] > most ? sums[s] : most;
    while (most >> shift > UINT32_MAX / 2)
        shift++;
    for (uint32_t s = 0; s < 256; s++) {
        if (is_symbol(table, s)) counts[s] = (uint32_t)(sums[s] >> shift) + 1;
    }
    stk_huffman_build(counts, out);
}

static int by_frequency(const void *a, const void *b)
{
    const quant_census *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return memcmp(x->table, y->table, sizeof x->table);
}

stk_status stk_tile_trainer_blob(const stk_tile_trainer *trainer, stk_buffer *out, stk_error *error)
{
    stk_tile_huffman huffman;
    uint16_t quant[SET_QUANT][64];
    for (int t = 0; t < STK_HUFFMAN_TABLES; t++)
        train(trainer->counts[t], t, stk_huffman_spec_in(&huffman, t));
    quant_census *sorted = calloc(trainer->n_quant + 1, sizeof *sorted);
    if (sorted == NULL) return stk_fail_memory(error, "a set of tile tables");
    if (trainer->n_quant > 0) memcpy(sorted, trainer->quant, trainer->n_quant * sizeof *sorted);
    qsort(sorted, trainer->n_quant, sizeof *sorted, by_frequency);
    uint32_t n = trainer->n_quant < SET_QUANT ? (uint32_t)trainer->n_quant : SET_QUANT;
    for (uint32_t i = 0; i < n; i++)
        memcpy(quant[i], sorted[i].table, sizeof quant[i]);
    free(sorted);
    return stk_tile_tables_write(&huffman, (const uint16_t(*)[64])quant, n, out, error);
}
