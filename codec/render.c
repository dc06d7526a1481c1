/* SPDX-License-Identifier: Apache-2.0
 *
 * One sample: bytes of a record -> a rectangle of finished pixels. */
#include "codec/render.h"

#include "codec/planes.h"
#include "codec/raw.h"
#include "codec/render_plan.h"
#include "common/fail.h"

static stk_status render_tiles(stk_codec_ctx *ctx, const stk_render_job *job, const stk_render_plan *plan,
                               stk_error *error)
{
    stk_planes planes;
    STK_TRY(stk_tiles_decode_box(ctx, job->data, job->n_bytes, job->tables, plan->part, &planes, error));
    return stk_planes_render(ctx, &planes, job, error);
}

/* Verbatim files. The stored picture must be as large as the index says: a box of another picture would be
 * wrong pixels without a complaint; decode_box refuses a box that is not inside. */
static stk_status render_file(stk_codec_ctx *ctx, const stk_render_job *job, const stk_render_plan *plan,
                              stk_damage_report *damage, stk_error *error)
{
    stk_damage_report own = {0};
    stk_damage_report *report = damage != NULL ? damage : &own;
    stk_mode mode = job->out_channels == 1 || job->channels == 1 ? STK_MODE_L : STK_MODE_RGB;
    stk_image image;
    STK_TRY(stk_codec_decode_box(ctx, job->encoding, job->data, job->n_bytes, mode, plan->part, &image, report,
                                 error));
    if (damage == NULL && own.kinds != 0) return stk_fail(error, STK_ERR_DAMAGED, "damaged: %s", own.text);
    if (image.width != (uint32_t)plan->part.width || image.height != (uint32_t)plan->part.height)
        return stk_fail(error, STK_ERR_CORRUPT, "is of another size than its index says");
    return stk_render_image(ctx, &image, job, plan, error);
}

stk_status stk_render(stk_codec_ctx *ctx, const stk_render_job *job, stk_damage_report *damage, stk_error *error)
{
    stk_render_plan plan;
    if (damage != NULL) *damage = (stk_damage_report){0};
    STK_TRY(stk_render_check(job, error));
    stk_render_plan_make(job, &plan);
    stk_render_fill(job, &plan);
    if (!plan.visible) return STK_OK;
    switch (job->encoding) {
    case STK_ENCODING_RAW: return stk_raw_render(ctx, job, &plan, error);
    case STK_ENCODING_TILES: return render_tiles(ctx, job, &plan, error);
    case STK_ENCODING_ARRAY:
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "an array record has no pixels to render; read it as an array");
    default: return render_file(ctx, job, &plan, damage, error);
    }
}
