/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes through probe, check, decode and decode of a box. The context stays open, as in a worker thread, so
 * that what one input leaves behind meets the next. */
#include <stdint.h>
#include <stdlib.h>

#include "codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static stk_codec_ctx *ctx;

/* Reads all pixels, so that a sanitizer sees rows that are not there. */
static void look_at(const stk_image *image)
{
    volatile uint8_t sum = 0;
    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *row = image->pixels + y * image->stride;
        for (size_t i = 0; i < (size_t)image->width * image->channels; i++) sum = (uint8_t)(sum + row[i]);
    }
}

static stk_box some_box(const uint8_t *data, size_t n_bytes, const stk_image_info *info)
{
    uint32_t seed = n_bytes > 40 ? (uint32_t)data[n_bytes - 1] << 8 | data[n_bytes / 2] : 7;
    stk_box box = {.x = (int32_t)(seed % info->width), .y = (int32_t)((seed >> 3) % info->height)};
    box.width = (int32_t)(1 + (seed >> 5) % (info->width - (uint32_t)box.x));
    box.height = (int32_t)(1 + (seed >> 7) % (info->height - (uint32_t)box.y));
    return box;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const stk_codec_limits limits = {.max_pixels = 1 << 18};
    stk_image_info info;
    stk_image image;
    stk_damage_report by_check, by_decode;
    if (ctx == NULL && stk_codec_ctx_open(&limits, &ctx, NULL) != STK_OK) abort();
    if (stk_codec_probe(ctx, data, n_bytes, &info, NULL) != STK_OK) return 0;
    stk_status checked = stk_codec_check(ctx, info.encoding, data, n_bytes, &by_check, NULL);
    stk_status status =
        stk_codec_decode(ctx, info.encoding, data, n_bytes, STK_MODE_RGB, &image, &by_decode, NULL);
    if (checked != status || (status == STK_OK && by_check.kinds != by_decode.kinds)) abort();
    if (status != STK_OK) return 0;
    if (image.width != info.width || image.height != info.height) abort();
    look_at(&image);
    if (stk_codec_decode_box(ctx, info.encoding, data, n_bytes, STK_MODE_L, some_box(data, n_bytes, &info),
                             &image, &by_decode, NULL) == STK_OK) {
        look_at(&image);
    }
    return 0;
}
