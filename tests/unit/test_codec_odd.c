/* SPDX-License-Identifier: Apache-2.0
 *
 * Every odd or broken file of the corpus gets what its MANIFEST.tsv expects: decoded without complaint and with
 * Pillow's pixels (tests/corpus/odd_pillow13.tsv), refused with a reason, or called damaged. Right pixels from
 * other software (odd_expected) are compared too. */
#include <stoker/stoker.h>

#include "codec/codec.h"
#include "codec/turn.h"
#include "common/file.h"
#include "common/hash.h"
#include "support/check.h"
#include "support/corpus.h"

/* Files that are treated otherwise than the manifest says, and why. */
static const struct {
    const char *file, *expect, *why;
} DEVIATIONS[] = {
    {"gofuzz__png-fuzz__d0f435a17374.png", "damaged",
     "its data end after 13 whole rows of 32: missing rows are damage in every format, so that --on-damaged "
     "decides"},
    {"pillow__bmp-truncated__shortfile.bmp", "damaged",
     "its data end after 13 whole rows of 64: missing rows are damage in every format, so that --on-damaged "
     "decides"},
};

enum { MAX_FIELDS = 16 };

static stk_codec_ctx *ctx;
static stk_error error;
static const char *root;

typedef struct outcome {
    stk_status status, checked;
    stk_image_info info;
    stk_damage_report damage;
    stk_error error;
    uint64_t rgb, l;
    uint32_t width, height;
} outcome;

static uint64_t hash_of(const stk_image *image)
{
    stk_hasher *hasher = stk_hasher_open();
    if (hasher == NULL) return 0;
    for (uint32_t y = 0; y < image->height; y++) {
        stk_hasher_add(hasher, image->pixels + y * image->stride, (size_t)image->width * image->channels);
    }
    uint64_t hash = stk_hasher_result64(hasher);
    stk_hasher_close(&hasher);
    return hash;
}

static void run_file(const uint8_t *data, size_t n_bytes, outcome *o)
{
    stk_image image;
    stk_damage_report by_check;
    memset(o, 0, sizeof *o);
    o->status = stk_codec_probe(ctx, data, n_bytes, &o->info, &o->error);
    if (o->status != STK_OK) return;
    stk_encoding e = o->info.encoding;
    o->checked = stk_codec_check(ctx, e, data, n_bytes, &by_check, &o->error);
    o->status = stk_codec_decode(ctx, e, data, n_bytes, STK_MODE_RGB, &image, &o->damage, &o->error);
    CHECK_EQ(o->checked, o->status);
    if (o->status != STK_OK) return;
    CHECK_EQ(by_check.kinds, o->damage.kinds);
    CHECK_EQ(image.channels, 3);
    CHECK_EQ(image.width, o->info.width);
    CHECK_EQ(image.height, o->info.height);
    o->width = image.width;
    o->height = image.height;
    o->rgb = hash_of(&image);
    CHECK_OK(stk_codec_decode(ctx, e, data, n_bytes, STK_MODE_L, &image, NULL, &error));
    CHECK_EQ(image.channels, 1);
    o->l = hash_of(&image);
}

static bool is_refused(const outcome *o)
{
    return o->status != STK_OK && o->error.text[0] != '\0';
}

static bool is_damaged(const outcome *o)
{
    return o->status == STK_OK && o->damage.kinds != 0 && o->damage.text[0] != '\0';
}

static bool is_good(const outcome *o)
{
    return o->status == STK_OK && o->damage.kinds == 0;
}

static bool meets(const outcome *o, const char *expect)
{
    if (strcmp(expect, "decode") == 0) return is_good(o);
    if (strcmp(expect, "reject") == 0) return is_refused(o);
    if (strcmp(expect, "damaged") == 0) return is_refused(o) || is_damaged(o);
    if (strcmp(expect, "rare-valid") == 0) return is_refused(o) || is_good(o);
    return false;
}

/* A text file's lines, each cut at its tabs; fields[] point into the line. */
static size_t split(char *line, char **fields)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; p != NULL && n < MAX_FIELDS;) {
        fields[n++] = p;
        p = strchr(p, '\t');
        if (p != NULL) *p++ = '\0';
    }
    return n;
}

