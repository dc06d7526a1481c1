/* SPDX-License-Identifier: Apache-2.0
 *
 * Gathering for a GPU: of tiles records the segments under the crop, of raw ones its rows; every other encoding is
 * decoded and resampled here and joins as finished pixels. Plain copies into the slot. */
#include <string.h>

#include <stoker/gather.h>

#include "codec/resample.h"
#include "codec/tiles.h"
#include "codec/turn.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "reader/sample_render.h"
#include "reader/work.h"

enum { ALIGN = 64, SMALLEST_TILE = 16, SMALLEST_MCU = 8 };

_Static_assert(sizeof(stk_gather_entry) == STK_GATHER_ENTRY_BYTES, "gather entry");
_Static_assert(sizeof(stk_gather_tables) == STK_GATHER_TABLES_BYTES, "gather tables");

/* An upper bound from the row alone. */
static stk_status gather_size(const stk_work_env *env, const stk_work_item *item, size_t *n_bytes, stk_error *error)
{
    const stk_row *row = item->row;
    size_t finished = (size_t)item->width * item->height * 3, n = finished;
    if (stk_work_resident(env, item->id)) {
        *n_bytes = 0;
        return STK_OK;
    }
    if (row->encoding == STK_ENCODING_TILES) {
        size_t segments = ((size_t)(row->width > row->height ? row->width : row->height) / SMALLEST_TILE + 2) *
                          ((size_t)(row->width > row->height ? row->width : row->height) / SMALLEST_MCU + 2);
        if (row->n_bytes > SIZE_MAX / 4) return stk_fail(error, STK_ERR_LIMIT, "a record is too large");
        n = sizeof(stk_gather_tables) + segments * (sizeof(uint32_t) + sizeof(uint16_t)) + (size_t)row->n_bytes + ALIGN;
    } else if (row->encoding == STK_ENCODING_RAW && row->n_bytes > n) {
        n = (size_t)row->n_bytes;
    }
    if (n < finished) n = finished;
    *n_bytes = n + ALIGN;
    return STK_OK;
}

