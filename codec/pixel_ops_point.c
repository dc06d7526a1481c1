/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on each byte by itself: contrast, posterize, autocontrast, equalize (Pillow's ImageEnhance.py and
 * ImageOps.py). */
#include <string.h>

#include "codec/pixel_ops_internal.h"
#include "common/pixel_tables.h"

static size_t byte_count(const stk_picture *p) { return (size_t)p->width * p->height * p->channels; }

/* ImageEnhance.Contrast: towards the mean of the picture's luma. */
void stk_op_contrast(const stk_row_ops *rows, const stk_picture *p, float alpha)
{
    size_t n_pixels = (size_t)p->width * p->height;
    uint64_t sum = 0;
    if (n_pixels == 0) return;
    if (p->channels == 3) sum = rows->luma_sum(p->pixels, n_pixels);
    else
        for (size_t i = 0; i < n_pixels; i++) sum += p->pixels[i];
    rows->blend_constant(stk_px_mean(sum, n_pixels), alpha, p->pixels, byte_count(p));
}

void stk_op_posterize(const stk_picture *p, uint32_t bits)
{
    const uint8_t mask = (uint8_t)(bits >= 8 ? 255u : 255u << (8 - bits));
    uint8_t *bytes = p->pixels;
    size_t n = byte_count(p);
    for (size_t i = 0; i < n; i++) bytes[i] &= mask;
}

/* timm's solarize_add: what is darker than 128 becomes lighter. */
void stk_op_solarize_add(const stk_picture *p, uint32_t add)
{
    uint8_t *bytes = p->pixels;
    size_t n = byte_count(p);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = bytes[i];
        bytes[i] = (uint8_t)(v >= 128 ? v : v + add > 255 ? 255 : v + add);
    }
}

/* ---- By histogram: a table of its own for each channel. */

typedef struct channel_tables {
    uint32_t counts[3][256];
    uint8_t table[3][256];
} channel_tables;

/* Two sets of counters, used in turn: runs of equal pixels would otherwise wait for their own additions. */
static void count_values(const stk_picture *p, channel_tables *t)
{
    uint32_t other[3][256] = {0};
    size_t n_pixels = (size_t)p->width * p->height, i = 0, channels = p->channels;
    memset(t->counts, 0, sizeof t->counts);
    for (; i + 1 < n_pixels; i += 2)
        for (size_t c = 0; c < channels; c++) {
            t->counts[c][p->pixels[i * channels + c]]++;
            other[c][p->pixels[(i + 1) * channels + c]]++;
        }
    for (size_t c = 0; c < channels && i < n_pixels; c++) t->counts[c][p->pixels[i * channels + c]]++;
    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < 256; v++) t->counts[c][v] += other[c][v];
}

static void look_up(const stk_picture *p, const channel_tables *t)
{
    size_t n_pixels = (size_t)p->width * p->height;
    uint8_t *at = p->pixels;
    if (p->channels == 1) {
        for (size_t i = 0; i < n_pixels; i++) at[i] = t->table[0][at[i]];
        return;
    }
    for (size_t i = 0; i < n_pixels; i++, at += 3) {
        at[0] = t->table[0][at[0]];
        at[1] = t->table[1][at[1]];
        at[2] = t->table[2][at[2]];
    }
}

void stk_op_autocontrast(const stk_picture *p)
{
    channel_tables t;
    count_values(p, &t);
    for (uint32_t c = 0; c < p->channels; c++) stk_px_autocontrast(t.counts[c], t.table[c]);
    look_up(p, &t);
}

void stk_op_equalize(const stk_picture *p)
{
    channel_tables t;
    count_values(p, &t);
    for (uint32_t c = 0; c < p->channels; c++) stk_px_equalize(t.counts[c], t.table[c]);
    look_up(p, &t);
}
