/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to an image between decode and batch. */
#ifndef STOKER_TRANSFORM_H
#define STOKER_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/types.h>

STK_BEGIN_DECLS

typedef enum stk_transform_kind {
    STK_TRANSFORM_NONE = 0,                /* as stored; all images of a batch must have one size */
    STK_TRANSFORM_RANDOM_RESIZED_CROP = 1, /* torchvision's RandomResizedCrop: 10 tries, then centred */
    STK_TRANSFORM_RESIZE_CENTER_CROP = 2,  /* short side to resize_short, then the centre out_h x out_w */
    STK_TRANSFORM_RESIZE = 3,              /* to out_h x out_w, squashing */
    STK_TRANSFORM_PAD_CROP = 4,            /* pad by `pad` with fill, random out_h x out_w window */
    STK_TRANSFORM_BOXES = 5                /* boxes given by the caller, resized to out_h x out_w */
} stk_transform_kind;

/* Called for STK_TRANSFORM_BOXES when `boxes` is NULL: sets *box and *flip for one sample. Runs on worker
 * threads, several at once; must not block. */
typedef void (*stk_box_fn)(void *user, uint64_t epoch, uint64_t sample_id, uint32_t occurrence, uint32_t width,
                           uint32_t height, stk_box *box, bool *flip);

typedef struct stk_transform {
    size_t struct_size; /* filled by stk_transform_init */
    stk_transform_kind kind;
    uint32_t out_width, out_height; /* 224, 224; ignored by NONE */
    uint32_t resize_short;          /* 256; RESIZE_CENTER_CROP */
    uint32_t pad;                   /* 4; PAD_CROP (0 = plain random crop) */
    double scale_min, scale_max;    /* 0.08, 1.0; RANDOM_RESIZED_CROP: area share */
    double ratio_min, ratio_max;    /* 3/4, 4/3; RANDOM_RESIZED_CROP: width / height */
    double flip_probability;        /* 0.5 for the random kinds, 0 for the others */
    stk_filter filter;              /* STK_FILTER_BILINEAR */
    stk_pixels pixels;              /* STK_PIXELS_PILLOW13 */
    stk_color color;                /* STK_COLOR_RGB */
    stk_mode mode;                  /* STK_MODE_RGB; grey records are widened, RGB ones refused under L */
    uint8_t fill[4];                /* 0; padding colour */
    const stk_box *boxes;           /* BOXES: one a record of the data set, kept by the caller; or NULL */
    stk_box_fn box_fn;              /* BOXES: asked when boxes is NULL */
    void *box_user;
} stk_transform;

/* Fills *transform with the defaults of the given kind. */
STK_API void stk_transform_init(stk_transform *transform, stk_transform_kind kind);

STK_END_DECLS

#endif
