/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference path: one image, by the same stk_render that the loader's threads call. */
#include <string.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "reader/dataset_internal.h"
#include "reader/sample_render.h"

void stk_image_request_init(stk_image_request *request)
{
    *request = (stk_image_request){.struct_size = sizeof *request,
                                   .filter = STK_FILTER_BILINEAR,
                                   .pixels = STK_PIXELS_PILLOW13,
                                   .color = STK_COLOR_RGB};
}

static stk_status fill_job(const stk_image_request *r, stk_render_job *job, stk_error *error)
{
    if (r->struct_size != sizeof *r)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "request was not filled by stk_image_request_init of this version");
    stk_box box = r->box;
    if (box.x == 0 && box.y == 0 && box.width == 0 && box.height == 0)
        box = (stk_box){.width = (int32_t)job->width, .height = (int32_t)job->height};
    if (box.x < 0 || box.y < 0 || box.width < 1 || box.height < 1 ||
        (int64_t)box.x + box.width > (int64_t)job->width || (int64_t)box.y + box.height > (int64_t)job->height)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "the box x=%d y=%d width=%d height=%d does not lie in the %ux%u image", box.x, box.y,
                        box.width, box.height, job->width, job->height);
    job->box = box;
    job->full_width = job->out_width = r->out_width != 0 ? r->out_width : (uint32_t)box.width;
    job->full_height = job->out_height = r->out_height != 0 ? r->out_height : (uint32_t)box.height;
    job->filter = r->filter;
    job->pixels = r->pixels;
    job->color = r->color;
    job->flip = r->flip_horizontal;
    job->out_channels = job->channels;
    return STK_OK;
}

static stk_status render(const stk_dataset *d, stk_workbench *bench, uint64_t i, stk_row *row,
                         const stk_image_request *request, stk_buffer *out, stk_render_job *job, stk_error *error)
{
    const uint8_t *data;
    stk_payload_begin_round(&bench->payload);
    STK_TRY(stk_payload_get(d->payload, &bench->payload, i, row, &data, error));
    STK_TRY(stk_row_resolve(bench->codec, data, row, error));
    STK_TRY(stk_job_from_row(d, row, data, job, error));
    STK_TRY(fill_job(request, job, error));
    size_t n_bytes;
    if (!stk_mul_size(job->out_width, job->out_channels, &job->out_stride) ||
        !stk_mul_size(job->out_stride, job->out_height, &n_bytes))
        return stk_fail(error, STK_ERR_ARGUMENT, "the output is too large");
    if ((uint64_t)job->out_width * job->out_height > d->options.max_pixels)
        return stk_fail(error, STK_ERR_LIMIT, "an output of %ux%u is above the limit max_pixels of %llu",
                        job->out_width, job->out_height, (unsigned long long)d->options.max_pixels);
    out->n_bytes = 0;
    STK_TRY(stk_buffer_resize(out, n_bytes, error));
    job->out = out->data;
    return stk_job_run(bench->codec, job, request->ignore_damage ? UINT32_MAX : d->accepted_damage, error);
}

stk_status stk_dataset_image(const stk_dataset *d, uint64_t i, const stk_image_request *request, stk_buffer *out,
                             uint32_t *width, uint32_t *height, uint32_t *channels, stk_error *error)
{
    stk_image_request whole;
    stk_image_request_init(&whole);
    stk_row row;
    STK_TRY(stk_dataset_row(d, i, &row, error));
    stk_workbench *bench;
    STK_TRY(stk_dataset_take_bench(d, &bench, error));
    stk_render_job job = {0};
    stk_status status = render(d, bench, i, &row, request != NULL ? request : &whole, out, &job, error);
    stk_dataset_give_bench(d, bench);
    if (status != STK_OK) {
        stk_dataset_name_record(d, i, error);
        return status;
    }
    if (width != NULL) *width = job.out_width;
    if (height != NULL) *height = job.out_height;
    if (channels != NULL) *channels = job.out_channels;
    return STK_OK;
}
