/* SPDX-License-Identifier: Apache-2.0
 *
 * The first page of TIFF files through libtiff: grey, palette, RGB, CMYK and YCbCr of 1 to 16 bits, in strips or
 * tiles, samples together or in planes, any compression that libtiff was built with. libtiff delivers strips and
 * tiles; their samples become pixels here, as Pillow's unpackers make them. YCbCr goes through libtiff's own
 * conversions, as in Pillow. */
#include "codec/codec_internal.h"
#include "codec/codec_versions.h"

#include "stoker_features.h"

#include <string.h>

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    static const uint8_t marks[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43}};
    for (size_t i = 0; n_bytes >= 8 && i < sizeof marks / sizeof marks[0]; i++) {
        if (memcmp(data, marks[i], 4) == 0) return true;
    }
    return false;
}

#if STOKER_HAVE_TIFF
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <tiffio.h>

#include "common/checked.h"
#include "common/fail.h"

/* As many as Pillow knows: CMYK and two more, RGB and three more. */
enum { MAX_SAMPLES = 6 };

typedef struct tiff_job {
    TIFF *tiff;
    const uint8_t *data;
    size_t n_bytes;
    toff_t position;
    bool decoding; /* warnings count from here on; before, they are about tags that do not matter */
    bool complained;
    char complaint[160]; /* libtiff's last error or first warning */

    uint32_t width, height;
    uint16_t photometric, bits, samples, planar, compression, orientation;
    uint16_t n_extra, first_extra;
    const uint16_t *map[3]; /* colour map */
    bool convert_ycc;       /* the strips hold YCbCr that is converted here */
} tiff_job;

/* ---- libtiff's view of memory ---- */

static tmsize_t on_read(thandle_t handle, void *out, tmsize_t n)
{
    tiff_job *job = handle;
    if (n < 0 || job->position >= job->n_bytes) return 0;
    size_t left = job->n_bytes - (size_t)job->position, step = (size_t)n < left ? (size_t)n : left;
    memcpy(out, job->data + job->position, step);
    job->position += step;
    return (tmsize_t)step;
}

static tmsize_t on_write(thandle_t handle, void *data, tmsize_t n)
{
    (void)handle;
    (void)data;
    (void)n;
    return -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence)
{
    tiff_job *job = handle;
    if (whence == SEEK_CUR) offset += job->position;
    if (whence == SEEK_END) offset += job->n_bytes;
    job->position = offset;
    return offset;
}

static int on_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle)
{
    const tiff_job *job = handle;
    return job->n_bytes;
}

static int on_map(thandle_t handle, void **base, toff_t *size)
{
    tiff_job *job = handle;
    union {
        const uint8_t *from;
        void *to;
    } pointer = {.from = job->data}; /* libtiff only reads it */
    *base = pointer.to;
    *size = job->n_bytes;
    return 1;
}

static void on_unmap(thandle_t handle, void *base, toff_t size)
{
    (void)handle;
    (void)base;
    (void)size;
}

STK_PRINTF(4, 0)
static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    (void)tiff;
    (void)module;
    tiff_job *job = user;
    if (vsnprintf(job->complaint, sizeof job->complaint, format, args) < 0) job->complaint[0] = '\0';
    job->complained = true;
    return 1;
}

STK_PRINTF(4, 0)
static int on_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list args)
{
    tiff_job *job = user;
    if (!job->decoding || job->complained) return 1;
    return on_error(tiff, user, module, format, args);
}

static const char *complaint(const tiff_job *job)
{
    return job->complaint[0] != '\0' ? job->complaint : "no reason given";
}

/* ---- the directory ---- */

static uint16_t get16(TIFF *tiff, uint32_t tag, uint16_t otherwise)
{
    uint16_t value = otherwise;
    return TIFFGetField(tiff, tag, &value) == 1 ? value : otherwise;
}

