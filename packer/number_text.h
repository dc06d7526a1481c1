/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text: which texts say nothing more than the number (so that a typed column loses nothing), and
 * reading them, whatever the process's locale. */
#ifndef STK_PACKER_NUMBER_TEXT_H
#define STK_PACKER_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when printing the integer gives this very text: "7", "-12"; not "007", "+7", "-0". */
bool stk_text_is_i64(const char *text, size_t n, int64_t *value);
bool stk_text_is_u64(const char *text, size_t n, uint64_t *value);

/* True when the text is a plain decimal number whose digits are the shortest that read back as the same
 * double, trailing zeros aside only in "12.0" and integers: "0.5", "-3", "1e-05"; not "0.50", "1.10", ".5".
 */
bool stk_text_is_f64(const char *text, size_t n);

/* Reads any decimal floating-point number, inf and nan; the whole text must be used. The text must end in a
 * zero byte. */
bool stk_text_f64(const char *text, size_t n, double *value);

/* IEEE half precision, rounded to nearest even. */
uint16_t stk_f16_of(double value);

#endif
