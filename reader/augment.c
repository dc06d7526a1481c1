/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/augment.h"

#include <math.h>
#include <string.h>

#include "common/exact_math.h"
#include "common/fail.h"
#include "common/rng_shapes.h"
#include "reader/augment_internal.h"

enum { KERNEL_MAX = 255, N_OPS_MAX = 16 };

void stk_step_init(stk_step *step, stk_step_kind kind)
{
    *step = (stk_step){
        .kind = kind,
        .probability = kind == STK_STEP_ERASE ? 0.5 : 1.0,
        .brightness = {1, 1},
        .contrast = {1, 1},
        .saturation = {1, 1},
        .kernel_width = 23,
        .kernel_height = 23,
        .n_ops = 2,
        .n_bins = 31,
        .magnitude = kind == STK_STEP_TIMM_RAND ? 10 : 9,
        .magnitude_max = 10,
        .op_probability = 0.5,
        .filter = STK_FILTER_NEAREST,
        .area = {0.02, 0.33},
        .aspect = {0.3, 3.3},
        .scale = {1, 1},
        .n_boxes_min = 1,
        .n_boxes_max = 1,
    };
    if (kind == STK_STEP_BLUR) {
        step->value[0] = 0.1;
        step->value[1] = 2.0;
    }
}

/* ---- Checks. */

static bool is_range(const double *range, double low, double high)
{
    return range[0] >= low && range[0] <= range[1] && range[1] <= high;
}

static bool is_share(double p) { return p >= 0 && p <= 1; }

/* What values an operation takes. */
static bool op_value_fits(stk_op_kind op, const double *value)
{
    switch (op) {
    case STK_OP_BRIGHTNESS:
    case STK_OP_SATURATION:
    case STK_OP_CONTRAST:
    case STK_OP_SHARPNESS: return is_range(value, 0, 1e6);
    case STK_OP_POSTERIZE: return is_range(value, 0, 8);
    case STK_OP_SOLARIZE: return is_range(value, -1e6, 1e6);
    case STK_OP_SOLARIZE_ADD: return is_range(value, 0, 255);
    case STK_OP_HUE: return is_range(value, -0.5, 0.5);
    case STK_OP_BOX_BLUR: return is_range(value, 0, 100);
    default: return is_range(value, -1e6, 1e6);
    }
}

/* What is wrong with a step, or NULL. */
static const char *fault_of(const stk_step *s, bool is_last)
{
    if (s->kind < STK_STEP_OP || s->kind > STK_STEP_AFFINE) return "its kind is unknown";
    if (!is_share(s->probability) || !is_share(s->op_probability)) return "a probability must be 0 .. 1";
    if (s->filter != STK_FILTER_NEAREST && s->filter != STK_FILTER_BILINEAR && s->filter != STK_FILTER_BICUBIC)
        return "pixels are moved with nearest, bilinear or bicubic";
    switch (s->kind) {
    case STK_STEP_OP:
        if ((unsigned)s->op > STK_OP_BOX_BLUR || s->op == STK_OP_BLUR) return "its operation is unknown";
        return op_value_fits(s->op, s->value) ? NULL : "its value is out of range, or min above max";
    case STK_STEP_COLOR_JITTER:
        if (!is_range(s->brightness, 0, 1e6) || !is_range(s->contrast, 0, 1e6) || !is_range(s->saturation, 0, 1e6))
            return "brightness, contrast and saturation must be 0 <= min <= max";
        return is_range(s->hue, -0.5, 0.5) ? NULL : "hue must be -0.5 <= min <= max <= 0.5";
    case STK_STEP_BLUR:
        if (s->kernel_width % 2 == 0 || s->kernel_height % 2 == 0 || s->kernel_width > KERNEL_MAX ||
            s->kernel_height > KERNEL_MAX)
            return "the kernel's size must be odd, 1 .. 255";
        return s->value[0] > 0 && is_range(s->value, 0, 1e3) ? NULL : "sigma must be 0 < min <= max <= 1000";
    case STK_STEP_RAND_AUGMENT:
        if (!(s->magnitude >= 0 && s->magnitude < s->n_bins)) return "the magnitude must be 0 .. bins - 1";
        /* fall through */
    case STK_STEP_TRIVIAL_AUGMENT:
        if (s->n_bins < 2 || s->n_bins > 10000) return "bins of magnitude must be 2 .. 10000";
        return s->n_ops <= N_OPS_MAX ? NULL : "at most 16 operations an image";
    case STK_STEP_AUTO_AUGMENT: return (unsigned)s->policy <= STK_POLICY_TIMM_3A ? NULL : "its policy is unknown";
    case STK_STEP_TIMM_RAND:
        if (!(s->magnitude >= 0 && s->magnitude_std >= 0 && s->magnitude_max > 0 && s->magnitude_max <= 1000))
            return "magnitude and its deviation must be 0 or more, its maximum above 0";
        return s->n_ops <= N_OPS_MAX ? NULL : "at most 16 operations an image";
    case STK_STEP_ERASE:
        if (!is_last) return "erasing must be the last step: it works on the finished pixels";
        if (!is_range(s->area, 0, 1)) return "the erased area must be 0 <= min <= max <= 1";
        if (!(s->aspect[0] >= 1e-6 && is_range(s->aspect, 0, 1e6))) return "the aspect must be 0 < min <= max";
        if ((unsigned)s->erase_value > STK_ERASE_COLOR) return "what erased boxes hold is unknown";
        return s->n_boxes_min >= 1 && s->n_boxes_min <= s->n_boxes_max && s->n_boxes_max <= STK_DRAWN_BOXES_MAX
                   ? NULL
                   : "boxes must be 1 <= min <= max <= 16";
    case STK_STEP_AFFINE: return stk_affine_fault(s);
    default: return "its kind is unknown";
    }
}

