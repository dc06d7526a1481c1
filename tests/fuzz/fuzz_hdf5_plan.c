/* SPDX-License-Identifier: Apache-2.0
 *
 * A description of an HDF5 file as a hostile child process might hand it over: the first bytes become the plan
 * (its lengths made to fit), the rest the file. Whatever the check lets through is read, chunk by chunk. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stoker_features.h"
#include "support/memory_file.h"

#if STOKER_HAVE_HDF5
#include "common/file.h"
#include "format/hdf5/hdf5_array.h"
#include "format/hdf5/hdf5_select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_ROW = 1 << 20, MAX_ROWS = 64 };

static void read_rows(const stk_h5_plan *plan, uint32_t number, const stk_file *file)
{
    const stk_h5_dataset *d = stk_h5_datasets(plan) + number;
    stk_h5_array *array = NULL;
    uint64_t chunk = d->element_bytes;
    for (uint32_t i = 0; d->layout == STK_H5_CHUNKED && i < d->rank; i++) chunk *= d->chunk[i];
    if (chunk > MAX_ROW || (d->layout == STK_H5_CHUNKED && d->n_chunks == 0)) return; /* large, or the child's to read */
    if (stk_h5_array_open(plan, number, file, NULL, 0, &array, NULL) != STK_OK) return;
    size_t row = stk_h5_array_row_bytes(array);
    uint8_t *out = row > 0 && row <= MAX_ROW ? malloc(row) : NULL;
    for (uint64_t i = 0; out != NULL && i < d->dims[0] && i < MAX_ROWS; i++) {
        uint64_t address = stk_h5_array_row_address(array, i);
        (void)address;
        (void)!stk_h5_array_read(array, i, 1, out, NULL);
    }
    free(out);
    stk_h5_array_close(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static memory_file memory = {.fd = -1};
    stk_h5_plan head;
    stk_file file = STK_FILE_CLOSED;
    if (n_bytes < sizeof head) return 0;
    memory_file_set(&memory, data, n_bytes);
    if (stk_file_open_read(memory.path, &file, NULL) != STK_OK) abort();
    /* Lengths that cannot fit are uninteresting: the first test would end it. */
    memcpy(&head, data, sizeof head);
    uint64_t left = n_bytes - sizeof head;
    head.magic = STK_H5_PLAN_MAGIC;
    head.n_datasets = (uint32_t)(head.n_datasets % (left / sizeof(stk_h5_dataset) + 1));
    left -= head.n_datasets * sizeof(stk_h5_dataset);
    head.n_chunks = head.n_chunks % (left / sizeof(stk_h5_chunk) + 1);
    left -= head.n_chunks * sizeof(stk_h5_chunk);
    head.text_bytes = left;
    head.plan_bytes = n_bytes;
    head.status = head.status % 3 == 0 ? head.status : 0;
    stk_h5_plan *plan = malloc(n_bytes);
    if (plan == NULL) abort();
    memcpy(plan, data, n_bytes);
    memcpy(plan, &head, sizeof head);
    if (stk_h5_plan_check(plan, n_bytes, n_bytes, "fuzz.h5", NULL) == STK_OK) {
        stk_dataset_options options = {.struct_size = sizeof options};
        stk_h5_selection selection;
        for (uint32_t i = 0; i < plan->n_datasets && i < 8; i++) read_rows(plan, i, &file);
        (void)!stk_h5_select(plan, &options, "fuzz.h5", &selection, NULL);
    }
    free(plan);
    stk_file_close(&file);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    (void)data, (void)n_bytes; /* a build without HDF5 has no such parser */
    return 0;
}
#endif