static void read_corpus(const char *folder, const char *name, stk_buffer *out)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    CHECK_OK(stk_file_read_all(path, 1 << 30, out, &error));
}

static const char *expected(const char *file, const char *manifest)
{
    for (size_t i = 0; i < sizeof DEVIATIONS / sizeof DEVIATIONS[0]; i++) {
        if (strcmp(file, DEVIATIONS[i].file) == 0) {
            printf("     instead of %s: %s (%s)\n", manifest, file, DEVIATIONS[i].why);
            return DEVIATIONS[i].expect;
        }
    }
    return manifest;
}

static size_t n_decoded, n_refused, n_damaged;

static void try_manifest_row(const char *file, const char *manifest)
{
    stk_buffer data = {0};
    outcome o;
    read_corpus("odd", file, &data);
    run_file(data.data, data.n_bytes, &o);
    n_decoded += is_good(&o);
    n_refused += is_refused(&o);
    n_damaged += is_damaged(&o);
    const char *expect = expected(file, manifest);
    if (!meets(&o, expect)) {
        fprintf(stderr, "%s: expected %s, got %s: %s%s\n", file, expect, stk_status_name(o.status), o.damage.text,
                o.error.text);
        CHECK(false && "the file gets what the manifest expects");
    }
    stk_buffer_free(&data);
}

static FILE *open_text(const char *path)
{
    FILE *text = fopen(path, "r");
    if (text == NULL) {
        fprintf(stderr, "%s cannot be opened\n", path);
        exit(1);
    }
    return text;
}

static void test_manifest(void)
{
    char path[4096], line[8192], *fields[MAX_FIELDS];
    (void)snprintf(path, sizeof path, "%s/odd/MANIFEST.tsv", root);
    FILE *manifest = open_text(path);
    size_t n = 0;
    CHECK(fgets(line, sizeof line, manifest) != NULL);
    CHECK(split(line, fields) > 8 && strcmp(fields[0], "file") == 0 && strcmp(fields[8], "expect") == 0);
    while (fgets(line, sizeof line, manifest) != NULL) {
        CHECK(split(line, fields) > 8);
        try_manifest_row(fields[0], fields[8]);
        n++;
    }
    fclose(manifest);
    printf("     %zu files: %zu decoded, %zu damaged, %zu refused\n", n, n_decoded, n_damaged, n_refused);
    CHECK(n >= 194);
    CHECK(n_decoded >= 110);
    CHECK(n_damaged >= 20);
}

static void test_pixels_are_pillows(void)
{
    char line[8192], *f[MAX_FIELDS];
    FILE *table = open_text(STOKER_SOURCE_DIR "/tests/corpus/odd_pillow13.tsv");
    size_t n = 0;
    while (fgets(line, sizeof line, table) != NULL) {
        if (line[0] == '#') continue;
        if (split(line, f) != 6) {
            CHECK(false && "a row of six fields");
            continue;
        }
        stk_buffer data = {0};
        outcome o;
        read_corpus("odd", f[0], &data);
        run_file(data.data, data.n_bytes, &o);
        stk_buffer_free(&data);
        if (o.status == STK_ERR_UNSUPPORTED) {
            printf("     refused by name: %s (%s)\n", f[0], o.error.text);
            continue;
        }
        n++;
        bool same = o.width == strtoul(f[1], NULL, 10) && o.height == strtoul(f[2], NULL, 10) &&
                    o.info.orientation == strtoul(f[3], NULL, 10) && o.rgb == strtoull(f[4], NULL, 16) &&
                    o.l == strtoull(f[5], NULL, 16);
        if (!same) fprintf(stderr, "%s: not Pillow's size, orientation or pixels\n", f[0]);
        CHECK(same);
    }
    fclose(table);
    printf("     %zu files have Pillow's pixels\n", n);
    CHECK(n >= 108);
}

