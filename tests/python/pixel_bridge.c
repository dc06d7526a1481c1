/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_render, pixel operations and their choice for Python by ctypes, so that tests can compare them with Pillow and
 * torchvision. Not installed. */
#include <string.h>

#include "codec/codec.h"
#include "codec/kernels.h"
#include "codec/pixel_ops.h"
#include "codec/render.h"
#include "reader/augment.h"
#include "reader/batch_mix.h"

#define BRIDGE __attribute__((visibility("default")))

enum { P_ENCODING, P_WIDTH, P_HEIGHT, P_CHANNELS, P_ORIENTATION, P_BOX_X, P_BOX_Y, P_BOX_WIDTH, P_BOX_HEIGHT,
       P_FULL_WIDTH, P_FULL_HEIGHT, P_FILTER, P_PIXELS, P_WINDOW_X, P_WINDOW_Y, P_OUT_WIDTH, P_OUT_HEIGHT, P_FLIP,
       P_COLOR, P_OUT_CHANNELS, P_FILL_0, P_FILL_1, P_FILL_2, P_COUNT };

BRIDGE void *bridge_open(stk_error *error);
BRIDGE const char *bridge_family(void *ctx);
BRIDGE int bridge_render(void *ctx, const int32_t *p, const uint8_t *data, size_t n_bytes, uint8_t *out,
                         stk_error *error);
BRIDGE /* more: filter, fill, kernel's size, and six doubles of a matrix. */
int bridge_pixel_op(int family, uint8_t *pixels, const uint32_t *shape, int kind, double value,
                           const uint32_t *more, stk_error *error);
BRIDGE int bridge_draw(const stk_step *step, uint64_t seed, uint64_t sample, uint32_t width, uint32_t height,
                       int32_t *kinds, double *values, int32_t *filters, int32_t *boxes, uint32_t *n_boxes);
BRIDGE size_t bridge_step_init(stk_step *step, int kind);
BRIDGE void bridge_mix(const double *alphas, uint64_t first, uint32_t n, uint32_t width, uint32_t height, double *out);
BRIDGE int bridge_tiles(void *ctx, const uint8_t *jpeg, size_t n_bytes, uint32_t tile_pixels, stk_buffer *out,
                        stk_error *error);

/* The context lives as long as the process. */
void *bridge_open(stk_error *error)
{
    stk_codec_ctx *ctx;
    return stk_codec_ctx_open(NULL, &ctx, error) == STK_OK ? ctx : NULL;
}

const char *bridge_family(void *ctx)
{
    return stk_family_name(stk_codec_kernels(ctx)->family);
}

int bridge_render(void *ctx, const int32_t *p, const uint8_t *data, size_t n_bytes, uint8_t *out, stk_error *error)
{
    stk_render_job job = {
        .data = data, .n_bytes = n_bytes, .encoding = (stk_encoding)p[P_ENCODING], .width = (uint32_t)p[P_WIDTH],
        .height = (uint32_t)p[P_HEIGHT], .channels = (uint8_t)p[P_CHANNELS],
        .orientation = (uint8_t)p[P_ORIENTATION],
        .box = {p[P_BOX_X], p[P_BOX_Y], p[P_BOX_WIDTH], p[P_BOX_HEIGHT]}, .full_width = (uint32_t)p[P_FULL_WIDTH],
        .full_height = (uint32_t)p[P_FULL_HEIGHT], .filter = (stk_filter)p[P_FILTER],
        .pixels = (stk_pixels)p[P_PIXELS], .window_x = p[P_WINDOW_X], .window_y = p[P_WINDOW_Y],
        .out_width = (uint32_t)p[P_OUT_WIDTH], .out_height = (uint32_t)p[P_OUT_HEIGHT],
        .fill = {(uint8_t)p[P_FILL_0], (uint8_t)p[P_FILL_1], (uint8_t)p[P_FILL_2]}, .flip = p[P_FLIP] != 0,
        .color = (stk_color)p[P_COLOR], .out_channels = (uint8_t)p[P_OUT_CHANNELS], .out = out,
        .out_stride = (size_t)p[P_OUT_WIDTH] * (size_t)p[P_OUT_CHANNELS]};
    return (int)stk_render(ctx, &job, NULL, error);
}

int bridge_tiles(void *ctx, const uint8_t *jpeg, size_t n_bytes, uint32_t tile_pixels, stk_buffer *out,
                 stk_error *error)
{
    stk_tile_options options = {.tile_pixels = tile_pixels};
    return (int)stk_tiles_from_jpeg(ctx, jpeg, n_bytes, &options, out, error);
}

int bridge_pixel_op(int family, uint8_t *pixels, const uint32_t *shape, int kind, double value, const uint32_t *more,
                    stk_error *error)
{
    static stk_buffer scratch; /* as long as the process */
    stk_picture picture = {pixels, shape[0], shape[1], shape[2]};
    stk_pixel_op op = {.kind = (stk_op_kind)kind, .value = value, .filter = (stk_filter)more[0],
                       .fill = {(uint8_t)more[1], (uint8_t)more[2], (uint8_t)more[3]}, .kernel_width = more[4],
                       .kernel_height = more[5]};
    memcpy(op.matrix, &more[6], sizeof op.matrix);
    return (int)stk_pixel_ops_run((stk_family)family, &picture, &op, 1, &scratch, error);
}

/* The size of a step; NULL is fine. */
size_t bridge_step_init(stk_step *step, int kind)
{
    if (step != NULL) stk_step_init(step, (stk_step_kind)kind);
    return sizeof *step;
}

/* transform.steps of one kind, drawn for one sample: kinds, values and filters of at most 256 operations, then boxes. */
int bridge_draw(const stk_step *step, uint64_t seed, uint64_t sample, uint32_t width, uint32_t height, int32_t *kinds,
                double *values, int32_t *filters, int32_t *boxes, uint32_t *n_boxes)
{
    stk_augment_rule rule;
    stk_drawn_steps plan;
    stk_transform t;
    stk_draw_key key = {.seed = seed, .sample = sample};
    stk_transform_init(&t, STK_TRANSFORM_RESIZE);
    t.steps = step;
    t.n_steps = 1;
    if (stk_augment_rule_init(&rule, &t, NULL) != STK_OK) return -1;
    stk_augment_draw(&rule, &key, width, height, &plan);
    for (uint32_t i = 0; i < plan.n_ops; i++) {
        kinds[i] = (int32_t)plan.ops[i].kind;
        values[i] = plan.ops[i].value;
        filters[i] = (int32_t)plan.ops[i].filter;
    }
    *n_boxes = plan.n_boxes;
    memcpy(boxes, plan.boxes, plan.n_boxes * sizeof *plan.boxes);
    return (int)plan.n_ops;
}

/* alphas: of mixup and cutmix, probability, switch. out: shift, cut, share, box. */
void bridge_mix(const double *alphas, uint64_t first, uint32_t n, uint32_t width, uint32_t height, double *out)
{
    stk_mix mix = {.mixup_alpha = alphas[0],
                   .cutmix_alpha = alphas[1],
                   .probability = alphas[2],
                   .switch_probability = alphas[3]};
    stk_mix_plan plan;
    stk_mix_draw(&mix, 5, 1, first, n, width, height, &plan);
    const double values[7] = {plan.shift, plan.cut, plan.share, plan.box.x, plan.box.y, plan.box.width, plan.box.height};
    memcpy(out, values, sizeof values);
}
