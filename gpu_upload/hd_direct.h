/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches that need no plan: raw records of one size, all of them resident, delivered without resampling (pad and crop,
 * flip, normalise: what small images are trained with). The host says which samples come, twelve bytes an image; crops
 * and flips are drawn here, by reader/geometry.c's steps from the same counters. */
#ifndef STK_GPU_HD_DIRECT_H
#define STK_GPU_HD_DIRECT_H

#include "common/rng.h"
#include "gpu_upload/gpu_batch.h"
#include "gpu_upload/hd_stages.h"

#define STK_HD_NO_SAMPLE UINT64_MAX /* an id: an entry without a sample, whose pixels are zero */

typedef struct stk_gpu_direct {
    const uint8_t *resident;
    const uint64_t *places;      /* [records] of their first bytes in `resident` */
    const uint64_t *ids;         /* [n] */
    const uint32_t *occurrences; /* [n] */
    uint32_t n, n_views, first_view;
    uint64_t seed, epoch;
    uint32_t width, height, channels; /* of the records */
    uint32_t moves; /* 1: the window's place is drawn, from -pad on */
    uint32_t pad;
    double flip_probability;
    uint8_t fill[4];
    const void *norm; /* as in stk_gpu_group */
    uint8_t *out;
    stk_gpu_output output;
} stk_gpu_direct;

/* What is drawn for an entry: the record's rows, the window's top left within them, and whether it is mirrored. */
typedef struct stk_hd_view {
    const uint8_t *rows; /* NULL: no sample */
    int32_t x, y;
    uint32_t flip;
} stk_hd_view;

STK_HD stk_hd_view stk_hd_direct_view(const stk_gpu_direct *d, uint32_t entry)
{
    const uint64_t id = d->ids[entry];
    const uint32_t occurrence = d->occurrences[entry], view = d->first_view + entry % d->n_views;
    stk_hd_view v = {0, 0, 0, 0};
    if (id == STK_HD_NO_SAMPLE) return v;
    v.rows = d->resident + d->places[id];
    if (d->flip_probability > 0) {
        stk_rng rng = stk_rng_for(d->seed, d->epoch, id, occurrence, view, STK_PURPOSE_FLIP);
        v.flip = stk_rng_double(&rng) < d->flip_probability;
    }
    if (d->moves) {
        stk_rng rng = stk_rng_for(d->seed, d->epoch, id, occurrence, view, STK_PURPOSE_CROP);
        v.y = (int32_t)stk_rng_below(&rng, (uint64_t)d->height + 2u * (uint64_t)d->pad - d->output.height + 1) - (int32_t)d->pad;
        v.x = (int32_t)stk_rng_below(&rng, (uint64_t)d->width + 2u * (uint64_t)d->pad - d->output.width + 1) - (int32_t)d->pad;
    }
    return v;
}

/* The bytes of output pixel (x, y), in the output's channel order. */
STK_HD void stk_hd_direct_pixel(const stk_gpu_direct *d, const stk_hd_view *v, int32_t x, int32_t y, uint8_t out[3])
{
    if (v->flip) x = (int32_t)d->output.width - 1 - x;
    x += v->x;
    y += v->y;
    out[0] = d->fill[0];
    out[1] = d->fill[1];
    out[2] = d->fill[2];
    if (x >= 0 && y >= 0 && x < (int32_t)d->width && y < (int32_t)d->height) {
        const uint8_t *p = v->rows + ((uint64_t)(uint32_t)y * d->width + (uint32_t)x) * d->channels;
        out[0] = p[0];
        out[1] = d->channels == 3 ? p[1] : p[0];
        out[2] = d->channels == 3 ? p[2] : p[0];
    }
    if (d->output.bgr && d->output.channels == 3) {
        const uint8_t t = out[0];
        out[0] = out[2];
        out[2] = t;
    }
}

#endif
