/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared table sets: training (in any order, the same set), records that use one, small pictures' sizes, and
 * what is said when the set is missing, wrong or damaged. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/planes.h"
#include "codec/tile_layout.h"
#include "codec/tiles.h"
#include "common/buffer.h"
#include "common/endian.h"
#include "common/hash.h"
#include "support/check.h"
#include "support/families.h"
#include "support/jpeg_maker.h"

enum { PICTURES = 40 };

static families f;
static jpeg_bytes pictures[PICTURES]; /* 32x32, 4:2:0, a few qualities, every tenth one grey */

static void make_pictures(void)
{
    static const int qualities[] = {75, 75, 75, 90};
    for (int i = 0; i < PICTURES; i++) {
        jpeg_kind kind = {
            .channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = qualities[i % 4]};
        if (i % 10 == 9) kind = (jpeg_kind){.channels = 1, .stored = JCS_GRAYSCALE, .quality = 75};
        pictures[i] = jpeg_make(&kind, 32, 32, (uint64_t)i);
    }
}

/* Trains on all pictures, `step` apart. */
static void train(int step, stk_buffer *blob)
{
    stk_error error;
    stk_tile_trainer *trainer;
    CHECK_OK(stk_tile_trainer_open(&trainer, &error));
    for (int i = 0; i < PICTURES; i++) {
        const jpeg_bytes *p = &pictures[i * step % PICTURES];
        CHECK_OK(stk_tile_trainer_add(trainer, f.ctx[i % f.n], p->data, p->n_bytes, 32, &error));
    }
    CHECK_OK(stk_tile_trainer_blob(trainer, blob, &error));
    stk_tile_trainer_close(&trainer);
    CHECK(trainer == NULL);
}

static void test_order_does_not_matter(void)
{
    stk_buffer a = {0}, b = {0};
    train(1, &a);
    train(13, &b);
    CHECK(a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0);
    stk_buffer_free(&a);
    stk_buffer_free(&b);
}

static bool decodes_alike(const stk_buffer *tiles, const stk_tile_tables *set, const jpeg_planes *want)
{
    stk_box box = {0, 0, (int32_t)want->image_width, (int32_t)want->image_height};
    for (int i = 0; i < f.n; i++) {
        stk_error error;
        stk_planes planes;
        if (stk_tiles_decode_box(f.ctx[i], tiles->data, tiles->n_bytes, set, box, &planes, &error) !=
            STK_OK) {
            fprintf(stderr, "%s: %s\n", f.name[i], error.text);
            return false;
        }
        for (int c = 0; c < want->n; c++)
            for (uint32_t y = 0; y < want->high[c]; y++)
                if (memcmp(planes.data[c] + y * planes.stride[c], want->data[c] + y * want->stride[c],
                           want->wide[c]) != 0)
                    return false;
    }
    return true;
}

static void test_records_with_a_set(void)
{
    stk_error error;
    stk_buffer blob = {0}, tiles = {0}, extracted = {0};
    stk_tile_tables *set;
    size_t source = 0, stored = 0;
    train(1, &blob);
    CHECK_OK(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error));
    stk_tile_options options = {.tile_pixels = 32, .tables = set, .tables_id = 7};
    for (int i = 0; i < PICTURES; i++) {
        stk_tile_info info;
        const jpeg_bytes *p = &pictures[i];
        CHECK_OK(stk_tiles_from_jpeg(f.ctx[i % f.n], p->data, p->n_bytes, &options, &tiles, &error));
        CHECK_OK(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error));
        CHECK_EQ(info.tables_id, 7);
        CHECK_EQ(info.width, 32);
        CHECK_EQ(info.channels, i % 10 == 9 ? 1 : 3);
        jpeg_planes want = jpeg_decode_planes(p->data, p->n_bytes);
        CHECK(decodes_alike(&tiles, set, &want));
        CHECK_OK(stk_tiles_to_jpeg(f.ctx[0], tiles.data, tiles.n_bytes, set, 1, &extracted, &error));
        jpeg_planes again = jpeg_decode_planes(extracted.data, extracted.n_bytes);
        for (int c = 0; c < want.n; c++)
            CHECK(memcmp(want.data[c], again.data[c], want.stride[c] * want.high[c]) == 0);
        jpeg_planes_free(&want);
        jpeg_planes_free(&again);
        source += p->n_bytes;
        stored += tiles.n_bytes;
    }
    printf("noisy 32x32 JPEGs with optimal tables of their own: stored in %.0f %%\n",
           100.0 * (double)stored / (double)source);
    CHECK(stored < source);
    stk_tile_tables_close(&set);
    CHECK(set == NULL);
    stk_buffer_free(&blob);
    stk_buffer_free(&tiles);
    stk_buffer_free(&extracted);
}

/* A set made from few pictures serves all others: every symbol has a code. And a large picture that would be
 * larger with the set keeps its own tables. */
