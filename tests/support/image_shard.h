/* SPDX-License-Identifier: Apache-2.0
 *
 * Shards of small raw images made by code: every pixel is a function of record and place, so that a test can tell
 * which record and which window it looks at. */
#ifndef STK_TESTS_IMAGE_SHARD_H
#define STK_TESTS_IMAGE_SHARD_H

#include <stdint.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/rng.h"
#include "format/shard_writer.h"
#include "support/check.h"

/* Byte (x, y, c) of record i. */
static inline uint8_t image_byte(uint64_t i, uint32_t x, uint32_t y, uint32_t c)
{
    return (uint8_t)stk_mix64(i * 0x100000001b3u ^ ((uint64_t)y << 24 | x << 4 | c));
}

static inline void image_fill(uint64_t i, uint32_t width, uint32_t height, uint32_t channels, uint8_t *out)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++) *out++ = image_byte(i, x, y, c);
}

enum { IMAGE_COLUMN_PATH, IMAGE_COLUMN_NUMBER, IMAGE_COLUMN_SCORE, IMAGE_COLUMN_BOX, IMAGE_COLUMNS };

static const stk_column image_columns[IMAGE_COLUMNS] = {
    {.name = "path", .type = STK_TYPE_BYTES, .n_items = 1},
    {.name = "number", .type = STK_TYPE_U32, .n_items = 1},
    {.name = "score",
     .type = STK_TYPE_F32,
     .n_items = 1,
     .nullable = true},                                  /* i / 4; null in every fifth record */
    {.name = "box", .type = STK_TYPE_I32, .n_items = 4}, /* i, i + 1, i + 2, i + 3 */
};

/* Record i with the given payload, label i % 10. */
static inline void image_add(stk_shard_writer *writer, uint64_t i, uint32_t width, uint32_t height,
                             uint8_t channels, stk_encoding encoding, const uint8_t *payload, size_t n_bytes)
{
    stk_error error;
    char path[64];
    uint32_t number = (uint32_t)i;
    float score = (float)i / 4;
    int32_t box[4] = {(int32_t)i, (int32_t)i + 1, (int32_t)i + 2, (int32_t)i + 3};
    int n =
        snprintf(path, sizeof path, "class%llu/image%llu.png", (unsigned long long)i % 10, (unsigned long long)i);
    const stk_cell cells[IMAGE_COLUMNS] = {{.data = path, .n_items = (size_t)n},
                                           {.data = &number, .n_items = 1},
                                           {.data = &score, .n_items = 1, .is_null = i % 5 == 3},
                                           {.data = box, .n_items = 4}};
    stk_record record = {.payload = payload,
                         .n_bytes = n_bytes,
                         .xxh3 = stk_hash64(payload, n_bytes),
                         .label = (int64_t)(i % 10),
                         .width = width,
                         .height = height,
                         .encoding = encoding,
                         .orientation = 1,
                         .channels = channels,
                         .cells = cells};
    CHECK_OK(stk_shard_writer_add(writer, &record, NULL, &error));
}

static inline stk_shard_writer *image_shard_begin(const char *path)
{
    stk_error error;
    stk_shard_writer_options options = {.columns = image_columns, .n_columns = IMAGE_COLUMNS};
    stk_shard_writer *writer = NULL;
    unlink(path);
    CHECK_OK(stk_shard_writer_open(path, &options, &writer, &error));
    if (writer == NULL) exit(1);
    return writer;
}

static inline void image_shard_end(stk_shard_writer *writer)
{
    stk_error error;
    char id[33];
    CHECK_OK(stk_shard_writer_finish(
        writer, "{\"classes\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]}", id, &error));
    stk_shard_writer_close(&writer);
}

/* n raw records of one size. */
static inline void image_shard(const char *path, uint64_t n, uint32_t width, uint32_t height, uint8_t channels)
{
    stk_shard_writer *writer = image_shard_begin(path);
    size_t n_bytes = (size_t)width * height * channels;
    uint8_t *payload = malloc(n_bytes);
    for (uint64_t i = 0; i < n; i++) {
        image_fill(i, width, height, channels, payload);
        image_add(writer, i, width, height, channels, STK_ENCODING_RAW, payload, n_bytes);
    }
    free(payload);
    image_shard_end(writer);
}

#endif
