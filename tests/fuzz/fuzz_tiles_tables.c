/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a shared table set, with its check made to fit. A set that opens must be one that a picture
 * can be coded with and decoded again, or that is rightly not used; written anew it is the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/tiles.h"
#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/endian.h"
#include "common/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static stk_codec_ctx *ctx;
static stk_buffer jpeg;

static void open_once(void)
{
    static uint8_t pixels[24 * 20 * 3];
    if (ctx != NULL) return;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i / 7 + i % 5 * 40);
    stk_image image = {.pixels = pixels, .stride = 24 * 3, .width = 24, .height = 20, .channels = 3};
    if (stk_codec_ctx_open(NULL, &ctx, NULL) != STK_OK) abort();
    if (stk_codec_encode_jpeg(ctx, &image, 85, false, 1, &jpeg, NULL) != STK_OK) abort();
}

static void use(const stk_tile_tables *set, const uint8_t *blob, size_t n_bytes)
{
    stk_buffer again = {0}, tiles = {0}, back = {0};
    stk_tile_options options = {.tile_pixels = 16, .tables = set, .tables_id = 1};
    if (stk_tile_tables_write(&set->huffman.specs, (const uint16_t(*)[64])set->quant, set->n_quant, &again,
                              NULL) != STK_OK)
        abort();
    if (again.n_bytes != n_bytes || memcmp(again.data + 12, blob + 12, n_bytes - 12) != 0) abort();
    if (stk_tiles_from_jpeg(ctx, jpeg.data, jpeg.n_bytes, &options, &tiles, NULL) != STK_OK) abort();
    if (stk_tiles_to_jpeg(ctx, tiles.data, tiles.n_bytes, set, 1, &back, NULL) != STK_OK) abort();
    stk_buffer_free(&again);
    stk_buffer_free(&tiles);
    stk_buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    open_once();
    if (n_bytes < 12 || n_bytes > 1 << 15) return 0;
    uint8_t *blob = malloc(n_bytes);
    if (blob == NULL) return 0;
    memcpy(blob, data, n_bytes);
    stk_store32(blob + 4, (uint32_t)stk_hash64(blob + 8, n_bytes - 8));
    stk_tile_tables *set;
    if (stk_tile_tables_open(blob, n_bytes, &set, NULL) == STK_OK) {
        use(set, blob, n_bytes);
        stk_tile_tables_close(&set);
    } else if (set != NULL) {
        abort();
    }
    free(blob);
    return 0;
}
