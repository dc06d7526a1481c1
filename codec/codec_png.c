/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG through libpng, which is fed only the header, the palette and the image data; png_chunks.c looks after the
 * rest of the file. */
#include "codec/codec_internal.h"
#include "codec/codec_versions.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "codec/png_chunks.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"

enum { ADAM7_PASSES = 7 };

/* One decode. Lives in the context's slot because a longjmp would clobber locals. */
typedef struct png_job {
    png_structp png;
    png_infop info;
    jmp_buf escape;
    stk_damage_report *damage;
    stk_status failure;
    char reason[160];
    bool ran_dry;      /* libpng asked for more than the file has */
    bool wrong_adler;  /* it stopped because of zlib's checksum */
    bool ignore_adler; /* the second attempt: go on regardless */

    /* The synthetic file that libpng reads: pieces, one after the other. */
    const uint8_t *data;
    size_t n_bytes, next_idat;
    int stage;
    const uint8_t *piece;
    size_t n_piece;
    const uint8_t *body; /* of the IDAT chunk whose header was handed out */
    size_t n_body;
    uint8_t small[32];
    const stk_png_chunks *chunks;

    uint32_t rows_done; /* rows that are whole when reading stopped early */
} png_job;

_Noreturn static void escape_with(png_job *job, stk_status status)
{
    job->failure = status;
    longjmp(job->escape, 1);
}

_Noreturn static void on_error(png_structp png, png_const_charp message)
{
    png_job *job = png_get_error_ptr(png);
    (void)snprintf(job->reason, sizeof job->reason, "%s", message);
    job->ran_dry = strstr(message, "Not enough image data") != NULL;
    job->wrong_adler = strstr(message, "incorrect data check") != NULL;
    escape_with(job, strstr(message, "emory") != NULL ? STK_ERR_MEMORY : STK_ERR_IMAGE);
}

static void on_warning(png_structp png, png_const_charp message)
{
    png_job *job = png_get_error_ptr(png);
    stk_damage kind = STK_DAMAGE_OTHER;
    if (strstr(message, "incorrect data check") != NULL) kind = STK_DAMAGE_CHECKSUM; /* zlib's Adler-32 */
    if (strstr(message, "Extra compressed data") != NULL) kind = STK_DAMAGE_OVERFLOW;
    if (strstr(message, "Too much image data") != NULL) kind = STK_DAMAGE_OVERFLOW;
    if (strstr(message, "truncated") != NULL) kind = STK_DAMAGE_TRUNCATED;
    stk_damage_note(job->damage, kind, "%s", message);
}

enum {
    STAGE_SIGNATURE,
    STAGE_HEADER,
    STAGE_PALETTE_HEAD,
    STAGE_PALETTE,
    STAGE_DATA_HEAD,
    STAGE_DATA,
    STAGE_CRC,
    STAGE_END,
    STAGE_OVER
};

static void set_small(png_job *job, const char *type, size_t length)
{
    for (int i = 0; i < 4; i++) job->small[i] = (uint8_t)(length >> (24 - 8 * i));
    memcpy(job->small + 4, type, 4);
    job->piece = job->small;
    job->n_piece = 8;
}

/* Checksums were compared by the walk and libpng was told not to look: any four bytes will do. */
static void set_crc(png_job *job)
{
    memset(job->small, 0, 4);
    job->piece = job->small;
    job->n_piece = 4;
}

