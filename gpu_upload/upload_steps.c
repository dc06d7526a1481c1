/* SPDX-License-Identifier: Apache-2.0
 *
 * A transform's steps and mixing for batches that the device makes: drawn on the host for each entry, as the loader's
 * threads would, and run behind the stages that made the pictures. */
#include <string.h>

#include "common/fail.h"
#include "common/normal_values.h"
#include "common/rng.h"
#include "gpu_upload/choose.h"
#include "gpu_upload/uploader_internal.h"

/* ---- Opening. */

/* The bits of an element that is x. */
static uint32_t element_bits(stk_dtype dtype, float x)
{
    const uint32_t bits = stk_px_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    const bool is_nan = magnitude > 0x7f800000;
    switch (dtype) {
    case STK_DTYPE_U8: return stk_px_level(x);
    case STK_DTYPE_F16:
        return is_nan ? sign | 0x7e00 : magnitude >= 0x477ff000 ? sign | 0x7c00 : stk_px_to_f16(x); /* 65520 and more */
    case STK_DTYPE_BF16: return is_nan ? 0x7fc0 : stk_px_to_bf16(x);
    case STK_DTYPE_F32: return bits;
    }
    return bits;
}

stk_status stk_upload_steps_open(stk_uploader *u, stk_error *error)
{
    const stk_loader_options *o = &u->loader_options;
    stk_upload_steps *s = &u->steps;
    if (!u->gather || !stk_transform_has_steps(&o->transform)) return STK_OK;
    STK_TRY(stk_drawer_open(&o->transform, o->seed, &s->drawer, error));
    if (o->transform.n_steps == 0) return STK_OK;
    const stk_step *last = &o->transform.steps[o->transform.n_steps - 1];
    if (last->kind != STK_STEP_ERASE) return STK_OK;
    s->erased = last->erase_value;
    for (int c = 0; c < 3; c++) s->constants[c] = element_bits(o->dtype, last->erase_constant[c]);
    if (s->erased == STK_ERASE_CONSTANT) return STK_OK;
    float borders[STK_NORMAL_BINS + 1];
    stk_normal_fill(borders);
    return stk_upload_table(u, borders, sizeof borders, &s->normal, error);
}

void stk_upload_steps_close(stk_uploader *u)
{
    if (u->share != NULL) stk_gpu_block_free(u->share, &u->steps.normal);
    stk_steps_plan_free(&u->steps.plan);
    stk_drawer_close(&u->steps.drawer);
}

/* ---- A batch. */

stk_status stk_upload_steps_plan(stk_uploader *u, const stk_batch *b, stk_job *job, const stk_gpu_output *output,
                                 stk_error *error)
{
    stk_upload_steps *s = &u->steps;
    const uint32_t n_views = u->loader_options.n_views;
    if (s->drawer == NULL) return STK_OK;
    u->share->backend->range_push("stoker plan");
    stk_steps_plan_begin(&s->plan, b->n, output, s->erased);
    stk_status status = STK_OK;
    for (uint32_t e = 0; e < b->n && status == STK_OK; e++) {
        const uint64_t id = b->ids[e];
        const uint32_t occurrence = b->occurrences[e], view = u->loader_options.first_view + e % n_views;
        const bool good = job->statuses[e] == STK_OK;
        const uint64_t stream = stk_rng_for(u->loader_options.seed, b->epoch, id, occurrence, view, STK_PURPOSE_ERASED).key;
        if (good) stk_drawer_draw(s->drawer, b->epoch, id, occurrence, view, b->width, b->height, &s->drawn);
        else stk_job_unmix(job, e); /* the plan may have refused it; the loader has not mixed its own bad ones */
        status = stk_steps_plan_add(&s->plan, good ? &s->drawn : NULL, stream, error);
    }
    if (status == STK_OK) status = stk_steps_plan_end(&s->plan, n_views, b->mixings, error);
    u->share->backend->range_pop();
    return status;
}

size_t stk_upload_steps_bytes(const stk_uploader *u)
{
    return u->steps.drawer != NULL ? u->steps.plan.block.n_bytes : 0;
}

stk_gpu_output stk_upload_steps_picture(const stk_uploader *u, const stk_gpu_output *output)
{
    return u->steps.drawer != NULL ? stk_steps_picture(output) : *output;
}

stk_status stk_upload_steps_run(stk_uploader *u, stk_job *job, const stk_gpu_image *images, stk_error *error)
{
    const stk_gpu_backend *k = u->share->backend;
    const stk_loader_options *o = &u->loader_options;
    const stk_upload_steps *s = &u->steps;
    stk_gpu_steps steps;
    if (s->drawer == NULL) return STK_OK;
    stk_steps_fill(&s->plan, job->steps.memory, job->lane->pictures.memory, &steps);
    steps.images = images;
    steps.norm = u->norm.memory;
    steps.normal = s->normal.memory;
    steps.out = job->out.memory;
    steps.erase_value = s->erased;
    memcpy(steps.constants, s->constants, sizeof steps.constants);
    memcpy(steps.mean, o->mean, sizeof steps.mean);
    memcpy(steps.std, o->std, sizeof steps.std);
    k->range_push("stoker steps");
    stk_status status = k->run_steps(u->share->device, &steps, job->lane->stream, error);
    k->range_pop();
    return status;
}
