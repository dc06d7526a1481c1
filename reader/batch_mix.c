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
    if (m->mode != STK_MIX_BATCH && m->mode != STK_MIX_ELEMENT && m->mode != STK_MIX_PAIR)
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.mix: there is no mode %d", (int)m->mode);
    return STK_OK;
}

static int32_t at_least(int32_t v, int32_t low) { return v < low ? low : v; }
static int32_t at_most(int32_t v, int32_t high) { return v > high ? high : v; }

/* The box of CutMix along one axis: around the centre, clipped. torchvision's has an even number of pixels, timm's any. */
static void place_box(const stk_mix *m, double ratio, int32_t centre, uint32_t size, int32_t *first, int32_t *end)
{
    int32_t cut = (int32_t)(size * ratio), half = (int32_t)(0.5 * ratio * size);
    bool even = m->mode == STK_MIX_BATCH;
    *first = at_least(centre - (even ? half : cut / 2), 0);
    *end = at_most(centre + (even ? half : (cut + 1) / 2), (int32_t)size);
}

static void draw_box(const stk_mix *m, stk_rng *rng, uint32_t width, uint32_t height, stk_mix_plan *plan)
{
    double ratio = sqrt(1.0 - plan->share);
    int32_t x = (int32_t)stk_rng_below(rng, width), y = (int32_t)stk_rng_below(rng, height), x1, x2, y1, y2;
    place_box(m, ratio, x, width, &x1, &x2);
    place_box(m, ratio, y, height, &y1, &y2);
    plan->cut = true;
    plan->box = (stk_box){x1, y1, x2 - x1, y2 - y1};
    if (m->shares_as_drawn) return;
    plan->share = 1.0 - (double)(x2 - x1) * (double)(y2 - y1) / ((double)width * (double)height);
}

void stk_mix_draw(const stk_mix *m, uint64_t seed, uint64_t epoch, uint64_t first, uint32_t n, uint32_t width,
                  uint32_t height, stk_mix_plan *plan)
{
    stk_rng rng = stk_rng_for(seed, epoch, first, 0, 0, STK_PURPOSE_MIX);
    bool taken = stk_rng_double(&rng) < m->probability;
    double choice = stk_rng_double(&rng);
    bool cut = m->cutmix_alpha > 0 && (!(m->mixup_alpha > 0) || choice < m->switch_probability);
    double alpha = cut ? m->cutmix_alpha : m->mixup_alpha;
    *plan = (stk_mix_plan){.share = 1};
    if (!taken || n < 2 || !(alpha > 0)) return;
    plan->shift = 1 + (uint32_t)stk_rng_below(&rng, n - 1);
    plan->share = (double)(float)stk_rng_beta(&rng, alpha); /* torchvision draws a float32 */
    if (cut) draw_box(m, &rng, width, height, plan);
}

/* How far away the partners are when each sample has its own choice; 0: there are none. */
static uint32_t draw_shift(const stk_work_env *env, const stk_slot *slot, uint32_t n)
{
    stk_rng rng = stk_rng_for(env->rule.seed, slot->batch.epoch, slot->share.first, 0, 0, STK_PURPOSE_MIX);
    return n < 2 ? 0 : 1 + (uint32_t)stk_rng_below(&rng, n - 1);
}

/* The choice for sample i of the batch alone, or for it and its partner; false: it is not mixed. */
static bool draw_element(const stk_work_env *env, const stk_slot *slot, uint32_t i, stk_mix_plan *plan)
{
    const stk_mix *m = &env->rule.transform.mix;
    const stk_batch *b = &slot->batch;
    enum { OWN = 1 }; /* where the view stands in the key: beside the batch's choice, which has 0 */
    stk_rng rng = stk_rng_for(env->rule.seed, b->epoch, slot->share.first + i, 0, OWN, STK_PURPOSE_MIX);
    bool taken = stk_rng_double(&rng) < m->probability;
    double choice = stk_rng_double(&rng);
    bool cut = m->cutmix_alpha > 0 && (!(m->mixup_alpha > 0) || choice < m->switch_probability);
    *plan = (stk_mix_plan){.share = 1};
    if (!taken) return false;
    plan->share = (double)(float)stk_rng_beta(&rng, cut ? m->cutmix_alpha : m->mixup_alpha);
    if (cut) draw_box(m, &rng, b->width, b->height, plan);
    return true;
}

/* ---- The pixels of one sample, which are those of its views one after the other. */