/* numpy's format, version 1, uint8 of shape (h, w, 3): enough of it for the files that are there. */
static bool read_npy(const stk_buffer *file, stk_image *out)
{
    unsigned h, w;
    if (file->n_bytes < 128 || memcmp(file->data, "\x93NUMPY\x01", 7) != 0) return false;
    size_t header = 10 + (size_t)(file->data[8] | file->data[9] << 8);
    const char *shape = memmem(file->data, header, "'shape': (", 10);
    if (shape == NULL || sscanf(shape + 10, "%u, %u, 3)", &h, &w) != 2) return false;
    *out = (stk_image){
        .pixels = file->data + header, .width = w, .height = h, .stride = 3 * (size_t)w, .channels = 3};
    return header + out->stride * h == file->n_bytes;
}

static int largest_difference(const stk_image *a, const stk_image *b)
{
    int largest = 0;
    if (a->width != b->width || a->height != b->height || a->channels != b->channels) return 256;
    for (uint32_t y = 0; y < a->height; y++) {
        for (size_t i = 0; i < (size_t)a->width * a->channels; i++) {
            int d = a->pixels[y * a->stride + i] - b->pixels[y * b->stride + i];
            largest = abs(d) > largest ? abs(d) : largest;
        }
    }
    return largest;
}

static stk_image turn(stk_turn how, const stk_image *in, uint8_t *memory)
{
    stk_image out = {.pixels = memory, .channels = 3};
    out.width = how.transpose ? in->height : in->width;
    out.height = how.transpose ? in->width : in->height;
    out.stride = (size_t)out.width * 3;
    stk_turn_pixels(how, in, memory, out.stride);
    return out;
}

