/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/uniform.h"

#include "common/fail.h"
#include "format/array_layout.h"
#include "format/hdf5/hdf5_writer.h"
#include "packer/image_plan.h"

/* Of 128 images one is looked at, within these bounds, in stretches that are spread evenly: class folders come one
 * after the other, and a class from another source is what differs most often. */
enum { SAMPLE_SHARE = 128, MIN_SAMPLE = 32, MAX_SAMPLE = 1024, STRETCHES = 8 };

typedef struct search {
    const stk_pack_options *options;
    const stk_pipeline *pipeline;
    stk_uniform size;
    bool differs;
    bool decided; /* nothing that comes can change the answer */
} search;

static bool like_array(const stk_uniform *size, const stk_record *r, stk_array *array)
{
    if (r->encoding != STK_ENCODING_ARRAY || stk_array_view(r->payload, r->n_bytes, array, NULL) != STK_OK) return false;
    return !size->found || (size->arrays && stk_array_same(array, &size->array));
}

/* Arrays among images, or of another type or shape: nothing common. */
static void look_at_array(search *s, const stk_record *r)
{
    stk_array array;
    s->differs = !like_array(&s->size, r, &array) || !stk_hdf5_takes_array(&array);
    s->decided = s->differs;
    if (s->differs || s->size.found) return;
    array.data = NULL;
    s->size = (stk_uniform){.found = true, .arrays = true, .array = array};
}

static stk_status look_at(void *user, const stk_source *source, const stk_product *product, stk_error *error)
{
    search *s = user;
    stk_image_plan plan;
    (void)source;
    (void)error;
    if (product->fate != STK_FATE_RECORD) return STK_OK;
    const stk_record *r = &product->record;
    if (r->encoding == STK_ENCODING_ARRAY || s->size.arrays) {
        look_at_array(s, r);
        return s->decided ? STK_ERR_CANCELLED : STK_OK;
    }
    /* The record's size is turned already, as the options say. */
    stk_image_info info = {.encoding = r->encoding,
                           .width = r->width,
                           .height = r->height,
                           .channels = r->channels,
                           .orientation = 1};
    stk_image_plan_make(s->options, &info, &plan);
    if (!s->size.found) s->size = (stk_uniform){.found = true, .width = plan.target_width, .height = plan.target_height,
                                                .channels = plan.channels};
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

static stk_status look_through(search *s, const stk_pipeline *look, uint64_t first, uint64_t end, stk_error *error)
{
    stk_pipeline part = *look;
    part.first = first;
    part.end = end;
    stk_status status = stk_pipeline_run(&part, error);
    return status == STK_ERR_CANCELLED && s->decided ? STK_OK : status;
}

static stk_status look_at_sample(search *s, const stk_pipeline *look, stk_error *error)
{
    uint64_t n = look->end - look->first, sample = n / SAMPLE_SHARE;
    if (sample < MIN_SAMPLE) sample = MIN_SAMPLE;
    if (sample > MAX_SAMPLE) sample = MAX_SAMPLE;
    if (sample >= n) return look_through(s, look, look->first, look->end, error);
    for (uint64_t k = 0; k < STRETCHES && !s->decided; k++) {
        uint64_t first = look->first + k * (n / STRETCHES);
        STK_TRY(look_through(s, look, first, first + sample / STRETCHES, error));
    }
    return STK_OK;
}

static stk_status search_sizes(const stk_pipeline *pipeline, const stk_pack_options *options, bool all,
                               stk_uniform *out, stk_error *error)
{
    search s = {.options = options, .pipeline = pipeline};
    *out = (stk_uniform){0};
    if (options->encode == STK_ENCODE_KEEP || options->encode == STK_ENCODE_TILES) return STK_OK;
    /* As they are, and nothing that leaves a trace: complaints belong to the pass that packs. A sample is decoded for
     * damage, as raw pixels will be. */
    stk_pack_options light = *options;
    light.encode = STK_ENCODE_KEEP;
    light.check = all ? STK_CHECK_HEADER : STK_CHECK_DECODE;
    light.resize = STK_RESIZE_NONE;
    light.on_bad = STK_BAD_SKIP;
    stk_recipe recipe = {.options = &light};
    stk_pipeline look = *pipeline;
    look.recipe = &recipe;
    look.take = look_at;
    look.tick = tick;
    look.user = &s;
    if (!all) STK_TRY(look_at_sample(&s, &look, error));
    if (!s.size.found) STK_TRY(look_through(&s, &look, look.first, look.end, error));
    if (!s.differs) *out = s.size;
    return STK_OK;
}

stk_status stk_uniform_guess(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                             stk_error *error)
{
    return search_sizes(pipeline, options, false, out, error);
}

stk_status stk_uniform_find(const stk_pipeline *pipeline, const stk_pack_options *options, stk_uniform *out,
                            stk_error *error)
{
    return search_sizes(pipeline, options, true, out, error);
}

bool stk_uniform_holds(stk_uniform *size, const stk_record *r)
{
    stk_array array;
    if (size->arrays && like_array(size, r, &array)) return true;
    bool same_size = !size->arrays && r->encoding == STK_ENCODING_RAW && r->width == size->width &&
                     r->height == size->height;
    if (same_size && r->channels == size->channels) return true;
    if (same_size)
        size->channels = 3;
    else
        *size = (stk_uniform){0};
    return false;
}
