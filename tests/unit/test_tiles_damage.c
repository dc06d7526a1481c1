/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged records: every family says the same, delivers the same samples when it accepts, and stays within
 * its buffers (run under the sanitizers, records lie in exact-size allocations). Blocks too large for 16
 * bits. */
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

static families f;

static stk_buffer make_tiles(const jpeg_kind *kind, uint32_t width, uint32_t height, uint32_t tile)
{
    stk_error error;
    stk_buffer tiles = {0};
    jpeg_bytes jpeg = jpeg_make(kind, width, height, 1);
    stk_tile_options options = {.tile_pixels = tile, .tables_id = UINT32_MAX};
    CHECK_OK(stk_tiles_from_jpeg(f.ctx[0], jpeg.data, jpeg.n_bytes, &options, &tiles, &error));
    free(jpeg.data);
    return tiles;
}

static void seal(uint8_t *record)
{
    uint32_t head_bytes = stk_load32(record + STK_TILE_AT_HEAD_BYTES);
    stk_store32(record + STK_TILE_AT_CHECK,
                (uint32_t)stk_hash64(record + STK_TILE_CHECKED_FROM, head_bytes - STK_TILE_CHECKED_FROM));
}

/* A hash of what a family makes of the record: the status, and the samples when it is STK_OK. */
static uint64_t verdict(stk_codec_ctx *ctx, const uint8_t *record, size_t n_bytes, stk_box box,
                        stk_status *status)
{
    stk_error error;
    stk_planes p;
    uint64_t hash = 0;
    *status = stk_tiles_decode_box(ctx, record, n_bytes, NULL, box, &p, &error);
    if (*status != STK_OK) return (uint64_t)*status;
    for (uint32_t c = 0; c < p.n_components; c++)
        for (uint32_t y = 0; y < p.height[c]; y++)
            hash = stk_mix64(hash ^ stk_hash64(p.data[c] + y * p.stride[c], p.width[c]));
    return hash;
}

static stk_status agreed(const uint8_t *record, size_t n_bytes, stk_box box)
{
    /* An allocation of the exact size: AddressSanitizer sees the first byte beyond it. */
    uint8_t *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    stk_status status = STK_OK, first = STK_OK;
    memcpy(copy, record, n_bytes);
    uint64_t want = verdict(f.ctx[0], copy, n_bytes, box, &first);
    for (int i = 1; i < f.n; i++) {
        uint64_t got = verdict(f.ctx[i], copy, n_bytes, box, &status);
        if (got != want)
            fprintf(stderr, "%s: %s, scalar: %s\n", f.name[i], stk_status_name(status),
                    stk_status_name(first));
        CHECK(got == want);
    }
    free(copy);
    return first;
}

static const jpeg_kind KINDS[] = {
    {.channels = 3, .stored = JCS_YCbCr, .quality = 90},
    {.channels = 3, .stored = JCS_YCbCr, .h = {2}, .v = {2}, .quality = 80},
    {.channels = 1, .stored = JCS_GRAYSCALE, .quality = 60},
    {.channels = 3, .stored = JCS_YCbCr, .h = {4}, .v = {1}, .quality = 40},
};
enum { N_KINDS = sizeof KINDS / sizeof KINDS[0] };

