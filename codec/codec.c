/* SPDX-License-Identifier: Apache-2.0
 *
 * The codec table and the context: choosing a codec, scratch memory, limits, damage reports. */
#include "codec/codec_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

/* Pillow's Image.MAX_IMAGE_PIXELS: 1 GiB / 4 / 3 * 2. */
#define DEFAULT_MAX_PIXELS UINT64_C(178956970)
/* A scratch area larger than this is for outliers and is given back. */
#define SCRATCH_KEEP ((size_t)64 << 20)
#define SCRATCH_ALIGN 64
#define SCRATCH_SLACK 64

/* In sniffing order; all signatures exclude each other. */
static const stk_codec *const CODECS[] = {
    &stk_codec_jpeg, &stk_codec_png, &stk_codec_webp, &stk_codec_tiff,
    &stk_codec_gif,  &stk_codec_bmp, &stk_codec_pnm,
};
#define N_CODECS (sizeof CODECS / sizeof CODECS[0])

stk_status stk_codec_ctx_open(const stk_codec_limits *limits, stk_codec_ctx **out, stk_error *error)
{
    *out = NULL;
    stk_codec_ctx *ctx = calloc(1, sizeof *ctx);
    if (ctx == NULL) return stk_fail_memory(error, "a codec context");
    ctx->max_pixels = limits != NULL && limits->max_pixels != 0 ? limits->max_pixels : DEFAULT_MAX_PIXELS;
    stk_status status = stk_family_choose(&ctx->family, error);
    if (status != STK_OK) {
        free(ctx);
        return status;
    }
    ctx->kernels = stk_kernels_for(ctx->family);
    *out = ctx;
    return STK_OK;
}

void stk_codec_ctx_close(stk_codec_ctx **ctx_pointer)
{
    stk_codec_ctx *ctx = *ctx_pointer;
    if (ctx == NULL) return;
    for (int i = 0; i < STK_CTX_SLOTS; i++) {
        if (ctx->slots[i].state != NULL) ctx->slots[i].close(ctx->slots[i].state);
    }
    for (int i = 0; i < STK_SCRATCH_COUNT; i++) free(ctx->scratch[i].data);
    free(ctx);
    *ctx_pointer = NULL;
}

const stk_kernels *stk_codec_kernels(const stk_codec_ctx *ctx)
{
    return ctx->kernels;
}

stk_status stk_ctx_state(stk_codec_ctx *ctx, int slot, size_t n_bytes, void (*close)(void *state), void **out,
                         stk_error *error)
{
    stk_ctx_slot *s = &ctx->slots[slot];
    if (s->state == NULL) {
        s->state = calloc(1, n_bytes);
        if (s->state == NULL) return stk_fail_memory(error, "a codec's state");
        s->close = close;
    }
    *out = s->state;
    return STK_OK;
}

static stk_status scratch_resize(stk_scratch_area *area, size_t capacity, stk_error *error)
{
    size_t total;
    if (!stk_add_size(capacity, SCRATCH_SLACK + SCRATCH_ALIGN - 1, &total)) {
        return stk_fail_memory(error, "pixels");
    }
    total -= total % SCRATCH_ALIGN; /* aligned_alloc wants a multiple */
    uint8_t *data = aligned_alloc(SCRATCH_ALIGN, total);
    if (data == NULL) return stk_fail_memory(error, "pixels");
    size_t kept = area->capacity < capacity ? area->capacity : capacity;
    if (kept > 0) memcpy(data, area->data, kept);
    /* Vector code multiplies bytes beside rows by zero: harmless, but memory checkers want to see them written. */
    memset(data + kept, 0, total - kept);
    free(area->data);
    area->data = data;
    area->capacity = capacity;
    return STK_OK;
}

stk_status stk_codec_scratch(stk_codec_ctx *ctx, int area_number, size_t n_bytes, uint8_t **out, stk_error *error)
{
    stk_scratch_area *area = &ctx->scratch[area_number];
    if (n_bytes > area->capacity) {
        /* Growing loses the old contents anyway; free first so that two large blocks never coexist. Growing
         * by an eighth more than asked spares data sets of slowly rising sizes a reallocation an image. */
        size_t capacity = n_bytes;
        if (n_bytes <= SCRATCH_KEEP) capacity += n_bytes / 8;
        free(area->data);
        *area = (stk_scratch_area){0};
        STK_TRY(scratch_resize(area, capacity, error));
    } else if (area->data == NULL || (area->capacity > SCRATCH_KEEP && n_bytes <= SCRATCH_KEEP)) {
        STK_TRY(scratch_resize(area, n_bytes, error));
    }
    *out = area->data;
    return STK_OK;
}

