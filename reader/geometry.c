/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/geometry.h"

#include <math.h>
#include <string.h>

#include "common/exact_math.h"
#include "common/fail.h"
#include "common/rng.h"

enum { MAX_SIDE = 1 << 20 };

void stk_transform_init(stk_transform *transform, stk_transform_kind kind)
{
    *transform = (stk_transform){
        .struct_size = sizeof *transform,
        .kind = kind,
        .out_width = 224,
        .out_height = 224,
        .resize_short = 256,
        .pad = 4,
        .scale_min = 0.08,
        .scale_max = 1.0,
        .ratio_min = 3.0 / 4.0,
        .ratio_max = 4.0 / 3.0,
        .flip_probability =
            kind == STK_TRANSFORM_RANDOM_RESIZED_CROP || kind == STK_TRANSFORM_PAD_CROP ? 0.5 : 0.0,
        .mix = {.probability = 1, .switch_probability = 0.5},
    };
}

static stk_status check_random_resized_crop(const stk_transform *t, stk_error *error)
{
    if (!(t->scale_min > 0 && t->scale_min <= t->scale_max && t->scale_max <= 1))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.scale must be 0 < min <= max <= 1, not %g, %g",
                        t->scale_min, t->scale_max);
    if (!(t->ratio_min > 0 && t->ratio_min <= t->ratio_max && t->ratio_max <= 1e6 && t->ratio_min >= 1e-6))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.ratio must be 0 < min <= max, not %g, %g",
                        t->ratio_min, t->ratio_max);
    return STK_OK;
}

stk_status stk_geometry_rule_init(stk_geometry_rule *rule, const stk_transform *t, uint64_t seed, stk_error *error)
{
    *rule = (stk_geometry_rule){.transform = *t, .seed = seed};
    if (t->struct_size != sizeof *t)
        return stk_fail(error, STK_ERR_ARGUMENT, "transform was not filled by stk_transform_init of this version");
    if ((unsigned)t->kind > STK_TRANSFORM_BOXES)
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.kind %d is unknown", (int)t->kind);
    if (t->kind != STK_TRANSFORM_NONE &&
        (t->out_width == 0 || t->out_height == 0 || t->out_width > MAX_SIDE || t->out_height > MAX_SIDE))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform's output size %ux%u must be 1 .. %d a side",
                        t->out_width, t->out_height, MAX_SIDE);
    if (t->kind == STK_TRANSFORM_RESIZE_CENTER_CROP && (t->resize_short == 0 || t->resize_short > MAX_SIDE))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.resize_short %u must be 1 .. %d", t->resize_short,
                        MAX_SIDE);
    if (t->kind == STK_TRANSFORM_PAD_CROP && t->pad > MAX_SIDE)
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.pad %u must be 0 .. %d", t->pad, MAX_SIDE);
    if (t->kind == STK_TRANSFORM_BOXES && t->boxes == NULL && t->box_fn == NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "the boxes transform needs transform.boxes or transform.box_fn");
    if (!(t->flip_probability >= 0 && t->flip_probability <= 1))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.flip_probability must be 0 .. 1, not %g",
                        t->flip_probability);
    if ((unsigned)t->filter > STK_FILTER_NEAREST || (unsigned)t->pixels > STK_PIXELS_PILLOW12 ||
        (unsigned)t->color > STK_COLOR_BGR || (unsigned)t->mode > STK_MODE_L)
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.filter, pixels, color or mode is out of range");
    if (t->kind == STK_TRANSFORM_RANDOM_RESIZED_CROP) {
        STK_TRY(check_random_resized_crop(t, error));
        rule->log_ratio_min = stk_exact_log(t->ratio_min);
        rule->log_ratio_max = stk_exact_log(t->ratio_max);
    }
    return STK_OK;
}

/* Python's round(): half to even. rint is exact in IEEE's default rounding mode. */
static double round_even(double x) { return rint(x); }

/* What torchvision falls back to when ten tries found no crop that fits: as much of the centre as the aspect
 * range allows. */
static stk_box centred_crop(const stk_transform *t, uint32_t width, uint32_t height)
{
    double w = width, h = height, in_ratio = w / h;
    if (in_ratio < t->ratio_min)
        h = round_even(w / t->ratio_min);
    else if (in_ratio > t->ratio_max)
        w = round_even(h * t->ratio_max);
    if (w < 1) w = 1; /* rounded down to nothing; torchvision fails there */
    if (h < 1) h = 1;
    stk_box box = {.width = (int32_t)w, .height = (int32_t)h};
    box.x = ((int32_t)width - box.width) / 2;
    box.y = ((int32_t)height - box.height) / 2;
    return box;
}

static stk_box random_resized_crop(const stk_geometry_rule *rule, stk_rng *rng, uint32_t width, uint32_t height)
{
    const stk_transform *t = &rule->transform;
    double area = (double)width * (double)height;
    for (int i = 0; i < 10; i++) {
        double target = area * (t->scale_min + (t->scale_max - t->scale_min) * stk_rng_double(rng));
        double log_ratio = rule->log_ratio_min + (rule->log_ratio_max - rule->log_ratio_min) * stk_rng_double(rng);
        double aspect = stk_exact_exp(log_ratio);
        double w = round_even(sqrt(target * aspect)), h = round_even(sqrt(target / aspect));
        if (!(w > 0 && w <= width && h > 0 && h <= height)) continue;
        stk_box box = {.width = (int32_t)w, .height = (int32_t)h};
        box.y = (int32_t)stk_rng_below(rng, (uint64_t)height - (uint64_t)box.height + 1);
        box.x = (int32_t)stk_rng_below(rng, (uint64_t)width - (uint64_t)box.width + 1);
        return box;
    }
    return centred_crop(t, width, height);
}