static void test_flips_in_segments(void)
{
    stk_rng rng = stk_rng_for(1, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    int found = 0, accepted = 0;
    for (int k = 0; k < N_KINDS; k++) {
        stk_buffer tiles = make_tiles(&KINDS[k], 90, 70, 32);
        uint32_t head = stk_load32(tiles.data + STK_TILE_AT_HEAD_BYTES);
        stk_box all = {0, 0, 90, 70};
        CHECK_EQ(agreed(tiles.data, tiles.n_bytes, all), STK_OK);
        for (int i = 0; i < 1500; i++) {
            size_t at = head + stk_rng_below(&rng, tiles.n_bytes - head);
            uint8_t before = tiles.data[at];
            tiles.data[at] = i % 3 == 0 ? (uint8_t)stk_rng_u64(&rng) : (uint8_t)(before ^ (1u << i % 8));
            stk_box part = {(int32_t)stk_rng_below(&rng, 45), (int32_t)stk_rng_below(&rng, 35), 45, 35};
            stk_status status = agreed(tiles.data, tiles.n_bytes, i & 1 ? all : part);
            CHECK(status == STK_OK || status == STK_ERR_IMAGE);
            found += status != STK_OK;
            accepted += status == STK_OK;
            tiles.data[at] = before;
        }
        stk_buffer_free(&tiles);
    }
    printf("%d damaged records found out, %d not (a payload's checksum is what finds those)\n", found,
           accepted);
    CHECK(found > 1000 && accepted > 100);
}

/* Any byte of the head: refused, by its own check. With the check made to fit: refused or decoded alike. */
static void test_flips_in_heads(void)
{
    for (int k = 0; k < N_KINDS; k++) {
        stk_buffer tiles = make_tiles(&KINDS[k], 50, 40, 16);
        uint32_t head = stk_load32(tiles.data + STK_TILE_AT_HEAD_BYTES);
        stk_box all = {0, 0, 50, 40}, corner = {0, 0, 1, 1};
        for (uint32_t at = 0; at < head; at++) {
            uint8_t before = tiles.data[at];
            for (int bit = 0; bit < 8; bit++) {
                tiles.data[at] = (uint8_t)(before ^ 1u << bit);
                CHECK(agreed(tiles.data, tiles.n_bytes, all) != STK_OK);
                uint32_t claimed = stk_load32(tiles.data + STK_TILE_AT_HEAD_BYTES);
                if (claimed < STK_TILE_FIXED_BYTES || claimed > tiles.n_bytes) continue;
                uint32_t check_before = stk_load32(tiles.data + STK_TILE_AT_CHECK);
                seal(tiles.data);
                (void)agreed(tiles.data, tiles.n_bytes, corner);
                stk_store32(tiles.data + STK_TILE_AT_CHECK, check_before);
            }
            tiles.data[at] = before;
        }
        CHECK_EQ(agreed(tiles.data, tiles.n_bytes, all), STK_OK);
        stk_buffer_free(&tiles);
    }
}

static void test_cut_and_lengthened(void)
{
    stk_buffer tiles = make_tiles(&KINDS[1], 64, 48, 32);
    stk_box all = {0, 0, 64, 48};
    for (size_t n = 0; n < tiles.n_bytes; n += n < 64 ? 1 : 37)
        CHECK(agreed(tiles.data, n, all) != STK_OK);
    uint8_t *longer = calloc(1, tiles.n_bytes + 1);
    memcpy(longer, tiles.data, tiles.n_bytes);
    CHECK_EQ(agreed(longer, tiles.n_bytes + 1, all), STK_ERR_IMAGE);
    free(longer);
    stk_buffer_free(&tiles);
}

/* A byte moved from one segment's length to the next: the sum fits, the segments do not. */
static void test_shifted_lengths(void)
{
    stk_buffer tiles = make_tiles(&KINDS[0], 90, 70, 32);
    uint32_t head = stk_load32(tiles.data + STK_TILE_AT_HEAD_BYTES);
    stk_box all = {0, 0, 90, 70};
    uint8_t *lengths = tiles.data + head - 2 * 9 * 3; /* 9 MCU rows of 3 tiles */
    for (int i = 0; i + 1 < 27; i++) {
        uint16_t a = stk_load16(lengths + 2 * i), b = stk_load16(lengths + 2 * (i + 1));
        stk_store16(lengths + 2 * i, (uint16_t)(a - 1));
        stk_store16(lengths + 2 * (i + 1), (uint16_t)(b + 1));
        seal(tiles.data);
        CHECK_EQ(agreed(tiles.data, tiles.n_bytes, all), STK_ERR_IMAGE);
        stk_store16(lengths + 2 * i, a);
        stk_store16(lengths + 2 * (i + 1), b);
    }
    stk_buffer_free(&tiles);
}

static void test_versions(void)
{
    stk_error error;
    stk_tile_info info;
    stk_buffer tiles = make_tiles(&KINDS[2], 20, 20, 32);
    tiles.data[STK_TILE_AT_VERSION] = 2;
    CHECK_STATUS(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error), STK_ERR_VERSION);
    tiles.data[STK_TILE_AT_VERSION] = 1;
    tiles.data[STK_TILE_AT_FLAGS] |= 0x80;
    CHECK_STATUS(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error), STK_ERR_VERSION);
    tiles.data[STK_TILE_AT_FLAGS] &= 0x7f;
    tiles.data[STK_TILE_AT_CHECK] ^= 1;
    CHECK_STATUS(stk_tiles_probe(tiles.data, tiles.n_bytes, &info, &error), STK_ERR_CHECKSUM);
    stk_buffer_free(&tiles);
}

