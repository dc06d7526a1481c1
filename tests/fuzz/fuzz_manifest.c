/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as JSON and as dataset.json (with a checksum that fits): a status, and what was parsed prints as
 * text that parses to the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/hash.h"
#include "common/json.h"
#include "format/folder_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void print(const stk_json *root, stk_buffer *out)
{
    if (stk_json_print(root, out, NULL) != STK_OK) abort();
}

static void try_json(const char *text, size_t n_bytes)
{
    stk_json *root = NULL, *again = NULL;
    stk_buffer first = {0}, second = {0};
    if (stk_json_parse(text, n_bytes, &root, NULL) != STK_OK) return;
    print(root, &first);
    if (stk_json_parse((const char *)first.data, first.n_bytes, &again, NULL) != STK_OK) abort();
    print(again, &second);
    if (first.n_bytes != second.n_bytes || memcmp(first.data, second.data, first.n_bytes) != 0) abort();
    stk_buffer_free(&first);
    stk_buffer_free(&second);
    stk_json_close(&again);
    stk_json_close(&root);
}

static void try_manifest(const char *text, size_t n_bytes)
{
    stk_manifest manifest;
    if (stk_manifest_open(&manifest, text, n_bytes, "dataset.json", NULL) == STK_OK)
        stk_manifest_close(&manifest);
}

/* The text with its last line replaced by one that fits; needs at least that line's length. */
static void try_sealed(const char *text, size_t n_bytes)
{
    if (n_bytes <= STK_FOLDER_CHECK_BYTES) return;
    size_t covered = n_bytes - STK_FOLDER_CHECK_BYTES;
    char *sealed = malloc(n_bytes + 1);
    if (sealed == NULL) return;
    memcpy(sealed, text, covered);
    snprintf(sealed + covered, STK_FOLDER_CHECK_BYTES + 1, STK_FOLDER_CHECK,
             (unsigned long long)stk_hash64(text, covered));
    try_manifest(sealed, n_bytes);
    free(sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    try_json((const char *)data, n_bytes);
    try_manifest((const char *)data, n_bytes);
    try_sealed((const char *)data, n_bytes);
    return 0;
}