/* Where CenterCrop's window begins on an axis: round((size - crop) / 2) half to even; a picture smaller than the
 * window is padded first, (crop - size) // 2 of it before. */
static int32_t centre_offset(uint32_t size, uint32_t crop)
{
    if (crop > size) return -(int32_t)((crop - size) / 2);
    return (int32_t)round_even((double)(size - crop) / 2.0);
}

/* torchvision's Resize(int): the short side becomes `size`, the long one int(size * long / short). The integer
 * division gives the same: a quotient of integers this small never rounds up to the next whole number. */
static stk_status resize_short_side(const stk_transform *t, stk_geometry *g, uint32_t width, uint32_t height,
                                    stk_error *error)
{
    uint64_t size = t->resize_short, w = size, h = size;
    if (width <= height)
        h = size * height / width;
    else
        w = size * width / height;
    if (w > INT32_MAX || h > INT32_MAX)
        return stk_fail(error, STK_ERR_LIMIT, "the %ux%u image is too long and thin for resize_short %u", width,
                        height, t->resize_short);
    g->full_width = (uint32_t)w;
    g->full_height = (uint32_t)h;
    g->window_x = centre_offset(g->full_width, t->out_width);
    g->window_y = centre_offset(g->full_height, t->out_height);
    return STK_OK;
}

static stk_status pad_crop(const stk_transform *t, stk_rng *rng, stk_geometry *g, uint32_t width, uint32_t height,
                           stk_error *error)
{
    uint64_t w = (uint64_t)width + 2u * t->pad, h = (uint64_t)height + 2u * t->pad;
    if (w < t->out_width || h < t->out_height)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "the image is %ux%u, with padding %u smaller than the crop of %ux%u; give a larger pad or "
                        "another transform",
                        width, height, t->pad, t->out_width, t->out_height);
    uint64_t top = stk_rng_below(rng, h - t->out_height + 1);
    uint64_t left = stk_rng_below(rng, w - t->out_width + 1);
    g->window_x = (int32_t)((int64_t)left - (int64_t)t->pad);
    g->window_y = (int32_t)((int64_t)top - (int64_t)t->pad);
    return STK_OK;
}

static stk_status given_box(const stk_transform *t, uint64_t epoch, uint64_t sample_id, uint32_t occurrence,
                            uint32_t width, uint32_t height, stk_geometry *g, stk_error *error)
{
    if (t->boxes != NULL)
        g->box = t->boxes[sample_id];
    else
        t->box_fn(t->box_user, epoch, sample_id, occurrence, width, height, &g->box, &g->flip);
    const stk_box *b = &g->box;
    if (b->x < 0 || b->y < 0 || b->width < 1 || b->height < 1 || (int64_t)b->x + b->width > (int64_t)width ||
        (int64_t)b->y + b->height > (int64_t)height)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "the box x=%d y=%d width=%d height=%d does not lie in the %ux%u image", b->x, b->y,
                        b->width, b->height, width, height);
    return STK_OK;
}

stk_status stk_geometry_for(const stk_geometry_rule *rule, uint64_t epoch, uint64_t sample_id, uint32_t occurrence,
                            uint32_t view, uint32_t width, uint32_t height, stk_geometry *g, stk_error *error)
{
    const stk_transform *t = &rule->transform;
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "the record is not an image");
    *g = (stk_geometry){.box = {.width = (int32_t)width, .height = (int32_t)height},
                        .full_width = t->out_width,
                        .full_height = t->out_height,
                        .out_width = t->out_width,
                        .out_height = t->out_height};
    if (t->flip_probability > 0) {
        stk_rng rng = stk_rng_for(rule->seed, epoch, sample_id, occurrence, view, STK_PURPOSE_FLIP);
        g->flip = stk_rng_double(&rng) < t->flip_probability;
    }
    stk_rng rng = stk_rng_for(rule->seed, epoch, sample_id, occurrence, view, STK_PURPOSE_CROP);
    switch (t->kind) {
    case STK_TRANSFORM_NONE:
        g->full_width = g->out_width = width;
        g->full_height = g->out_height = height;
        return STK_OK;
    case STK_TRANSFORM_RANDOM_RESIZED_CROP: g->box = random_resized_crop(rule, &rng, width, height); return STK_OK;
    case STK_TRANSFORM_RESIZE_CENTER_CROP: return resize_short_side(t, g, width, height, error);
    case STK_TRANSFORM_RESIZE: return STK_OK;
    case STK_TRANSFORM_PAD_CROP:
        g->full_width = width;
        g->full_height = height;
        return pad_crop(t, &rng, g, width, height, error);
    case STK_TRANSFORM_BOXES: return given_box(t, epoch, sample_id, occurrence, width, height, g, error);
    }
    return stk_fail(error, STK_ERR_INTERNAL, "unknown transform");
}
