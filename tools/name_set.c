/* SPDX-License-Identifier: Apache-2.0 */
#include "name_set.h"

#include <stdlib.h>

/* FNV-1a, 64 bits; 0 is no hash. */
static uint64_t hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h != 0 ? h : 1;
}

/* The slot that holds h, or the free one where it belongs. Their number is a power of two. */
static uint64_t *find(uint64_t *slots, size_t room, uint64_t h)
{
    size_t at = (size_t)(h ^ h >> 32) & (room - 1);
    while (slots[at] != 0 && slots[at] != h)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

bool name_set_has(const name_set *set, const char *name)
{
    return set->n > 0 && *find(set->slots, set->room, hash(name)) != 0;
}

bool name_set_add(name_set *set, const char *name)
{
    if (2 * (set->n + 1) > set->room) {
        size_t room = set->room == 0 ? 1024 : 2 * set->room;
        uint64_t *slots = calloc(room, sizeof *slots);
        if (slots == NULL) return false;
        for (size_t i = 0; i < set->room; i++)
            if (set->slots[i] != 0) *find(slots, room, set->slots[i]) = set->slots[i];
        free(set->slots);
        set->slots = slots;
        set->room = room;
    }
    uint64_t h = hash(name), *slot = find(set->slots, set->room, h);
    set->n += *slot == 0;
    *slot = h;
    return true;
}

void name_set_free(name_set *set)
{
    free(set->slots);
    *set = (name_set){0};
}
