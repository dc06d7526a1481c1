/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/turn.h"

stk_turn stk_turn_of(uint8_t orientation)
{
    stk_turn turn = {0};
    if (orientation < 1 || orientation > 8) return turn;
    turn.transpose = orientation >= 5;
    turn.mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    turn.mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    return turn;
}

stk_box stk_turn_box(stk_turn turn, uint32_t turned_width, uint32_t turned_height, stk_box box)
{
    stk_box b = turn.transpose ? (stk_box){box.y, box.x, box.height, box.width} : box;
    uint32_t width = turn.transpose ? turned_height : turned_width;
    uint32_t height = turn.transpose ? turned_width : turned_height;
    if (turn.mirror_x) b.x = (int32_t)width - b.x - b.width;
    if (turn.mirror_y) b.y = (int32_t)height - b.y - b.height;
    return b;
}

void stk_turn_pixels(stk_turn turn, const stk_image *in, uint8_t *out, size_t out_stride)
{
    uint32_t width = turn.transpose ? in->height : in->width, height = turn.transpose ? in->width : in->height;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint32_t sx = turn.transpose ? y : x, sy = turn.transpose ? x : y;
            if (turn.mirror_x) sx = in->width - 1 - sx;
            if (turn.mirror_y) sy = in->height - 1 - sy;
            const uint8_t *from = in->pixels + sy * in->stride + (size_t)sx * in->channels;
            uint8_t *to = out + y * out_stride + (size_t)x * in->channels;
            for (uint32_t c = 0; c < in->channels; c++) to[c] = from[c];
        }
    }
}
