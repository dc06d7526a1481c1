/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of options: text to numbers, sizes and choices, strictly (no trailing text, no silent wrap). */
#ifndef STK_TOOLS_CLI_VALUE_H
#define STK_TOOLS_CLI_VALUE_H

#include "cli.h"

/* Sets the option's member in args. On failure false, and problem ends a sentence "'VALUE' ...". */
bool cli_value_set(const cli_option *option, void *args, const char *value, char *problem, size_t capacity);

/* Each returns false when text is not wholly such a number, or too large. */
bool cli_to_u64(const char *text, uint64_t *out);
bool cli_to_u32(const char *text, uint32_t *out);
bool cli_to_real(const char *text, double *out);
bool cli_to_bytes(const char *text, uint64_t *out);
/* "WxH". */
bool cli_to_size(const char *text, uint32_t *width, uint32_t *height);

/* "1.5 GiB" and the like; text needs 16 bytes. Returns text. */
#define CLI_BYTES_TEXT 16
char *cli_bytes_text(uint64_t n_bytes, char *text);

#endif
