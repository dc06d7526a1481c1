/* SPDX-License-Identifier: Apache-2.0 */
#include "format/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "common/hash.h"

static void entry(const stk_dictionary *d, uint32_t code, const uint8_t **data, size_t *n_bytes)
{
    uint32_t start = code == 0 ? 0 : stk_load32(d->ends.data + 4 * (size_t)(code - 1));
    *data = d->bytes.data + start;
    *n_bytes = stk_load32(d->ends.data + 4 * (size_t)code) - start;
}

/* The slot that holds the string, or the free one where it belongs. */
static size_t find_slot(const stk_dictionary *d, const void *data, size_t n_bytes)
{
    size_t slot = (size_t)stk_hash64(data, n_bytes) & (d->capacity - 1);
    while (d->slots[slot] != 0) {
        const uint8_t *have;
        size_t n_have;
        entry(d, d->slots[slot] - 1, &have, &n_have);
        if (n_have == n_bytes && (n_bytes == 0 || memcmp(have, data, n_bytes) == 0)) break;
        slot = (slot + 1) & (d->capacity - 1);
    }
    return slot;
}

static stk_status grow(stk_dictionary *d, stk_error *error)
{
    size_t capacity = d->capacity == 0 ? 64 : d->capacity * 2;
    STK_TRY(stk_buffer_reserve(&d->bytes, 64, error));
    uint32_t *slots = calloc(capacity, sizeof *slots);
    if (slots == NULL) return stk_fail_memory(error, "a dictionary");
    free(d->slots);
    d->slots = slots;
    d->capacity = capacity;
    for (uint32_t code = 0; code < d->n_entries; code++) {
        const uint8_t *data;
        size_t n_bytes;
        entry(d, code, &data, &n_bytes);
        slots[find_slot(d, data, n_bytes)] = code + 1;
    }
    return STK_OK;
}

stk_status stk_dictionary_code(stk_dictionary *d, const void *data, size_t n_bytes, uint32_t *code,
                               stk_error *error)
{
    if (d->capacity / 2 <= d->n_entries) STK_TRY(grow(d, error));
    size_t slot = find_slot(d, data, n_bytes);
    if (d->slots[slot] == 0) {
        if (d->n_entries >= STK_DICTIONARY_MAX_ENTRIES || n_bytes > STK_DICTIONARY_MAX_BYTES ||
            d->bytes.n_bytes + n_bytes > STK_DICTIONARY_MAX_BYTES)
            return stk_fail(error, STK_ERR_LIMIT,
                            "more than %d different values or 16 MiB of them are too many for a "
                            "dictionary; make it a plain string column",
                            STK_DICTIONARY_MAX_ENTRIES);
        uint32_t end = (uint32_t)(d->bytes.n_bytes + n_bytes);
        STK_TRY(stk_buffer_append(&d->ends, &end, sizeof end, error));
        if (stk_buffer_append(&d->bytes, data, n_bytes, error) != STK_OK) {
            d->ends.n_bytes -= sizeof end;
            return STK_ERR_MEMORY;
        }
        d->slots[slot] = ++d->n_entries;
    }
    *code = d->slots[slot] - 1;
    return STK_OK;
}

void stk_dictionary_free(stk_dictionary *d)
{
    free(d->slots);
    stk_buffer_free(&d->ends);
    stk_buffer_free(&d->bytes);
    *d = (stk_dictionary){0};
}
