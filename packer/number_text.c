/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool stk_text_is_u64(const char *text, size_t n, uint64_t *value)
{
    if (n == 0 || n > 20 || (n > 1 && text[0] == '0')) return false;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(text[i])) return false;
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
            return false;
    }
    *value = v;
    return true;
}

bool stk_text_is_i64(const char *text, size_t n, int64_t *value)
{
    bool negative = n > 0 && text[0] == '-';
    uint64_t magnitude;
    if (!stk_text_is_u64(text + negative, n - negative, &magnitude)) return false;
    if (negative && (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1)) return false;
    if (!negative && magnitude > INT64_MAX) return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* strtod takes its decimal point from the locale; a comma there would break "0.5". */
bool stk_text_f64(const char *text, size_t n, double *value)
{
    if (n == 0 || memchr(" \t\n\v\f\r", text[0], 6) != NULL) return false;
    char copy[512];
    if (n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const char *point = localeconv()->decimal_point;
    char *dot = strchr(copy, '.');
    if (dot != NULL && strcmp(point, ".") != 0) {
        if (strlen(point) != 1) return false;
        *dot = point[0];
    }
    char *end;
    *value = strtod(copy, &end);
    return end == copy + n;
}

/* The significant digits of a plain decimal number, its zeros at both ends removed. False when the text is
 * written in a way that printing the number would not give. */
static bool significant_digits(const char *text, size_t n, char digits[24], size_t *n_digits)
{
    const char *p = text, *end = text + n;
    *n_digits = 0;
    if (p < end && *p == '-') p++;
    const char *whole = p;
    size_t zeros = 0; /* kept back: only inner ones count */
    bool point = false;
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            if (p == whole) return false;
            point = true;
        } else if (*p == '0') {
            zeros += *n_digits > 0;
        } else {
            if (*n_digits + zeros + 1 > 20) return false;
            while (zeros > 0)
                digits[(*n_digits)++] = '0', zeros--;
            digits[(*n_digits)++] = *p;
        }
    }
    if (p == whole || (p - whole > 1 && whole[0] == '0' && whole[1] != '.')) return false;
    if (point && (p[-1] == '.' || (p[-1] == '0' && p[-2] != '.'))) return false;
    if (p == end) return true;
    if (*p != 'e' && *p != 'E') return false;
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    if (p == end) return false;
    for (; p < end; p++)
        if (!is_digit(*p)) return false;
    return true;
}

bool stk_text_is_f64(const char *text, size_t n)
{
    char digits[24], shortest[40];
    size_t n_digits;
    double value;
    if (n > 40 || !significant_digits(text, n, digits, &n_digits)) return false;
    if (!stk_text_f64(text, n, &value) || !isfinite(value)) return false;
    /* 0 means zero, not something too small; fifteen digits always survive a double and back. */
    if (n_digits == 0) return true;
    if (value == 0.0 || fabs(value) < 2.2250738585072014e-308) return false;
    if (n_digits <= 15) return true;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(shortest, sizeof shortest, "%.*e", precision - 1, value);
        if (strtod(shortest, NULL) == value) break;
    }
    size_t k = 0;
    for (const char *p = shortest; *p != 'e' && *p != '\0'; p++)
        if (is_digit(*p)) shortest[k++] = *p;
    while (k > 0 && shortest[k - 1] == '0')
        k--;
    return k == n_digits && memcmp(shortest, digits, k) == 0;
}

uint16_t stk_f16_of(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double a = fabs(value);
    if (isnan(value)) return 0x7e00;
    if (a >= 65520.0) return sign | 0x7c00;
    int exponent;
    (void)frexp(a, &exponent);
    if (exponent < -13) exponent = -13; /* subnormal halves share the smallest exponent */
    /* Units of the last place: 11 significant bits. Scaling by powers of two is exact; rint rounds to even.
     */
    double units = rint(ldexp(a, 11 - exponent));
    if (units >= 2048.0) {
        units /= 2.0;
        exponent++;
    }
    uint32_t bits = (uint32_t)units;
    if (bits < 1024) return (uint16_t)(sign | bits);
    return (uint16_t)(sign | (uint32_t)(exponent + 14) << 10 | (bits - 1024));
}
