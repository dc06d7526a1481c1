/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_heap.h"

#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/fail.h"

enum { COLLECTION_HEADER = 16, OBJECT_HEADER = 16, MAX_OBJECTS = 65536 };

stk_h5_reference stk_h5_reference_parse(const uint8_t *e)
{
    return (stk_h5_reference){.n_bytes = stk_load32(e), .address = stk_load64(e + 4), .index = stk_load32(e + 12)};
}

static stk_status broken(const stk_file *file, uint64_t at, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: broken HDF5 heap at byte %llu", file->path, (unsigned long long)at);
}

stk_status stk_h5_heap_find(const stk_file *file, uint64_t file_bytes, stk_h5_reference r, uint64_t *offset,
                            stk_error *error)
{
    uint8_t head[COLLECTION_HEADER];
    if (!stk_range_inside(r.address, sizeof head, file_bytes)) return broken(file, r.address, error);
    STK_TRY(stk_file_read_at(file, head, sizeof head, r.address, error));
    uint64_t size = stk_load64(head + 8);
    if (memcmp(head, "GCOL", 4) != 0 || head[4] != 1 || !stk_range_inside(r.address, size, file_bytes))
        return broken(file, r.address, error);
    uint64_t at = r.address + sizeof head, end = r.address + size;
    for (int i = 0; i < MAX_OBJECTS && end - at >= OBJECT_HEADER; i++) {
        uint8_t object[OBJECT_HEADER];
        STK_TRY(stk_file_read_at(file, object, sizeof object, at, error));
        uint32_t index = stk_load16(object);
        uint64_t n = stk_load64(object + 8);
        if (index == 0) break; /* the free space at the collection's end */
        if (!stk_range_inside(at + OBJECT_HEADER, n, end)) return broken(file, at, error);
        if (index == r.index) {
            if (n < r.n_bytes) return broken(file, at, error);
            *offset = at + OBJECT_HEADER;
            return STK_OK;
        }
        uint64_t padded = (n + 7) & ~(uint64_t)7;
        if (padded > end - at - OBJECT_HEADER) break;
        at += OBJECT_HEADER + padded;
    }
    return broken(file, r.address, error);
}
