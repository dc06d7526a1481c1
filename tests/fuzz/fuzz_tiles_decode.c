/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a tiles record, with its head's check made to fit so that the parser and the segment decoders
 * are reached: every kernel family must say the same and, when it accepts, give the same samples; the
 * extractor must cope as well. Records that name a table set get one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/planes.h"
#include "codec/tile_layout.h"
#include "codec/tiles.h"
#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/cpu_features.h"
#include "common/endian.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_BYTES = 1 << 16, MAX_PIXELS = 1 << 16 };

static stk_codec_ctx *contexts[STK_FAMILY_COUNT];
static int n_contexts;
static stk_tile_tables *set;

static void open_once(void)
{
    static const stk_codec_limits limits = {.max_pixels = MAX_PIXELS};
    if (n_contexts > 0) return;
    for (int f = 0; f < STK_FAMILY_COUNT; f++) {
        if (!stk_family_available((stk_family)f)) continue;
        setenv("STOKER_CPU", stk_family_name((stk_family)f), 1);
        if (stk_codec_ctx_open(&limits, &contexts[n_contexts++], NULL) != STK_OK) abort();
    }
    stk_tile_trainer *trainer;
    stk_buffer blob = {0};
    if (stk_tile_trainer_open(&trainer, NULL) != STK_OK ||
        stk_tile_trainer_blob(trainer, &blob, NULL) != STK_OK ||
        stk_tile_tables_open(blob.data, blob.n_bytes, &set, NULL) != STK_OK) {
        abort();
    }
    stk_tile_trainer_close(&trainer);
    stk_buffer_free(&blob);
}

static void seal(uint8_t *record, size_t n_bytes)
{
    uint32_t head_bytes = stk_load32(record + STK_TILE_AT_HEAD_BYTES);
    if (head_bytes >= STK_TILE_FIXED_BYTES && head_bytes <= n_bytes) stk_tile_head_seal(record, head_bytes);
}

/* Makes the lengths add up to the record's end, by changing the last ones. */
static void fix_lengths(uint8_t *record, size_t n_bytes, const stk_tile_head *head)
{
    size_t left = n_bytes - head->head_bytes;
    uint8_t *length = record + (head->lengths - record);
    for (uint32_t i = 0; i < head->g.n_segments; i++, length += 2) {
        size_t n = stk_load16(length);
        if (n > left || i + 1 == head->g.n_segments) n = left < 65535 ? left : 65535;
        stk_store16(length, (uint16_t)n);
        left -= n;
    }
    seal(record, n_bytes);
}

static uint64_t sum_of(const stk_planes *p)
{
    uint64_t sum = 0;
    for (uint32_t c = 0; c < p->n_components; c++)
        for (uint32_t y = 0; y < p->height[c]; y++)
            for (uint32_t x = 0; x < p->width[c]; x++)
                sum = sum * 31 + p->data[c][y * p->stride[c] + x];
    return sum;
}

static void decode_everywhere(const uint8_t *record, size_t n_bytes, stk_box box)
{
    stk_planes planes;
    stk_status want = stk_tiles_decode_box(contexts[0], record, n_bytes, set, box, &planes, NULL);
    uint64_t sum = want == STK_OK ? sum_of(&planes) : 0;
    for (int i = 1; i < n_contexts; i++) {
        stk_status status = stk_tiles_decode_box(contexts[i], record, n_bytes, set, box, &planes, NULL);
        if (status != want || (status == STK_OK && sum_of(&planes) != sum)) abort();
    }
}

static void try_record(uint8_t *record, size_t n_bytes, uint32_t seed)
{
    stk_tile_head head;
    memset(&head, 0, sizeof head);
    stk_status status = stk_tile_head_read(record, n_bytes, &head, NULL);
    if (status == STK_ERR_IMAGE && head.lengths != NULL) {
        fix_lengths(record, n_bytes, &head);
        status = stk_tile_head_read(record, n_bytes, &head, NULL);
    }
    if (status != STK_OK || (uint64_t)head.g.width * head.g.height > MAX_PIXELS) return;
    stk_box all = {.width = (int32_t)head.g.width, .height = (int32_t)head.g.height}, part = all;
    part.x = (int32_t)(seed % head.g.width);
    part.y = (int32_t)((seed >> 8) % head.g.height);
    part.width = 1 + (int32_t)((seed >> 4) % (head.g.width - (uint32_t)part.x));
    part.height = 1 + (int32_t)((seed >> 12) % (head.g.height - (uint32_t)part.y));
    decode_everywhere(record, n_bytes, all);
    decode_everywhere(record, n_bytes, part);
    stk_buffer jpeg = {0};
    (void)!stk_tiles_to_jpeg(contexts[n_contexts - 1], record, n_bytes, set, 6, &jpeg, NULL);
    stk_buffer_free(&jpeg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    open_once();
    if (n_bytes < STK_TILE_FIXED_BYTES || n_bytes > MAX_BYTES) return 0;
    uint8_t *record = malloc(n_bytes); /* exact size: the sanitizer watches its end */
    if (record == NULL) return 0;
    memcpy(record, data, n_bytes);
    seal(record, n_bytes);
    try_record(record, n_bytes, stk_load32(data + n_bytes - 4));
    free(record);
    return 0;
}