static void test_any_picture_fits(void)
{
    stk_error error;
    stk_buffer blob = {0}, tiles = {0};
    stk_tile_trainer *trainer;
    stk_tile_tables *set;
    jpeg_kind flat = {.channels = 1, .stored = JCS_GRAYSCALE, .quality = 5};
    jpeg_bytes one = jpeg_make(&flat, 8, 8, 1);
    CHECK_OK(stk_tile_trainer_open(&trainer, &error));
    CHECK_OK(stk_tile_trainer_add(trainer, f.ctx[0], one.data, one.n_bytes, 32, &error));
    CHECK_OK(stk_tile_trainer_blob(trainer, &blob, &error));
    CHECK_OK(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error));
    stk_tile_options options = {.tile_pixels = 16, .tables = set, .tables_id = 0};
    for (int quality = 10; quality <= 100; quality += 15) {
        stk_tile_info info;
        jpeg_kind kind = {.channels = 3, .stored = JCS_YCbCr, .quality = quality};
        jpeg_bytes small = jpeg_make(&kind, 9, 9, 3), large = jpeg_make(&kind, 400, 300, 3);
        CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], small.data, small.n_bytes, &options, &tiles, &error));
        CHECK_OK(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error));
        if (quality < 30)
            CHECK_EQ(info.tables_id, 0); /* a table of its own would be larger than all the rest */
        jpeg_planes want = jpeg_decode_planes(small.data, small.n_bytes);
        CHECK(decodes_alike(&tiles, set, &want));
        jpeg_planes_free(&want);
        CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], large.data, large.n_bytes, &options, &tiles, &error));
        CHECK_OK(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error));
        CHECK_EQ(info.tables_id, UINT32_MAX);
        free(small.data);
        free(large.data);
    }
    jpeg_kind cmyk = {.channels = 4, .stored = JCS_CMYK, .quality = 80};
    jpeg_bytes refused = jpeg_make(&cmyk, 16, 16, 1);
    stk_buffer before = {0};
    CHECK_OK(stk_tile_trainer_blob(trainer, &before, &error));
    CHECK_STATUS(stk_tile_trainer_add(trainer, f.ctx[0], refused.data, refused.n_bytes, 32, &error),
                 STK_ERR_UNSUPPORTED);
    CHECK_OK(stk_tile_trainer_blob(trainer, &blob, &error));
    CHECK(before.n_bytes == blob.n_bytes && memcmp(before.data, blob.data, blob.n_bytes) == 0);
    free(refused.data);
    free(one.data);
    stk_tile_trainer_close(&trainer);
    stk_tile_tables_close(&set);
    stk_buffer_free(&before);
    stk_buffer_free(&blob);
    stk_buffer_free(&tiles);
}

static void test_wrong_sets(void)
{
    stk_error error;
    stk_buffer blob = {0}, tiles = {0};
    stk_tile_tables *set, *poor;
    stk_planes planes;
    stk_box box = {0, 0, 32, 32};
    train(1, &blob);
    CHECK_OK(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error));
    stk_tile_options options = {.tile_pixels = 32, .tables = set, .tables_id = 3};
    const jpeg_bytes *p = &pictures[3]; /* of the rarer quality: not the set's first quantisation tables */
    CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], p->data, p->n_bytes, &options, &tiles, &error));
    for (int i = 0; i < f.n; i++) {
        CHECK_STATUS(stk_tiles_decode_box(f.ctx[i], tiles.data, tiles.n_bytes, NULL, box, &planes, &error),
                     STK_ERR_ARGUMENT);
    }
    CHECK(strstr(error.text, "set 3") != NULL);
    /* A set without quantisation tables. */
    stk_tile_trainer *trainer;
    CHECK_OK(stk_tile_trainer_open(&trainer, &error));
    stk_buffer empty = {0};
    CHECK_OK(stk_tile_trainer_blob(trainer, &empty, &error));
    CHECK_OK(stk_tile_tables_open(empty.data, empty.n_bytes, &poor, &error));
    for (int i = 0; i < f.n; i++) {
        CHECK_STATUS(stk_tiles_decode_box(f.ctx[i], tiles.data, tiles.n_bytes, poor, box, &planes, &error),
                     STK_ERR_IMAGE);
    }
    stk_tile_trainer_close(&trainer);
    stk_tile_tables_close(&poor);
    stk_tile_tables_close(&set);
    stk_buffer_free(&empty);
    stk_buffer_free(&blob);
    stk_buffer_free(&tiles);
}

static void seal(stk_buffer *blob)
{
    stk_store32(blob->data + 4, (uint32_t)stk_hash64(blob->data + 8, blob->n_bytes - 8));
}

static void test_damaged_sets(void)
{
    stk_error error;
    stk_buffer blob = {0};
    stk_tile_tables *set;
    train(1, &blob);
    for (size_t i = 0; i < blob.n_bytes; i++) {
        blob.data[i] ^= 0x10;
        CHECK(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error) != STK_OK && set == NULL);
        blob.data[i] ^= 0x10;
    }
    for (size_t n = 0; n < blob.n_bytes; n += 7)
        CHECK(stk_tile_tables_open(blob.data, n, &set, &error) != STK_OK && set == NULL);
    blob.data[8] = 2;
    CHECK_STATUS(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error), STK_ERR_VERSION);
    blob.data[8] = 1;
    blob.data[12] = 3; /* three codes of one bit */
    seal(&blob);
    CHECK_STATUS(stk_tile_tables_open(blob.data, blob.n_bytes, &set, &error), STK_ERR_CORRUPT);
    stk_buffer_free(&blob);
}

int main(void)
{
    f = families_open();
    make_pictures();
    RUN(test_order_does_not_matter);
    RUN(test_records_with_a_set);
    RUN(test_any_picture_fits);
    RUN(test_wrong_sets);
    RUN(test_damaged_sets);
    for (int i = 0; i < PICTURES; i++)
        free(pictures[i].data);
    families_close(&f);
    return check_exit();
}
