/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_text.h"

#include <stdbool.h>

void safe_text(FILE *out, const char *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char c = (unsigned char)bytes[i];
        unsigned char next = i + 1 < n_bytes ? (unsigned char)bytes[i + 1] : 0;
        bool pair = c == 0xc2 && next >= 0x80 && next < 0xa0;
        bool control = c < 0x20 || c == 0x7f || pair;
        fputc(control ? '?' : c, out);
        i += pair;
    }
}
