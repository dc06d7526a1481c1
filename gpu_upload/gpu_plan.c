/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/gpu_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/types.h>

#include "codec/tile_layout.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "gpu_upload/host_axis.h"

_Static_assert(sizeof(stk_gather_entry) == STK_GATHER_ENTRY_BYTES, "gather entry");
_Static_assert(sizeof(stk_gather_tables) == STK_GATHER_TABLES_BYTES, "gather tables");

enum { ALIGN = 64, COST_BUCKETS = 256, COST_STEP = 64 };

struct stk_gpu_plan {
    uint64_t scratch_cap;
    uint32_t n_views;
    stk_buffer images, items, others, groups, block;
    stk_buffer costs, sorted; /* of a group's items */
    uint32_t most_strips; /* of a group */
    uint64_t axis_words;
    stk_gpu_plan_view view;
};

typedef struct maker {
    stk_gpu_plan *plan;
    const uint8_t *batch;
    uint64_t n_bytes, resident_bytes;
    const stk_gpu_output *output;
    uint64_t scratch; /* of the group so far */
    stk_gpu_plan_group group;
    uint32_t buckets[COST_BUCKETS]; /* of the group's items */
} maker;

stk_status stk_gpu_plan_open(uint64_t scratch_cap, uint32_t n_views, stk_gpu_plan **out, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "a GPU plan");
    (*out)->scratch_cap = scratch_cap;
    (*out)->n_views = n_views;
    return STK_OK;
}

void stk_gpu_plan_close(stk_gpu_plan **plan)
{
    if (*plan == NULL) return;
    stk_buffer_free(&(*plan)->images);
    stk_buffer_free(&(*plan)->items);
    stk_buffer_free(&(*plan)->others);
    stk_buffer_free(&(*plan)->costs);
    stk_buffer_free(&(*plan)->sorted);
    stk_buffer_free(&(*plan)->groups);
    stk_buffer_free(&(*plan)->block);
    free(*plan);
    *plan = NULL;
}

stk_gpu_plan_view stk_gpu_plan_get(const stk_gpu_plan *plan)
{
    return plan->view;
}

