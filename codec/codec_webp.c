/* SPDX-License-Identifier: Apache-2.0
 *
 * WebP through libwebp: lossy, lossless, with alpha (dropped), and the first frame of animations. The RIFF
 * container is walked here for EXIF, XMP and the frame; libwebp decodes the bitstreams. */
#include "codec/codec_internal.h"
#include "codec/codec_versions.h"

#include "stoker_features.h"

#include <stdio.h>
#include <string.h>

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= 16 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBPVP8", 7) == 0;
}

#if STOKER_HAVE_WEBP
#include <webp/decode.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

enum { RIFF_HEADER = 12, CHUNK_HEADER = 8, FRAME_HEADER = 16 };

typedef struct riff_chunk {
    const uint8_t *type; /* 4 letters; the chunk with its header starts here */
    const uint8_t *body;
    size_t n_body; /* what is there of it */
    bool cut;
} riff_chunk;

static bool next_chunk(const uint8_t *data, size_t n_bytes, size_t *offset, riff_chunk *out)
{
    if (*offset > n_bytes || n_bytes - *offset < CHUNK_HEADER) return false;
    size_t length = stk_load32(data + *offset + 4), left = n_bytes - *offset - CHUNK_HEADER;
    out->type = data + *offset;
    out->body = data + *offset + CHUNK_HEADER;
    out->n_body = length < left ? length : left;
    out->cut = length > left;
    *offset = out->cut ? n_bytes : *offset + CHUNK_HEADER + length + (length & 1);
    return true;
}

static bool find_chunk(const uint8_t *data, size_t n_bytes, size_t offset, const char *type, riff_chunk *out)
{
    while (next_chunk(data, n_bytes, &offset, out)) {
        if (memcmp(out->type, type, 4) == 0) return true;
    }
    return false;
}

static uint8_t find_orientation(const uint8_t *data, size_t n_bytes)
{
    riff_chunk c;
    uint8_t orientation = 0;
    if (find_chunk(data, n_bytes, RIFF_HEADER, "EXIF", &c)) orientation = stk_exif_orientation(c.body, c.n_body);
    if (orientation == 0 && find_chunk(data, n_bytes, RIFF_HEADER, "XMP ", &c)) {
        orientation = stk_xmp_orientation(c.body, c.n_body);
    }
    return orientation != 0 ? orientation : 1;
}

static const char *reason_of(VP8StatusCode code)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory for a WebP picture";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "the WebP file uses a feature that libwebp does not know";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return "the WebP file ends before its first row";
    default: return "the WebP bitstream is invalid";
    }
}

static stk_status fail_code(VP8StatusCode code, stk_error *error)
{
    stk_status status = code == VP8_STATUS_OUT_OF_MEMORY         ? STK_ERR_MEMORY
                        : code == VP8_STATUS_UNSUPPORTED_FEATURE ? STK_ERR_UNSUPPORTED
                                                                 : STK_ERR_IMAGE;
    return stk_fail(error, status, "%s", reason_of(code));
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    (void)ctx;
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(data, n_bytes, &features);
    if (code != VP8_STATUS_OK) return fail_code(code, error);
    out->width = (uint32_t)features.width;
    out->height = (uint32_t)features.height;
    out->orientation = find_orientation(data, n_bytes);
    return STK_OK;
}

/* A part of the canvas and the bitstream that fills it. */
typedef struct frame {
    const uint8_t *data;
    size_t n_bytes;
    uint32_t x, y, width, height;
} frame;

