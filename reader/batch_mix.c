/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/batch_mix.h"

#include <math.h>
#include <string.h>

#include "codec/pixel_ops.h"
#include "common/buffer.h"
#include "common/fail.h"
#include "common/rng_shapes.h"

stk_status stk_mix_check(const stk_mix *m, stk_error *error)
{
    /* Below 0.01 the distribution's ends are all there is of it. */
    const double alphas[2] = {m->mixup_alpha, m->cutmix_alpha};
    for (int i = 0; i < 2; i++)
        if (!(alphas[i] == 0 || (alphas[i] >= 0.01 && alphas[i] <= 1000)))
            return stk_fail(error, STK_ERR_ARGUMENT, "transform.mix: alpha %g must be 0 (never), or 0.01 .. 1000",
                            alphas[i]);
    if (!(m->probability >= 0 && m->probability <= 1 && m->switch_probability >= 0 && m->switch_probability <= 1))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.mix: a probability must be 0 .. 1");
    return STK_OK;
}

static int32_t at_least(int32_t v, int32_t low) { return v < low ? low : v; }
static int32_t at_most(int32_t v, int32_t high) { return v > high ? high : v; }

/* v2.CutMix's box: centred anywhere, clipped; the share is what it leaves. */
static void draw_box(stk_rng *rng, uint32_t width, uint32_t height, stk_mixing *plan)
{
    double r = 0.5 * sqrt(1.0 - plan->share);
    int32_t x = (int32_t)stk_rng_below(rng, width), y = (int32_t)stk_rng_below(rng, height);
    int32_t half_width = (int32_t)(r * width), half_height = (int32_t)(r * height);
    int32_t x1 = at_least(x - half_width, 0), x2 = at_most(x + half_width, (int32_t)width);
    int32_t y1 = at_least(y - half_height, 0), y2 = at_most(y + half_height, (int32_t)height);
    plan->cut = true;
    plan->box = (stk_box){x1, y1, x2 - x1, y2 - y1};
    plan->share = 1.0 - (double)(x2 - x1) * (double)(y2 - y1) / ((double)width * (double)height);
}

void stk_mix_draw(const stk_mix *m, uint64_t seed, uint64_t epoch, uint64_t first, uint32_t n, uint32_t width,
                  uint32_t height, stk_mixing *plan)
{
    stk_rng rng = stk_rng_for(seed, epoch, first, 0, 0, STK_PURPOSE_MIX);
    bool taken = stk_rng_double(&rng) < m->probability;
    double choice = stk_rng_double(&rng);
    bool cut = m->cutmix_alpha > 0 && (!(m->mixup_alpha > 0) || choice < m->switch_probability);
    double alpha = cut ? m->cutmix_alpha : m->mixup_alpha;
    *plan = (stk_mixing){.share = 1};
    if (!taken || n < 2 || !(alpha > 0)) return;
    plan->shift = 1 + (uint32_t)stk_rng_below(&rng, n - 1);
    plan->share = (double)(float)stk_rng_beta(&rng, alpha); /* torchvision draws a float32 */
    if (cut) draw_box(&rng, width, height, plan);
}

/* ---- The pixels of one sample, which are those of its views one after the other. */

typedef struct mixer {
    const stk_work_env *env;
    const stk_mixing *plan;
    stk_slot *slot;
    uint32_t n_views;
    size_t sample_bytes; /* of all views */
} mixer;

static size_t element_bytes(stk_dtype dtype) { return dtype == STK_DTYPE_U8 ? 1 : dtype == STK_DTYPE_F32 ? 4 : 2; }

