/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that anybody may have chosen (file names, names of classes and columns) on its way to a terminal. */
#ifndef STK_TOOLS_SAFE_TEXT_H
#define STK_TOOLS_SAFE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes the bytes to out with '?' for each control character, those of ISO 6429 in UTF-8 (U+0080 to U+009F)
 * included: an escape sequence in the name of an image must not reach a terminal, nor a newline forge a message. */
void safe_text(FILE *out, const char *bytes, size_t n_bytes);

#endif
