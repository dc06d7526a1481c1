/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a JPEG to be made tiles: what is taken decodes to libjpeg-turbo's planes in every kernel
 * family, and what is extracted from it can be taken again, with the same planes. */
#include <stdint.h>
#include <stdlib.h>

#include "codec/planes.h"
#include "codec/tiles.h"
#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/cpu_features.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_PIXELS = 1 << 16 };

static stk_codec_ctx *contexts[STK_FAMILY_COUNT];
static int n_contexts;

static void open_once(void)
{
    static const stk_codec_limits limits = {.max_pixels = MAX_PIXELS};
    if (n_contexts > 0) return;
    for (int f = 0; f < STK_FAMILY_COUNT; f++) {
        if (!stk_family_available((stk_family)f)) continue;
        setenv("STOKER_CPU", stk_family_name((stk_family)f), 1);
        if (stk_codec_ctx_open(&limits, &contexts[n_contexts++], NULL) != STK_OK) abort();
    }
}

static void compare(const uint8_t *jpeg, size_t n_bytes, const stk_buffer *tiles)
{
    stk_tile_info info;
    stk_planes planes;
    if (stk_tiles_probe(tiles->data, tiles->n_bytes, &info, NULL) != STK_OK) abort();
    stk_box all = {.width = (int32_t)info.width, .height = (int32_t)info.height};
    for (int i = 0; i < n_contexts; i++) {
        bool equal = false;
        if (stk_tiles_decode_box(contexts[i], tiles->data, tiles->n_bytes, NULL, all, &planes, NULL) !=
            STK_OK)
            abort();
        if (stk_jpeg_planes_equal(contexts[i], jpeg, n_bytes, &planes, &equal, NULL) != STK_OK || !equal)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const uint32_t widths[] = {16, 32, 64};
    open_once();
    stk_buffer tiles = {0}, jpeg = {0};
    stk_codec_ctx *ctx = contexts[n_bytes % (size_t)n_contexts];
    stk_tile_options options = {.tile_pixels = widths[n_bytes % 3], .tables_id = UINT32_MAX};
    if (stk_tiles_from_jpeg(ctx, data, n_bytes, &options, &tiles, NULL) == STK_OK) {
        compare(data, n_bytes, &tiles);
        if (stk_tiles_to_jpeg(ctx, tiles.data, tiles.n_bytes, NULL, 3, &jpeg, NULL) == STK_OK) {
            compare(jpeg.data, jpeg.n_bytes, &tiles);
            if (stk_tiles_from_jpeg(ctx, jpeg.data, jpeg.n_bytes, &options, &tiles, NULL) != STK_OK) abort();
            compare(data, n_bytes, &tiles);
        }
    }
    stk_buffer_free(&tiles);
    stk_buffer_free(&jpeg);
    return 0;
}