static stk_status reserve(const stk_work_item *item, size_t room, size_t n_bytes, uint64_t *at, stk_error *error)
{
    uint64_t n = (n_bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    *at = atomic_fetch_add_explicit(item->cursor, n, memory_order_relaxed);
    if (*at + n <= room) return STK_OK;
    return stk_fail(error, STK_ERR_INTERNAL, "a gathered batch outgrew its memory");
}

static void fill_common(const stk_work_env *env, const stk_render_job *job, const stk_geometry *g, stk_gather_entry *e)
{
    const stk_transform *t = &env->rule.transform;
    stk_turn turn = stk_turn_of(job->orientation);
    stk_box stored = stk_turn_box(turn, job->width, job->height, g->box);
    e->crop_x = (uint32_t)stored.x;
    e->crop_y = (uint32_t)stored.y;
    e->crop_width = (uint32_t)stored.width;
    e->crop_height = (uint32_t)stored.height;
    e->full_width = g->full_width;
    e->full_height = g->full_height;
    e->window_x = g->window_x;
    e->window_y = g->window_y;
    e->orientation = job->orientation;
    e->filter = (uint8_t)t->filter;
    e->vertical_first = stk_vertical_first(t->pixels, (uint32_t)g->box.width, (uint32_t)g->box.height, g->full_width,
                                           g->full_height);
    e->flip = g->flip;
    e->channels = job->channels;
    for (int c = 0; c < 3; c++) e->fill[c] = t->fill[c];
}

static void copy_tables(const stk_tile_cut *cut, stk_gather_tables *t)
{
    memset(t, 0, sizeof *t);
    memcpy(t->quant, cut->quant, sizeof t->quant);
    for (int k = 0; k < 2; k++) {
        const stk_huffman_spec *dc = &cut->huffman.dc[k], *ac = &cut->huffman.ac[k];
        memcpy(t->counts[2 * k], dc->counts, 16);
        memcpy(t->counts[2 * k + 1], ac->counts, 16);
        memcpy(t->dc_symbols[k], dc->symbols, dc->n_symbols < 12 ? dc->n_symbols : 12);
        memcpy(t->ac_symbols[k], ac->symbols, ac->n_symbols < 162 ? ac->n_symbols : 162);
    }
}

static stk_status gather_tiles(const stk_work_item *item, const stk_render_job *job, uint8_t *region, size_t room,
                               stk_gather_entry *e, stk_error *error)
{
    stk_tile_cut cut;
    stk_box stored = {(int32_t)e->crop_x, (int32_t)e->crop_y, (int32_t)e->crop_width, (int32_t)e->crop_height};
    STK_TRY(stk_tiles_cut(job->data, job->n_bytes, job->tables, stored, &cut, error));
    size_t head = sizeof(stk_gather_tables) + (size_t)cut.n_segments * (sizeof(uint32_t) + sizeof(uint16_t));
    head = (head + 15) & ~(size_t)15;
    uint64_t at = 0;
    STK_TRY(reserve(item, room, head + cut.segment_bytes, &at, error));
    e->kind = STK_GATHER_TILES;
    e->data = at;
    e->segments = at + head;
    e->data_bytes = (uint32_t)(head + cut.segment_bytes);
    e->n_segments = cut.n_segments;
    e->width = cut.geometry.width;
    e->height = cut.geometry.height;
    e->n_components = cut.geometry.n_components;
    e->channels = e->n_components == 1 ? 1 : 3;
    e->tile_mcus = cut.geometry.tile_mcus;
    memcpy(e->h, cut.geometry.h, 3);
    memcpy(e->v, cut.geometry.v, 3);
    e->tile_x0 = cut.window.tile_x0;
    e->n_tiles = cut.window.tile_x1 - cut.window.tile_x0;
    e->mcu_y0 = cut.window.mcu_y0;
    e->n_rows = cut.window.mcu_y1 - cut.window.mcu_y0;
    copy_tables(&cut, (stk_gather_tables *)(void *)(region + at));
    uint32_t *offsets = (uint32_t *)(void *)(region + at + sizeof(stk_gather_tables));
    stk_tile_cut_copy(&cut, offsets, (uint16_t *)(void *)(offsets + cut.n_segments), region + e->segments);
    return STK_OK;
}

static stk_status gather_raw(const stk_work_item *item, const stk_render_job *job, uint8_t *region, size_t room,
                             stk_gather_entry *e, stk_error *error)
{
    bool turned = stk_turn_of(job->orientation).transpose;
    size_t width = turned ? job->height : job->width, row = (size_t)e->crop_width * job->channels;
    size_t need = width * (turned ? job->width : job->height) * job->channels;
    if (need != job->n_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "a raw record of %zu bytes, where %zu belong", job->n_bytes, need);
    uint64_t at = 0;
    e->kind = STK_GATHER_RAW;
    e->width = (uint32_t)width;
    e->height = turned ? job->width : job->height;
    STK_TRY(reserve(item, room, row * e->crop_height, &at, error));
    e->data = at;
    e->data_bytes = (uint32_t)(row * e->crop_height);
    const uint8_t *from = job->data + ((size_t)e->crop_y * width + e->crop_x) * job->channels;
    for (uint32_t y = 0; y < e->crop_height; y++) memcpy(region + at + y * row, from + y * width * job->channels, row);
    return STK_OK;
}

/* Decoded here: a picture of the output's size that needs nothing more but the finish. */
static stk_status gather_pixels(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item,
                                stk_render_job *job, const stk_geometry *g, uint8_t *region, size_t room,
                                stk_gather_entry *e, stk_error *error)
{
    const stk_transform *t = &env->rule.transform;
    uint64_t at = 0;
    size_t row = (size_t)g->out_width * env->channels;
    STK_TRY(reserve(item, room, row * g->out_height, &at, error));
    job->box = g->box;
    job->full_width = g->full_width;
    job->full_height = g->full_height;
    job->window_x = g->window_x;
    job->window_y = g->window_y;
    job->out_width = g->out_width;
    job->out_height = g->out_height;
    job->flip = g->flip;
    job->filter = t->filter;
    job->pixels = t->pixels;
    job->color = STK_COLOR_RGB; /* the finish swaps */
    for (int c = 0; c < 4; c++) job->fill[c] = t->fill[c];
    job->out_channels = (uint8_t)env->channels;
    job->out_stride = row;
    job->out = region + at;
    STK_TRY(stk_job_run(bench->codec, job, env->dataset->accepted_damage, error));
    *e = (stk_gather_entry){.kind = STK_GATHER_RAW, .data = at, .data_bytes = (uint32_t)(row * g->out_height),
                            .crop_width = g->out_width, .crop_height = g->out_height, .full_width = g->out_width,
                            .full_height = g->out_height, .orientation = 1, .channels = (uint8_t)env->channels};
    return STK_OK;
}

static stk_status check_sizes(const stk_work_env *env, const stk_work_item *item, const stk_geometry *g, uint32_t channels,
                              stk_error *error)
{
    if (g->out_width != item->width || g->out_height != item->height)
        return stk_fail(error, STK_ERR_ARGUMENT, "is %ux%u, but the batch's first image is %ux%u", g->out_width,
                        g->out_height, item->width, item->height);
    if (env->channels == 1 && channels == 3)
        return stk_fail(error, STK_ERR_ARGUMENT, "has three channels, but mode L was asked for; pack with --mode L");
    return STK_OK;
}

/* ---- Records that the consumer has. */

bool stk_work_resident(const stk_work_env *env, uint64_t id)
{
    return env->resident != NULL && env->resident[id].kind != STK_GATHER_EMPTY;
}

static stk_status choose_window(stk_gather_entry *e, stk_error *error)
{
    stk_tile_geometry g = {.width = e->width, .height = e->height, .n_components = e->n_components,
                           .tile_mcus = e->tile_mcus};
    stk_tile_window w;
    memcpy(g.h, e->h, 3);
    memcpy(g.v, e->v, 3);
    if (!stk_tile_geometry_complete(&g)) return stk_fail(error, STK_ERR_ARGUMENT, "gather_resident: geometry of no image");
    stk_tile_window_of(&g, e->crop_x, e->crop_y, e->crop_width, e->crop_height, &w);
    e->tile_x0 = w.tile_x0;
    e->n_tiles = w.tile_x1 - w.tile_x0;
    e->mcu_y0 = w.mcu_y0;
    e->n_rows = w.mcu_y1 - w.mcu_y0;
    e->n_segments = e->n_tiles * e->n_rows;
    return STK_OK;
}

/* The entry that is there, with this view's crop. */
static stk_status gather_resident(const stk_work_env *env, const stk_work_item *item, uint8_t *region, stk_error *error)
{
    stk_gather_entry e = env->resident[item->id];
    stk_geometry g;
    bool turned = stk_turn_of(e.orientation).transpose;
    stk_render_job job = {.width = turned ? e.height : e.width, .height = turned ? e.width : e.height,
                          .orientation = e.orientation, .channels = e.channels};
    STK_TRY(stk_geometry_for(&env->rule, item->epoch, item->id, item->occurrence, item->view, job.width, job.height, &g,
                             error));
    STK_TRY(check_sizes(env, item, &g, e.channels, error));
    fill_common(env, &job, &g, &e);
    e.resident = 1;
    if (e.kind == STK_GATHER_TILES) STK_TRY(choose_window(&e, error));
    memcpy(region + (size_t)item->entry * sizeof e, &e, sizeof e);
    return STK_OK;
}

static stk_status gather_run(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item, uint8_t *region,
                             size_t n_bytes, stk_error *error)
{
    stk_render_job job;
    stk_geometry g;
    stk_gather_entry e = {0};
    if (stk_work_resident(env, item->id)) return gather_resident(env, item, region, error);
    STK_TRY(stk_job_from_row(env->dataset, item->row, item->data, &job, error));
    STK_TRY(stk_geometry_for(&env->rule, item->epoch, item->id, item->occurrence, item->view, job.width, job.height, &g,
                             error));
    STK_TRY(check_sizes(env, item, &g, item->row->channels, error));
    fill_common(env, &job, &g, &e);
    if (job.encoding == STK_ENCODING_TILES) STK_TRY(gather_tiles(item, &job, region, n_bytes, &e, error));
    else if (job.encoding == STK_ENCODING_RAW) STK_TRY(gather_raw(item, &job, region, n_bytes, &e, error));
    else STK_TRY(gather_pixels(env, bench, item, &job, &g, region, n_bytes, &e, error));
    memcpy(region + (size_t)item->entry * sizeof e, &e, sizeof e);
    return STK_OK;
}

static void gather_blank(uint8_t *region, uint32_t entry, stk_status status)
{
    stk_gather_entry e = {.kind = STK_GATHER_EMPTY, .status = (int32_t)status};
    memcpy(region + (size_t)entry * sizeof e, &e, sizeof e);
}

const stk_work stk_work_gather = {.name = "gather",
                                  .range = "stoker gather",
                                  .packed = true,
                                  .entry_bytes = sizeof(stk_gather_entry),
                                  .size = gather_size,
                                  .run = gather_run,
                                  .blank = gather_blank};

const stk_work stk_work_picks = {.name = "picks", .picks = true, .fixed = true};