static void read_tags(tiff_job *job)
{
    TIFF *t = job->tiff;
    (void)TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &job->width);
    (void)TIFFGetField(t, TIFFTAG_IMAGELENGTH, &job->height);
    job->photometric = get16(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
    job->bits = get16(t, TIFFTAG_BITSPERSAMPLE, 1);
    job->samples = get16(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    job->planar = get16(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    job->compression = get16(t, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    job->orientation = get16(t, TIFFTAG_ORIENTATION, 1);
    uint16_t *extra = NULL;
    if (TIFFGetField(t, TIFFTAG_EXTRASAMPLES, &job->n_extra, &extra) != 1) job->n_extra = 0;
    job->first_extra = job->n_extra > 0 && extra != NULL ? extra[0] : EXTRASAMPLE_UNSPECIFIED;
    if (job->compression == COMPRESSION_OJPEG) job->photometric = PHOTOMETRIC_YCBCR;
}

/* The samples that carry colour; 0 for photometric interpretations that are not read. */
static uint16_t colour_samples(const tiff_job *job)
{
    switch (job->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE: return 1;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR: return 3;
    case PHOTOMETRIC_SEPARATED: return 4;
    default: return 0;
    }
}

static bool bits_are_read(const tiff_job *job)
{
    bool grey = job->photometric == PHOTOMETRIC_MINISWHITE || job->photometric == PHOTOMETRIC_MINISBLACK;
    bool small = job->bits == 1 || job->bits == 2 || job->bits == 4;
    if (job->bits == 8) return true;
    if (job->bits == 16) return job->photometric != PHOTOMETRIC_PALETTE;
    if (job->bits == 12) return grey && job->samples == 1;
    return small && (grey || job->photometric == PHOTOMETRIC_PALETTE) && job->samples == 1;
}

static stk_status check_layout(tiff_job *job, stk_error *error)
{
    uint16_t format = get16(job->tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT), colours = colour_samples(job);
    if (colours == 0) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a TIFF with photometric interpretation %d",
                        (int)job->photometric);
    }
    if ((format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID && job->bits != 8) || !bits_are_read(job)) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a TIFF with %s samples of %d bits",
                        format == SAMPLEFORMAT_IEEEFP ? "floating-point"
                        : format == SAMPLEFORMAT_INT  ? "signed"
                                                      : "unsigned",
                        (int)job->bits);
    }
    if (job->samples < colours || job->samples > MAX_SAMPLES) {
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "a TIFF with %d samples a pixel and photometric interpretation %d", (int)job->samples,
                        (int)job->photometric);
    }
    if (!TIFFIsCODECConfigured(job->compression)) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a TIFF with compression %d, which this libtiff lacks",
                        (int)job->compression);
    }
    if (job->photometric != PHOTOMETRIC_PALETTE) return STK_OK;
    uint16_t *red = NULL, *green = NULL, *blue = NULL;
    if (TIFFGetField(job->tiff, TIFFTAG_COLORMAP, &red, &green, &blue) != 1) {
        return stk_fail(error, STK_ERR_IMAGE, "the TIFF file has no colour map");
    }
    job->map[0] = red;
    job->map[1] = green;
    job->map[2] = blue;
    return STK_OK;
}

/* Opens and reads the first directory. job->tiff is to be closed by the caller, also after a failure. */
static stk_status open_tiff(const stk_codec_ctx *ctx, tiff_job *job, const uint8_t *data, size_t n_bytes,
                            stk_error *error)
{
    *job = (tiff_job){.data = data, .n_bytes = n_bytes};
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL) return stk_fail_memory(error, "libtiff");
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, job);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, job);
    uint64_t most = ctx->max_pixels < UINT64_C(1) << 40 ? ctx->max_pixels * 2 * MAX_SAMPLES : INT64_MAX;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(most > 1 << 20 ? most : 1 << 20));
    job->tiff = TIFFClientOpenExt("TIFF", "r", job, on_read, on_write, on_seek, on_close, on_size, on_map,
                                  on_unmap, options);
    TIFFOpenOptionsFree(options);
    if (job->tiff == NULL) return stk_fail(error, STK_ERR_IMAGE, "the TIFF file: %s", complaint(job));
    read_tags(job);
    STK_TRY(stk_codec_check_size(ctx, job->width, job->height, error));
    return check_layout(job, error);
}

static void close_tiff(tiff_job *job)
{
    if (job->tiff != NULL) TIFFClose(job->tiff);
    job->tiff = NULL;
}

static bool is_grey(const tiff_job *job)
{
    return job->samples == 1 && colour_samples(job) == 1 && job->photometric != PHOTOMETRIC_PALETTE;
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    tiff_job job;
    stk_status status = open_tiff(ctx, &job, data, n_bytes, error);
    if (status == STK_OK) {
        out->width = job.width;
        out->height = job.height;
        out->channels = is_grey(&job) ? 1 : 3;
        out->orientation = job.orientation >= 1 && job.orientation <= 8 ? (uint8_t)job.orientation : 1;
    }
    close_tiff(&job);
    return status;
}

/* ---- samples -> pixels ---- */

