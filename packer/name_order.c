/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/name_order.h"

#include <stdlib.h>

#include "common/fail.h"
#include "common/utf8.h"

uint32_t stk_name_next(const unsigned char **p)
{
    static const unsigned char LEAD_MASK[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *s = *p;
    if (*s == 0) return 0;
    /* Up to four bytes are looked at, but none behind one that is no continuation byte: it stops at the zero.
     */
    size_t n = stk_utf8_length(s, 4);
    if (n == 0) {
        *p = s + 1;
        return 0xdc00u + *s;
    }
    uint32_t code = s[0] & LEAD_MASK[n];
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3fu);
    *p = s + n;
    return code;
}

static int compare_decoded(const unsigned char *a, const unsigned char *b)
{
    for (;;) {
        uint32_t x = stk_name_next(&a), y = stk_name_next(&b);
        if (x != y) return x < y ? -1 : 1;
        if (x == 0) return 0;
    }
}

int stk_name_compare(const char *a, const char *b)
{
    const unsigned char *p = (const unsigned char *)a, *q = (const unsigned char *)b;
    while (*p == *q) {
        if (*p == 0) return 0;
        p++;
        q++;
    }
    /* ASCII bytes order alike whatever stood before them; all else is decided by code points, which for
     * sequences that are not UTF-8 can differ from the order of the bytes. */
    if (*p < 0x80 && *q < 0x80) return *p < *q ? -1 : 1;
    return compare_decoded((const unsigned char *)a, (const unsigned char *)b);
}

/* Most comparisons are settled by the first eight bytes, kept beside the offset as a big-endian number: the
 * names themselves are scattered over memory. Only ASCII prefixes may be compared so. */
typedef struct sort_key {
    uint64_t prefix;
    const char *name;
    uint32_t offset;
    bool ascii;
} sort_key;

static sort_key make_key(const char *base, uint32_t offset)
{
    sort_key key = {.prefix = 0, .name = base + offset, .offset = offset, .ascii = true};
    const unsigned char *p = (const unsigned char *)key.name;
    int i = 0;
    for (; i < 8 && p[i] != 0; i++) {
        key.prefix = key.prefix << 8 | p[i];
        if (p[i] >= 0x80) key.ascii = false;
    }
    if (i > 0 && i < 8) key.prefix <<= 8 * (8 - i);
    return key;
}

static int compare_keys(const void *x, const void *y)
{
    const sort_key *a = x, *b = y;
    if (a->ascii && b->ascii && a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return stk_name_compare(a->name, b->name);
}

stk_status stk_names_sort(const char *base, uint32_t *offsets, size_t n, stk_error *error)
{
    if (n < 2) return STK_OK;
    sort_key *keys = malloc(n * sizeof *keys);
    if (keys == NULL) return stk_fail_memory(error, "sorting file names");
    for (size_t i = 0; i < n; i++)
        keys[i] = make_key(base, offsets[i]);
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        offsets[i] = keys[i].offset;
    free(keys);
    return STK_OK;
}
