/* SPDX-License-Identifier: Apache-2.0
 *
 * From component planes to RGB: libjpeg-turbo's fancy upsampling and fixed-point colour, and orientation. Planes are
 * block-linear: 8x8 blocks of 64 bytes, row-major within, blocks row by row. */
#ifndef STK_GPU_HD_COLOR_H
#define STK_GPU_HD_COLOR_H

#include "gpu_upload/hd_base.h"

/* One component's plane: a window of whole blocks of the image's plane. */
typedef struct stk_hd_plane {
    uint64_t at;           /* byte offset of its first block */
    uint32_t block_stride; /* blocks in a row of blocks */
    int32_t x0, y0;        /* the window's first sample in the image's plane */
    int32_t last_x, last_y; /* the last real sample of the image's plane: repeated beyond */
    uint8_t fx, fy;        /* h_max / h, v_max / v */
    uint8_t method;        /* stk_hd_upsampling */
    uint8_t reserved;
} stk_hd_plane;

enum { STK_HD_UP_NONE, STK_HD_UP_H2V1, STK_HD_UP_H2V2, STK_HD_UP_H1V2, STK_HD_UP_REPEAT };

/* libjpeg-turbo's choice (jdsample.c): narrow planes are repeated. width: real samples a row. */
STK_HD uint8_t stk_hd_upsampling(uint32_t fx, uint32_t fy, uint32_t width)
{
    if (fx == 1 && fy == 1) return STK_HD_UP_NONE;
    if (fx == 2 && fy == 1) return width > 2 ? STK_HD_UP_H2V1 : STK_HD_UP_REPEAT;
    if (fx == 1 && fy == 2) return STK_HD_UP_H1V2;
    if (fx == 2 && fy == 2) return width > 2 ? STK_HD_UP_H2V2 : STK_HD_UP_REPEAT;
    return STK_HD_UP_REPEAT;
}

/* Where sample (x, y) of the window lies. */
STK_HD uint64_t stk_hd_plane_at(const stk_hd_plane *p, uint32_t x, uint32_t y)
{
    return p->at + ((uint64_t)(y >> 3) * p->block_stride + (x >> 3)) * 64 + (y & 7) * 8 + (x & 7);
}

STK_HD int32_t stk_hd_plane_sample(const uint8_t *planes, const stk_hd_plane *p, int32_t x, int32_t y)
{
    x = stk_hd_clamp(x, 0, p->last_x) - p->x0;
    y = stk_hd_clamp(y, 0, p->last_y) - p->y0;
    return planes[stk_hd_plane_at(p, (uint32_t)x, (uint32_t)y)];
}

STK_HD int32_t stk_hd_far(int32_t p) { return (p >> 1) + (p & 1 ? 1 : -1); }

/* The component's value at full-size pixel (x, y) of the image. */
STK_HD int32_t stk_hd_upsample(const uint8_t *planes, const stk_hd_plane *p, int32_t x, int32_t y)
{
    switch (p->method) {
    case STK_HD_UP_NONE: return stk_hd_plane_sample(planes, p, x, y);
    case STK_HD_UP_H2V1:
        return (3 * stk_hd_plane_sample(planes, p, x >> 1, y) + stk_hd_plane_sample(planes, p, stk_hd_far(x), y) +
                (x & 1 ? 2 : 1)) >> 2;
    case STK_HD_UP_H1V2:
        return (3 * stk_hd_plane_sample(planes, p, x, y >> 1) + stk_hd_plane_sample(planes, p, x, stk_hd_far(y)) +
                (y & 1 ? 2 : 1)) >> 2;
    case STK_HD_UP_H2V2: {
        int32_t x0 = x >> 1, x1 = stk_hd_far(x), y0 = y >> 1, y1 = stk_hd_far(y);
        int32_t near = 3 * stk_hd_plane_sample(planes, p, x0, y0) + stk_hd_plane_sample(planes, p, x0, y1);
        int32_t away = 3 * stk_hd_plane_sample(planes, p, x1, y0) + stk_hd_plane_sample(planes, p, x1, y1);
        return (3 * near + away + (x & 1 ? 7 : 8)) >> 4;
    }
    default: return stk_hd_plane_sample(planes, p, x / p->fx, y / p->fy);
    }
}

/* libjpeg's jdcolor.c, 16 fractional bits. */
STK_HD void stk_hd_ycc(int32_t y, int32_t cb, int32_t cr, uint8_t rgb[3])
{
    cb -= 128;
    cr -= 128;
    rgb[0] = stk_hd_clip8(y + ((91881 * cr + 32768) >> 16));
    rgb[1] = stk_hd_clip8(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
    rgb[2] = stk_hd_clip8(y + ((116130 * cb + 32768) >> 16));
}

/* Pillow's L24. */
STK_HD uint8_t stk_hd_luma(uint32_t r, uint32_t g, uint32_t b)
{
    return (uint8_t)((r * 19595u + g * 38470u + b * 7471u + 0x8000u) >> 16);
}

/* The stored pixel (within a crop of width x height stored pixels) that pixel (tx, ty) of the turned crop shows. */
STK_HD void stk_hd_turn(uint32_t orientation, int32_t width, int32_t height, int32_t tx, int32_t ty, int32_t *x,
                        int32_t *y)
{
    int32_t a = orientation >= 5 ? ty : tx, b = orientation >= 5 ? tx : ty;
    /* 2, 3, 7, 8 run backwards in x; 3, 4, 6, 7 in y. */
    int back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    int back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    *x = back_x ? width - 1 - a : a;
    *y = back_y ? height - 1 - b : b;
}

#endif
