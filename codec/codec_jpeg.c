/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG through libjpeg-turbo: probe, full decode, damage check. */
#include "codec/codec_jpeg.h"

#include <string.h>

#include "common/fail.h"

enum { MAX_ROWS = 16 }; /* rows a call of jpeg_read_scanlines: no image's row group is taller */

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
}

static stk_status probe_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    stk_image_info *out = arg;
    const struct jpeg_decompress_struct *c = &jpeg->cinfo;
    STK_TRY(stk_jpeg_set_output(jpeg, error));
    out->width = c->image_width;
    out->height = c->image_height;
    out->channels = c->num_components == 1 ? 1 : 3;
    out->orientation = jpeg->exif_orientation != 0 ? jpeg->exif_orientation : jpeg->xmp_orientation;
    if (out->orientation == 0) out->orientation = 1;
    out->tileable = stk_jpeg_tileable(jpeg);
    return STK_OK;
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    stk_damage_report ignored = {0};
    return stk_jpeg_run(ctx, data, n_bytes, &ignored, probe_body, out, error);
}

typedef struct decode_job {
    stk_mode mode;
    stk_image *out;
} decode_job;

/* Rows whose layout libjpeg already gives as wanted go straight into the picture. */
static void read_direct(struct jpeg_decompress_struct *c, const stk_image *out)
{
    JSAMPROW rows[MAX_ROWS];
    while (c->output_scanline < c->output_height) {
        JDIMENSION left = c->output_height - c->output_scanline, n = left < MAX_ROWS ? left : MAX_ROWS;
        for (JDIMENSION i = 0; i < n; i++) rows[i] = out->pixels + (c->output_scanline + i) * out->stride;
        (void)jpeg_read_scanlines(c, rows, n);
    }
}

static void convert_row(J_COLOR_SPACE from, uint8_t *in, size_t n, stk_mode mode, uint8_t *out)
{
    if (from == JCS_GRAYSCALE) {
        stk_row_l_to_rgb(in, n, out);
        return;
    }
    if (from == JCS_CMYK) {
        /* Pillow takes every CMYK JPEG to hold inverted inks, as Adobe writes them. */
        for (size_t i = 0; i < 4 * n; i++) in[i] = (uint8_t)(255 - in[i]);
        if (mode == STK_MODE_RGB) {
            stk_row_cmyk_to_rgb(in, n, out);
            return;
        }
        stk_row_cmyk_to_rgb(in, n, in);
    }
    stk_row_rgb_to_l(in, n, out);
}

static void read_converted(struct jpeg_decompress_struct *c, stk_mode mode, const stk_image *out)
{
    JSAMPARRAY row = (*c->mem->alloc_sarray)((j_common_ptr)c, JPOOL_IMAGE,
                                             c->output_width * (JDIMENSION)c->output_components, 1);
    while (c->output_scanline < c->output_height) {
        uint8_t *to = out->pixels + c->output_scanline * out->stride;
        if (jpeg_read_scanlines(c, row, 1) != 1) continue;
        convert_row(c->out_color_space, row[0], c->output_width, mode, to);
    }
}

static stk_status decode_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    const decode_job *job = arg;
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    STK_TRY(stk_jpeg_set_output(jpeg, error));
    uint8_t channels = job->mode == STK_MODE_L ? 1 : 3;
    STK_TRY(stk_codec_new_image(jpeg->ctx, c->image_width, c->image_height, channels, job->out, error));
    (void)jpeg_start_decompress(c);
    if (c->out_color_components == channels) {
        read_direct(c, job->out);
    } else {
        read_converted(c, job->mode, job->out);
    }
    (void)jpeg_finish_decompress(c); /* reads up to EOI: its complaints count too */
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    decode_job job = {.mode = mode, .out = out};
    return stk_jpeg_run(ctx, data, n_bytes, damage, decode_body, &job, error);
}

const stk_codec stk_codec_jpeg = {
    .encoding = STK_ENCODING_JPEG,
    .sniff = sniff,
    .probe = probe,
    .decode = decode,
};
