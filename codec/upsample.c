/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/upsample.h"

static uint32_t scaled(uint32_t size, uint32_t factor, uint32_t max)
{
    return (uint32_t)(((uint64_t)size * factor + max - 1) / max);
}

uint32_t stk_component_width(const stk_planes *planes, unsigned component)
{
    return scaled(planes->image_width, planes->h_factor[component], planes->h_max);
}

uint32_t stk_component_height(const stk_planes *planes, unsigned component)
{
    return scaled(planes->image_height, planes->v_factor[component], planes->v_max);
}

bool stk_sampling_integral(const stk_planes *planes)
{
    for (unsigned c = 0; c < planes->n_components; c++) {
        if (planes->h_factor[c] == 0 || planes->v_factor[c] == 0) return false;
        if (planes->h_max % planes->h_factor[c] != 0 || planes->v_max % planes->v_factor[c] != 0) return false;
    }
    return true;
}

/* jinit_upsampler's decisions, in its order. */
stk_upsampling stk_upsampling_of(const stk_planes *planes, unsigned component)
{
    int fx = planes->h_max / planes->h_factor[component], fy = planes->v_max / planes->v_factor[component];
    bool wide = stk_component_width(planes, component) > 2;
    if (fx == 1 && fy == 1) return STK_UPSAMPLE_NONE;
    if (fx == 2 && fy == 1) return wide ? STK_UPSAMPLE_H2V1 : STK_UPSAMPLE_REPEAT;
    if (fx == 1 && fy == 2) return STK_UPSAMPLE_H1V2;
    if (fx == 2 && fy == 2) return wide ? STK_UPSAMPLE_H2V2 : STK_UPSAMPLE_REPEAT;
    return STK_UPSAMPLE_REPEAT;
}

/* [low, high) in component samples for [first, first + n) at factor. A fancy method looks at the neighbour that a
 * position leans towards: the one before for even positions, after for odd ones, as far as the image has them. */
static void needed(uint32_t first, uint32_t n, uint32_t factor, bool fancy, uint32_t size, uint32_t *low,
                   uint32_t *high)
{
    uint32_t last = first + n - 1, a = first / factor, b = last / factor + 1;
    if (fancy && a > 0 && (first & 1) == 0) a--;
    if (fancy && b < size && (last & 1) == 1) b++;
    *low = a;
    *high = b;
}

void stk_upsample_columns(const stk_planes *planes, unsigned component, uint32_t x, uint32_t n, uint32_t *low,
                          uint32_t *high)
{
    stk_upsampling method = stk_upsampling_of(planes, component);
    uint32_t factor = planes->h_max / planes->h_factor[component];
    needed(x, n, factor, method == STK_UPSAMPLE_H2V1 || method == STK_UPSAMPLE_H2V2,
           stk_component_width(planes, component), low, high);
}

void stk_upsample_rows(const stk_planes *planes, unsigned component, uint32_t y, uint32_t n, uint32_t *low,
                       uint32_t *high)
{
    stk_upsampling method = stk_upsampling_of(planes, component);
    uint32_t factor = planes->v_max / planes->v_factor[component];
    needed(y, n, factor, method == STK_UPSAMPLE_H1V2 || method == STK_UPSAMPLE_H2V2,
           stk_component_height(planes, component), low, high);
}

/* One component seen as the whole image's plane: samples beyond the edge repeat the last real one. */
typedef struct sampler {
    const uint8_t *data;
    size_t stride;
    int64_t x0, y0, last_x, last_y;
} sampler;

static sampler sampler_of(const stk_planes *planes, unsigned c)
{
    return (sampler){.data = planes->data[c], .stride = planes->stride[c], .x0 = planes->x0[c],
                     .y0 = planes->y0[c], .last_x = (int64_t)stk_component_width(planes, c) - 1,
                     .last_y = (int64_t)stk_component_height(planes, c) - 1};
}

static int sample(const sampler *s, int64_t x, int64_t y)
{
    x = x < 0 ? 0 : x > s->last_x ? s->last_x : x;
    y = y < 0 ? 0 : y > s->last_y ? s->last_y : y;
    return s->data[(size_t)(y - s->y0) * s->stride + (size_t)(x - s->x0)];
}

/* The neighbour that the full-size position p leans towards: the one before for even p, after for odd. */
static int64_t far_of(int64_t p)
{
    return (p >> 1) + (p & 1 ? 1 : -1);
}

static uint8_t h2v1(const sampler *s, int64_t x, int64_t y)
{
    return (uint8_t)((3 * sample(s, x >> 1, y) + sample(s, far_of(x), y) + (x & 1 ? 2 : 1)) >> 2);
}

static uint8_t h1v2(const sampler *s, int64_t x, int64_t y)
{
    return (uint8_t)((3 * sample(s, x, y >> 1) + sample(s, x, far_of(y)) + (y & 1 ? 2 : 1)) >> 2);
}

static uint8_t h2v2(const sampler *s, int64_t x, int64_t y)
{
    int64_t y0 = y >> 1, y1 = far_of(y), x0 = x >> 1, x1 = far_of(x);
    int near = 3 * sample(s, x0, y0) + sample(s, x0, y1), far = 3 * sample(s, x1, y0) + sample(s, x1, y1);
    return (uint8_t)((3 * near + far + (x & 1 ? 7 : 8)) >> 4);
}

void stk_upsample_row(const stk_planes *planes, unsigned component, uint32_t x, uint32_t y, uint32_t n,
                      uint8_t *out)
{
    sampler s = sampler_of(planes, component);
    int64_t fx = planes->h_max / planes->h_factor[component], fy = planes->v_max / planes->v_factor[component];
    switch (stk_upsampling_of(planes, component)) {
    case STK_UPSAMPLE_H2V1:
        for (uint32_t i = 0; i < n; i++) out[i] = h2v1(&s, (int64_t)x + i, y);
        break;
    case STK_UPSAMPLE_H1V2:
        for (uint32_t i = 0; i < n; i++) out[i] = h1v2(&s, (int64_t)x + i, y);
        break;
    case STK_UPSAMPLE_H2V2:
        for (uint32_t i = 0; i < n; i++) out[i] = h2v2(&s, (int64_t)x + i, y);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) out[i] = (uint8_t)sample(&s, ((int64_t)x + i) / fx, (int64_t)y / fy);
    }
}