/* Sample number i of a row, as 8 bits: small ones as they are, 12 and 16 bits by their high byte. */
static inline uint8_t sample(const uint8_t *row, size_t i, uint16_t bits)
{
    switch (bits) {
    case 8: return row[i];
    case 16: {
        uint16_t v; /* libtiff delivers the machine's byte order */
        memcpy(&v, row + 2 * i, sizeof v);
        return (uint8_t)(v >> 8);
    }
    case 12: return (uint8_t)(i & 1 ? row[i / 2 * 3 + 1] << 4 | row[i / 2 * 3 + 2] >> 4 : row[i / 2 * 3]);
    case 4: return row[i >> 1] >> (i & 1 ? 0 : 4) & 15;
    case 2: return row[i >> 2] >> (6 - 2 * (i & 3)) & 3;
    default: return row[i >> 3] >> (7 - (i & 7)) & 1;
    }
}

/* A block: rows of all samples together, or one set of rows a plane. */
typedef struct block {
    uint8_t *data;
    size_t row_bytes, plane_bytes;
    uint32_t x, y, width, height; /* the part inside the picture */
} block;

static inline uint8_t block_sample(const tiff_job *job, const block *b, uint32_t row, uint32_t x, uint16_t s)
{
    if (job->planar == PLANARCONFIG_SEPARATE) {
        return sample(b->data + s * b->plane_bytes + row * b->row_bytes, x, job->bits);
    }
    return sample(b->data + row * b->row_bytes, (size_t)x * job->samples + s, job->bits);
}

static uint8_t grey_value(const tiff_job *job, uint8_t value)
{
    static const uint8_t factor[9] = {0, 255, 85, 0, 17, 0, 0, 0, 1};
    if (job->bits < 8) value = (uint8_t)(value * factor[job->bits]);
    return job->photometric == PHOTOMETRIC_MINISWHITE ? (uint8_t)(255 - value) : value;
}

/* Pillow's RGBa: colours that were multiplied by alpha are divided again. */
static uint8_t unmultiplied(uint8_t value, uint8_t alpha)
{
    if (alpha == 0) return 0;
    int v = value * 255 / alpha;
    return v > 255 ? 255 : (uint8_t)v;
}

/* Pillow's ConvertYCbCr.c: 6 fractional bits; its tables hold factor * 64 * (chroma - 128), rounded thus. */
static int ycc_term(int factor, uint8_t chroma)
{
    return (factor * 64 * (chroma - 128) + 50000) / 100000;
}

