/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG -> tiles without loss, verified. What is verified: the record's segments are decoded again and every
 * coefficient compared with the source's. Equal coefficients give equal planes, because all inverse DCTs
 * agree on blocks of ordinary size (tests compare them with libjpeg-turbo's); when a block is not of ordinary
 * size, the planes themselves are compared with libjpeg-turbo's. */
#include <string.h>

#include "codec/planes.h"
#include "codec/tiles_internal.h"
#include "common/fail.h"

typedef struct transcode {
    const stk_tile_options *options;
    stk_buffer *out;
    bool extreme;
} transcode;

static bool block_equal(const int16_t *zigzag, const int16_t *natural, int dc)
{
    int difference = dc ^ natural[0];
    for (int k = 1; k < 64; k++)
        difference |= zigzag[k] ^ natural[STK_ZIGZAG[k]];
    return difference == 0;
}

/* Compares one MCU row; decoded: its segments. */
static bool row_equal(const stk_coefs *coefs, uint32_t mcu_y, const int16_t *decoded)
{
    const stk_tile_geometry *g = &coefs->g;
    for (uint32_t t = 0; t < g->tile_cols; t++) {
        int dc[3] = {0};
        for (uint32_t b = 0; b < g->segment_blocks; b++, decoded += 64) {
            uint32_t mcu_x = t * g->tile_mcus + b / g->mcu_blocks, block = b % g->mcu_blocks, c = 0;
            while (c + 1 < g->n_components && block >= g->first_block[c + 1])
                c++;
            block -= g->first_block[c];
            dc[c] += decoded[0];
            uint32_t x = mcu_x * g->h[c] + block % g->h[c], y = mcu_y * g->v[c] + block / g->h[c];
            if (x >= coefs->block_cols[c] || y >= coefs->block_rows[c]) continue;
            if (!block_equal(decoded, coefs->rows[c][y] + 64 * (size_t)x, dc[c])) return false;
        }
    }
    return true;
}

static stk_status verify_coefs(stk_codec_ctx *ctx, const stk_coefs *coefs, const transcode *job,
                               stk_error *error)
{
    stk_tile_source source;
    STK_TRY(
        stk_tile_source_open(ctx, job->out->data, job->out->n_bytes, job->options->tables, &source, error));
    const stk_tile_geometry *g = &source.head.g;
    size_t row_coefs = (size_t)g->tile_cols * g->segment_blocks * 64;
    uint32_t step = row_coefs < 65536 ? (uint32_t)(131072 / row_coefs) : 1; /* some 256 KiB at a time */
    for (uint32_t y = 0; y < g->mcu_rows; y += step) {
        uint32_t n = g->mcu_rows - y < step ? g->mcu_rows - y : step;
        int16_t *decoded;
        stk_tile_part part = {.n_tiles = g->tile_cols, .row = y, .n_rows = n};
        STK_TRY(stk_tile_source_coefs(ctx, &source, part, &decoded, error));
        for (uint32_t i = 0; i < n; i++) {
            if (row_equal(coefs, y + i, decoded + row_coefs * i)) continue;
            return stk_fail(error, STK_ERR_UNSUPPORTED,
                            "verification failed: its tiles decode to other coefficients");
        }
    }
    return STK_OK;
}

static stk_status transcode_body(stk_codec_ctx *ctx, stk_coefs *coefs, void *arg, stk_error *error)
{
    transcode *job = arg;
    STK_TRY(stk_tiles_encode(ctx, coefs, job->options, job->out, &job->extreme, error));
    stk_status status = verify_coefs(ctx, coefs, job, error);
    if (status != STK_ERR_IMAGE) return status;
    return stk_fail(error, STK_ERR_UNSUPPORTED, "verification failed: its tiles cannot be decoded");
}

static stk_status verify_planes(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes, const transcode *job,
                                stk_error *error)
{
    stk_planes planes;
    stk_tile_info info;
    bool equal;
    STK_TRY(stk_tiles_probe(job->out->data, job->out->n_bytes, &info, error));
    stk_box all = {.width = (int32_t)info.width, .height = (int32_t)info.height};
    STK_TRY(stk_tiles_decode_box(ctx, job->out->data, job->out->n_bytes, job->options->tables, all, &planes,
                                 error));
    STK_TRY(stk_jpeg_planes_equal(ctx, jpeg, n_bytes, &planes, &equal, error));
    if (equal) return STK_OK;
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "verification failed: coefficients so large that decoders differ");
}

stk_status stk_tiles_from_jpeg(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                               const stk_tile_options *options, stk_buffer *out, stk_error *error)
{
    transcode job = {.options = options, .out = out};
    STK_TRY(stk_jpeg_coefs_read(ctx, jpeg, n_bytes, transcode_body, &job, error));
    return job.extreme ? verify_planes(ctx, jpeg, n_bytes, &job, error) : STK_OK;
}

stk_status stk_tiles_from_image(stk_codec_ctx *ctx, const stk_image *image, uint32_t quality, bool chroma_444,
                                const stk_tile_options *options, stk_buffer *out, stk_error *error)
{
    stk_buffer jpeg = {0};
    stk_status status = stk_codec_encode_jpeg(ctx, image, quality, chroma_444, 1, &jpeg, error);
    if (status == STK_OK) status = stk_tiles_from_jpeg(ctx, jpeg.data, jpeg.n_bytes, options, out, error);
    stk_buffer_free(&jpeg);
    return status;
}
