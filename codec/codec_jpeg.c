/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG through libjpeg-turbo: probe, full decode, damage check. */
#include "codec/codec_jpeg.h"
#include "codec/codec_versions.h"

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
    for (uint32_t y = 0; y < out->height;) {
        uint32_t n = out->height - y < MAX_ROWS ? out->height - y : MAX_ROWS;
        for (uint32_t i = 0; i < n; i++) rows[i] = out->pixels + (y + i) * out->stride;
        y += jpeg_read_scanlines(c, rows, n);
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
    for (uint32_t y = 0; y < out->height; y++) {
        (void)jpeg_read_scanlines(c, row, 1); /* a memory source never suspends: it is one row */
        convert_row(c->out_color_space, row[0], c->output_width, mode, out->pixels + y * out->stride);
    }
}

/* The next out->height rows, each c->output_width pixels. */
static void read_rows(struct jpeg_decompress_struct *c, stk_mode mode, const stk_image *out)
{
    if (c->out_color_components == out->channels) {
        read_direct(c, out);
    } else {
        read_converted(c, mode, out);
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
    read_rows(c, job->mode, job->out);
    (void)jpeg_finish_decompress(c); /* reads up to EOI: its complaints count too */
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    decode_job job = {.mode = mode, .out = out};
    return stk_jpeg_run(ctx, data, n_bytes, damage, decode_body, &job, error);
}

/* Entropy decoding of everything, the IDCT of almost nothing. Baseline: our own quick walk answers for files in
 * order; else all rows but the last are skipped, which libjpeg-turbo does with decode_mcu alone (60-70 % of a
 * decode). Several scans: they are read into the coefficient store, and no output pass runs. */
static stk_status check_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    (void)arg;
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    STK_TRY(stk_jpeg_set_output(jpeg, error));
    c->buffered_image = jpeg_has_multiple_scans(c);
    (void)jpeg_start_decompress(c);
    if (!c->buffered_image && stk_jpeg_scan_is_whole(c)) return STK_OK;
    if (c->buffered_image) {
        while (!jpeg_input_complete(c)) {
            (*c->progress->progress_monitor)((j_common_ptr)c); /* else only called by jpeg_start_decompress */
            (void)jpeg_consume_input(c);
        }
    } else {
        JSAMPARRAY row = (*c->mem->alloc_sarray)((j_common_ptr)c, JPOOL_IMAGE,
                                                 c->output_width * (JDIMENSION)c->output_components, 1);
        (void)jpeg_skip_scanlines(c, c->output_height - 1);
        (void)jpeg_read_scanlines(c, row, 1);
    }
    (void)jpeg_finish_decompress(c);
    return STK_OK;
}

static stk_status check(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_damage_report *damage,
                        stk_error *error)
{
    return stk_jpeg_run(ctx, data, n_bytes, damage, check_body, NULL, error);
}

typedef struct box_job {
    stk_mode mode;
    stk_box box;
    stk_image *out;
} box_job;

/* libjpeg smooths blocks of progressive files whose low AC coefficients never came whole; that looks at the
 * neighbouring blocks, which a crop would hide. coef_bits is 0 where a coefficient is known exactly. */
static bool may_smooth(const struct jpeg_decompress_struct *c)
{
    if (!c->progressive_mode || c->coef_bits == NULL) return false;
    for (int i = 0; i < c->num_components; i++) {
        for (int k = 0; k < 10; k++) {
            if (c->coef_bits[i][k] != 0) return true;
        }
    }
    return false;
}

/* Lets libjpeg leave out the columns that the box does not need; returns the first column it delivers. One
 * more pixel on each side makes fancy upsampling see the same neighbours as in a full decode, and at least
 * MIN_CROP columns keep it fancy (libjpeg turns it off for chroma rows of less than three samples). */
static uint32_t crop_columns(struct jpeg_decompress_struct *c, stk_box box)
{
    enum { MIN_CROP = 32 };
    uint32_t first = box.x > 0 ? (uint32_t)box.x - 1 : 0, end = (uint32_t)box.x + (uint32_t)box.width;
    if (end < c->output_width) end++;
    if (end - first < MIN_CROP) {
        end = c->output_width - first < MIN_CROP ? c->output_width : first + MIN_CROP;
        if (end - first < MIN_CROP) first = end < MIN_CROP ? 0 : end - MIN_CROP;
    }
    JDIMENSION x = first, width = end - first;
    if (width < c->output_width && !may_smooth(c)) {
        jpeg_crop_scanline(c, &x, &width);
    } else {
        x = 0;
    }
    return x;
}

static stk_status box_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    const box_job *job = arg;
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    STK_TRY(stk_jpeg_set_output(jpeg, error));
    stk_image whole = {.width = c->image_width, .height = c->image_height};
    STK_TRY(stk_codec_check_box(job->box, &whole, error));
    (void)jpeg_start_decompress(c);
    uint32_t first = crop_columns(c, job->box);
    STK_TRY(stk_codec_new_image(jpeg->ctx, c->output_width, (uint32_t)job->box.height,
                                job->mode == STK_MODE_L ? 1 : 3, job->out, error));
    if (job->box.y > 0) (void)jpeg_skip_scanlines(c, (JDIMENSION)job->box.y);
    read_rows(c, job->mode, job->out);
    stk_box inner = {.x = job->box.x - (int32_t)first, .width = job->box.width, .height = job->box.height};
    return stk_codec_point_into(job->out, inner, error);
}

/* Rows below the box are not looked at: the damage reported is that of the part decoded. */
static stk_status decode_box(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_box box,
                             stk_image *out, stk_damage_report *damage, stk_error *error)
{
    box_job job = {.mode = mode, .box = box, .out = out};
    return stk_jpeg_run(ctx, data, n_bytes, damage, box_body, &job, error);
}

const stk_codec stk_codec_jpeg = {
    .encoding = STK_ENCODING_JPEG,
    .sniff = sniff,
    .probe = probe,
    .decode = decode,
    .check = check,
    .decode_box = decode_box,
};

#define AS_TEXT(x) #x
#define TEXT_OF(x) AS_TEXT(x)

/* The library itself does not say. */
stk_version_text stk_jpeg_version(void)
{
    return (stk_version_text){TEXT_OF(LIBJPEG_TURBO_VERSION)};
}