static uint8_t clip8(int v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static void ycc_to_rgb(const uint8_t *s, uint8_t *rgb)
{
    rgb[0] = clip8(s[0] + (ycc_term(140200, s[2]) >> 6));
    rgb[1] = clip8(s[0] + ((ycc_term(-34414, s[1]) + ycc_term(-71414, s[2])) >> 6));
    rgb[2] = clip8(s[0] + (ycc_term(177200, s[1]) >> 6));
}

static void convert_pixel(const tiff_job *job, const uint8_t *s, uint8_t *rgb)
{
    if (job->convert_ycc) {
        ycc_to_rgb(s, rgb);
        return;
    }
    switch (job->photometric) {
    case PHOTOMETRIC_PALETTE:
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(job->map[c][s[0]] >> 8);
        break;
    case PHOTOMETRIC_SEPARATED: stk_row_cmyk_to_rgb(s, 1, rgb); break;
    default: /* RGB, and YCbCr that libjpeg has converted */
        memcpy(rgb, s, 3);
        if (job->samples > 3 && job->first_extra == EXTRASAMPLE_ASSOCALPHA) {
            for (int c = 0; c < 3; c++) rgb[c] = unmultiplied(s[c], s[3]);
        }
    }
}

static void convert_row(const tiff_job *job, const block *b, uint32_t row, uint8_t *out, uint8_t channels)
{
    bool grey = job->photometric == PHOTOMETRIC_MINISWHITE || job->photometric == PHOTOMETRIC_MINISBLACK;
    for (uint32_t x = 0; x < b->width; x++, out += channels) {
        uint8_t s[MAX_SAMPLES], rgb[3];
        if (grey) {
            memset(rgb, grey_value(job, block_sample(job, b, row, x, 0)), 3);
            memcpy(out, rgb, channels);
            continue;
        }
        for (uint16_t i = 0; i < job->samples; i++) s[i] = block_sample(job, b, row, x, i);
        convert_pixel(job, s, rgb);
        if (channels == 1) {
            /* Pillow's luma of a YCbCr picture is its Y. */
            *out = job->convert_ycc ? s[0] : stk_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(out, rgb, 3);
        }
    }
}

/* ---- strips and tiles ---- */

typedef struct grid {
    bool tiled;
    uint32_t width, height; /* of a block */
    uint16_t n_planes;
    tmsize_t block_bytes, row_bytes;
} grid;

static stk_status describe_grid(const stk_codec_ctx *ctx, const tiff_job *job, grid *g, stk_error *error)
{
    TIFF *t = job->tiff;
    g->tiled = TIFFIsTiled(t) != 0;
    g->n_planes = job->planar == PLANARCONFIG_SEPARATE ? job->samples : 1;
    g->width = job->width;
    if (g->tiled) {
        if (TIFFGetField(t, TIFFTAG_TILEWIDTH, &g->width) != 1 ||
            TIFFGetField(t, TIFFTAG_TILELENGTH, &g->height) != 1) {
            return stk_fail(error, STK_ERR_IMAGE, "the TIFF file has tiles without a size");
        }
        STK_TRY(
            stk_codec_check_size(ctx, g->width, g->height, error)); /* a tile can be larger than its picture */
    } else if (TIFFGetField(t, TIFFTAG_ROWSPERSTRIP, &g->height) != 1 || g->height > job->height) {
        g->height = job->height;
    }
    g->block_bytes = g->tiled ? TIFFTileSize(t) : TIFFStripSize(t);
    g->row_bytes = g->tiled ? TIFFTileRowSize(t) : TIFFScanlineSize(t);
    /* What our own reading of samples will touch must lie inside what libtiff says it delivers. */
    uint64_t per_row = job->planar == PLANARCONFIG_SEPARATE ? 1 : job->samples;
    uint64_t bits, needed;
    if (g->width == 0 || g->height == 0 || g->block_bytes <= 0 || g->row_bytes <= 0 ||
        !stk_mul_u64(g->width, per_row * job->bits, &bits) || (bits + 7) / 8 > (uint64_t)g->row_bytes ||
        !stk_mul_u64((uint64_t)g->row_bytes, g->height, &needed) || needed > (uint64_t)g->block_bytes) {
        return stk_fail(error, STK_ERR_IMAGE, "the TIFF file's strips or tiles do not fit its samples");
    }
    return STK_OK;
}

static bool read_block(const tiff_job *job, const grid *g, const block *b)
{
    for (uint16_t plane = 0; plane < g->n_planes; plane++) {
        void *to = b->data + plane * b->plane_bytes;
        tmsize_t n;
        if (g->tiled) {
            n = TIFFReadTile(job->tiff, to, b->x, b->y, 0, plane);
        } else {
            n = TIFFReadEncodedStrip(job->tiff, TIFFComputeStrip(job->tiff, b->y, plane), to, g->block_bytes);
        }
        if (n < 0) return false;
    }
    return true;
}

static stk_status read_blocks(tiff_job *job, const grid *g, uint8_t *memory, const stk_image *out,
                              stk_damage_report *damage, stk_error *error)
{
    uint64_t n_good = 0, n_bad = 0;
    block b = {.data = memory, .row_bytes = (size_t)g->row_bytes, .plane_bytes = (size_t)g->block_bytes};
    for (uint64_t y = 0; y < job->height; y += g->height) {
        for (uint64_t x = 0; x < job->width; x += g->width) {
            b.x = (uint32_t)x;
            b.y = (uint32_t)y;
            b.width = job->width - b.x < g->width ? job->width - b.x : g->width;
            b.height = job->height - b.y < g->height ? job->height - b.y : g->height;
            bool good = read_block(job, g, &b);
            n_good += good;
            n_bad += !good;
            if (n_good == 0 && n_bad > 0)
                return stk_fail(error, STK_ERR_IMAGE, "the TIFF file: %s", complaint(job));
            for (uint32_t row = 0; row < b.height; row++) {
                uint8_t *to = out->pixels + (b.y + row) * out->stride + (size_t)b.x * out->channels;
                if (good) {
                    convert_row(job, &b, row, to, out->channels);
                } else {
                    memset(to, 0, (size_t)b.width * out->channels);
                }
            }
        }
    }
    if (n_bad > 0) stk_damage_note(damage, STK_DAMAGE_TRUNCATED, "%s", complaint(job));
    return STK_OK;
}

static stk_status decode_blocks(const stk_codec_ctx *ctx, tiff_job *job, const stk_image *out,
                                stk_damage_report *damage, stk_error *error)
{
    grid g;
    STK_TRY(describe_grid(ctx, job, &g, error));
    /* Zeroed: some codecs deliver fewer rows than a strip has and call it success. */
    uint8_t *memory = calloc(g.n_planes, (size_t)g.block_bytes);
    if (memory == NULL) return stk_fail_memory(error, "a TIFF strip");
    stk_status status = read_blocks(job, &g, memory, out, damage, error);
    free(memory);
    return status;
}

/* libtiff's own conversion, for YCbCr that is not JPEG in one plane. */
static stk_status decode_as_rgba(tiff_job *job, const stk_image *out, stk_error *error)
{
    char text[1024] = "";
    TIFFRGBAImage image;
    if (!TIFFRGBAImageOK(job->tiff, text) || !TIFFRGBAImageBegin(&image, job->tiff, 1, text)) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "the TIFF file: %.200s", text);
    }
    image.orientation = ORIENTATION_TOPLEFT; /* the turn is a record's flag, not done here */
    image.req_orientation = ORIENTATION_TOPLEFT;
    uint32_t *pixels = calloc((size_t)job->width * job->height, sizeof *pixels);
    stk_status status = pixels == NULL ? stk_fail_memory(error, "a TIFF picture") : STK_OK;
    if (status == STK_OK && !TIFFRGBAImageGet(&image, pixels, job->width, job->height)) {
        status = stk_fail(error, STK_ERR_IMAGE, "the TIFF file: %s", complaint(job));
    }
    for (uint32_t y = 0; status == STK_OK && y < job->height; y++) {
        uint8_t *to = out->pixels + y * out->stride;
        for (uint32_t x = 0; x < job->width; x++, to += out->channels) {
            uint32_t p = pixels[(size_t)y * job->width + x];
            uint8_t rgb[3] = {(uint8_t)TIFFGetR(p), (uint8_t)TIFFGetG(p), (uint8_t)TIFFGetB(p)};
            if (out->channels == 1) rgb[0] = stk_luma(rgb[0], rgb[1], rgb[2]);
            memcpy(to, rgb, out->channels);
        }
    }
    free(pixels);
    TIFFRGBAImageEnd(&image);
    return status;
}

