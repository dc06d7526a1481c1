/* SPDX-License-Identifier: Apache-2.0
 *
 * Small image files made by code: photo-like content from a seed, as JPEG, PPM, PGM or PNG bytes. */
#ifndef STK_TESTS_PICTURES_H
#define STK_TESTS_PICTURES_H

#include <stdio.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "common/rng.h"
#include "tests/support/tree.h"

/* Smooth colours with some noise; malloc'd, width * height * channels bytes. */
static inline uint8_t *picture_pixels(uint32_t width, uint32_t height, uint32_t channels, uint64_t seed)
{
    stk_rng rng = stk_rng_for(seed, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    uint32_t slope[6];
    for (int i = 0; i < 6; i++) slope[i] = (uint32_t)stk_rng_below(&rng, 7) + 1;
    uint8_t *pixels = malloc((size_t)width * height * channels);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++)
                pixels[((size_t)y * width + x) * channels + c] =
                    (uint8_t)(x * slope[c % 3] + y * slope[3 + c % 3] + stk_rng_below(&rng, 24));
    return pixels;
}

/* Writes a file of the form that the name's extension says. */
static inline void picture_file(const tree *t, const char *name, uint32_t width, uint32_t height, uint64_t seed,
                                uint8_t orientation)
{
    const char *dot = strrchr(name, '.');
    uint32_t channels = strcmp(dot, ".pgm") == 0 ? 1 : 3;
    uint8_t *pixels = picture_pixels(width, height, channels, seed);
    stk_image image = {.pixels = pixels, .stride = (size_t)width * channels, .width = width, .height = height,
                       .channels = (uint8_t)channels};
    stk_buffer out = {0};
    stk_codec_ctx *ctx = NULL;
    stk_error error = {0};
    stk_status status = stk_codec_ctx_open(NULL, &ctx, &error);
    if (status == STK_OK && strcmp(dot, ".png") == 0) {
        status = stk_codec_encode_png(ctx, &image, &out, &error);
    } else if (status == STK_OK && strcmp(dot, ".jpg") == 0) {
        status = stk_codec_encode_jpeg(ctx, &image, 90, false, orientation, &out, &error);
    } else if (status == STK_OK) {
        char head[64];
        int n = snprintf(head, sizeof head, "P%d\n%u %u\n255\n", channels == 1 ? 5 : 6, width, height);
        size_t n_pixels = (size_t)width * height * channels;
        out.data = malloc((size_t)n + n_pixels);
        memcpy(out.data, head, (size_t)n);
        memcpy(out.data + n, pixels, n_pixels);
        out.n_bytes = (size_t)n + n_pixels;
    }
    if (status != STK_OK) {
        fprintf(stderr, "%s: %s\n", name, error.text);
        exit(1);
    }
    tree_bytes(t, name, out.data, out.n_bytes);
    stk_buffer_free(&out);
    stk_codec_ctx_close(&ctx);
    free(pixels);
}

#endif
