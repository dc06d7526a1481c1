/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_series.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/endian.h"
#include "common/fail.h"

enum { BLOCK_ROWS = 4096, CACHE_BYTES = 16 << 20 };

struct stk_h5_series {
    const stk_h5_dataset *d;
    stk_h5_array *array;
    size_t row_bytes;
    uint64_t n_rows, n_blocks;
    _Atomic(uint8_t *) *blocks;
};

const stk_h5_dataset *stk_h5_series_dataset(const stk_h5_series *s)
{
    return s->d;
}

void stk_h5_series_close(stk_h5_series **series)
{
    stk_h5_series *s = *series;
    if (s == NULL) return;
    for (uint64_t i = 0; s->blocks != NULL && i < s->n_blocks; i++) free(atomic_load(&s->blocks[i]));
    free(s->blocks);
    stk_h5_array_close(&s->array);
    free(s);
    *series = NULL;
}

stk_status stk_h5_series_open(const stk_h5_plan *plan, uint32_t dataset, const stk_file *file, stk_h5_child *child,
                              stk_h5_series **out, stk_error *error)
{
    *out = NULL;
    stk_h5_series *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "an HDF5 column");
    stk_status status;
    s->d = stk_h5_datasets(plan) + dataset;
    STK_GOTO(stk_h5_array_open(plan, dataset, file, child, CACHE_BYTES, &s->array, error));
    s->row_bytes = stk_h5_array_row_bytes(s->array);
    s->n_rows = s->d->dims[0];
    s->n_blocks = (s->n_rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    s->blocks = calloc(s->n_blocks + 1, sizeof *s->blocks);
    if (s->blocks == NULL) status = stk_fail_memory(error, "an HDF5 column");
cleanup:
    if (status != STK_OK) stk_h5_series_close(&s);
    *out = s;
    return status;
}

static stk_status load_block(stk_h5_series *s, uint64_t block, uint8_t **out, stk_error *error)
{
    uint64_t first = block * BLOCK_ROWS;
    uint64_t n = s->n_rows - first < BLOCK_ROWS ? s->n_rows - first : BLOCK_ROWS;
    uint8_t *data = malloc((size_t)n * s->row_bytes + 1);
    if (data == NULL) return stk_fail_memory(error, "an HDF5 column");
    stk_status status = stk_h5_array_read(s->array, first, n, data, error);
    if (status != STK_OK) {
        free(data);
        return status;
    }
    /* Two threads may load a block at once; the first to publish wins, and both see the same bytes. */
    uint8_t *expected = NULL;
    if (!atomic_compare_exchange_strong(&s->blocks[block], &expected, data)) {
        free(data);
        data = expected;
    }
    *out = data;
    return STK_OK;
}

stk_status stk_h5_series_row(stk_h5_series *s, uint64_t i, const uint8_t **out, stk_error *error)
{
    uint8_t *block = atomic_load_explicit(&s->blocks[i / BLOCK_ROWS], memory_order_acquire);
    if (block == NULL) STK_TRY(load_block(s, i / BLOCK_ROWS, &block, error));
    *out = block + i % BLOCK_ROWS * s->row_bytes;
    return STK_OK;
}

void stk_h5_to_little(const stk_h5_dataset *d, uint8_t *p, size_t n_bytes)
{
    if (!d->big_endian || d->element_bytes < 2) return;
    size_t width = d->element_bytes;
    for (uint8_t *end = p + n_bytes / width * width; p < end; p += width)
        for (size_t a = 0, b = width - 1; a < b; a++, b--) {
            uint8_t t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

stk_status stk_h5_series_i64(stk_h5_series *s, uint64_t i, int64_t *out, stk_error *error)
{
    const uint8_t *row;
    *out = 0;
    STK_TRY(stk_h5_series_row(s, i, &row, error));
    uint8_t bytes[8] = {0};
    size_t width = s->d->element_bytes;
    if ((s->d->class_ != STK_H5_INTEGER && s->d->class_ != STK_H5_BOOL) || width > sizeof bytes) return STK_OK;
    memcpy(bytes, row, width);
    stk_h5_to_little(s->d, bytes, width);
    uint64_t value = stk_load64(bytes);
    if (s->d->is_signed && width < 8 && (bytes[width - 1] & 0x80) != 0) value |= UINT64_MAX << (8 * width);
    memcpy(out, &value, sizeof value);
    return STK_OK;
}
