/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG files with each kind of damage, and where an orientation can hide. Files are made here, uncompressed, so
 * that single bytes can be changed with known meaning. */
#include <stoker/stoker.h>

#include <zlib.h>

#include "codec/codec.h"
#include "common/buffer.h"
#include "support/check.h"

enum { W = 7, H = 5, ROW = 1 + 3 * W, IHDR_END = 8 + 25 };

static stk_codec_ctx *ctx;
static stk_error error;

static void put32(stk_buffer *out, uint32_t v)
{
    uint8_t bytes[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    CHECK_OK(stk_buffer_append(out, bytes, 4, &error));
}

static void put_chunk(stk_buffer *out, const char *type, const void *body, size_t n)
{
    put32(out, (uint32_t)n);
    CHECK_OK(stk_buffer_append(out, type, 4, &error));
    if (n > 0) CHECK_OK(stk_buffer_append(out, body, n, &error));
    uLong crc = crc32(0, (const Bytef *)type, 4);
    put32(out, (uint32_t)(n > 0 ? crc32(crc, body, (uInt)n) : crc));
}

/* A zlib stream of one stored block. */
static size_t stored(const uint8_t *data, size_t n, uint8_t *out)
{
    const uint8_t head[7] = {0x78, 1, 1, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
    memcpy(out, head, 7);
    memcpy(out + 7, data, n);
    uint32_t adler = (uint32_t)adler32(1, data, (uInt)n);
    for (int i = 0; i < 4; i++) out[7 + n + (size_t)i] = (uint8_t)(adler >> (24 - 8 * i));
    return n + 11;
}

static uint8_t value(uint32_t y, uint32_t i)
{
    return (uint8_t)(50 * y + 3 * i + 1);
}

typedef struct recipe {
    uint8_t color, interlace;
    uint32_t rows;     /* stored in the image data */
    const char *extra; /* type of a chunk before the data, or NULL */
    const void *extra_body;
    size_t n_extra;
} recipe;

static stk_buffer make(const recipe *r)
{
    static uint8_t raw[64 * ROW], packed[64 * ROW + 11];
    stk_buffer out = {0};
    uint8_t header[13] = {0, 0, 0, W, 0, 0, 0, H, 8, r->color, 0, 0, r->interlace};
    CHECK_OK(stk_buffer_append(&out, "\x89PNG\r\n\x1a\n", 8, &error));
    put_chunk(&out, "IHDR", header, sizeof header);
    if (r->extra != NULL) put_chunk(&out, r->extra, r->extra_body, r->n_extra);
    size_t row = r->color == 2 ? ROW : 1 + W;
    for (uint32_t y = 0; y < r->rows; y++) {
        raw[y * row] = 0;
        for (uint32_t i = 0; i + 1 < row; i++) raw[y * row + 1 + i] = value(y, i);
    }
    put_chunk(&out, "IDAT", packed, stored(raw, r->rows * row, packed));
    put_chunk(&out, "IEND", NULL, 0);
    return out;
}

static stk_status decode(const stk_buffer *file, stk_image *image, stk_damage_report *damage)
{
    return stk_codec_decode(ctx, STK_ENCODING_PNG, file->data, file->n_bytes, STK_MODE_RGB, image, damage,
                            &error);
}

/* The first `rows` rows are those written, the others black. */
static void check_pixels(const stk_image *image, uint32_t rows)
{
    size_t wrong = 0;
    CHECK_EQ(image->width, W);
    CHECK_EQ(image->height, H);
    for (uint32_t y = 0; y < H; y++) {
        for (uint32_t i = 0; i < 3 * W; i++)
            wrong += image->pixels[y * image->stride + i] != (y < rows ? value(y, i) : 0);
    }
    CHECK_EQ(wrong, 0);
}

static void expect_damage(const stk_buffer *file, stk_damage kind, uint32_t rows, const char *words)
{
    stk_image image;
    stk_damage_report damage;
    CHECK_OK(decode(file, &image, &damage));
    CHECK_EQ(damage.kinds, kind);
    if (strstr(damage.text, words) == NULL) fprintf(stderr, "'%s' instead of '%s'\n", damage.text, words);
    CHECK(strstr(damage.text, words) != NULL);
    check_pixels(&image, rows);
}

static const recipe WHOLE = {.color = 2, .rows = H};

static void test_whole(void)
{
    stk_buffer file = make(&WHOLE);
    expect_damage(&file, STK_DAMAGE_NONE, H, "");
    stk_buffer_free(&file);
}

static void test_wrong_checksums(void)
{
    stk_buffer file = make(&WHOLE);
    file.data[file.n_bytes - 12 - 1] ^= 1; /* the last byte of IDAT's CRC */
    expect_damage(&file, STK_DAMAGE_CHECKSUM, H, "CRC error in chunk IDAT");
    file.data[file.n_bytes - 12 - 1] ^= 1;
    file.data[file.n_bytes - 12 - 5] ^= 1; /* the last byte of the Adler-32; its CRC is wrong then too */
    expect_damage(&file, STK_DAMAGE_CHECKSUM, H, "CRC error in chunk IDAT");
    size_t idat = file.n_bytes - 12 - 4 - (H * ROW + 11) - 4;
    uint32_t crc = (uint32_t)crc32(0, file.data + idat, 4 + H * ROW + 11);
    for (int i = 0; i < 4; i++) file.data[file.n_bytes - 16 + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    expect_damage(&file, STK_DAMAGE_CHECKSUM, H, "incorrect data check");
    stk_buffer_free(&file);
}

static void test_wrong_header_checksum_is_refused(void)
{
    stk_buffer file = make(&WHOLE);
    stk_image image;
    stk_damage_report damage;
    file.data[IHDR_END - 1] ^= 1;
    CHECK_STATUS(decode(&file, &image, &damage), STK_ERR_IMAGE);
    CHECK(strstr(error.text, "IHDR") != NULL);
    stk_buffer_free(&file);
}

static void test_cut_anywhere(void)
{
    stk_buffer file = make(&WHOLE);
    stk_image image;
    stk_damage_report damage;
    size_t data_at = IHDR_END + 8 + 7, whole = file.n_bytes;
    for (size_t n = 0; n < whole; n++) {
        file.n_bytes = n;
        size_t rows = n > data_at ? (n - data_at) / ROW : 0;
        if (rows == 0) {
            CHECK(decode(&file, &image, &damage) == STK_ERR_IMAGE);
        } else {
            expect_damage(&file, STK_DAMAGE_TRUNCATED, rows < H ? (uint32_t)rows : H, "ends");
        }
    }
    file.n_bytes = whole;
    stk_buffer_free(&file);
}

static void test_too_many_rows(void)
{
    recipe r = WHOLE;
    r.rows = H + 2;
    stk_buffer file = make(&r);
    expect_damage(&file, STK_DAMAGE_OVERFLOW, H, "Too much image data");
    stk_buffer_free(&file);
}

static void test_palette_index_beyond(void)
{
    static const uint8_t palette[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    recipe r = {.color = 3, .rows = H, .extra = "PLTE", .extra_body = palette, .n_extra = sizeof palette};
    stk_buffer file = make(&r);
    stk_image image;
    stk_damage_report damage;
    CHECK_OK(decode(&file, &image, &damage));
    CHECK_EQ(damage.kinds, STK_DAMAGE_HEADER);
    static const uint8_t want[6] = {4, 5, 6, 0, 0, 0}; /* indices 1 and 4: the second is beyond, black */
    CHECK(memcmp(image.pixels, want, sizeof want) == 0);
    r.extra = NULL;
    stk_buffer_free(&file);
    file = make(&r);
    CHECK_STATUS(decode(&file, &image, &damage), STK_ERR_IMAGE);
    stk_buffer_free(&file);
}

static void test_interlaced_and_short_is_refused(void)
{
    recipe r = {.color = 2, .interlace = 1, .rows = 3};
    stk_buffer file = make(&r);
    stk_image image;
    stk_damage_report damage;
    CHECK_STATUS(decode(&file, &image, &damage), STK_ERR_IMAGE);
    stk_buffer_free(&file);
}

static void test_odd_ancillary_chunks(void)
{
    static const struct {
        const char *type, *body;
        size_t n;
        stk_damage kind;
    } cases[] = {
        {"gAMA", "\0\0\0\0", 4, STK_DAMAGE_NONE},     {"gAMA", "\0\0", 2, STK_DAMAGE_HEADER},
        {"pHYs", "", 0, STK_DAMAGE_HEADER},           {"iCCP", "name\0\0rubbish", 13, STK_DAMAGE_NONE},
        {"iCCP", "name\0\1x", 7, STK_DAMAGE_HEADER},  {"prVt", "whatever", 8, STK_DAMAGE_NONE},
        {"tRNS", "\0\0\0\0\0\0", 6, STK_DAMAGE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recipe r = WHOLE;
        r.extra = cases[i].type;
        r.extra_body = cases[i].body;
        r.n_extra = cases[i].n;
        stk_buffer file = make(&r);
        expect_damage(&file, cases[i].kind, H, "");
        stk_buffer_free(&file);
    }
}

static uint8_t orientation_of(const char *type, const void *body, size_t n)
{
    recipe r = WHOLE;
    stk_image_info info;
    r.extra = type;
    r.extra_body = body;
    r.n_extra = n;
    stk_buffer file = make(&r);
    CHECK_OK(stk_codec_probe(ctx, file.data, file.n_bytes, &info, &error));
    stk_buffer_free(&file);
    return info.orientation;
}

static void test_orientations(void)
{
    static const uint8_t exif[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6};
    static const char profile[] = "Raw profile type exif\0\nexif\n      26\n49492a00080000000100120103000100\n"
                                  "0000080000000000000000\n";
    static const char xmp[] = "XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation=\"3\"/>";
    static uint8_t packed[400];
    CHECK_EQ(orientation_of("eXIf", exif, sizeof exif), 6);
    CHECK_EQ(orientation_of("tEXt", profile, sizeof profile - 1), 8);
    CHECK_EQ(orientation_of("iTXt", xmp, sizeof xmp - 1), 3);
    CHECK_EQ(orientation_of("tEXt", "Title\0no turn", 13), 1);
    size_t key = strlen(profile) + 1;
    memcpy(packed, profile, key);
    packed[key] = 0; /* method */
    size_t n = key + 1 + stored((const uint8_t *)profile + key, sizeof profile - 1 - key, packed + key + 1);
    CHECK_EQ(orientation_of("zTXt", packed, n), 8);
    packed[n - 1] ^= 1; /* the text's checksum: it has no orientation then */
    CHECK_EQ(orientation_of("zTXt", packed, n), 1);
}

static void test_written_and_read(void)
{
    static uint8_t pixels[3 * 33 * 9];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37 + i / 50);
    for (uint8_t channels = 1; channels <= 3; channels = (uint8_t)(channels + 2)) {
        stk_image image = {.pixels = pixels, .stride = 99, .width = 33, .height = 9, .channels = channels}, back;
        stk_buffer file = {0};
        CHECK_OK(stk_codec_encode_png(ctx, &image, &file, &error));
        CHECK_OK(stk_codec_decode(ctx, STK_ENCODING_PNG, file.data, file.n_bytes,
                                  channels == 1 ? STK_MODE_L : STK_MODE_RGB, &back, NULL, &error));
        CHECK_EQ(back.channels, channels);
        for (uint32_t y = 0; y < 9; y++) {
            CHECK(memcmp(pixels + y * 99, back.pixels + y * back.stride, (size_t)33 * channels) == 0);
        }
        stk_buffer_free(&file);
    }
}

int main(void)
{
    CHECK_OK(stk_codec_ctx_open(NULL, &ctx, &error));
    RUN(test_whole);
    RUN(test_wrong_checksums);
    RUN(test_wrong_header_checksum_is_refused);
    RUN(test_cut_anywhere);
    RUN(test_too_many_rows);
    RUN(test_palette_index_beyond);
    RUN(test_interlaced_and_short_is_refused);
    RUN(test_odd_ancillary_chunks);
    RUN(test_orientations);
    RUN(test_written_and_read);
    stk_codec_ctx_close(&ctx);
    return check_exit();
}
