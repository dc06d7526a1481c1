/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a chunk behind any of HDF5's filter pipelines, and as a file with a global heap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stoker_features.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#if STOKER_HAVE_HDF5
#include "common/buffer.h"
#include "common/file.h"
#include "format/hdf5/hdf5_filters.h"
#include "format/hdf5/hdf5_heap.h"

enum { HEAD = 8, MAX_OUT = 1 << 16 };

static void unfilter(const uint8_t *data, size_t n_bytes)
{
    static const uint32_t IDS[] = {1, 2, 3, 32000};
    stk_h5_dataset d = {.element_bytes = 1u + data[0] % 9, .n_filters = data[1] % 5u};
    for (uint32_t i = 0; i < d.n_filters; i++) d.filters[i].id = IDS[(data[2] >> (2 * i)) & 3];
    size_t n_out = ((size_t)data[3] << 8 | data[4]) % MAX_OUT;
    stk_buffer raw = {0}, scratch = {0};
    uint8_t *out = malloc(n_out + 1);
    if (out == NULL) abort();
    if (stk_h5_unknown_filter(&d) == 0 && stk_buffer_append(&raw, data + HEAD, n_bytes - HEAD, NULL) == STK_OK)
        (void)!stk_h5_unfilter(&d, data[5], &raw, &scratch, out, n_out, NULL);
    free(out);
    stk_buffer_free(&raw);
    stk_buffer_free(&scratch);
}

static void walk_heap(const uint8_t *data, size_t n_bytes)
{
    static memory_file memory = {.fd = -1};
    stk_file file = STK_FILE_CLOSED;
    memory_file_set(&memory, data, n_bytes);
    if (stk_file_open_read(memory.path, &file, NULL) != STK_OK) abort();
    for (uint64_t address = 0; address < 64 && address < n_bytes; address += 8)
        for (uint32_t index = 0; index < 4; index++) {
            stk_h5_reference r = {.address = address, .n_bytes = index * 5, .index = index};
            uint64_t offset = 0;
            if (stk_h5_heap_find(&file, n_bytes, r, &offset, NULL) != STK_OK) continue;
            if (offset > n_bytes || r.n_bytes > n_bytes - offset) abort(); /* must lie inside the file */
        }
    stk_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < HEAD) return 0;
    unfilter(data, n_bytes);
    walk_heap(data, n_bytes);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    (void)data, (void)n_bytes; /* a build without HDF5 has no such parser */
    return 0;
}
#endif
