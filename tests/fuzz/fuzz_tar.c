/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a tar of samples: listed, and every picture read back. Names are only names: the target runs in a
 * folder where nothing may appear. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "packer/source_store.h"
#include "stoker_features.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_READ = 64 };

static void read_some(stk_sources *sources)
{
    stk_buffer bytes = {0};
    char path[256];
    stk_source source;
    for (uint64_t i = 0; i < sources->n && i < MAX_READ; i++) {
        stk_sources_get(sources, i, &source);
        (void)stk_source_path(sources, &source, path, sizeof path);
        if (source.label < -1 && sources->n_classes > 0) abort();
        if (sources->n_classes > 0 && source.label >= (int64_t)sources->n_classes) abort();
        if (sources->store->read(sources->store, i, &bytes, NULL) == STK_OK &&
            bytes.n_bytes != sources->store->size(sources->store, i))
            abort();
    }
    stk_buffer_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
#if STOKER_HAVE_ARCHIVE
    static memory_file file = {.fd = -1};
    stk_sources sources;
    memory_file_set(&file, data, n_bytes);
    if (stk_store_tar(file.path, "/dev/shm/stoker-fuzz-tar", &sources, NULL) == STK_OK) {
        read_some(&sources);
        stk_sources_free(&sources);
    }
#else
    (void)data, (void)n_bytes, (void)read_some; /* a build without libarchive has no such parser */
#endif
    return 0;
}
