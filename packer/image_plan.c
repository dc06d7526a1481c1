/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/image_plan.h"

/* torchvision's Resize: the other side is int(size * other / side). */
static uint32_t other_side(uint32_t size, uint32_t other, uint32_t side)
{
    uint64_t v = (uint64_t)size * other / side;
    if (v == 0) return 1;
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void plan_size(const stk_pack_options *o, stk_image_plan *p)
{
    bool turned = p->orientation >= 5;
    p->width = turned ? p->info.height : p->info.width;
    p->height = turned ? p->info.width : p->info.height;
    p->target_width = p->width;
    p->target_height = p->height;
    bool wide = p->width >= p->height;
    switch (o->resize) {
    case STK_RESIZE_NONE: break;
    case STK_RESIZE_EXACT:
        p->target_width = o->resize_width;
        p->target_height = o->resize_height;
        break;
    case STK_RESIZE_SHORT:
    case STK_RESIZE_LONG:
        if (wide == (o->resize == STK_RESIZE_LONG)) {
            p->target_width = o->resize_width;
            p->target_height = other_side(o->resize_width, p->height, p->width);
        } else {
            p->target_height = o->resize_width;
            p->target_width = other_side(o->resize_width, p->width, p->height);
        }
        break;
    }
    p->resized = p->target_width != p->width || p->target_height != p->height;
}

static void plan_form(const stk_pack_options *o, stk_image_plan *p)
{
    bool small = (uint64_t)p->target_width * p->target_height <= STK_AUTO_RAW_PIXELS;
    bool jpeg = p->info.encoding == STK_ENCODING_JPEG;
    switch (o->encode) {
    case STK_ENCODE_RAW: p->form = STK_FORM_RAW; break;
    case STK_ENCODE_KEEP: p->form = p->resized ? STK_FORM_JPEG_ANEW : STK_FORM_VERBATIM; break;
    case STK_ENCODE_TILES: p->form = p->resized || !jpeg ? STK_FORM_TILES_ANEW : STK_FORM_TILES; break;
    case STK_ENCODE_AUTO:
        if (small)
            p->form = STK_FORM_RAW;
        else if (p->resized)
            p->form = STK_FORM_TILES_ANEW;
        else
            p->form = jpeg ? STK_FORM_TILES : STK_FORM_VERBATIM;
        break;
    }
}

void stk_image_plan_make(const stk_pack_options *o, const stk_image_info *info, stk_image_plan *p)
{
    *p = (stk_image_plan){.info = *info};
    p->orientation = o->exif == STK_EXIF_APPLY ? info->orientation : 1;
    p->channels = o->mode == STK_MODE_L ? 1 : info->channels;
    plan_size(o, p);
    plan_form(o, p);
}