/* A picture is about to be decoded: nothing of the previous one is needed any more. PLANES and COEFS are left
 * alone, for the tile verifier holds them across a decode; they shrink when next asked for. */
static void give_back_outliers(stk_codec_ctx *ctx)
{
    static const int areas[] = {STK_SCRATCH_PIXELS, STK_SCRATCH_TURN, STK_SCRATCH_RESAMPLE};
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        stk_scratch_area *area = &ctx->scratch[areas[i]];
        if (area->capacity <= SCRATCH_KEEP) continue;
        free(area->data);
        *area = (stk_scratch_area){0};
    }
}

stk_encoding stk_codec_sniff(const uint8_t *data, size_t n_bytes)
{
    for (size_t i = 0; i < N_CODECS; i++) {
        if (CODECS[i]->sniff(data, n_bytes)) return CODECS[i]->encoding;
    }
    return STK_ENCODING_UNKNOWN;
}

static stk_status codec_of(stk_encoding encoding, const stk_codec **out, stk_error *error)
{
    for (size_t i = 0; i < N_CODECS; i++) {
        if (CODECS[i]->encoding != encoding) continue;
        if (CODECS[i]->decode == NULL) {
            return stk_fail(error, STK_ERR_UNSUPPORTED,
                            "this build of stoker has no %s decoder: its library was missing at build time",
                            stk_encoding_name(encoding));
        }
        *out = CODECS[i];
        return STK_OK;
    }
    return stk_fail(error, STK_ERR_IMAGE, "not an image in a format that stoker reads");
}

/* Formats that users meet but no decoder here takes: to be refused by name instead of passed over as no image. */
static const char *foreign_format(const uint8_t *data, size_t n_bytes)
{
    static const struct {
        size_t offset, n;
        const char *bytes, *name;
    } marks[] = {
        {4, 8, "ftypheic", "HEIF"},
        {4, 8, "ftypheix", "HEIF"},
        {4, 8, "ftypmif1", "HEIF"},
        {4, 8, "ftypmsf1", "HEIF"},
        {4, 8, "ftypavif", "AVIF"},
        {4, 8, "ftypavis", "AVIF"},
        {0, 2, "\xff\x0a", "JPEG XL"},
        {4, 8, "JXL \r\n\x87\n", "JPEG XL"},
        {4, 8, "jP  \r\n\x87\n", "JPEG 2000"},
        {0, 4, "\xff\x4f\xff\x51", "JPEG 2000"},
        {0, 4, "8BPS", "Photoshop"},
        {0, 4, "\0\0\1\0", "icon"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (n_bytes >= marks[i].offset + marks[i].n &&
            memcmp(data + marks[i].offset, marks[i].bytes, marks[i].n) == 0) {
            return marks[i].name;
        }
    }
    return NULL;
}

/* A transfer in text mode changes bytes 0, 4 or 5 of a PNG signature. */
static bool is_mangled_png(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= 16 && memcmp(data + 1, "PNG", 3) == 0;
}

bool stk_codec_is_picture(const uint8_t *data, size_t n_bytes)
{
    return stk_codec_sniff(data, n_bytes) != STK_ENCODING_UNKNOWN || foreign_format(data, n_bytes) != NULL ||
           is_mangled_png(data, n_bytes);
}

static stk_status refuse_unknown(const uint8_t *data, size_t n_bytes, stk_error *error)
{
    if (n_bytes == 0) return stk_fail(error, STK_ERR_IMAGE, "the file is empty");
    if (is_mangled_png(data, n_bytes)) {
        return stk_fail(error, STK_ERR_IMAGE, "the PNG signature is damaged, as by a transfer in text mode");
    }
    const char *foreign = foreign_format(data, n_bytes);
    if (foreign != NULL) return stk_fail(error, STK_ERR_UNSUPPORTED, "stoker does not read %s files", foreign);
    return stk_fail(error, STK_ERR_IMAGE, "not an image in a format that stoker reads");
}

stk_status stk_codec_probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                           stk_error *error)
{
    stk_encoding encoding = stk_codec_sniff(data, n_bytes);
    *out = (stk_image_info){.encoding = encoding, .channels = 3, .orientation = 1};
    if (encoding == STK_ENCODING_UNKNOWN) return refuse_unknown(data, n_bytes, error);
    const stk_codec *codec = NULL;
    STK_TRY(codec_of(encoding, &codec, error));
    STK_TRY(codec->probe(ctx, data, n_bytes, out, error));
    return stk_codec_check_size(ctx, out->width, out->height, error);
}

