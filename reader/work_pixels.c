/* SPDX-License-Identifier: Apache-2.0
 *
 * Decode to pixels: uint8 NHWC straight into the slot, anything else by way of the bench's strip and the
 * normalise table. */
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "reader/sample_render.h"
#include "reader/work.h"

static size_t element_bytes(stk_dtype dtype)
{
    switch (dtype) {
    case STK_DTYPE_U8: return 1;
    case STK_DTYPE_F16:
    case STK_DTYPE_BF16: return 2;
    case STK_DTYPE_F32: return 4;
    }
    return 4;
}

bool stk_work_fixed_bytes(const stk_work_env *env, uint32_t width, uint32_t height, size_t *n_bytes)
{
    if (env->arrays) {
        *n_bytes = env->array.n_bytes;
        return true;
    }
    return stk_mul_size(width, height, n_bytes) && stk_mul_size(*n_bytes, env->channels, n_bytes) &&
           stk_mul_size(*n_bytes, element_bytes(env->dtype), n_bytes);
}

static stk_status pixels_size(const stk_work_env *env, const stk_work_item *item, size_t *n_bytes,
                              stk_error *error)
{
    if (stk_work_fixed_bytes(env, item->width, item->height, n_bytes)) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "an image of %ux%u is too large", item->width, item->height);
}

static stk_status check_shape(const stk_work_env *env, const stk_work_item *item, const stk_geometry *g,
                              stk_error *error)
{
    if (g->out_width != item->width || g->out_height != item->height)
        return stk_fail(
            error, STK_ERR_ARGUMENT,
            "is %ux%u, but the batch's first image is %ux%u; without a transform that resizes or crops, all "
            "images of a batch must have one size",
            g->out_width, g->out_height, item->width, item->height);
    if (env->channels == 1 && item->row->channels == 3)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "has three channels, but mode L was asked for; pack with --mode L");
    return STK_OK;
}

/* The steps after the geometry, on the picture in place. They know red from blue; BGR is made afterwards. */
static stk_status augment(const stk_work_env *env, stk_workbench *bench, const stk_drawn_steps *plan,
                          const stk_picture *picture, stk_error *error)
{
    STK_TRY(stk_pixel_ops_run(env->family, picture, plan->ops, plan->n_ops, &bench->scratch, error));
    size_t n_pixels = (size_t)picture->width * picture->height;
    if (env->rule.transform.color != STK_COLOR_BGR || picture->channels != 3) return STK_OK;
    for (uint8_t *p = picture->pixels; n_pixels > 0; n_pixels--, p += 3) {
        uint8_t swap = p[0];
        p[0] = p[2];
        p[2] = swap;
    }
    return STK_OK;
}

static stk_status pixels_run(const stk_work_env *env, stk_workbench *bench, const stk_work_item *item,
                             uint8_t *region, size_t n_bytes, stk_error *error)
{
    const stk_transform *t = &env->rule.transform;
    const bool steps = env->augment.n_steps > 0;
    const stk_draw_key key = {env->rule.seed, item->epoch, item->id, item->occurrence, item->view};
    stk_drawn_steps plan;
    stk_render_job job;
    stk_geometry g;
    STK_TRY(stk_job_from_row(env->dataset, item->row, item->data, &job, error));
    STK_TRY(stk_geometry_for(&env->rule, item->epoch, item->id, item->occurrence, item->view, job.width,
                             job.height, &g, error));
    STK_TRY(check_shape(env, item, &g, error));
    bool direct = env->dtype == STK_DTYPE_U8 && (env->layout == STK_LAYOUT_NHWC || env->channels == 1);
    size_t n_pixels = (size_t)g.out_width * g.out_height;
    if (!direct) {
        bench->pixels.n_bytes = 0;
        STK_TRY(stk_buffer_resize(&bench->pixels, n_pixels * env->channels, error));
    }
    job.box = g.box;
    job.full_width = g.full_width;
    job.full_height = g.full_height;
    job.window_x = g.window_x;
    job.window_y = g.window_y;
    job.out_width = g.out_width;
    job.out_height = g.out_height;
    job.flip = g.flip;
    job.filter = t->filter;
    job.pixels = t->pixels;
    job.color = steps ? STK_COLOR_RGB : t->color;
    for (int c = 0; c < 4; c++) job.fill[c] = t->fill[c];
    job.out_channels = (uint8_t)env->channels;
    job.out_stride = (size_t)g.out_width * env->channels;
    job.out = direct ? region : bench->pixels.data;
    (void)n_bytes; /* what stk_work_fixed_bytes made of the same width and height */
    STK_TRY(stk_job_run(bench->codec, &job, env->dataset->accepted_damage, error));
    if (steps) {
        stk_augment_draw(&env->augment, &key, g.out_width, g.out_height, &plan);
        stk_picture picture = {job.out, g.out_width, g.out_height, env->channels};
        STK_TRY(augment(env, bench, &plan, &picture, error));
    }
    if (!direct) stk_normalise(env->family, &env->norm, env->layout, job.out, n_pixels, region, n_pixels);
    if (env->augment.erases) stk_erase_boxes(&env->erase, &key, &plan, region, g.out_width, g.out_height);
    return STK_OK;
}

const stk_work stk_work_pixels = {.name = "pixels",
                                  .range = "stoker decode",
                                  .fixed = true,
                                  .size = pixels_size,
                                  .run = pixels_run};