stk_status stk_augment_rule_init(stk_augment_rule *rule, const stk_transform *t, stk_error *error)
{
    rule->n_steps = 0;
    rule->erases = false;
    if (t->n_steps > STK_STEPS_MAX || (t->n_steps > 0 && t->steps == NULL))
        return stk_fail(error, STK_ERR_ARGUMENT, "transform.steps: %u steps, at most %d are done", t->n_steps,
                        STK_STEPS_MAX);
    for (uint32_t k = 0; k < t->n_steps; k++) {
        const char *fault = fault_of(&t->steps[k], k + 1 == t->n_steps);
        if (fault != NULL)
            return stk_fail(error, STK_ERR_ARGUMENT, "step %u of the transform: %s", k + 1, fault);
        rule->steps[k] = t->steps[k];
        rule->erases = t->steps[k].kind == STK_STEP_ERASE;
    }
    rule->n_steps = t->n_steps;
    return STK_OK;
}

/* ---- Choices. */

void stk_plan_add(stk_drawn_steps *plan, const stk_step *step, stk_rng *rng, stk_op_kind kind, double value)
{
    bool moves = (kind >= STK_OP_SHEAR_X && kind <= STK_OP_ROTATE) || kind == STK_OP_AFFINE;
    stk_filter filter = step->filter;
    if (moves && step->mixed_filters)
        filter = stk_rng_below(rng, 2) == 0 ? STK_FILTER_BILINEAR : STK_FILTER_BICUBIC;
    if (kind == STK_OP_IDENTITY || plan->n_ops == STK_DRAWN_OPS_MAX) return;
    stk_pixel_op *op = &plan->ops[plan->n_ops++];
    *op = (stk_pixel_op){.kind = kind, .value = value, .filter = filter, .kernel_width = step->kernel_width,
                         .kernel_height = step->kernel_height};
    memcpy(op->fill, step->fill, sizeof op->fill);
}

/* torchvision draws into a float32 tensor. */
static double draw_float(stk_rng *rng, const double *range)
{
    return (double)(float)stk_rng_between(rng, range[0], range[1]);
}