stk_status stk_codec_decode(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                            stk_mode mode, stk_image *out, stk_damage_report *damage, stk_error *error)
{
    const stk_codec *codec = NULL;
    stk_damage_report ignored;
    if (damage == NULL) damage = &ignored;
    *damage = (stk_damage_report){0};
    *out = (stk_image){0};
    STK_TRY(codec_of(encoding, &codec, error));
    give_back_outliers(ctx);
    return codec->decode(ctx, data, n_bytes, mode, out, damage, error);
}

stk_status stk_codec_check(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                           stk_damage_report *damage, stk_error *error)
{
    const stk_codec *codec = NULL;
    *damage = (stk_damage_report){0};
    STK_TRY(codec_of(encoding, &codec, error));
    give_back_outliers(ctx);
    if (codec->check != NULL) return codec->check(ctx, data, n_bytes, damage, error);
    stk_image image;
    return codec->decode(ctx, data, n_bytes, STK_MODE_RGB, &image, damage, error);
}

stk_status stk_codec_check_box(stk_box box, const stk_image *image, stk_error *error)
{
    if (box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
        (int64_t)box.x + box.width <= (int64_t)image->width &&
        (int64_t)box.y + box.height <= (int64_t)image->height) {
        return STK_OK;
    }
    return stk_fail(error, STK_ERR_ARGUMENT, "box %d,%d %dx%d is outside the picture of %" PRIu32 "x%" PRIu32,
                    (int)box.x, (int)box.y, (int)box.width, (int)box.height, image->width, image->height);
}

stk_status stk_codec_point_into(stk_image *image, stk_box box, stk_error *error)
{
    STK_TRY(stk_codec_check_box(box, image, error));
    image->pixels += (size_t)box.y * image->stride + (size_t)box.x * image->channels;
    image->width = (uint32_t)box.width;
    image->height = (uint32_t)box.height;
    return STK_OK;
}

stk_status stk_codec_decode_box(stk_codec_ctx *ctx, stk_encoding encoding, const uint8_t *data, size_t n_bytes,
                                stk_mode mode, stk_box box, stk_image *out, stk_damage_report *damage,
                                stk_error *error)
{
    const stk_codec *codec = NULL;
    stk_damage_report ignored;
    if (damage == NULL) damage = &ignored;
    *damage = (stk_damage_report){0};
    *out = (stk_image){0};
    STK_TRY(codec_of(encoding, &codec, error));
    give_back_outliers(ctx);
    if (codec->decode_box != NULL) {
        return codec->decode_box(ctx, data, n_bytes, mode, box, out, damage, error);
    }
    STK_TRY(codec->decode(ctx, data, n_bytes, mode, out, damage, error));
    return stk_codec_point_into(out, box, error);
}

void stk_damage_note(stk_damage_report *damage, stk_damage kind, const char *format, ...)
{
    damage->kinds |= (uint32_t)kind;
    if (damage->text[0] != '\0') return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(damage->text, sizeof damage->text, format, args);
    va_end(args);
    if (n < 0) damage->text[0] = '\0';
}

stk_status stk_codec_check_size(const stk_codec_ctx *ctx, uint64_t width, uint64_t height, stk_error *error)
{
    if (width == 0 || height == 0) return stk_fail(error, STK_ERR_IMAGE, "the header says 0 pixels");
    uint64_t n_pixels;
    if (!stk_mul_u64(width, height, &n_pixels) || n_pixels > ctx->max_pixels || width > INT32_MAX ||
        height > INT32_MAX) {
        return stk_fail(error, STK_ERR_LIMIT,
                        "%" PRIu64 "x%" PRIu64 " pixels are more than the limit of %" PRIu64 " (max_pixels)",
                        width, height, ctx->max_pixels);
    }
    return STK_OK;
}

stk_status stk_codec_new_image(stk_codec_ctx *ctx, uint32_t width, uint32_t height, uint8_t channels,
                               stk_image *out, stk_error *error)
{
    size_t stride = (size_t)width * channels, n_bytes;
    if (!stk_mul_size(stride, height, &n_bytes)) return stk_fail_memory(error, "a picture");
    uint8_t *pixels;
    STK_TRY(stk_codec_scratch(ctx, STK_SCRATCH_PIXELS, n_bytes, &pixels, error));
    *out =
        (stk_image){.pixels = pixels, .stride = stride, .width = width, .height = height, .channels = channels};
    return STK_OK;
}