typedef struct mixer {
    const stk_work_env *env;
    const stk_mix_plan *plan; /* of the batch, or `own` */
    stk_mix_plan own;         /* of the sample in hand */
    stk_slot *slot;
    uint32_t n_views, shift;
    size_t sample_bytes; /* of all views */
    bool has_pixels;     /* false: somebody else mixes them */
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

/* Sample i with `partner`, whose pixels as they were lie at `from`. */
static void mix_sample(const mixer *m, uint32_t i, uint32_t partner, const uint8_t *from)
{
    if (!is_good(m, i) || !is_good(m, partner)) return;
    if (m->has_pixels) mix_pixels(m, (uint8_t *)m->slot->batch.data + i * m->sample_bytes, from);
    m->slot->mixings[i] = (stk_mixing){partner, m->plan->cut, m->plan->box, m->plan->share};
    for (uint32_t v = 0; v < m->n_views; v++) {
        size_t e = (size_t)i * m->n_views + v;
        m->slot->labels2[e] = m->slot->labels[(size_t)partner * m->n_views + v];
        m->slot->shares[e] = (float)m->plan->share;
    }
}

/* As mix_sample, by the sample's own choice where each has one. */
static void mix_as_chosen(mixer *m, uint32_t i, uint32_t partner, const uint8_t *from)
{
    if (m->env->rule.transform.mix.mode == STK_MIX_ELEMENT && !draw_element(m->env, m->slot, i, &m->own)) return;
    mix_sample(m, i, partner, from);
}

/* The pixels of a sample as they are. */
static void keep(const mixer *m, uint32_t sample, uint8_t *kept)
{
    if (m->has_pixels) memcpy(kept, (const uint8_t *)m->slot->batch.data + sample * m->sample_bytes, m->sample_bytes);
}

/* Follows i, i + shift, i + 2 shift ... around: each sample is overwritten right after it was its predecessor's
 * partner, so only the first one's pixels must be kept. */
static void mix_cycle(mixer *m, uint32_t first, uint32_t n, uint8_t *kept)
{
    const uint8_t *data = m->slot->batch.data;
    uint32_t i = first, next = (uint32_t)(((uint64_t)first + m->shift) % n);
    keep(m, first, kept);
    while (next != first) {
        mix_as_chosen(m, i, next, data + next * m->sample_bytes);
        i = next;
        next = (uint32_t)(((uint64_t)i + m->shift) % n);
    }
    mix_as_chosen(m, i, first, kept);
}

/* Sample i with (centre - i) modulo n, whose partner is i: around a point between two samples of an even number. */
static void mix_pairs(mixer *m, uint32_t n, uint8_t *kept)
{
    const uint8_t *data = m->slot->batch.data;
    stk_rng rng = stk_rng_for(m->env->rule.seed, m->slot->batch.epoch, m->slot->share.first, 0, 0, STK_PURPOSE_MIX);
    uint64_t centre = n % 2 == 0 ? 2 * stk_rng_below(&rng, n / 2) + 1 : stk_rng_below(&rng, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t partner = (uint32_t)((centre + n - i) % n);
        if (partner <= i || !draw_element(m->env, m->slot, i, &m->own)) continue;
        keep(m, i, kept);
        mix_sample(m, i, partner, data + partner * m->sample_bytes);
        mix_sample(m, partner, i, kept);
    }
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

static void mix_cycles(mixer *m, uint32_t n, uint8_t *kept)
{
    uint32_t n_cycles = greatest_common_divisor(n, m->shift);
    for (uint32_t c = 0; c < n_cycles; c++) mix_cycle(m, c, n, kept);
}

stk_status stk_mix_slot(const stk_work_env *env, stk_slot *slot, uint32_t n_views, bool has_pixels,
                        stk_buffer *scratch, stk_error *error)
{
    const stk_batch *b = &slot->batch;
    const stk_mix *mix = &env->rule.transform.mix;
    uint32_t n = slot->share.n;
    stk_mix_plan plan = {.share = 1};
    mixer m = {.env = env, .plan = &plan, .slot = slot, .n_views = n_views, .sample_bytes = b->sample_bytes * n_views,
               .has_pixels = has_pixels};
    for (uint32_t e = 0; e < b->n; e++) {
        slot->labels2[e] = slot->labels[e];
        slot->shares[e] = 1;
    }
    for (uint32_t i = 0; i < n; i++) slot->mixings[i] = (stk_mixing){.partner = i, .share = 1};
    if (mix->mode == STK_MIX_BATCH)
        stk_mix_draw(mix, env->rule.seed, b->epoch, slot->share.first, n, b->width, b->height, &plan);
    else
        m.plan = &m.own;
    m.shift = mix->mode == STK_MIX_ELEMENT ? draw_shift(env, slot, n) : plan.shift;
    if (m.shift == 0 && !(mix->mode == STK_MIX_PAIR && n > 1)) return STK_OK;
    scratch->n_bytes = 0;
    if (has_pixels) STK_TRY(stk_buffer_resize(scratch, m.sample_bytes, error));
    if (mix->mode == STK_MIX_PAIR)
        mix_pairs(&m, n, scratch->data);
    else
        mix_cycles(&m, n, scratch->data);
    return STK_OK;
}
