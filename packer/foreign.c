/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/foreign.h"

#include <string.h>
#include <strings.h>

typedef struct signature {
    size_t offset;
    const char *bytes;
    size_t n_bytes;
    stk_foreign kind;
    const char *what;
} signature;

#define SIGN(offset, text, kind, what)                                                                       \
    {                                                                                                        \
        offset, text, sizeof(text) - 1, kind, what                                                           \
    }

static const signature SIGNATURES[] = {
    SIGN(4, "ftypheic", STK_FOREIGN_IMAGE, "a HEIC image"),
    SIGN(4, "ftypheix", STK_FOREIGN_IMAGE, "a HEIC image"),
    SIGN(4, "ftyphevc", STK_FOREIGN_IMAGE, "a HEIC image"),
    SIGN(4, "ftypmif1", STK_FOREIGN_IMAGE, "a HEIF image"),
    SIGN(4, "ftypmsf1", STK_FOREIGN_IMAGE, "a HEIF image"),
    SIGN(4, "ftypavif", STK_FOREIGN_IMAGE, "an AVIF image"),
    SIGN(4, "ftypavis", STK_FOREIGN_IMAGE, "an AVIF image"),
    SIGN(0, "\0\0\0\x0cJXL \r\n\x87\n", STK_FOREIGN_IMAGE, "a JPEG XL image"),
    SIGN(0, "\xff\x0a", STK_FOREIGN_IMAGE, "a JPEG XL image"),
    SIGN(0, "\0\0\0\x0cjP  \r\n\x87\n", STK_FOREIGN_IMAGE, "a JPEG 2000 image"),
    SIGN(0, "\xff\x4f\xff\x51", STK_FOREIGN_IMAGE, "a JPEG 2000 image"),
    SIGN(0, "\0\x05\x16\x07", STK_FOREIGN_LITTER, "a macOS resource file"),
    SIGN(0,
         "\0\0\0\x01"
         "Bud1",
         STK_FOREIGN_LITTER, "a macOS folder file"),
    SIGN(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", STK_FOREIGN_LITTER, "a Windows thumbnail file"),
    SIGN(0, "version https://git-lfs", STK_FOREIGN_UNKNOWN, "a Git LFS pointer: run 'git lfs pull'"),
    SIGN(0, "8BPS", STK_FOREIGN_UNKNOWN, "a Photoshop file"),
    SIGN(0, "\0\0\x01\0", STK_FOREIGN_UNKNOWN, "a Windows icon"),
    SIGN(0, "%PDF", STK_FOREIGN_UNKNOWN, "a PDF file"),
    SIGN(0, "PK\x03\x04", STK_FOREIGN_UNKNOWN, "a zip archive"),
    SIGN(0, "\x1f\x8b", STK_FOREIGN_UNKNOWN, "gzip data"),
    SIGN(0, "\x76\x2f\x31\x01", STK_FOREIGN_UNKNOWN, "an OpenEXR image"),
    SIGN(0, "\x93NUMPY", STK_FOREIGN_UNKNOWN, "a NumPy array"),
};

static bool is_markup(const char *text, size_t n, const char *word)
{
    size_t m = strlen(word);
    return n >= m && strncasecmp(text, word, m) == 0;
}

static const char *text_kind(const uint8_t *data, size_t n_bytes)
{
    const char *text = (const char *)data;
    size_t n = n_bytes < 256 ? n_bytes : 256;
    while (n > 0 && (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t'))
        text++, n--;
    if (is_markup(text, n, "<!doctype html") || is_markup(text, n, "<html")) return "an HTML page";
    if (is_markup(text, n, "<svg") || is_markup(text, n, "<?xml")) return "XML text";
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\r' && text[i] != '\t')
            return NULL;
    return n > 0 ? "text" : NULL;
}

stk_foreign stk_foreign_of(const uint8_t *data, size_t n_bytes, const char **what)
{
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++) {
        const signature *s = &SIGNATURES[i];
        if (n_bytes < s->offset + s->n_bytes || memcmp(data + s->offset, s->bytes, s->n_bytes) != 0) continue;
        *what = s->what;
        return s->kind;
    }
    *what = text_kind(data, n_bytes);
    return STK_FOREIGN_UNKNOWN;
}