static void test_expected_pictures(void)
{
    /* The references come from decoders with other IDCTs and CMYK rules: within 3 levels of ours. */
    static const char *const pairs[][2] = {
        {"jpegdecoder__blank_800x280.png", "jpegdecoder__jpeg-gray-sampling2x2__blank_800x280.jpg"},
        {"jpegdecoder__grayscale_large.png", "jpegdecoder__jpeg-gray-1000x1__grayscale_large.jpg"},
        {"jpegdecoder__grayscale_long.png", "jpegdecoder__jpeg-gray-1x1000__grayscale_long.jpg"},
        {"jpegdecoder__jpg-cmyk-1.png", "jpegdecoder__jpeg-cmyk-jfif-adobe0__jpg-cmyk-1.jpg"},
        {"jpegdecoder__jpg-size-33x33.png", "jpegdecoder__jpeg-tiny-33x33__jpg-size-33x33.jpg"},
        {"jpegdecoder__non-interleaved-mcu.png",
         "jpegdecoder__jpeg-progressive-noninterleaved__non-interleaved-mcu.jpg"},
        {"jpegdecoder__progressive-missing-ac.png",
         "jpegdecoder__jpeg-progressive-missing-ac__progressive-missing-ac.jpg"},
        {"jpegdecoder__restarts.png", "jpegdecoder__jpeg-restart-interval-5-33x33__restarts.jpg"},
        {"jpegdecoder__rgb.png", "jpegdecoder__jpeg-rgb-adobe0__rgb.jpg"},
        {"jpegdecoder__ycck.png", "jpegdecoder__jpeg-ycck-adobe2__ycck.jpg"},
        {"jpegdecoder__mjpeg.png", "jpegdecoder__jpeg-mjpeg-no-dht__mjpeg.jpg"},
        {"padlock-406986_640_horizontal.npy", "dali__jpeg-exif-orientation__padlock-406986_640_horizontal.jpg"},
        {"padlock-406986_640_no_exif.npy", "dali__jpeg-exif-orientation__padlock-406986_640_no_exif.jpg"},
        {"padlock-406986_640_rotate_270.npy", "dali__jpeg-exif-orientation__padlock-406986_640_rotate_270.jpg"},
        {"padlock-406986_640_mirror_horizontal_rotate_270.npy",
         "dali__jpeg-exif-orientation__padlock-406986_640_mirror_horizontal_rotate_270.jpg"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        stk_buffer want_file = {0}, file = {0};
        stk_image want = {0}, got = {0};
        stk_image_info info;
        stk_codec_ctx *other;
        CHECK_OK(stk_codec_ctx_open(NULL, &other, &error));
        read_corpus("odd_expected", pairs[i][0], &want_file);
        read_corpus("odd", pairs[i][1], &file);
        if (!read_npy(&want_file, &want)) {
            CHECK_OK(stk_codec_decode(other, STK_ENCODING_PNG, want_file.data, want_file.n_bytes, STK_MODE_RGB,
                                      &want, NULL, &error));
        }
        CHECK_OK(stk_codec_probe(ctx, file.data, file.n_bytes, &info, &error));
        CHECK_OK(stk_codec_decode(ctx, info.encoding, file.data, file.n_bytes, STK_MODE_RGB, &got, NULL, &error));
        uint8_t *turned = malloc((size_t)got.width * got.height * 3);
        if (turned == NULL) exit(1);
        got = turn(stk_turn_of(info.orientation), &got, turned);
        int d = largest_difference(&want, &got);
        free(turned);
        if (d > 3) fprintf(stderr, "%s differs from %s by %d\n", pairs[i][1], pairs[i][0], d);
        CHECK(d <= 3);
        stk_buffer_free(&want_file);
        stk_buffer_free(&file);
        stk_codec_ctx_close(&other);
    }
}

/* No byte of a hostile file may matter beyond its own bytes: truncations and changed bytes, each in an allocation
 * of its exact size, so that sanitizers and valgrind see a read beyond it. Statuses must be ones a file can
 * cause. */
static void try_bytes(stk_codec_ctx *small, const uint8_t *data, size_t n_bytes)
{
    stk_image image;
    stk_image_info info;
    stk_damage_report damage;
    uint8_t *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    if (copy == NULL) return;
    memcpy(copy, data, n_bytes);
    stk_encoding encoding = stk_codec_sniff(copy, n_bytes);
    stk_status probed = stk_codec_probe(small, copy, n_bytes, &info, &error);
    CHECK(probed != STK_ERR_INTERNAL && probed != STK_ERR_ARGUMENT);
    stk_status status = stk_codec_decode(small, encoding, copy, n_bytes, STK_MODE_RGB, &image, &damage, &error);
    CHECK(status == STK_OK || status == STK_ERR_IMAGE || status == STK_ERR_UNSUPPORTED ||
          status == STK_ERR_LIMIT || status == STK_ERR_MEMORY);
    if (status == STK_OK) (void)hash_of(&image); /* all pixels can be read */
    free(copy);
}

static void test_changed_bytes(void)
{
    stk_codec_ctx *small;
    stk_codec_limits limits = {.max_pixels = 1 << 20};
    CHECK_OK(stk_codec_ctx_open(&limits, &small, &error));
    corpus_list files = corpus_files("odd");
    uint32_t state = 12345;
    for (size_t i = 0; i < files.n; i++) {
        stk_buffer file = {0};
        CHECK_OK(stk_file_read_all(files.paths[i], 1 << 30, &file, &error));
        for (int k = 0; k < 12 && file.n_bytes > 0 && file.n_bytes < 100000; k++) {
            state = state * 1664525u + 1013904223u;
            size_t at = (state >> 8) % (k % 3 == 0 && file.n_bytes > 200 ? 200 : file.n_bytes);
            if (k % 3 == 2) {
                try_bytes(small, file.data, at);
                continue;
            }
            uint8_t old = file.data[at];
            file.data[at] = (uint8_t)(state >> 3);
            try_bytes(small, file.data, file.n_bytes);
            file.data[at] = old;
        }
        stk_buffer_free(&file);
    }
    corpus_free(&files);
    stk_codec_ctx_close(&small);
}

int main(void)
{
    root = getenv("STOKER_CORPUS");
    if (root == NULL || root[0] == '\0') {
        printf("skipped: STOKER_CORPUS is not set\n");
        return 77;
    }
    CHECK_OK(stk_codec_ctx_open(NULL, &ctx, &error));
    RUN(test_manifest);
    RUN(test_pixels_are_pillows);
    RUN(test_expected_pictures);
    RUN(test_changed_bytes);
    stk_codec_ctx_close(&ctx);
    return check_exit();
}
