/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_to_u64(const char *text, uint64_t *out)
{
    /* strtoull takes signs and leading space; neither is a count. */
    if (text[0] < '0' || text[0] > '9') return false;
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0') return false;
    *out = value;
    return true;
}

bool cli_to_u32(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    if (!cli_to_u64(text, &value) || value > UINT32_MAX) return false;
    *out = (uint32_t)value;
    return true;
}

bool cli_to_real(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool cli_to_bytes(const char *text, uint64_t *out)
{
    static const char *const units[] = {"K", "M", "G", "T"};
    size_t digits = strspn(text, "0123456789");
    char number[24];
    if (digits == 0 || digits >= sizeof number) return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    uint64_t value = 0;
    if (!cli_to_u64(number, &value)) return false;
    const char *unit = text + digits;
    unsigned shift = 0;
    for (unsigned u = 0; u < 4 && shift == 0; u++)
        if (unit[0] == units[u][0] && (unit[1] == '\0' || strcmp(unit + 1, "iB") == 0)) shift = 10 * (u + 1);
    if ((shift == 0 && unit[0] != '\0') || value > UINT64_MAX >> shift) return false;
    *out = value << shift;
    return true;
}

bool cli_to_size(const char *text, uint32_t *width, uint32_t *height)
{
    const char *x = strchr(text, 'x');
    char first[12];
    if (x == NULL || (size_t)(x - text) >= sizeof first) return false;
    memcpy(first, text, (size_t)(x - text));
    first[x - text] = '\0';
    return cli_to_u32(first, width) && cli_to_u32(x + 1, height) && *width > 0 && *height > 0;
}

char *cli_bytes_text(uint64_t n_bytes, char *text)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n_bytes;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, CLI_BYTES_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

static bool in_range(const cli_option *option, double value)
{
    return (option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max);
}

static void say_range(const cli_option *option, const char *what, char *problem, size_t capacity)
{
    if (option->min == 0 && option->max == 0)
        snprintf(problem, capacity, "is not %s", what);
    else
        snprintf(problem, capacity, "is not %s from %.15g to %.15g", what, option->min, option->max);
}

static bool set_number(const cli_option *option, char *member, const char *value)
{
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    double real = 0;
    switch (option->kind) {
    case CLI_U32:
        if (!cli_to_u32(value, &u32) || !in_range(option, u32)) return false;
        memcpy(member, &u32, sizeof u32);
        return true;
    case CLI_U64:
    case CLI_BYTES:
        if (!(option->kind == CLI_U64 ? cli_to_u64(value, &u64) : cli_to_bytes(value, &u64)) ||
            !in_range(option, (double)u64))
            return false;
        memcpy(member, &u64, sizeof u64);
        return true;
    default:
        if (!cli_to_real(value, &real) || !in_range(option, real)) return false;
        memcpy(member, &real, sizeof real);
        return true;
    }
}

static bool set_choice(const cli_option *option, char *member, const char *value, char *problem,
                       size_t capacity)
{
    for (const cli_choice *choice = option->choices; choice->name != NULL; choice++)
        if (strcmp(choice->name, value) == 0) {
            memcpy(member, &choice->value, sizeof choice->value);
            return true;
        }
    int n = snprintf(problem, capacity, "is none of");
    for (const cli_choice *choice = option->choices; choice->name != NULL && n >= 0 && (size_t)n < capacity;
         choice++)
        n += snprintf(problem + n, capacity - (size_t)n, " %s", choice->name);
    return false;
}

static bool add_string(char *member, const char *value, char *problem, size_t capacity)
{
    cli_strings *strings = (cli_strings *)(void *)member;
    if (strings->n == CLI_MAX_STRINGS) {
        snprintf(problem, capacity, "is one too many: at most %d", CLI_MAX_STRINGS);
        return false;
    }
    strings->items[strings->n++] = value;
    return true;
}

bool cli_value_set(const cli_option *option, void *args, const char *value, char *problem, size_t capacity)
{
    char *member = (char *)args + option->offset;
    const char *wrong = NULL;
    problem[0] = '\0';
    switch (option->kind) {
    case CLI_STRING: memcpy(member, &value, sizeof value); return true;
    case CLI_STRINGS: return add_string(member, value, problem, capacity);
    case CLI_CHOICE: return set_choice(option, member, value, problem, capacity);
    case CLI_CUSTOM:
        wrong = option->parse(member, value);
        if (wrong != NULL) snprintf(problem, capacity, "%s", wrong);
        return wrong == NULL;
    case CLI_REAL: say_range(option, "a number", problem, capacity); return set_number(option, member, value);
    case CLI_BYTES:
        say_range(option, "a size (a number, optionally with KiB, MiB, GiB or TiB)", problem, capacity);
        return set_number(option, member, value);
    default: say_range(option, "a whole number", problem, capacity); return set_number(option, member, value);
    }
}