static uint64_t take(uint64_t *scratch, uint64_t n_bytes)
{
    uint64_t at = *scratch;
    *scratch += (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static stk_gpu_picture take_picture(uint64_t *scratch, uint32_t width, uint32_t height, uint32_t channels)
{
    /* 32 bytes more a row than are used: kernels read whole words past the last pixel. */
    stk_gpu_picture p = {.width = width, .height = height, .stride = (width + 32 + 15) / 16 * 16};
    p.plane = p.stride * height;
    p.at = take(scratch, (uint64_t)p.plane * channels + ALIGN);
    return p;
}

/* ---- Tiles. */

static bool tile_geometry(const stk_gather_entry *e, stk_tile_geometry *g)
{
    *g = (stk_tile_geometry){.width = e->width, .height = e->height, .n_components = e->n_components,
                             .tile_mcus = e->tile_mcus};
    memcpy(g->h, e->h, 3);
    memcpy(g->v, e->v, 3);
    return stk_tile_geometry_complete(g) != 0;
}

static bool counts_ok(const uint8_t *counts, uint32_t most)
{
    uint32_t code = 0, n = 0;
    for (int i = 0; i < 16; i++) {
        code = code * 2 + counts[i];
        n += counts[i];
        if (code > (2u << i)) return false;
    }
    return n <= most;
}

static bool tables_ok(const stk_gather_tables *t)
{
    for (int k = 0; k < 2; k++) {
        if (!counts_ok(t->counts[2 * k], STK_TILE_MAX_DC_SYMBOLS) || !counts_ok(t->counts[2 * k + 1], STK_TILE_MAX_AC_SYMBOLS))
            return false;
        for (int i = 0; i < 16; i++)
            if (t->dc_symbols[k][i] > STK_TILE_MAX_DC_BITS) return false;
    }
    return true;
}

static uint64_t listing_bytes(uint64_t segments)
{
    return STK_GATHER_TABLES_BYTES + segments * (sizeof(uint32_t) + sizeof(uint16_t));
}

/* The window lies within the image, and the listing of segments within its memory. Offsets and lengths themselves are
 * not looked at: decoders clamp every read. */
static bool window_ok(const stk_gather_entry *e, const stk_tile_geometry *g, uint64_t n_bytes)
{
    uint64_t segments = (uint64_t)e->n_tiles * e->n_rows;
    if (e->n_tiles == 0 || e->n_rows == 0 || segments != e->n_segments) return false;
    if (!stk_range_inside(e->tile_x0, e->n_tiles, g->tile_cols) || !stk_range_inside(e->mcu_y0, e->n_rows, g->mcu_rows))
        return false;
    uint64_t listed = e->resident != 0 ? g->n_segments : segments;
    return e->data % ALIGN == 0 && stk_range_inside(e->data, listing_bytes(listed), n_bytes) && e->segments <= n_bytes;
}

static bool tiles_ok(const maker *m, const stk_gather_entry *e, stk_tile_geometry *g)
{
    if (!tile_geometry(e, g) || !window_ok(e, g, e->resident != 0 ? m->resident_bytes : m->n_bytes)) return false;
    if (!stk_range_inside(e->crop_x, e->crop_width, e->width) || !stk_range_inside(e->crop_y, e->crop_height, e->height))
        return false;
    /* The crop, widened for fancy upsampling, must be under the segments. */
    stk_tile_window w;
    stk_tile_window_of(g, e->crop_x, e->crop_y, e->crop_width, e->crop_height, &w);
    if (w.tile_x0 < e->tile_x0 || w.tile_x1 > e->tile_x0 + e->n_tiles || w.mcu_y0 < e->mcu_y0 ||
        w.mcu_y1 > e->mcu_y0 + e->n_rows)
        return false;
    return e->resident != 0 || tables_ok((const stk_gather_tables *)(const void *)(m->batch + e->data));
}

bool stk_gpu_plan_entry_ok(const uint8_t *batch, uint64_t n_bytes, const stk_gather_entry *e)
{
    const maker m = {.batch = batch, .n_bytes = n_bytes};
    stk_tile_geometry g;
    if (e->kind == STK_GATHER_TILES) return e->resident == 0 && tiles_ok(&m, e, &g);
    return e->kind == STK_GATHER_RAW && e->resident == 0 &&
           stk_range_inside(e->data, (uint64_t)e->crop_width * e->crop_height * e->channels, n_bytes);
}

static void plan_planes(stk_gpu_image *im, const stk_gather_entry *e, const stk_tile_geometry *g, uint64_t *scratch)
{
    for (uint32_t c = 0; c < g->n_components; c++) {
        stk_hd_plane *p = &im->planes[c];
        p->block_stride = e->n_tiles * g->tile_mcus * g->h[c];
        p->at = take(scratch, (uint64_t)p->block_stride * e->n_rows * g->v[c] * 64);
        p->x0 = (int32_t)(e->tile_x0 * g->tile_mcus * g->h[c] * 8);
        p->y0 = (int32_t)(e->mcu_y0 * g->v[c] * 8);
        p->last_x = (int32_t)stk_tile_samples_wide(g, c) - 1;
        p->last_y = (int32_t)stk_tile_samples_high(g, c) - 1;
        p->fx = (uint8_t)(g->h_max / g->h[c]);
        p->fy = (uint8_t)(g->v_max / g->v[c]);
        p->method = stk_hd_upsampling(p->fx, p->fy, stk_tile_samples_wide(g, c));
    }
}

static void plan_tiles(stk_gpu_image *im, const stk_gather_entry *e, const stk_tile_geometry *g, uint64_t *scratch)
{
    im->tables = e->data;
    im->segments = e->segments;
    im->resident = e->resident;
    im->n_segments = im->n_listed = e->n_segments;
    im->listed_stride = e->n_tiles;
    if (e->resident != 0) {
        im->n_listed = g->n_segments;
        im->listed_stride = g->tile_cols;
        im->first_listed = e->mcu_y0 * g->tile_cols + e->tile_x0;
    }
    im->n_tiles = e->n_tiles;
    im->tile_mcus = g->tile_mcus;
    im->mcu_blocks = g->mcu_blocks;
    im->n_components = g->n_components;
    uint32_t b = 0;
    for (uint32_t c = 0; c < g->n_components; c++) {
        im->h[c] = g->h[c];
        im->v[c] = g->v[c];
        for (uint32_t y = 0; y < g->v[c]; y++)
            for (uint32_t x = 0; x < g->h[c]; x++, b++) {
                im->block_component[b] = (uint8_t)c;
                im->block_x[b] = (uint8_t)x;
                im->block_y[b] = (uint8_t)y;
            }
    }
    plan_planes(im, e, g, scratch);
}

/* ---- Resampling. */

static bool sizes_ok(const stk_gather_entry *e, const stk_gpu_output *o)
{
    const uint32_t most = 65535;
    return e->crop_width >= 1 && e->crop_height >= 1 && e->crop_width <= most && e->crop_height <= most &&
           e->full_width >= 1 && e->full_height >= 1 && e->full_width <= most && e->full_height <= most &&
           e->orientation >= 1 && e->orientation <= 8 && e->filter <= STK_FILTER_NEAREST &&
           (e->channels == 1 || e->channels == 3) && o->width <= STK_GPU_MAX_SIDE && o->height <= STK_GPU_MAX_SIDE &&
           e->window_x > -(int32_t)most && e->window_x < (int32_t)most && e->window_y > -(int32_t)most &&
           e->window_y < (int32_t)most;
}

/* The part [first, first + n) of `full` that a window of `out` pixels from `window` on shows. */
static void shown(int32_t window, uint32_t out, uint32_t full, uint32_t *first, uint32_t *n)
{
    int32_t low = stk_hd_max(window, 0), high = stk_hd_min(window + (int32_t)out, (int32_t)full);
    *first = high > low ? (uint32_t)low : 0;
    *n = high > low ? (uint32_t)(high - low) : 0;
}

static stk_hd_axis make_axis(maker *m, uint32_t in, uint32_t full, uint32_t first, uint32_t n, int filter)
{
    stk_hd_axis a = {.in_size = in, .out_size = full, .first = first, .n_out = n, .filter = filter};
    a.n_taps = stk_hd_axis_taps(in, full, filter);
    a.at = (uint32_t)m->plan->axis_words;
    m->plan->axis_words += (stk_hd_axis_words(n, a.n_taps) + 3) / 4 * 4; /* digits are read 16 bytes at a time */
    return a;
}

static stk_gpu_pass make_pass(bool vertical, stk_hd_axis axis, stk_gpu_picture in)
{
    return (stk_gpu_pass){.on = 1, .vertical = vertical, .axis = axis, .in = in};
}

static void plan_two(maker *m, stk_gpu_image *im, bool vertical_first, stk_hd_axis ax, stk_hd_axis ay, uint64_t *scratch)
{
    uint32_t low, high;
    (void)m;
    if (vertical_first) {
        stk_host_axis_span(&ax, &low, &high);
        im->first = make_pass(true, ay, im->source);
        im->first.along = (int32_t)low;
        im->first.out = take_picture(scratch, high - low, ay.n_out, im->picture_channels);
        im->second = make_pass(false, ax, im->first.out);
        im->second.shift = (int32_t)low;
    } else {
        stk_host_axis_span(&ay, &low, &high);
        im->first = make_pass(false, ax, im->source);
        im->first.along = (int32_t)low;
        im->first.out = take_picture(scratch, ax.n_out, high - low, im->picture_channels);
        im->second = make_pass(true, ay, im->first.out);
        im->second.shift = (int32_t)low;
    }
    im->second.out = take_picture(scratch, ax.n_out, ay.n_out, im->picture_channels);
    im->result = im->second.out;
}

static void plan_resample(maker *m, stk_gpu_image *im, const stk_gather_entry *e, uint64_t *scratch)
{
    const stk_gpu_output *o = m->output;
    uint32_t x0, y0, w, h, sw = im->source.width, sh = im->source.height;
    shown(e->window_x, o->width, e->full_width, &x0, &w);
    shown(e->window_y, o->height, e->full_height, &y0, &h);
    if (w == 0 || h == 0) w = h = 0;
    im->shown_width = w;
    im->shown_height = h;
    im->out_x = (int32_t)x0 - e->window_x;
    im->out_y = (int32_t)y0 - e->window_y;
    im->result = im->source;
    im->result_x = (int32_t)x0;
    im->result_y = (int32_t)y0;
    if (w == 0) return;
    bool across = sw != e->full_width, down = sh != e->full_height;
    stk_hd_axis ax = {0}, ay = {0};
    if (across) ax = make_axis(m, sw, e->full_width, x0, w, e->filter);
    if (down) ay = make_axis(m, sh, e->full_height, y0, h, e->filter);
    if (across && down) {
        plan_two(m, im, e->vertical_first != 0, ax, ay, scratch);
        im->result_x = im->result_y = 0;
    } else if (across) {
        im->first = make_pass(false, ax, im->source);
        im->first.along = (int32_t)y0;
        im->first.out = im->result = take_picture(scratch, w, h, im->picture_channels);
        im->result_x = im->result_y = 0;
    } else if (down) {
        im->first = make_pass(true, ay, im->source);
        im->first.along = (int32_t)x0;
        im->first.out = im->result = take_picture(scratch, w, h, im->picture_channels);
        im->result_x = im->result_y = 0;
    }
}

/* ---- The fused way. */

/* An axis whose pass changes nothing where its size stays. */
static stk_hd_axis any_axis(maker *m, uint32_t in, uint32_t full, uint32_t first, uint32_t n, int filter)
{
    return make_axis(m, in, full, first, n, in == full ? STK_HD_BOX : filter);
}

/* Whole blocks of an unturned picture can be coloured eight pixels at a time. */
static bool by_words(const stk_gpu_image *im)
{
    return im->kind == STK_GATHER_TILES && im->orientation == 1 && im->planes[0].method == STK_HD_UP_NONE &&
           im->planes[1].method == im->planes[2].method && im->picture_channels == (im->n_components == 1 ? 1 : 3);
}

static void place_lines(stk_gpu_fused *f, const stk_gpu_image *im, uint32_t low, uint32_t high)
{
    f->line0 = (int32_t)low;
    if (f->words != 0) {
        if (f->across != 0) f->line0 -= (im->crop_x + (int32_t)low - im->planes[0].x0) & 7;
        else f->lead = (im->crop_x - im->planes[0].x0) & 7;
    }
    f->n_lines = (uint32_t)((int32_t)high - f->line0);
    f->n_strips = (f->n_lines + STK_GPU_STRIP_LINES - 1) / STK_GPU_STRIP_LINES;
}

static bool plan_fused(maker *m, stk_gpu_image *im, const stk_gather_entry *e, uint64_t *scratch)
{
    const stk_gpu_output *o = m->output;
    stk_gpu_fused *f = &im->fused;
    uint32_t x0, y0, w, h, low, high, sw = im->source.width, sh = im->source.height;
    shown(e->window_x, o->width, e->full_width, &x0, &w);
    shown(e->window_y, o->height, e->full_height, &y0, &h);
    if (w != o->width || h != o->height || w % 4 != 0 || w > STK_GPU_FUSED_SIDE || h > STK_GPU_FUSED_SIDE) return false;
    f->across = e->vertical_first != 0 && sw != e->full_width && sh != e->full_height;
    f->line = f->across ? sh : sw;
    if (f->line > STK_GPU_WIDEST_LINE - 16) return false;
    stk_hd_axis ax = any_axis(m, sw, e->full_width, x0, w, e->filter), ay = any_axis(m, sh, e->full_height, y0, h, e->filter);
    f->words = by_words(im);
    f->first = f->across ? ay : ax;
    f->second = f->across ? ax : ay;
    stk_host_axis_span(&f->second, &low, &high);
    place_lines(f, im, low, high);
    f->line_bytes = (uint32_t)f->lead + f->line + 4 * stk_hd_axis_quads(f->first.n_taps) + 8;
    if (f->line_bytes > STK_GPU_WIDEST_LINE) {
        *f = (stk_gpu_fused){0};
        return false;
    }
    f->on = 1;
    f->wide = f->line_bytes > STK_GPU_NARROW_LINE ? STK_GPU_WIDE : STK_GPU_NARROW;
    uint64_t words = 2 * (uint64_t)f->n_strips + stk_hd_axis_quads(f->second.n_taps) + 2;
    f->middle = take(scratch, words * im->picture_channels * f->first.n_out * 4);
    return true;
}

/* ---- One image, its items, groups. */

static void plan_image(maker *m, stk_gpu_image *im, const stk_gather_entry *e, const stk_tile_geometry *g,
                       uint64_t *scratch)
{
    im->kind = e->kind;
    im->orientation = e->orientation;
    im->channels = e->channels;
    im->picture_channels = m->output->channels == 1 ? 1 : e->channels;
    im->crop_x = (int32_t)e->crop_x;
    im->crop_y = (int32_t)e->crop_y;
    im->crop_width = (int32_t)e->crop_width;
    im->crop_height = (int32_t)e->crop_height;
    im->flip = e->flip;
    memcpy(im->fill, e->fill, 3);
    if (e->kind == STK_GATHER_TILES) {
        plan_tiles(im, e, g, scratch);
    } else {
        im->raw = e->data;
        im->raw_stride = e->resident != 0 ? e->width * e->channels : e->crop_width * e->channels;
        im->resident = e->resident;
        if (im->resident == 0) im->crop_x = im->crop_y = 0;
    }
    bool turned = e->orientation >= 5;
    uint32_t width = turned ? e->crop_height : e->crop_width, height = turned ? e->crop_width : e->crop_height;
    im->source = (stk_gpu_picture){.width = width, .height = height};
    if (plan_fused(m, im, e, scratch)) return;
    im->source = take_picture(scratch, width, height, im->picture_channels);
    plan_resample(m, im, e, scratch);
}

static bool raw_ok(const maker *m, const stk_gather_entry *e)
{
    if (e->resident != 0) {
        uint64_t bytes = (uint64_t)e->width * e->height * e->channels;
        return e->width <= 65535 && e->height <= 65535 && stk_range_inside(e->crop_x, e->crop_width, e->width) &&
               stk_range_inside(e->crop_y, e->crop_height, e->height) && stk_range_inside(e->data, bytes, m->resident_bytes);
    }
    return stk_range_inside(e->data, (uint64_t)e->crop_width * e->crop_height * e->channels, m->n_bytes);
}

static bool entry_ok(const maker *m, const stk_gather_entry *e, stk_tile_geometry *g)
{
    if (!sizes_ok(e, m->output)) return false;
    if (e->kind == STK_GATHER_RAW) return raw_ok(m, e);
    return e->kind == STK_GATHER_TILES && tiles_ok(m, e, g) && e->channels == (e->n_components == 1 ? 1 : 3);
}

/* Items with much to decode go first, so that the last ones to end are short. */
static uint32_t bucket_of(uint64_t n_bytes)
{
    uint64_t b = n_bytes / COST_STEP;
    return COST_BUCKETS - 1 - (uint32_t)(b < COST_BUCKETS ? b : COST_BUCKETS - 1);
}

static stk_status add_decode_items(maker *m, uint32_t image, const stk_gather_entry *e, const stk_gpu_image *im, stk_error *error)
{
    uint64_t bytes = e->data_bytes > listing_bytes(im->n_listed) ? e->data_bytes - listing_bytes(im->n_listed) : 0;
    uint32_t total = e->n_segments, a_segment = (uint32_t)(bytes / im->n_listed);
    for (uint32_t first = 0; first < total; first += STK_GPU_SEGMENTS_PER_ITEM, m->group.n_items++) {
        uint32_t left = total - first, n = left < STK_GPU_SEGMENTS_PER_ITEM ? left : STK_GPU_SEGMENTS_PER_ITEM;
        stk_gpu_item item = {image, first, n};
        m->buckets[bucket_of((uint64_t)n * a_segment)]++;
        STK_TRY(stk_buffer_append(&m->plan->costs, &(uint32_t){n * a_segment}, sizeof(uint32_t), error));
        STK_TRY(stk_buffer_append(&m->plan->items, &item, sizeof item, error));
    }
    return STK_OK;
}

static void at_least(uint32_t *most, uint32_t rows)
{
    if (rows > *most) *most = rows;
}

static void add_strips(stk_gpu_plan_group *g, stk_gpu_fused *f)
{
    f->first_strip = g->n_strips[f->wide];
    g->n_strips[f->wide] += f->n_strips;
    at_least(&g->widest_line, f->line_bytes);
}

static stk_status add_other(maker *m, const stk_gpu_image *im, uint32_t number, stk_error *error)
{
    stk_gpu_plan_group *g = &m->group;
    if (im->kind != STK_GATHER_EMPTY) at_least(&g->rows[STK_GPU_COLOR], im->source.height);
    if (im->first.on) at_least(&g->rows[STK_GPU_FIRST], im->first.out.height);
    if (im->second.on) at_least(&g->rows[STK_GPU_SECOND], im->second.out.height);
    g->n_others++;
    return stk_buffer_append(&m->plan->others, &number, sizeof number, error);
}

static stk_status add_work(maker *m, stk_gpu_image *im, const stk_gather_entry *e, uint32_t number, stk_error *error)
{
    if (im->kind == STK_GATHER_TILES) STK_TRY(add_decode_items(m, number, e, im, error));
    if (!im->fused.on) return add_other(m, im, number, error);
    add_strips(&m->group, &im->fused);
    return STK_OK;
}

static uint32_t item_count(const stk_gpu_plan *p)
{
    return (uint32_t)(p->items.n_bytes / sizeof(stk_gpu_item));
}

static stk_status sort_items(maker *m, stk_error *error)
{
    stk_gpu_plan *p = m->plan;
    uint32_t n = m->group.n_items, at = 0;
    if (n == 0) return STK_OK;
    STK_TRY(stk_buffer_resize(&p->sorted, n * sizeof(stk_gpu_item), error));
    for (uint32_t b = 0; b < COST_BUCKETS; b++) {
        uint32_t count = m->buckets[b];
        m->buckets[b] = at;
        at += count;
    }
    stk_gpu_item *items = (stk_gpu_item *)(void *)p->items.data + m->group.first_item;
    stk_gpu_item *sorted = (stk_gpu_item *)(void *)p->sorted.data;
    const uint32_t *costs = (const uint32_t *)(const void *)p->costs.data;
    for (uint32_t i = 0; i < n; i++) sorted[m->buckets[bucket_of(costs[i])]++] = items[i];
    memcpy(items, sorted, n * sizeof *items);
    return STK_OK;
}

static void begin_group(maker *m, uint32_t first_image)
{
    memset(m->buckets, 0, sizeof m->buckets);
    m->plan->costs.n_bytes = 0;
    m->group = (stk_gpu_plan_group){.first_image = first_image};
    m->scratch = 0;
    m->group.first_item = item_count(m->plan);
    m->group.first_other = (uint32_t)(m->plan->others.n_bytes / sizeof(uint32_t));
}

static stk_status end_group(maker *m, stk_error *error)
{
    if (m->group.n_images == 0) return STK_OK;
    STK_TRY(sort_items(m, error));
    m->group.scratch_bytes = m->scratch;
    at_least(&m->plan->most_strips, m->group.n_strips[STK_GPU_NARROW] + m->group.n_strips[STK_GPU_WIDE]);
    if (m->scratch > m->plan->view.scratch_bytes) m->plan->view.scratch_bytes = m->scratch;
    return stk_buffer_append(&m->plan->groups, &m->group, sizeof m->group, error);
}

static void shift_image(stk_gpu_image *im, uint64_t by)
{
    for (int c = 0; c < 3; c++) im->planes[c].at += by;
    im->source.at += by;
    im->first.in.at += by;
    im->first.out.at += by;
    im->second.in.at += by;
    im->second.out.at += by;
    im->result.at += by;
    im->fused.middle += by;
}

static stk_status add_image(maker *m, uint32_t i, int32_t *status, stk_error *error)
{
    stk_gather_entry e;
    stk_gpu_image im = {.kind = STK_GATHER_EMPTY, .entry = i};
    stk_tile_geometry g = {0};
    uint64_t scratch = 0;
    memcpy(&e, m->batch + (size_t)i * sizeof e, sizeof e);
    *status = e.status;
    if (e.kind != STK_GATHER_EMPTY) {
        if (entry_ok(m, &e, &g)) plan_image(m, &im, &e, &g, &scratch);
        else *status = STK_ERR_INTERNAL;
    }
    /* Bits that are invalid in one view make the whole sample bad, as on the CPU: its views stay together. */
    const uint32_t n_views = m->plan->n_views;
    if (m->group.n_images > 0 && i % n_views == 0 && m->scratch + scratch * n_views > m->plan->scratch_cap) {
        STK_TRY(end_group(m, error));
        begin_group(m, i);
    }
    shift_image(&im, m->scratch);
    m->scratch += scratch;
    STK_TRY(add_work(m, &im, &e, m->group.n_images, error));
    m->group.n_images++;
    return stk_buffer_append(&m->plan->images, &im, sizeof im, error);
}

/* ---- The block that is copied. */

static stk_status append_part(stk_buffer *block, const stk_buffer *part, uint64_t *at, stk_error *error)
{
    STK_TRY(stk_buffer_resize(block, (block->n_bytes + ALIGN - 1) / ALIGN * ALIGN, error));
    *at = block->n_bytes;
    return stk_buffer_append(block, part->data, part->n_bytes, error);
}

/* The axes of an image that the host computes; how many. */
static int axes_of(const stk_gpu_image *im, const stk_hd_axis *out[2])
{
    const stk_hd_axis *all[2] = {im->fused.on ? &im->fused.first : im->first.on ? &im->first.axis : NULL,
                                 im->fused.on ? &im->fused.second : im->second.on ? &im->second.axis : NULL};
    int n = 0;
    for (int k = 0; k < 2; k++)
        if (all[k] != NULL && stk_host_axis_needed(all[k]->filter)) out[n++] = all[k];
    return n;
}

static stk_status host_axes(stk_gpu_plan *p, stk_error *error)
{
    uint32_t n = (uint32_t)(p->images.n_bytes / sizeof(stk_gpu_image));
    const stk_gpu_image *images = (const stk_gpu_image *)(const void *)p->images.data;
    const stk_hd_axis *axes[2];
    uint64_t need = 0;
    for (uint32_t i = 0; i < n; i++)
        for (int k = axes_of(&images[i], axes) - 1; k >= 0; k--) {
            uint64_t end = axes[k]->at + (uint64_t)stk_hd_axis_words(axes[k]->n_out, axes[k]->n_taps);
            if (end > need) need = end;
        }
    if (need == 0) return STK_OK;
    STK_TRY(stk_buffer_resize(&p->block, p->view.axes_at + need * sizeof(int32_t), error));
    int32_t *tables = (int32_t *)(void *)(p->block.data + p->view.axes_at);
    for (uint32_t i = 0; i < n; i++)
        for (int k = axes_of(&images[i], axes) - 1; k >= 0; k--)
            STK_TRY(stk_host_axis_fill(axes[k], tables + axes[k]->at, error));
    return STK_OK;
}

static stk_status build_block(stk_gpu_plan *p, stk_error *error)
{
    stk_gpu_plan_view *v = &p->view;
    p->block.n_bytes = 0;
    STK_TRY(append_part(&p->block, &p->images, &v->images_at, error));
    STK_TRY(append_part(&p->block, &p->items, &v->items_at, error));
    STK_TRY(append_part(&p->block, &p->others, &v->others_at, error));
    STK_TRY(stk_buffer_resize(&p->block, (p->block.n_bytes + ALIGN - 1) / ALIGN * ALIGN, error));
    v->axes_at = p->block.n_bytes;
    v->strips_at = v->axes_at + (p->axis_words * sizeof(int32_t) + ALIGN - 1) / ALIGN * ALIGN;
    v->room_bytes = v->strips_at + p->most_strips * sizeof(stk_gpu_strip);
    STK_TRY(host_axes(p, error));
    v->block = p->block.data;
    v->block_bytes = p->block.n_bytes;
    v->groups = (const stk_gpu_plan_group *)(const void *)p->groups.data;
    v->n_groups = (uint32_t)(p->groups.n_bytes / sizeof(stk_gpu_plan_group));
    return STK_OK;
}

stk_status stk_gpu_plan_make(stk_gpu_plan *plan, const uint8_t *batch, uint64_t n_bytes, uint64_t resident_bytes,
                             uint32_t n, const stk_gpu_output *output, int32_t *statuses, stk_error *error)
{
    maker m = {.plan = plan, .batch = batch, .n_bytes = n_bytes, .resident_bytes = resident_bytes, .output = output};
    if (n_bytes < (uint64_t)n * sizeof(stk_gather_entry))
        return stk_fail(error, STK_ERR_INTERNAL, "a gathered batch of %u entries is too short", n);
    plan->images.n_bytes = plan->groups.n_bytes = plan->items.n_bytes = plan->others.n_bytes = 0;
    plan->axis_words = 0;
    plan->most_strips = 0;
    plan->view = (stk_gpu_plan_view){0};
    begin_group(&m, 0);
    for (uint32_t i = 0; i < n; i++) STK_TRY(add_image(&m, i, &statuses[i], error));
    STK_TRY(end_group(&m, error));
    if (plan->axis_words > UINT32_MAX)
        return stk_fail(error, STK_ERR_LIMIT, "a batch needs too many resampling coefficients; use a smaller batch");
    return build_block(plan, error);
}
