/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names a run has written to. Eight bytes a name: a 64-bit hash stands for it. */
#ifndef STK_TOOLS_NAME_SET_H
#define STK_TOOLS_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct name_set {
    uint64_t *slots; /* 0: free */
    size_t n, room;
} name_set; /* start with {0} */

bool name_set_has(const name_set *set, const char *name);
/* False when out of memory. */
bool name_set_add(name_set *set, const char *name);
void name_set_free(name_set *set);

#endif
