/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/render_plan.h"

#include <string.h>

#include "common/fail.h"

stk_status stk_render_check(const stk_render_job *job, stk_error *error)
{
    const stk_box *b = &job->box;
    if (b->width < 1 || b->height < 1 || b->x < 0 || b->y < 0 || (int64_t)b->x + b->width > job->width ||
        (int64_t)b->y + b->height > job->height)
        return stk_fail(error, STK_ERR_ARGUMENT, "box x=%d y=%d width=%d height=%d is not inside the %ux%u image",
                        b->x, b->y, b->width, b->height, job->width, job->height);
    if (job->full_width < 1 || job->full_height < 1 || job->full_width > INT32_MAX || job->full_height > INT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT, "cannot resample to %ux%u pixels", job->full_width,
                        job->full_height);
    if (job->out_width < 1 || job->out_height < 1 || job->out_width > INT32_MAX || job->out_height > INT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT, "cannot deliver %ux%u pixels", job->out_width, job->out_height);
    if (job->out_channels != 1 && job->out_channels != 3)
        return stk_fail(error, STK_ERR_ARGUMENT, "cannot deliver %u channels; 1 or 3 can be", job->out_channels);
    if (job->channels != 1 && job->channels != 3)
        return stk_fail(error, STK_ERR_ARGUMENT, "the record has %u channels; 1 or 3 can be rendered",
                        job->channels);
    return STK_OK;
}

/* The overlap of the window [position, position + n_out) with [0, full): its start in the picture and in the
 * output. False when empty. */
static bool overlap(int32_t position, uint32_t n_out, uint32_t full, uint32_t *first, uint32_t *n,
                    uint32_t *out_first)
{
    int64_t low = position < 0 ? 0 : position, high = (int64_t)position + n_out;
    if (high > full) high = full;
    if (low >= high) return false;
    *first = (uint32_t)low;
    *n = (uint32_t)(high - low);
    *out_first = (uint32_t)(low - position);
    return true;
}

void stk_render_plan_make(const stk_render_job *job, stk_render_plan *plan)
{
    stk_resampling *r = &plan->resample;
    *r = (stk_resampling){.box_width = (uint32_t)job->box.width, .box_height = (uint32_t)job->box.height,
                          .full_width = job->full_width, .full_height = job->full_height, .filter = job->filter,
                          .pixels = job->pixels};
    plan->turn = stk_turn_of(job->orientation);
    plan->out_x = plan->out_y = 0;
    plan->part = (stk_box){0};
    plan->visible = overlap(job->window_x, job->out_width, job->full_width, &r->x, &r->width, &plan->out_x) &&
                    overlap(job->window_y, job->out_height, job->full_height, &r->y, &r->height, &plan->out_y);
    if (!plan->visible) return;
    if (job->flip) plan->out_x = job->out_width - plan->out_x - r->width;
    uint32_t right, bottom;
    stk_axis_span(r->box_width, r->full_width, r->x, r->width, r->filter, &r->in_x, &right);
    stk_axis_span(r->box_height, r->full_height, r->y, r->height, r->filter, &r->in_y, &bottom);
    stk_box need = {job->box.x + (int32_t)r->in_x, job->box.y + (int32_t)r->in_y, (int32_t)(right - r->in_x),
                    (int32_t)(bottom - r->in_y)};
    plan->part = stk_turn_box(plan->turn, job->width, job->height, need);
}

/* All bytes of the fill colour are the same, as for black and for grey. */
static bool plain_fill(const stk_render_job *job)
{
    return job->out_channels == 1 || (job->fill[0] == job->fill[1] && job->fill[1] == job->fill[2]);
}

static void fill_pixels(const stk_render_job *job, uint8_t *out, uint32_t n)
{
    if (plain_fill(job)) {
        memset(out, job->fill[0], (size_t)n * job->out_channels);
        return;
    }
    bool swap = job->color == STK_COLOR_BGR;
    for (uint32_t i = 0; i < n; i++, out += 3) {
        out[0] = job->fill[swap ? 2 : 0];
        out[1] = job->fill[1];
        out[2] = job->fill[swap ? 0 : 2];
    }
}

/* Up to this size the whole output is set, which is quicker than finding its borders row by row. */
enum { SMALL_OUTPUT = 16384 };

void stk_render_fill(const stk_render_job *job, const stk_render_plan *plan)
{
    const stk_resampling *r = &plan->resample;
    uint32_t top = plan->visible ? plan->out_y : job->out_height;
    uint32_t bottom = plan->visible ? plan->out_y + r->height : job->out_height;
    uint32_t right = plan->visible ? plan->out_x + r->width : job->out_width;
    if (plan->visible && r->width == job->out_width && r->height == job->out_height) return;
    size_t row_bytes = (size_t)job->out_width * job->out_channels;
    if (plain_fill(job) && job->out_stride == row_bytes && row_bytes * job->out_height <= SMALL_OUTPUT) {
        memset(job->out, job->fill[0], row_bytes * job->out_height);
        return;
    }
    for (uint32_t y = 0; y < job->out_height; y++) {
        uint8_t *row = job->out + y * job->out_stride;
        if (y < top || y >= bottom) {
            fill_pixels(job, row, job->out_width);
        } else {
            fill_pixels(job, row, plan->out_x);
            fill_pixels(job, row + (size_t)right * job->out_channels, job->out_width - right);
        }
    }
}
