/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a .stk file: opening, reading all it claims to hold, decoding, and salvaging must end in a status,
 * never in STK_ERR_INTERNAL, a crash, or memory without bound. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stoker/dataset.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void must(stk_status status)
{
    if (status == STK_ERR_INTERNAL) abort();
}

static void read_columns(const stk_dataset *dataset, uint64_t i)
{
    unsigned char block[512];
    for (uint32_t c = 0; c < stk_dataset_columns(dataset) && c < 16; c++) {
        stk_column column;
        stk_value value;
        must(stk_dataset_column(dataset, c, &column, NULL));
        must(stk_dataset_value(dataset, c, i, block, sizeof block, &value, NULL));
    }
}

static void read_all(const stk_dataset *dataset)
{
    stk_buffer buffer = {0};
    uint64_t n = stk_dataset_len(dataset);
    for (uint64_t i = 0; i < n && i < 16; i++) {
        stk_record_info info;
        uint32_t width, height, channels;
        const char *kind;
        must(stk_dataset_record(dataset, i, &info, NULL));
        must(stk_dataset_payload(dataset, i, &buffer, NULL));
        must(stk_dataset_image(dataset, i, NULL, &buffer, &width, &height, &channels, NULL));
        must(stk_dataset_extract(dataset, i, &buffer, &kind, NULL));
        read_columns(dataset, i);
    }
    for (uint32_t c = 0; c < stk_dataset_classes(dataset) && c < 16; c++)
        if (stk_dataset_class_name(dataset, c) == NULL) abort();
    stk_buffer_free(&buffer);
}

static void try_open(const char *path, bool salvage, stk_verify_mode verify)
{
    stk_dataset_options options;
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&options);
    options.salvage = salvage;
    options.verify = verify;
    options.io = STK_IO_PREAD;
    options.max_pixels = 1 << 20;
    options.max_record_bytes = 1 << 24;
    must(stk_dataset_open(path, &options, &dataset, NULL));
    if (dataset != NULL) read_all(dataset);
    stk_dataset_close(&dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char path[64];
    int fd = memfd_create("fuzz.stk", MFD_CLOEXEC);
    if (fd < 0) return 0;
    if (write(fd, data, n_bytes) == (ssize_t)n_bytes) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        try_open(path, false, STK_VERIFY_FIRST);
        /* Without checksums the decoders see the damage: they must be safe without that help. */
        try_open(path, false, STK_VERIFY_OFF);
        try_open(path, true, STK_VERIFY_OFF);
    }
    close(fd);
    return 0;
}
