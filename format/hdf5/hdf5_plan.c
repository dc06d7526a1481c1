/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_plan.h"

#include <string.h>

#include "common/checked.h"
#include "common/fail.h"

static stk_status bad(const char *path, const char *what, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: broken HDF5 file: %s", path, what);
}

static bool product(const uint64_t *dims, uint32_t rank, uint64_t *out)
{
    *out = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (!stk_mul_u64(*out, dims[i], out)) return false;
    return true;
}

static bool grid_size(const stk_h5_dataset *d, uint64_t *out)
{
    *out = 1;
    for (uint32_t i = 0; i < d->rank; i++) {
        uint64_t n = d->dims[i] / d->chunk[i] + (d->dims[i] % d->chunk[i] != 0);
        if (!stk_mul_u64(*out, n, out)) return false;
    }
    return true;
}

static bool chunks_ok(const stk_h5_plan *plan, const stk_h5_dataset *d, uint64_t file_bytes)
{
    uint64_t n_elements, n_bytes, grid;
    for (uint32_t i = 0; i < d->rank; i++)
        if (d->chunk[i] == 0) return false;
    if (!product(d->chunk, d->rank, &n_elements) || !stk_mul_u64(n_elements, d->element_bytes, &n_bytes)) return false;
    if (n_bytes > UINT32_MAX || !grid_size(d, &grid)) return false;
    if (d->n_chunks == 0) return true;
    if (d->n_chunks != grid || !stk_range_inside(d->first_chunk, d->n_chunks, plan->n_chunks)) return false;
    const stk_h5_chunk *chunks = stk_h5_chunks(plan) + d->first_chunk;
    for (uint64_t i = 0; i < d->n_chunks; i++)
        if (chunks[i].address != STK_H5_NO_ADDRESS && !stk_range_inside(chunks[i].address, chunks[i].n_bytes, file_bytes))
            return false;
    return true;
}

static bool dataset_ok(const stk_h5_plan *plan, const stk_h5_dataset *d, uint64_t file_bytes)
{
    uint64_t n, bytes;
    if (memchr(d->name, 0, sizeof d->name) == NULL || memchr(d->filter_names, 0, sizeof d->filter_names) == NULL)
        return false;
    if (d->rank > STK_H5_MAX_RANK || d->n_filters > STK_H5_MAX_FILTERS) return false;
    if (d->class_ == STK_H5_OTHER || d->layout == STK_H5_ELSEWHERE) return true; /* listed, never read */
    if (d->element_bytes == 0 || !product(d->dims, d->rank, &n) || !stk_mul_u64(n, d->element_bytes, &bytes))
        return false;
    switch (d->layout) {
    case STK_H5_CONTIGUOUS:
        return d->address == STK_H5_NO_ADDRESS || stk_range_inside(d->address, bytes, file_bytes);
    case STK_H5_CHUNKED: return chunks_ok(plan, d, file_bytes);
    case STK_H5_COMPACT: return d->text_bytes == bytes && stk_range_inside(d->text_offset, bytes, plan->text_bytes);
    default: return false;
    }
}

static bool sizes_ok(const stk_h5_plan *p, size_t n_bytes)
{
    if (n_bytes < sizeof *p || p->magic != STK_H5_PLAN_MAGIC || p->plan_bytes != n_bytes) return false;
    if (p->n_datasets > STK_H5_MAX_DATASETS || p->n_chunks > STK_H5_MAX_CHUNKS) return false;
    uint64_t head = sizeof *p + (uint64_t)p->n_datasets * sizeof(stk_h5_dataset) + p->n_chunks * sizeof(stk_h5_chunk);
    return head <= n_bytes && p->text_bytes == n_bytes - head;
}

stk_status stk_h5_plan_check(const stk_h5_plan *plan, size_t n_bytes, uint64_t file_bytes, const char *path,
                             stk_error *error)
{
    if (!sizes_ok(plan, n_bytes)) return bad(path, "its description is inconsistent", error);
    if (memchr(plan->error, 0, sizeof plan->error) == NULL || memchr(plan->id, 0, sizeof plan->id) == NULL ||
        memchr(plan->library, 0, sizeof plan->library) == NULL)
        return bad(path, "its description is inconsistent", error);
    if (plan->status != STK_OK) return stk_fail(error, (stk_status)plan->status, "%s: %s", path, plan->error);
    if (!stk_range_inside(plan->metadata_offset, plan->metadata_bytes, plan->text_bytes))
        return bad(path, "metadata out of bounds", error);
    if (!stk_range_inside(plan->class_offset, (uint64_t)plan->n_classes * plan->class_width, plan->text_bytes))
        return bad(path, "class names out of bounds", error);
    for (uint32_t i = 0; i < plan->n_datasets; i++) {
        const stk_h5_dataset *d = stk_h5_datasets(plan) + i;
        if (dataset_ok(plan, d, file_bytes)) continue;
        return stk_fail(error, STK_ERR_CORRUPT, "%s: broken HDF5 file: data set '%.*s' lies outside the file", path,
                        (int)sizeof d->name - 1, d->name);
    }
    return STK_OK;
}