/* The box of one entry comes from another. */
static void cut_entry(const mixer *m, uint8_t *to, const uint8_t *from)
{
    const stk_batch *b = &m->slot->batch;
    const stk_box *box = &m->plan->box;
    bool planar = b->layout == STK_LAYOUT_NCHW;
    size_t pixel = element_bytes(b->dtype) * (planar ? 1 : b->channels), row = pixel * b->width;
    for (uint32_t plane = 0; plane < (planar ? b->channels : 1); plane++)
        for (int32_t y = box->y; y < box->y + box->height; y++) {
            size_t at = ((size_t)plane * b->height + (size_t)y) * row + (size_t)box->x * pixel;
            memcpy(to + at, from + at, (size_t)box->width * pixel);
        }
}

static void mix_pixels(const mixer *m, uint8_t *to, const uint8_t *from)
{
    const stk_batch *b = &m->slot->batch;
    if (!m->plan->cut) {
        stk_mix_elements(m->env->family, b->dtype, to, from, m->plan->share, m->sample_bytes / element_bytes(b->dtype));
        return;
    }
    for (uint32_t v = 0; v < m->n_views; v++) cut_entry(m, to + v * b->sample_bytes, from + v * b->sample_bytes);
}

static bool is_good(const mixer *m, uint32_t sample)
{
    return m->slot->statuses[(size_t)sample * m->n_views] == STK_OK;
}

/* Sample i with `partner`, whose pixels as they were lie at `from`; NULL: there are none. */
static void mix_sample(const mixer *m, uint32_t i, uint32_t partner, const uint8_t *from)
{
    if (!is_good(m, i) || !is_good(m, partner)) return;
    if (from != NULL) mix_pixels(m, (uint8_t *)m->slot->batch.data + i * m->sample_bytes, from);
    for (uint32_t v = 0; v < m->n_views; v++) {
        size_t e = (size_t)i * m->n_views + v;
        m->slot->labels2[e] = m->slot->labels[(size_t)partner * m->n_views + v];
        m->slot->shares[e] = (float)m->plan->share;
    }
}

/* Follows i, i + shift, i + 2 shift ... around: each sample is overwritten right after it was its predecessor's
 * partner, so only the first one's pixels must be kept. */
static void mix_cycle(const mixer *m, uint32_t first, uint32_t n, uint8_t *kept)
{
    const uint8_t *data = m->slot->batch.data;
    uint32_t i = first, next = (uint32_t)(((uint64_t)first + m->plan->shift) % n);
    memcpy(kept, data + first * m->sample_bytes, m->sample_bytes);
    while (next != first) {
        mix_sample(m, i, next, data + next * m->sample_bytes);
        i = next;
        next = (uint32_t)(((uint64_t)i + m->plan->shift) % n);
    }
    mix_sample(m, i, first, kept);
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

stk_status stk_mix_slot(const stk_work_env *env, stk_slot *slot, uint32_t n_views, bool has_pixels,
                        stk_buffer *scratch, stk_error *error)
{
    stk_batch *b = &slot->batch;
    uint32_t n = slot->share.n;
    stk_mixing plan;
    mixer m = {.env = env, .plan = &plan, .slot = slot, .n_views = n_views, .sample_bytes = b->sample_bytes * n_views};
    for (uint32_t e = 0; e < b->n; e++) {
        slot->labels2[e] = slot->labels[e];
        slot->shares[e] = 1;
    }
    stk_mix_draw(&env->rule.transform.mix, env->rule.seed, b->epoch, slot->share.first, n, b->width, b->height, &plan);
    b->mixing = plan;
    if (plan.shift == 0) return STK_OK;
    for (uint32_t i = 0; i < n && !has_pixels; i++)
        mix_sample(&m, i, (uint32_t)(((uint64_t)i + plan.shift) % n), NULL);
    if (!has_pixels) return STK_OK;
    scratch->n_bytes = 0;
    STK_TRY(stk_buffer_resize(scratch, m.sample_bytes, error));
    uint32_t n_cycles = greatest_common_divisor(n, plan.shift);
    for (uint32_t c = 0; c < n_cycles; c++) mix_cycle(&m, c, n, scratch->data);
    return STK_OK;
}