static void next_piece(png_job *job)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    switch (job->stage) {
    case STAGE_SIGNATURE:
        job->piece = signature;
        job->n_piece = sizeof signature;
        job->stage = STAGE_HEADER;
        return;
    case STAGE_HEADER: /* length, type, 13 bytes and CRC, as they are in the file */
        job->piece = job->chunks->ihdr - 8;
        job->n_piece = 8 + 13 + 4;
        job->stage = job->chunks->color_type == STK_PNG_PALETTE ? STAGE_PALETTE_HEAD : STAGE_DATA_HEAD;
        return;
    case STAGE_PALETTE_HEAD:
        set_small(job, "PLTE", job->chunks->n_palette * 3);
        job->stage = STAGE_PALETTE;
        return;
    case STAGE_PALETTE:
        job->piece = job->chunks->palette;
        job->n_piece = job->chunks->n_palette * 3;
        job->stage = STAGE_CRC;
        return;
    case STAGE_CRC:
        set_crc(job);
        job->stage = STAGE_DATA_HEAD;
        return;
    case STAGE_DATA_HEAD:
        if (stk_png_next_idat(job->data, job->n_bytes, &job->next_idat, &job->body, &job->n_body)) {
            set_small(job, "IDAT", job->n_body);
            job->stage = STAGE_DATA;
        } else {
            set_small(job, "IEND", 0);
            job->stage = STAGE_END;
        }
        return;
    case STAGE_DATA:
        job->piece = job->body;
        job->n_piece = job->n_body;
        job->stage = STAGE_CRC;
        return;
    case STAGE_END:
        set_crc(job);
        job->stage = STAGE_OVER;
        return;
    default: png_error(job->png, "Not enough image data"); /* does not return */
    }
}

static void on_read(png_structp png, png_bytep out, size_t n)
{
    png_job *job = png_get_io_ptr(png);
    while (n > 0) {
        if (job->n_piece == 0) {
            next_piece(job);
            continue;
        }
        size_t step = n < job->n_piece ? n : job->n_piece;
        memcpy(out, job->piece, step);
        out += step;
        n -= step;
        job->piece += step;
        job->n_piece -= step;
    }
}

/* Has libpng deliver one byte a palette index, a grey value, or three an RGB pixel. 16 bits become 8 by their
 * high byte, as Pillow does for RGB, RGBA and LA; for grey too (docs/pixels.md says why not clipped). */
static void set_transforms(png_job *job)
{
    png_structp png = job->png;
    if (job->chunks->color_type == STK_PNG_GREY && job->chunks->bit_depth < 8) {
        png_set_expand_gray_1_2_4_to_8(png);
    }
    png_set_packing(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, job->info);
}

static bool is_colour(const stk_png_chunks *chunks)
{
    return chunks->color_type == STK_PNG_RGB || chunks->color_type == STK_PNG_RGBA;
}

static void read_rows(png_job *job, const stk_image *out)
{
    int n_passes = job->chunks->interlace != 0 ? ADAM7_PASSES : 1;
    for (int pass = 0; pass < n_passes; pass++) {
        for (uint32_t y = 0; y < out->height; y++) png_read_row(job->png, out->pixels + y * out->stride, NULL);
    }
}

/* libpng counts a row as soon as its pixels are out, before it looks whether the data end as they should. Short
 * of its last pass an interlaced picture has no whole part. */
static uint32_t count_rows(const png_job *job, const stk_image *out)
{
    if (job->chunks->interlace == 0) return png_get_current_row_number(job->png);
    return png_get_current_pass_number(job->png) >= ADAM7_PASSES ? out->height : 0;
}

