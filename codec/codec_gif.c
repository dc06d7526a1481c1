/* SPDX-License-Identifier: Apache-2.0
 *
 * The first frame of GIF files through giflib, laid on its screen as Pillow lays it. */
#include "codec/codec_internal.h"

#include "stoker_features.h"

#include <string.h>

static bool sniff(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= 6 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0);
}

#if STOKER_HAVE_GIF
#include <gif_lib.h>

#include "common/fail.h"

typedef struct source {
    const uint8_t *p, *end;
} source;

/* What the blocks before the first frame's pixels say. */
typedef struct gif_frame {
    uint32_t screen_width, screen_height; /* widened when the frame reaches out of the screen, as Pillow does */
    uint32_t x, y, width, height;
    bool interlaced;
    uint8_t background;            /* the index that pixels outside the frame have */
    const ColorMapObject *palette; /* NULL: indices are grey values */
} gif_frame;

static int on_read(GifFileType *gif, GifByteType *out, int n)
{
    source *s = gif->UserData;
    size_t left = (size_t)(s->end - s->p), step = (size_t)n < left ? (size_t)n : left;
    memcpy(out, s->p, step);
    s->p += step;
    return (int)step;
}

static stk_status fail_gif(int code, stk_error *error)
{
    const char *text = GifErrorString(code);
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return stk_fail_memory(error, "giflib");
    return stk_fail(error, STK_ERR_IMAGE, "the GIF file: %s", text != NULL ? text : "giflib refuses it");
}

/* Extension blocks: only a graphic control's transparent index matters. */
static stk_status read_extension(GifFileType *gif, gif_frame *f, stk_error *error)
{
    int code;
    GifByteType *block;
    GraphicsControlBlock control;
    if (DGifGetExtension(gif, &code, &block) != GIF_OK) return fail_gif(gif->Error, error);
    if (code == GRAPHICS_EXT_FUNC_CODE && block != NULL &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK && control.TransparentColor >= 0) {
        f->background = (uint8_t)control.TransparentColor;
    }
    while (block != NULL) {
        if (DGifGetExtensionNext(gif, &block) != GIF_OK) return fail_gif(gif->Error, error);
    }
    return STK_OK;
}

static void describe(const GifFileType *gif, gif_frame *f)
{
    const GifImageDesc *d = &gif->Image;
    f->x = (uint32_t)d->Left;
    f->y = (uint32_t)d->Top;
    f->width = (uint32_t)d->Width;
    f->height = (uint32_t)d->Height;
    f->interlaced = d->Interlace;
    f->palette = d->ColorMap != NULL ? d->ColorMap : gif->SColorMap;
    uint32_t right = f->x + f->width, bottom = f->y + f->height;
    f->screen_width = (uint32_t)gif->SWidth > right ? (uint32_t)gif->SWidth : right;
    f->screen_height = (uint32_t)gif->SHeight > bottom ? (uint32_t)gif->SHeight : bottom;
}

static stk_status find_frame(GifFileType *gif, gif_frame *f, stk_error *error)
{
    *f = (gif_frame){0};
    for (;;) {
        GifRecordType type;
        if (DGifGetRecordType(gif, &type) != GIF_OK) return fail_gif(gif->Error, error);
        if (type == TERMINATE_RECORD_TYPE) break;
        if (type == EXTENSION_RECORD_TYPE) {
            STK_TRY(read_extension(gif, f, error));
        } else if (type == IMAGE_DESC_RECORD_TYPE) {
            if (DGifGetImageDesc(gif) != GIF_OK) return fail_gif(gif->Error, error);
            describe(gif, f);
            return STK_OK;
        }
    }
    return stk_fail(error, STK_ERR_IMAGE, "the GIF file has no picture");
}

/* True when indices and colours are the same thing: Pillow's mode L. */
static bool is_grey(const gif_frame *f)
{
    if (f->palette == NULL) return true;
    for (int i = 0; i < f->palette->ColorCount; i++) {
        const GifColorType *c = &f->palette->Colors[i];
        if (c->Red != i || c->Green != i || c->Blue != i) return false;
    }
    return true;
}

static stk_status open_gif(source *s, GifFileType **out, stk_error *error)
{
    int code = 0;
    *out = DGifOpen(s, on_read, &code);
    return *out != NULL ? STK_OK : fail_gif(code, error);
}

