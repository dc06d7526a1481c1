/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/uniform.h"

#include "packer/image_plan.h"

typedef struct search {
    const stk_pack_options *options;
    const stk_pipeline *pipeline;
    stk_uniform size;
    bool differs;
    bool decided; /* nothing that comes can change the answer */
} search;

static stk_status look_at(void *user, const stk_source *source, const stk_product *product, stk_error *error)
{
    search *s = user;
    stk_image_plan plan;
    (void)source;
    (void)error;
    if (product->fate != STK_FATE_RECORD) return STK_OK;
    const stk_record *r = &product->record;
    /* The record's size is turned already, as the options say. */
    stk_image_info info = {.encoding = r->encoding,
                           .width = r->width,
                           .height = r->height,
                           .channels = r->channels,
                           .orientation = 1};
    stk_image_plan_make(s->options, &info, &plan);
    if (!s->size.found) s->size = (stk_uniform){true, plan.target_width, plan.target_height, plan.channels};
    if (plan.channels > s->size.channels) s->size.channels = plan.channels; /* grey ones are widened */
    s->differs = plan.target_width != s->size.width || plan.target_height != s->size.height;
    bool all_channels = s->options->mode == STK_MODE_L || s->size.channels == 3;
    s->decided = s->differs || (s->options->resize == STK_RESIZE_EXACT && all_channels);
    return s->decided ? STK_ERR_CANCELLED : STK_OK;
}

static bool tick(void *user)
{
    const search *s = user;
    return s->pipeline->tick == NULL || s->pipeline->tick(s->pipeline->user);
}

stk_status stk_uniform_find(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                            stk_error *error)
{
    search s = {.options = options, .pipeline = pipeline};
    *out = (stk_uniform){0};
    if (options->encode == STK_ENCODE_KEEP || options->encode == STK_ENCODE_TILES) return STK_OK;
    /* Headers only, and nothing that leaves a trace: complaints belong to the pass that packs. */
    stk_pack_options light = *options;
    light.encode = STK_ENCODE_KEEP;
    light.check = STK_CHECK_HEADER;
    light.resize = STK_RESIZE_NONE;
    light.on_bad = STK_BAD_SKIP;
    stk_recipe recipe = {.options = &light};
    stk_pipeline look = *pipeline;
    look.recipe = &recipe;
    look.take = look_at;
    look.tick = tick;
    look.user = &s;
    stk_status status = stk_pipeline_run(&look, error);
    if (status != STK_OK && !(status == STK_ERR_CANCELLED && s.decided)) return status;
    if (!s.differs) *out = s.size;
    return STK_OK;
}