static uint32_t load24(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

/* The first ANMF chunk. Alpha is left aside: RGB values do not depend on it. */
static stk_status first_frame(const uint8_t *data, size_t n_bytes, const stk_image *canvas, frame *out,
                              stk_error *error)
{
    riff_chunk c, bits;
    if (!find_chunk(data, n_bytes, RIFF_HEADER, "ANMF", &c) || c.n_body < FRAME_HEADER) {
        return stk_fail(error, STK_ERR_IMAGE, "the animated WebP file has no frame");
    }
    out->x = 2 * load24(c.body);
    out->y = 2 * load24(c.body + 3);
    out->width = load24(c.body + 6) + 1;
    out->height = load24(c.body + 9) + 1;
    if (!stk_range_inside(out->x, out->width, canvas->width) ||
        !stk_range_inside(out->y, out->height, canvas->height)) {
        return stk_fail(error, STK_ERR_IMAGE, "a WebP frame lies outside its canvas");
    }
    const uint8_t *body = c.body + FRAME_HEADER;
    size_t n_body = c.n_body - FRAME_HEADER;
    if (!find_chunk(body, n_body, 0, "VP8 ", &bits) && !find_chunk(body, n_body, 0, "VP8L", &bits)) {
        return stk_fail(error, STK_ERR_IMAGE, "a WebP frame has no image data");
    }
    out->data = bits.type;
    out->n_bytes = CHUNK_HEADER + bits.n_body;
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(out->data, out->n_bytes, &features);
    if (code != VP8_STATUS_OK) return fail_code(code, error);
    if ((uint32_t)features.width != out->width || (uint32_t)features.height != out->height) {
        return stk_fail(error, STK_ERR_IMAGE, "a WebP frame has not the size that it announces");
    }
    return STK_OK;
}

static stk_status set_output(WebPDecoderConfig *config, const frame *f, const stk_image *canvas, stk_error *error)
{
    if (!WebPInitDecoderConfig(config)) {
        return stk_fail(error, STK_ERR_INTERNAL, "libwebp is not the version that stoker was built for");
    }
    config->output.colorspace = MODE_RGB;
    config->output.is_external_memory = 1;
    WebPRGBABuffer *to = &config->output.u.RGBA;
    to->rgba = canvas->pixels + f->y * canvas->stride + (size_t)f->x * 3;
    to->stride = (int)canvas->stride;
    to->size = (size_t)(f->height - 1) * canvas->stride + (size_t)f->width * 3;
    return STK_OK;
}

/* What there is of a picture whose data end early: the incremental decoder says how far it came. */
static stk_status decode_short(const frame *f, const stk_image *canvas, stk_damage_report *damage,
                               stk_error *error)
{
    WebPDecoderConfig config;
    STK_TRY(set_output(&config, f, canvas, error));
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (decoder == NULL) return stk_fail_memory(error, "libwebp");
    VP8StatusCode code = WebPIUpdate(decoder, f->data, f->n_bytes);
    int n_rows = 0;
    (void)WebPIDecGetRGB(decoder, &n_rows, NULL, NULL, NULL);
    WebPIDelete(decoder);
    if (code != VP8_STATUS_OK && code != VP8_STATUS_SUSPENDED) return fail_code(code, error);
    if (n_rows <= 0) return fail_code(VP8_STATUS_NOT_ENOUGH_DATA, error);
    stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "WebP data ends in row %d of %u", n_rows, (unsigned)f->height);
    for (uint32_t y = (uint32_t)n_rows; y < f->height; y++) {
        memset(canvas->pixels + (f->y + y) * canvas->stride + (size_t)f->x * 3, 0, (size_t)f->width * 3);
    }
    return STK_OK;
}

static stk_status decode_frame(const frame *f, const stk_image *canvas, stk_damage_report *damage,
                               stk_error *error)
{
    WebPDecoderConfig config;
    STK_TRY(set_output(&config, f, canvas, error));
    VP8StatusCode code = WebPDecode(f->data, f->n_bytes, &config);
    if (code == VP8_STATUS_NOT_ENOUGH_DATA) return decode_short(f, canvas, damage, error);
    return code == VP8_STATUS_OK ? STK_OK : fail_code(code, error);
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(data, n_bytes, &features);
    if (code != VP8_STATUS_OK) return fail_code(code, error);
    uint32_t width = (uint32_t)features.width, height = (uint32_t)features.height;
    STK_TRY(stk_codec_check_size(ctx, width, height, error));
    STK_TRY(stk_codec_new_image(ctx, width, height, 3, out, error));
    frame f = {.data = data, .n_bytes = n_bytes, .width = width, .height = height};
    if (features.has_animation) {
        STK_TRY(first_frame(data, n_bytes, out, &f, error));
        if (f.width != width || f.height != height) memset(out->pixels, 0, out->stride * height);
    }
    STK_TRY(decode_frame(&f, out, damage, error));
    if (mode == STK_MODE_L) {
        out->channels = 1;
        stk_rows_to_mode(out, 3);
    }
    return STK_OK;
}

#endif

const stk_codec stk_codec_webp = {
    .encoding = STK_ENCODING_WEBP,
    .sniff = sniff,
#if STOKER_HAVE_WEBP
    .probe = probe,
    .decode = decode,
#endif
};

stk_version_text stk_webp_version(void)
{
    stk_version_text v = {""};
#if STOKER_HAVE_WEBP
    int n = WebPGetDecoderVersion();
    snprintf(v.text, sizeof v.text, "%d.%d.%d", n >> 16, n >> 8 & 255, n & 255);
#endif
    return v;
}
