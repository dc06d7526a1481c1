/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_render for Python by ctypes, so that tests can compare it with Pillow. Not installed. */
#include "codec/codec.h"
#include "codec/kernels.h"
#include "codec/render.h"

#define BRIDGE __attribute__((visibility("default")))

enum { P_ENCODING, P_WIDTH, P_HEIGHT, P_CHANNELS, P_ORIENTATION, P_BOX_X, P_BOX_Y, P_BOX_WIDTH, P_BOX_HEIGHT,
       P_FULL_WIDTH, P_FULL_HEIGHT, P_FILTER, P_PIXELS, P_WINDOW_X, P_WINDOW_Y, P_OUT_WIDTH, P_OUT_HEIGHT, P_FLIP,
       P_COLOR, P_OUT_CHANNELS, P_FILL_0, P_FILL_1, P_FILL_2, P_COUNT };

BRIDGE void *bridge_open(stk_error *error);
BRIDGE const char *bridge_family(void *ctx);
BRIDGE int bridge_render(void *ctx, const int32_t *p, const uint8_t *data, size_t n_bytes, uint8_t *out,
                         stk_error *error);
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
