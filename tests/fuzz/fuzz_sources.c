/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a DST.sources, with an end that fits: its lines, looked up by their paths again, and its recipe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/hash.h"
#include "packer/recipe_text.h"
#include "packer/source_history.h"
#include "support/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void walk(const stk_history *history)
{
    stk_buffer line = {0}, other = {0};
    stk_history_entry entry, found;
    size_t at = history->first_line;
    stk_pack_options options;
    while (stk_history_next(history, &at, &line, &entry)) {
        stk_product product;
        stk_history_product(&entry, &product);
        if (strlen(product.reason) >= sizeof product.reason) abort();
        (void)stk_history_find(history, entry.path, &other, &found);
    }
    (void)!stk_recipe_read(history->recipe, &options, NULL);
    stk_buffer_free(&line);
    stk_buffer_free(&other);
}

static void try_text(const void *text, size_t n_bytes)
{
    static memory_file file = {.fd = -1};
    stk_history history;
    memory_file_set(&file, text, n_bytes);
    if (stk_history_open(file.path, &history, NULL) != STK_OK) return;
    walk(&history);
    stk_history_close(&history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    stk_buffer text = {0};
    try_text(data, n_bytes);
    /* Up to the last line's beginning, then an end that fits. */
    size_t covered = n_bytes;
    while (covered > 0 && data[covered - 1] != '\n') covered--;
    unsigned long long lines = 0;
    for (size_t i = 0; i < covered; i++) lines += data[i] == '\n';
    if (covered > 0 && stk_buffer_append(&text, data, covered, NULL) == STK_OK &&
        stk_buffer_printf(&text, NULL, "end %llu %016llx\n", lines > 3 ? lines - 3 : 0,
                          (unsigned long long)stk_hash64(data, covered)) == STK_OK)
        try_text(text.data, text.n_bytes);
    stk_buffer_free(&text);
    return 0;
}
