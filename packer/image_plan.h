/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be done with an image: its final size and the form in which it is stored (design: "Encodings").
 */
#ifndef STK_PACKER_IMAGE_PLAN_H
#define STK_PACKER_IMAGE_PLAN_H

#include <stoker/pack.h>

#include "codec/codec.h"

/* Images up to this size are stored as raw pixels under "auto". */
enum { STK_AUTO_RAW_PIXELS = 4096 };

typedef enum stk_form {
    STK_FORM_VERBATIM,
    STK_FORM_RAW,
    STK_FORM_TILES,      /* the JPEG's own coefficients */
    STK_FORM_TILES_ANEW, /* pixels encoded again */
    STK_FORM_JPEG_ANEW
} stk_form;

typedef struct stk_image_plan {
    stk_image_info info;
    uint32_t width, height; /* turned */
    uint32_t target_width, target_height;
    uint8_t orientation; /* to be applied; 1 when options ignore it */
    uint8_t channels;    /* as delivered: 1 or 3 */
    bool resized;        /* the target differs from the size that the image has */
    stk_form form;
} stk_image_plan;

void stk_image_plan_make(const stk_pack_options *o, const stk_image_info *info, stk_image_plan *p);

#endif
