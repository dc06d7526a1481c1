/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, as strictly as RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef STK_COMMON_UTF8_H
#define STK_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid character at p (1..4), 0 when there is none within n bytes. */
static inline size_t stk_utf8_length(const unsigned char *p, size_t n)
{
    if (n == 0) return 0;
    unsigned char c = p[0];
    if (c < 0x80) return 1;
    size_t length = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (length == 0 || length > n) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f)) return 0;
    if ((c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f)) return 0;
    return length;
}

static inline bool stk_utf8_valid(const void *text, size_t n)
{
    const unsigned char *p = text;
    for (size_t i = 0; i < n;) {
        size_t length = stk_utf8_length(p + i, n - i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

#endif