/* YCbCr takes three ways, as in Pillow: libjpeg converts JPEG strips, Pillow's own tables serve plain samples,
 * and libtiff does all else. */
static stk_status decode_ycc(const stk_codec_ctx *ctx, tiff_job *job, const stk_image *out,
                             stk_damage_report *damage, stk_error *error)
{
    uint16_t h = 2, v = 2;
    (void)TIFFGetFieldDefaulted(job->tiff, TIFFTAG_YCBCRSUBSAMPLING, &h, &v);
    bool together = job->planar == PLANARCONFIG_CONTIG;
    if (together && job->compression == COMPRESSION_JPEG) {
        (void)TIFFSetField(job->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        return decode_blocks(ctx, job, out, damage, error);
    }
    if (together && job->compression == COMPRESSION_NONE && job->bits == 8 && h == 1 && v == 1) {
        job->convert_ycc = true;
        return decode_blocks(ctx, job, out, damage, error);
    }
    return decode_as_rgba(job, out, error);
}

static stk_status decode_page(stk_codec_ctx *ctx, tiff_job *job, stk_mode mode, stk_image *out,
                              stk_damage_report *damage, stk_error *error)
{
    STK_TRY(stk_codec_new_image(ctx, job->width, job->height, mode == STK_MODE_L ? 1 : 3, out, error));
    job->complained = false;
    job->complaint[0] = '\0';
    job->decoding = true;
    if (job->photometric == PHOTOMETRIC_YCBCR) {
        STK_TRY(decode_ycc(ctx, job, out, damage, error));
    } else {
        STK_TRY(decode_blocks(ctx, job, out, damage, error));
    }
    if (job->complained && damage->kinds == 0) stk_damage_note(damage, STK_DAMAGE_OTHER, "%s", complaint(job));
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    tiff_job job;
    stk_status status = open_tiff(ctx, &job, data, n_bytes, error);
    if (status == STK_OK) status = decode_page(ctx, &job, mode, out, damage, error);
    close_tiff(&job);
    return status;
}
#endif

const stk_codec stk_codec_tiff = {
    .encoding = STK_ENCODING_TIFF,
    .sniff = sniff,
#if STOKER_HAVE_TIFF
    .probe = probe,
    .decode = decode,
#endif
};

stk_version_text stk_tiff_version(void)
{
    stk_version_text v = {""};
#if STOKER_HAVE_TIFF
    /* "LIBTIFF, Version 4.5.0" and lines of copyright. */
    const char *text = TIFFGetVersion(), *number = text + strcspn(text, "0123456789");
    snprintf(v.text, sizeof v.text, "%.*s", (int)strspn(number, "0123456789."), number);
#endif
    return v;
}