/* All is drawn, whether it is used or not, so that switching one of them off leaves the others. */
static void draw_color_jitter(const stk_step *s, stk_rng *rng, stk_drawn_steps *plan)
{
    const double *ranges[4] = {s->brightness, s->contrast, s->saturation, s->hue};
    static const stk_op_kind kinds[4] = {STK_OP_BRIGHTNESS, STK_OP_CONTRAST, STK_OP_SATURATION, STK_OP_HUE};
    int order[4] = {0, 1, 2, 3};
    double values[4];
    for (int i = 3; i > 0; i--) {
        int j = (int)stk_rng_below(rng, (uint64_t)i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = 0; i < 4; i++) values[i] = draw_float(rng, ranges[i]);
    for (int i = 0; i < 4; i++) {
        int k = order[i];
        double neutral = kinds[k] == STK_OP_HUE ? 0 : 1;
        bool off = ranges[k][0] == neutral && ranges[k][1] == neutral;
        if (!off) stk_plan_add(plan, s, rng, kinds[k], values[k]);
    }
}

/* Both libraries' algorithm: up to ten tries a box, which must be smaller than the picture on both sides. */
static void draw_boxes(const stk_step *s, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    double low = stk_exact_log(s->aspect[0]), high = stk_exact_log(s->aspect[1]);
    uint32_t n = s->n_boxes_min + (uint32_t)stk_rng_below(rng, (uint64_t)s->n_boxes_max - s->n_boxes_min + 1);
    double area = (double)width * (double)height / n;
    for (uint32_t b = 0; b < n; b++)
        for (int i = 0; i < 10; i++) {
            double target = area * stk_rng_between(rng, s->area[0], s->area[1]);
            double aspect = stk_exact_exp(stk_rng_between(rng, low, high));
            double h = rint(sqrt(target * aspect)), w = rint(sqrt(target / aspect));
            if (!(h < height && w < width)) continue;
            stk_box box = {.width = (int32_t)w, .height = (int32_t)h};
            box.y = (int32_t)stk_rng_below(rng, (uint64_t)height - (uint64_t)box.height + 1);
            box.x = (int32_t)stk_rng_below(rng, (uint64_t)width - (uint64_t)box.width + 1);
            plan->boxes[plan->n_boxes++] = box;
            break;
        }
}

static double draw_op_value(const stk_step *s, stk_rng *rng)
{
    double value = draw_float(rng, s->value);
    return s->value[0] == s->value[1] ? s->value[0] : value;
}

static void draw_step(const stk_step *s, stk_rng *rng, uint32_t width, uint32_t height, stk_drawn_steps *plan)
{
    switch (s->kind) {
    case STK_STEP_NONE: return;
    case STK_STEP_OP: stk_plan_add(plan, s, rng, s->op, draw_op_value(s, rng)); return;
    case STK_STEP_COLOR_JITTER: draw_color_jitter(s, rng, plan); return;
    case STK_STEP_BLUR: stk_plan_add(plan, s, rng, STK_OP_BLUR, draw_op_value(s, rng)); return;
    case STK_STEP_RAND_AUGMENT: stk_draw_rand_augment(s, rng, width, height, plan); return;
    case STK_STEP_TRIVIAL_AUGMENT: stk_draw_trivial_augment(s, rng, plan); return;
    case STK_STEP_AUTO_AUGMENT:
        if (s->policy >= STK_POLICY_TIMM_V0) stk_draw_timm_auto(s, rng, width, height, plan);
        else stk_draw_auto_augment(s, rng, width, height, plan);
        return;
    case STK_STEP_TIMM_RAND: stk_draw_timm_rand(s, rng, width, height, plan); return;
    case STK_STEP_ERASE: draw_boxes(s, rng, width, height, plan); return;
    case STK_STEP_AFFINE: stk_draw_affine(s, rng, width, height, plan); return;
    }
}

void stk_augment_draw(const stk_augment_rule *rule, const stk_draw_key *key, uint32_t width, uint32_t height,
                      stk_drawn_steps *plan)
{
    plan->n_ops = plan->n_boxes = 0;
    for (uint32_t k = 0; k < rule->n_steps; k++) {
        const stk_step *s = &rule->steps[k];
        if (s->views != 0 && (key->view > 31 || (s->views >> key->view & 1) == 0)) continue;
        stk_rng rng = stk_rng_for(key->seed, key->epoch, key->sample, key->occurrence, key->view,
                                  (stk_purpose)(STK_PURPOSE_AUGMENT + 256 * k));
        if (stk_rng_double(&rng) < s->probability) draw_step(s, &rng, width, height, plan);
    }
}