static stk_status guarded_read(png_job *job, const stk_image *out, stk_error *error)
{
    if (setjmp(job->escape) != 0) {
        job->rows_done = count_rows(job, out);
        return stk_fail(error, job->failure, "%s", job->reason);
    }
    job->info = png_create_info_struct(job->png);
    if (job->info == NULL) return stk_fail_memory(error, "libpng");
    png_set_read_fn(job->png, job, on_read);
    png_set_crc_action(job->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    png_set_benign_errors(job->png, 1);
    png_set_user_limits(job->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* ours were applied */
    (void)png_set_option(job->png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON); /* some encoders understate it */
    if (job->ignore_adler) (void)png_set_option(job->png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
    png_read_info(job->png, job->info);
    set_transforms(job);
    if (png_get_rowbytes(job->png, job->info) > out->stride) {
        return stk_fail(error, STK_ERR_INTERNAL, "libpng's rows are longer than expected");
    }
    read_rows(job, out);
    return STK_OK;
}

/* Indices beyond the palette are black, as in Pillow. */
static void palette_table(const stk_png_chunks *chunks, stk_mode mode, uint8_t table[256][3])
{
    memset(table, 0, 256 * 3);
    for (uint32_t i = 0; i < chunks->n_palette; i++) {
        const uint8_t *rgb = chunks->palette + (size_t)3 * i;
        if (mode == STK_MODE_L) {
            table[i][0] = stk_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            memcpy(table[i], rgb, 3);
        }
    }
}

/* Rows of what libpng delivered -> the mode, in place. */
static void convert_rows(const stk_png_chunks *chunks, stk_mode mode, const stk_image *out,
                         stk_damage_report *damage)
{
    if (chunks->color_type != STK_PNG_PALETTE) {
        stk_rows_to_mode(out, is_colour(chunks) ? 3 : 1);
        return;
    }
    uint8_t table[256][3], highest = 0;
    palette_table(chunks, mode, table);
    for (uint32_t y = 0; y < out->height; y++) {
        uint8_t *row = out->pixels + y * out->stride;
        uint8_t top = stk_row_palette(row, out->width, (const uint8_t(*)[3])table, out->channels, row);
        highest = top > highest ? top : highest;
    }
    if (highest >= chunks->n_palette) {
        stk_damage_note(damage, STK_DAMAGE_HEADER, "palette index %d of a palette of %d colours", (int)highest,
                        (int)chunks->n_palette);
    }
}

/* A picture that lacks rows at its end is damaged, not bad: the rest becomes black. An interlaced one that lacks
 * its last pass has holes all over and is bad. */
static stk_status finish_short(png_job *job, const stk_image *out, stk_status status)
{
    if (status != STK_ERR_IMAGE || !job->ran_dry || job->rows_done == 0) return status;
    stk_damage_note(job->damage, STK_DAMAGE_TRUNCATED, "image data ends after row %u of %u",
                    (unsigned)job->rows_done, (unsigned)out->height);
    memset(out->pixels + job->rows_done * out->stride, 0, (out->height - job->rows_done) * out->stride);
    return STK_OK;
}

static stk_status attempt(png_job *job, const stk_image *out, stk_error *error)
{
    job->next_idat = job->chunks->first_idat;
    job->stage = STAGE_SIGNATURE;
    job->n_piece = 0;
    job->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, job, on_error, on_warning);
    if (job->png == NULL) return stk_fail_memory(error, "libpng");
    stk_status status = finish_short(job, out, guarded_read(job, out, error));
    png_destroy_read_struct(&job->png, &job->info, NULL);
    return status;
}

static stk_status read_picture(stk_codec_ctx *ctx, png_job *job, stk_mode mode, stk_image *out, stk_error *error)
{
    const stk_png_chunks *chunks = job->chunks;
    uint8_t channels =
        mode == STK_MODE_RGB || is_colour(chunks) ? 3 : 1; /* room for either end of convert_rows */
    STK_TRY(stk_codec_new_image(ctx, chunks->width, chunks->height, channels, out, error));
    out->channels = mode == STK_MODE_L ? 1 : 3;
    stk_status status = attempt(job, out, error);
    if (status == STK_ERR_IMAGE && job->wrong_adler) {
        /* The pixels may well be whole: Pillow does not look at this checksum either. */
        stk_damage_note(job->damage, STK_DAMAGE_CHECKSUM, "%s", job->reason);
        job->ignore_adler = true;
        status = attempt(job, out, error);
    }
    if (status == STK_OK) convert_rows(chunks, mode, out, job->damage);
    return status;
}

static void close_state(void *state)
{
    free(state); /* libpng's structs never outlive a call */
}

static stk_status new_job(stk_codec_ctx *ctx, png_job **out, stk_error *error)
{
    void *state;
    STK_TRY(stk_ctx_state(ctx, STK_CTX_PNG, sizeof(png_job), close_state, &state, error));
    memset(state, 0, sizeof(png_job));
    *out = state;
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    stk_png_chunks chunks;
    STK_TRY(stk_png_walk(data, n_bytes, true, &chunks, damage, error));
    STK_TRY(stk_codec_check_size(ctx, chunks.width, chunks.height, error));
    png_job *job;
    STK_TRY(new_job(ctx, &job, error));
    job->damage = damage;
    job->data = data;
    job->n_bytes = n_bytes;
    job->chunks = &chunks;
    return read_picture(ctx, job, mode, out, error);
}

static bool depth_is_valid(const stk_png_chunks *c)
{
    switch (c->color_type) {
    case STK_PNG_GREY:
        return c->bit_depth == 1 || c->bit_depth == 2 || c->bit_depth == 4 || c->bit_depth == 8 ||
               c->bit_depth == 16;
    case STK_PNG_PALETTE: return c->bit_depth == 1 || c->bit_depth == 2 || c->bit_depth == 4 || c->bit_depth == 8;
    case STK_PNG_RGB:
    case STK_PNG_GREY_ALPHA:
    case STK_PNG_RGBA: return c->bit_depth == 8 || c->bit_depth == 16;
    default: return false;
    }
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    (void)ctx;
    stk_png_chunks chunks;
    stk_damage_report ignored = {0};
    STK_TRY(stk_png_walk(data, n_bytes, false, &chunks, &ignored, error));
    if (!depth_is_valid(&chunks)) {
        return stk_fail(error, STK_ERR_IMAGE, "a PNG cannot have colour type %d with %d bits",
                        (int)chunks.color_type, (int)chunks.bit_depth);
    }
    out->width = chunks.width;
    out->height = chunks.height;
    out->channels = chunks.color_type == STK_PNG_GREY ? 1 : 3;
    out->orientation = chunks.orientation != 0 ? chunks.orientation : 1;
    return STK_OK;
}

const stk_codec stk_codec_png = {
    .encoding = STK_ENCODING_PNG,
    .sniff = stk_png_is,
    .probe = probe,
    .decode = decode,
};

/* ---- writing ---- */

typedef struct png_writer {
    jmp_buf escape;
    stk_buffer *out;
    char reason[160];
} png_writer;

_Noreturn static void on_write_error(png_structp png, png_const_charp message)
{
    png_writer *writer = png_get_error_ptr(png);
    (void)snprintf(writer->reason, sizeof writer->reason, "%s", message);
    longjmp(writer->escape, 1);
}

static void on_write_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep data, size_t n)
{
    png_writer *writer = png_get_io_ptr(png);
    if (stk_buffer_append(writer->out, data, n, NULL) != STK_OK) png_error(png, "out of memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

static stk_status guarded_write(png_writer *writer, png_structp png, png_infop info, const stk_image *image,
                                stk_error *error)
{
    if (setjmp(writer->escape) != 0) {
        return stk_fail(error, STK_ERR_MEMORY, "encoding a PNG: %s", writer->reason);
    }
    png_set_write_fn(png, writer, on_write, on_flush);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, image->width, image->height, 8,
                 image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < image->height; y++) png_write_row(png, image->pixels + y * image->stride);
    png_write_end(png, info);
    return STK_OK;
}

stk_status stk_codec_encode_png(stk_codec_ctx *ctx, const stk_image *image, stk_buffer *out, stk_error *error)
{
    (void)ctx;
    if (image->width == 0 || image->height == 0 || image->width > PNG_UINT_31_MAX ||
        image->height > PNG_UINT_31_MAX) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a PNG cannot hold %ux%u pixels", (unsigned)image->width,
                        (unsigned)image->height);
    }
    png_writer writer = {.out = out};
    out->n_bytes = 0;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_write_error, on_write_warning);
    if (png == NULL) return stk_fail_memory(error, "libpng");
    png_infop info = png_create_info_struct(png);
    stk_status status =
        info == NULL ? stk_fail_memory(error, "libpng") : guarded_write(&writer, png, info, image, error);
    png_destroy_write_struct(&png, &info);
    return status;
}

stk_version_text stk_png_version(void)
{
    stk_version_text v;
    snprintf(v.text, sizeof v.text, "%s", png_get_libpng_ver(NULL));
    return v;
}
