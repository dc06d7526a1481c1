/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads that have no plain place in the file: filtered or oddly chunked pixels, planar ones, other number
 * types, arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/endian.h"
#include "common/fail.h"
#include "format/hdf5/hdf5_storage_internal.h"

/* One element as a double; little-endian already. */
static double element_value(const stk_h5_dataset *d, const uint8_t *p)
{
    if (d->class_ == STK_H5_FLOAT && d->element_bytes == 8) {
        double v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    if (d->class_ == STK_H5_FLOAT && d->element_bytes == 4) {
        float v;
        memcpy(&v, p, sizeof v);
        return (double)v;
    }
    if (d->class_ == STK_H5_FLOAT) { /* binary16 */
        uint16_t h = stk_load16(p);
        double m = (double)(h & 0x3ff), sign = (h & 0x8000) != 0 ? -1.0 : 1.0;
        int e = h >> 10 & 31;
        if (e == 31) return sign * (m > 0 ? 0.0 : 65504.0);
        return sign * (e == 0 ? m / 16777216.0 : (1.0 + m / 1024.0) * (double)(1 << e) / 32768.0);
    }
    uint8_t bytes[8] = {0};
    memcpy(bytes, p, d->element_bytes < 8 ? d->element_bytes : 8);
    uint64_t u = stk_load64(bytes);
    if (!d->is_signed) return (double)u;
    unsigned shift = 64 - 8 * (d->element_bytes < 8 ? d->element_bytes : 8);
    int64_t v;
    u <<= shift;
    memcpy(&v, &u, sizeof v);
    return (double)(v >> shift);
}

/* Linear from [min, max] to 0..255, rounded half up, clipped; not-a-number becomes 0. */
static uint8_t to_byte(double v, double min, double max)
{
    double x = (v - min) / (max - min) * 255.0 + 0.5;
    if (!(x > 0.0)) return 0;
    return x >= 255.0 ? 255 : (uint8_t)x;
}

static void convert(const h5_storage *s, const stk_h5_dataset *d, const uint8_t *in, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = to_byte(element_value(d, in + i * d->element_bytes), s->range_min, s->range_max);
}

static void interleave(const uint8_t *planes, size_t n_pixels, uint32_t channels, uint8_t *out)
{
    for (uint32_t c = 0; c < channels; c++)
        for (size_t i = 0; i < n_pixels; i++) out[i * channels + c] = planes[c * n_pixels + i];
}

/* Pixels through up to two steps; each has its own memory, since payloads may be read by many threads. */
static stk_status fetch_pixels(h5_storage *s, uint64_t i, uint8_t *dst, stk_error *error)
{
    const stk_h5_dataset *d = stk_h5_datasets(s->plan) + s->selection.images;
    size_t row = stk_h5_array_row_bytes(s->images);
    size_t n = (size_t)s->selection.width * s->selection.height * s->selection.channels;
    bool planar = s->selection.kind == STK_H5_PIXELS_NCHW && s->selection.channels > 1;
    if (!planar && !s->selection.convert) return stk_h5_array_read(s->images, i, 1, dst, error);
    uint8_t *in = malloc(row + 1), *bytes = malloc(n + 1);
    stk_status status = in == NULL || bytes == NULL ? stk_fail_memory(error, "an image") : STK_OK;
    if (status == STK_OK) status = stk_h5_array_read(s->images, i, 1, in, error);
    if (status == STK_OK) {
        const uint8_t *pixels = in;
        if (s->selection.convert) {
            stk_h5_to_little(d, in, row);
            convert(s, d, in, n, planar ? bytes : dst);
            pixels = bytes;
        }
        if (planar) interleave(pixels, n / s->selection.channels, s->selection.channels, dst);
    }
    free(in);
    free(bytes);
    return status;
}

stk_status stk_h5_fetch(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error)
{
    h5_storage *s = (h5_storage *)self;
    (void)row;
    if (s->images == NULL) return stk_fail(error, STK_ERR_INTERNAL, "%s: nothing to fetch", s->path);
    if (s->selection.kind != STK_H5_ARRAYS) return fetch_pixels(s, i, dst, error);
    STK_TRY(stk_h5_array_read(s->images, i, 1, dst, error));
    stk_h5_to_little(stk_h5_datasets(s->plan) + s->selection.images, dst, stk_h5_array_row_bytes(s->images));
    return STK_OK;
}
