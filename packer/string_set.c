/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/string_set.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/hash.h"

void stk_string_set_free(stk_string_set *set)
{
    stk_names_free(&set->names);
    free(set->slots);
    *set = (stk_string_set){0};
}

static const char *name_of(const stk_string_set *set, uint32_t number)
{
    return set->names.text + set->names.offsets[number];
}

/* The slot that holds the string, or the empty one where it belongs. */
static uint32_t find_slot(const stk_string_set *set, const char *text, size_t n_bytes)
{
    uint32_t slot = (uint32_t)stk_hash64(text, n_bytes) & (set->n_slots - 1);
    for (; set->slots[slot] != 0; slot = (slot + 1) & (set->n_slots - 1)) {
        const char *name = name_of(set, set->slots[slot] - 1);
        if (strlen(name) == n_bytes && memcmp(name, text, n_bytes) == 0) break;
    }
    return slot;
}

/* At most half of the slots are taken. */
static stk_status make_room(stk_string_set *set, stk_error *error)
{
    if (set->names.n < set->n_slots / 2) return STK_OK;
    uint32_t n_slots = set->n_slots == 0 ? 64 : set->n_slots * 2;
    if (n_slots == 0) return stk_fail(error, STK_ERR_LIMIT, "too many different labels");
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL) return stk_fail_memory(error, "class names");
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    for (uint32_t i = 0; i < set->names.n; i++)
        slots[find_slot(set, name_of(set, i), strlen(name_of(set, i)))] = i + 1;
    return STK_OK;
}

stk_status stk_string_set_add(stk_string_set *set, const char *text, size_t n_bytes, uint32_t *number,
                              stk_error *error)
{
    n_bytes = strnlen(text, n_bytes);
    STK_TRY(make_room(set, error));
    uint32_t slot = find_slot(set, text, n_bytes);
    if (set->slots[slot] == 0) {
        STK_TRY(stk_names_add(&set->names, text, n_bytes, error));
        set->slots[slot] = set->names.n;
    }
    *number = set->slots[slot] - 1;
    return STK_OK;
}
