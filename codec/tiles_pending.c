/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry points of codec/tiles.h whose implementation is not in the tree yet: they refuse, and say so. Each is
 * removed from here when it arrives. */
#include "codec/tiles.h"

#include "common/fail.h"

static stk_status pending(stk_error *error)
{
    return stk_fail(error, STK_ERR_UNSUPPORTED, "this build has no tiles yet");
}

stk_status stk_tile_tables_open(const uint8_t *blob, size_t n_bytes, stk_tile_tables **out, stk_error *error)
{
    (void)blob, (void)n_bytes, *out = NULL;
    return pending(error);
}

void stk_tile_tables_close(stk_tile_tables **tables)
{
    *tables = NULL;
}

stk_status stk_tile_trainer_open(stk_tile_trainer **out, stk_error *error)
{
    *out = NULL;
    return pending(error);
}

stk_status stk_tile_trainer_add(stk_tile_trainer *trainer, stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                                uint32_t tile_pixels, stk_error *error)
{
    (void)trainer, (void)ctx, (void)jpeg, (void)n_bytes, (void)tile_pixels;
    return pending(error);
}

stk_status stk_tile_trainer_blob(const stk_tile_trainer *trainer, stk_buffer *out, stk_error *error)
{
    (void)trainer, (void)out;
    return pending(error);
}

void stk_tile_trainer_close(stk_tile_trainer **trainer)
{
    *trainer = NULL;
}

stk_status stk_tiles_from_jpeg(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                               const stk_tile_options *options, stk_buffer *out, stk_error *error)
{
    (void)ctx, (void)jpeg, (void)n_bytes, (void)options, (void)out;
    return pending(error);
}

stk_status stk_tiles_from_image(stk_codec_ctx *ctx, const stk_image *image, uint32_t quality, bool chroma_444,
                                const stk_tile_options *options, stk_buffer *out, stk_error *error)
{
    (void)ctx, (void)image, (void)quality, (void)chroma_444, (void)options, (void)out;
    return pending(error);
}

stk_status stk_tiles_to_jpeg(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                             const stk_tile_tables *tables, uint8_t orientation, stk_buffer *out, stk_error *error)
{
    (void)ctx, (void)tiles, (void)n_bytes, (void)tables, (void)orientation, (void)out;
    return pending(error);
}

stk_status stk_tiles_probe(const uint8_t *tiles, size_t n_bytes, stk_tile_info *out, stk_error *error)
{
    (void)tiles, (void)n_bytes, (void)out;
    return pending(error);
}

stk_status stk_tiles_decode_box(stk_codec_ctx *ctx, const uint8_t *tiles, size_t n_bytes,
                                const stk_tile_tables *tables, stk_box box, struct stk_planes *out,
                                stk_error *error)
{
    (void)ctx, (void)tiles, (void)n_bytes, (void)tables, (void)box, (void)out;
    return pending(error);
}
