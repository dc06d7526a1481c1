/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a .csv, .tsv or .jsonl manifest of an empty folder: rows, types of columns, labels, paths. The first
 * byte chooses the kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/pack.h>

#include "packer/manifest.h"
#include "packer/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static char folder[64];

static void open_once(void)
{
    if (folder[0] != '\0') return;
    snprintf(folder, sizeof folder, "/dev/shm/stoker-fuzz-table-XXXXXX");
    if (mkdtemp(folder) == NULL) abort();
}

static void look_at(const stk_sources *sources)
{
    stk_source source;
    stk_cell cells[64];
    for (uint64_t i = 0; i < sources->n; i++) {
        stk_sources_get(sources, i, &source);
        if (sources->n_classes > 0 && source.label >= (int64_t)sources->n_classes) abort();
        if (source.state == STK_SOURCE_FILE) abort(); /* the folder is empty */
        if (sources->table != NULL && sources->table->n_columns <= 64) stk_table_cells(sources->table, i, cells);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const ENDS[] = {"csv", "tsv", "jsonl"};
    char path[96];
    stk_pack_options options;
    stk_sources sources;
    if (n_bytes < 2) return 0;
    open_once();
    snprintf(path, sizeof path, "%s.%s", folder, ENDS[data[0] % 3]);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data + 1, 1, n_bytes - 1, f) != n_bytes - 1 || fclose(f) != 0) abort();
    stk_pack_options_init(&options);
    if (stk_manifest_read(path, folder, &options, 1, &sources, NULL) == STK_OK) {
        look_at(&sources);
        stk_sources_free(&sources);
    }
    unlink(path);
    return 0;
}
