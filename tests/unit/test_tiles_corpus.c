/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of real files: photographs, clothing and odd ones. Everything that is taken equals libjpeg-turbo's
 * planes in every family, whole and in random rectangles, and comes back as the same picture. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/planes.h"
#include "codec/tiles.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/rng.h"
#include "support/check.h"
#include "support/corpus.h"
#include "support/families.h"
#include "support/jpeg_maker.h"

static families f;
static corpus_list list; /* of the folder that a test walks */

/* Samples of the box (and no others) that differ. */
static bool window_equal(const stk_planes *got, const jpeg_planes *want, stk_box box)
{
    for (uint32_t c = 0; c < got->n_components; c++) {
        uint32_t x0 = (uint32_t)box.x * got->h_factor[c] / got->h_max,
                 y0 = (uint32_t)box.y * got->v_factor[c] / got->v_max;
        uint32_t x1 = ((uint32_t)(box.x + box.width) - 1) * got->h_factor[c] / got->h_max + 1;
        uint32_t y1 = ((uint32_t)(box.y + box.height) - 1) * got->v_factor[c] / got->v_max + 1;
        for (uint32_t y = y0; y < y1; y++) {
            const uint8_t *a = got->data[c] + (y - got->y0[c]) * got->stride[c] + (x0 - got->x0[c]);
            if (memcmp(a, want->data[c] + y * want->stride[c] + x0, x1 - x0) != 0) return false;
        }
    }
    return true;
}

static bool check_box(const stk_buffer *tiles, const jpeg_planes *want, stk_box box, int first_family)
{
    for (int i = first_family; i < f.n; i++) {
        stk_error error;
        stk_planes planes;
        stk_status status =
            stk_tiles_decode_box(f.ctx[i], tiles->data, tiles->n_bytes, NULL, box, &planes, &error);
        if (status == STK_OK && window_equal(&planes, want, box)) continue;
        fprintf(stderr, "%s: %s\n", f.name[i], status == STK_OK ? "samples differ" : error.text);
        return false;
    }
    return true;
}

static bool check_extracted(const stk_buffer *tiles, const jpeg_planes *want)
{
    stk_error error;
    stk_buffer jpeg = {0};
    bool equal =
        stk_tiles_to_jpeg(f.ctx[f.n - 1], tiles->data, tiles->n_bytes, NULL, 1, &jpeg, &error) == STK_OK;
    jpeg_planes again = equal ? jpeg_decode_planes(jpeg.data, jpeg.n_bytes) : (jpeg_planes){0};
    for (int c = 0; equal && c < want->n; c++)
        for (uint32_t y = 0; equal && y < want->high[c]; y++)
            equal = memcmp(again.data[c] + y * again.stride[c], want->data[c] + y * want->stride[c],
                           want->wide[c]) == 0;
    jpeg_planes_free(&again);
    stk_buffer_free(&jpeg);
    return equal;
}

typedef struct tally {
    int taken, refused, wrong;
    double source, stored;
} tally;

static void check_file(const char *path, int i, stk_rng *rng, tally *t)
{
    static const uint32_t widths[] = {32, 16, 64};
    stk_error error;
    stk_buffer jpeg = {0}, tiles = {0};
    stk_tile_options options = {.tile_pixels = widths[i % 3], .tables_id = UINT32_MAX};
    CHECK_OK(stk_file_read_all(path, UINT64_C(1) << 30, &jpeg, &error));
    stk_status status =
        stk_tiles_from_jpeg(f.ctx[i % f.n], jpeg.data, jpeg.n_bytes, &options, &tiles, &error);
    if (status != STK_OK) {
        t->refused++;
        stk_buffer_free(&jpeg);
        return;
    }
    jpeg_planes want = jpeg_decode_planes(jpeg.data, jpeg.n_bytes);
    stk_box all = {0, 0, (int32_t)want.image_width, (int32_t)want.image_height};
    bool right = check_box(&tiles, &want, all, 0) && check_extracted(&tiles, &want);
    for (int b = 0; b < 3 && right; b++) {
        uint32_t w = 1 + (uint32_t)stk_rng_below(rng, want.image_width),
                 h = 1 + (uint32_t)stk_rng_below(rng, want.image_height);
        stk_box box = {(int32_t)stk_rng_below(rng, want.image_width - w + 1),
                       (int32_t)stk_rng_below(rng, want.image_height - h + 1), (int32_t)w, (int32_t)h};
        right = check_box(&tiles, &want, box, b == 0 ? 0 : 1);
    }
    if (!right) fprintf(stderr, "%s\n", path);
    t->taken++;
    t->wrong += !right;
    t->source += (double)jpeg.n_bytes;
    t->stored += (double)tiles.n_bytes;
    jpeg_planes_free(&want);
    stk_buffer_free(&jpeg);
    stk_buffer_free(&tiles);
}

static tally walk(const char *folder)
{
    tally t = {0};
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_CROP);
    list = corpus_files(folder);
    for (size_t i = 0; i < list.n; i++) {
        size_t n = strlen(list.paths[i]);
        if (n > 4 && strcasecmp(list.paths[i] + n - 4, ".png") == 0) continue;
        check_file(list.paths[i], (int)i, &rng, &t);
    }
    corpus_free(&list);
    printf("%s: %d taken, %d refused, %d wrong; %+.2f %% of the source (tiles of 16, 32 and 64 px in turn)\n",
           folder, t.taken, t.refused, t.wrong, 100 * (t.stored / t.source - 1));
    return t;
}

static void test_photos(void)
{
    tally t = walk("photos");
    CHECK_EQ(t.wrong, 0);
    CHECK_EQ(t.refused, 0);
    CHECK_EQ(t.taken, 500);
}

static void test_clothing(void)
{
    tally t = walk("clothing");
    CHECK_EQ(t.wrong, 0);
    CHECK(t.taken > 500);
}

static void test_odd(void)
{
    tally t = walk("odd");
    CHECK_EQ(t.wrong, 0);
    CHECK(t.taken > 40 && t.refused > 40);
}

int main(void)
{
    corpus_list any = corpus_files("photos"); /* skips without a corpus */
    corpus_free(&any);
    f = families_open();
    RUN(test_photos);
    RUN(test_clothing);
    RUN(test_odd);
    families_close(&f);
    return check_exit();
}