static stk_status probe(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_image_info *out,
                        stk_error *error)
{
    (void)ctx;
    source s = {.p = data, .end = data + n_bytes};
    GifFileType *gif;
    STK_TRY(open_gif(&s, &gif, error));
    gif_frame f;
    stk_status status = find_frame(gif, &f, error);
    if (status == STK_OK) {
        out->width = f.screen_width;
        out->height = f.screen_height;
        out->channels = is_grey(&f) ? 1 : 3;
    }
    (void)DGifCloseFile(gif, NULL);
    return status;
}

/* Row number i of an interlaced frame in the order of the file. */
static uint32_t interlaced_row(uint32_t i, uint32_t height)
{
    static const uint32_t first[4] = {0, 4, 2, 1}, step[4] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; pass++) {
        uint32_t n = height > first[pass] ? (height - first[pass] + step[pass] - 1) / step[pass] : 0;
        if (i < n) return first[pass] + i * step[pass];
        i -= n;
    }
    return 0; /* not reached: i < height */
}

/* Indices of all rows into the picture; returns how many rows came. */
static uint32_t read_rows(GifFileType *gif, const gif_frame *f, const stk_image *out)
{
    for (uint32_t i = 0; i < f->height; i++) {
        uint32_t y = f->y + (f->interlaced ? interlaced_row(i, f->height) : i);
        uint8_t *row = out->pixels + y * out->stride + f->x;
        if (DGifGetLine(gif, row, (int)f->width) != GIF_OK) {
            memset(row, f->background, f->width);
            return i;
        }
    }
    return f->height;
}

static void palette_table(const gif_frame *f, stk_mode mode, uint8_t table[256][3])
{
    for (int i = 0; i < 256; i++) {
        uint8_t rgb[3] = {0, 0, 0};
        if (f->palette == NULL) {
            memset(rgb, i, 3);
        } else if (i < f->palette->ColorCount) {
            rgb[0] = f->palette->Colors[i].Red;
            rgb[1] = f->palette->Colors[i].Green;
            rgb[2] = f->palette->Colors[i].Blue;
        }
        memcpy(table[i], rgb, 3);
        if (mode == STK_MODE_L) table[i][0] = stk_luma(rgb[0], rgb[1], rgb[2]);
    }
}

static stk_status decode_gif(stk_codec_ctx *ctx, GifFileType *gif, stk_mode mode, stk_image *out,
                             stk_damage_report *damage, stk_error *error)
{
    gif_frame f;
    STK_TRY(find_frame(gif, &f, error));
    STK_TRY(stk_codec_check_size(ctx, f.screen_width, f.screen_height, error));
    if (f.width == 0 || f.height == 0) return stk_fail(error, STK_ERR_IMAGE, "the GIF picture has 0 pixels");
    uint8_t channels = mode == STK_MODE_L ? 1 : 3;
    STK_TRY(stk_codec_new_image(ctx, f.screen_width, f.screen_height, channels, out, error));
    for (uint32_t y = 0; y < out->height; y++) memset(out->pixels + y * out->stride, f.background, out->width);
    uint32_t n_rows = read_rows(gif, &f, out);
    if (n_rows == 0) return stk_fail(error, STK_ERR_IMAGE, "the GIF picture has no whole row");
    if (n_rows < f.height) {
        bool short_of_data = gif->Error == D_GIF_ERR_READ_FAILED || gif->Error == D_GIF_ERR_EOF_TOO_SOON;
        stk_damage_note(damage, short_of_data ? STK_DAMAGE_TRUNCATED : STK_DAMAGE_ENTROPY,
                        "GIF data ends in row %u of %u", (unsigned)n_rows, (unsigned)f.height);
    }
    uint8_t table[256][3];
    palette_table(&f, mode, table);
    for (uint32_t y = 0; y < out->height; y++) {
        uint8_t *row = out->pixels + y * out->stride;
        (void)stk_row_palette(row, out->width, (const uint8_t(*)[3])table, channels, row);
    }
    return STK_OK;
}

static stk_status decode(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_mode mode, stk_image *out,
                         stk_damage_report *damage, stk_error *error)
{
    source s = {.p = data, .end = data + n_bytes};
    GifFileType *gif;
    STK_TRY(open_gif(&s, &gif, error));
    stk_status status = decode_gif(ctx, gif, mode, out, damage, error);
    (void)DGifCloseFile(gif, NULL);
    return status;
}

#endif

const stk_codec stk_codec_gif = {
    .encoding = STK_ENCODING_GIF,
    .sniff = sniff,
#if STOKER_HAVE_GIF
    .probe = probe,
    .decode = decode,
#endif
};