/* A JPEG of one grey block row with these coefficients. */
static jpeg_bytes jpeg_of_coefs(const short coefs[64], int quant, uint32_t n_blocks)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    jpeg_bytes out = {NULL, 0};
    unsigned table[64];
    for (int k = 0; k < 64; k++)
        table[k] = (unsigned)quant;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out.data, &out.n_bytes);
    c.image_width = 8 * n_blocks;
    c.image_height = 8;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_add_quant_table(&c, 0, table, 100, TRUE);
    c.optimize_coding = TRUE;
    jvirt_barray_ptr array =
        (*c.mem->request_virt_barray)((j_common_ptr)&c, JPOOL_IMAGE, TRUE, n_blocks, 1, 1);
    jpeg_write_coefficients(&c, &array);
    JBLOCKARRAY rows = (*c.mem->access_virt_barray)((j_common_ptr)&c, array, 0, 1, TRUE);
    for (uint32_t i = 0; i < n_blocks; i++)
        memcpy(rows[0][i], coefs, 64 * sizeof *coefs);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return out;
}

/* Blocks whose transform leaves 16 bits: either all decoders still agree, libjpeg-turbo's being compared
 * with, or the file is not taken. */
static void test_extreme_blocks(void)
{
    stk_rng rng = stk_rng_for(2, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    int taken = 0, refused = 0;
    for (int round = 0; round < 400; round++) {
        short coefs[64] = {0};
        int n = 1 + (int)stk_rng_below(&rng, round % 4 == 0 ? 64 : 4),
            quant = 1 + (int)stk_rng_below(&rng, 255);
        int most = round % 3 == 0 ? 1000 : 60;
        for (int i = 0; i < n; i++) {
            uint64_t at = round % 8 == 1 ? 0 : stk_rng_below(&rng, 64);
            coefs[at] = (short)((int)stk_rng_below(&rng, 2 * (uint64_t)most + 1) - most);
        }
        jpeg_bytes jpeg = jpeg_of_coefs(coefs, quant, 5);
        jpeg_planes want = jpeg_decode_planes(jpeg.data, jpeg.n_bytes);
        stk_error error = {0};
        stk_buffer tiles = {0};
        stk_tile_options options = {.tile_pixels = 16, .tables_id = UINT32_MAX};
        stk_status status =
            stk_tiles_from_jpeg(f.ctx[round % f.n], jpeg.data, jpeg.n_bytes, &options, &tiles, &error);
        CHECK(status == STK_OK ||
              (status == STK_ERR_UNSUPPORTED && strstr(error.text, "verification") != NULL));
        if (status == STK_OK) {
            stk_planes planes;
            stk_box all = {0, 0, 40, 8};
            for (int i = 0; i < f.n; i++) {
                CHECK_OK(
                    stk_tiles_decode_box(f.ctx[i], tiles.data, tiles.n_bytes, NULL, all, &planes, &error));
                for (uint32_t y = 0; y < 8; y++)
                    CHECK(memcmp(planes.data[0] + y * planes.stride[0], want.data[0] + y * want.stride[0],
                                 40) == 0);
            }
        }
        taken += status == STK_OK;
        refused += status != STK_OK;
        jpeg_planes_free(&want);
        stk_buffer_free(&tiles);
        free(jpeg.data);
    }
    printf("extreme blocks: %d taken, %d left verbatim\n", taken, refused);
    CHECK(taken > 50);
}

int main(void)
{
    f = families_open();
    RUN(test_flips_in_segments);
    RUN(test_flips_in_heads);
    RUN(test_cut_and_lengthened);
    RUN(test_shifted_lengths);
    RUN(test_versions);
    RUN(test_extreme_blocks);
    families_close(&f);
    return check_exit();
}
