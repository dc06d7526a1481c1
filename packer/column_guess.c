/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/utf8.h"
#include "packer/column_type.h"
#include "packer/number_text.h"

/* Ways to store a column, best first; a value excludes those that would lose something of it. */
enum {
    MAY_BOOL = 1 << 0,
    MAY_I64 = 1 << 1,
    MAY_U64 = 1 << 2,
    MAY_F64 = 1 << 3,
    MAY_LIST_I64 = 1 << 4,
    MAY_LIST_F64 = 1 << 5,
    MAY_STRING = 1 << 6,
    MAY_BYTES = 1 << 7,
    /* CSV spells booleans in one way throughout, or they are text. */
    MAY_True = 1 << 8,
    MAY_true = 1 << 9,
    MAY_TRUE = 1 << 10,
    MAY_ANY_CASE = MAY_True | MAY_true | MAY_TRUE,
    MAY_ALL = (1 << 11) - 1
};

void stk_guess_begin(stk_guess *guess)
{
    *guess = (stk_guess){.possible = MAY_ALL, .min_items = UINT64_MAX};
}

static uint32_t text_kinds(const char *text, size_t n)
{
    return (stk_utf8_valid(text, n) ? MAY_STRING : 0u) | MAY_BYTES;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static uint32_t field_kinds(stk_guess *guess, const char *text, size_t n)
{
    uint32_t kinds = text_kinds(text, n);
    int64_t i;
    uint64_t u;
    if (is_word(text, n, "True") || is_word(text, n, "False")) return kinds | MAY_BOOL | MAY_True;
    if (is_word(text, n, "true") || is_word(text, n, "false")) return kinds | MAY_BOOL | MAY_true;
    if (is_word(text, n, "TRUE") || is_word(text, n, "FALSE")) return kinds | MAY_BOOL | MAY_TRUE;
    if (stk_text_is_i64(text, n, &i)) {
        kinds |= MAY_I64;
        guess->below = guess->below || i < -1;
    }
    if (stk_text_is_u64(text, n, &u)) kinds |= MAY_U64;
    if (stk_text_is_f64(text, n)) kinds |= MAY_F64;
    return kinds;
}

static bool fits_double(const stk_json *node)
{
    int64_t i;
    if (stk_json_kind_of(node) == STK_JSON_REAL) return true;
    return stk_json_i64(node, &i) && i >= -((int64_t)1 << 53) && i <= (int64_t)1 << 53;
}

/* Numbers of a list, lists within it flattened when all have one length. */
static uint32_t list_kinds(stk_guess *guess, const stk_json *list, bool nested, uint64_t *n_items)
{
    uint32_t kinds = MAY_LIST_I64 | MAY_LIST_F64;
    size_t n = stk_json_len(list);
    for (size_t i = 0; i < n; i++) {
        const stk_json *item = stk_json_at(list, i);
        int64_t value;
        if (stk_json_kind_of(item) == STK_JSON_ARRAY && !nested) {
            uint64_t inner = stk_json_len(item);
            if (inner == 0 || (guess->inner != 0 && guess->inner != inner)) return 0;
            guess->inner = inner;
            kinds &= list_kinds(guess, item, true, n_items);
            continue;
        }
        if (!nested && guess->inner != 0) return 0; /* lists and numbers side by side */
        if (!stk_json_i64(item, &value)) kinds &= ~(uint32_t)MAY_LIST_I64;
        if (!fits_double(item)) kinds &= ~(uint32_t)MAY_LIST_F64;
        (*n_items)++;
    }
    return kinds;
}

static uint32_t node_kinds(stk_guess *guess, const stk_json *node)
{
    uint32_t kinds = MAY_STRING | MAY_BYTES; /* as JSON text */
    int64_t i;
    uint64_t u, n_items = 0;
    switch (stk_json_kind_of(node)) {
    case STK_JSON_BOOL: return kinds | MAY_BOOL | MAY_ANY_CASE;
    case STK_JSON_INTEGER:
    case STK_JSON_UNSIGNED:
    case STK_JSON_REAL:
        if (stk_json_i64(node, &i)) {
            kinds |= MAY_I64;
            guess->below = guess->below || i < -1;
        }
        if (stk_json_u64(node, &u)) kinds |= MAY_U64;
        return kinds | (fits_double(node) ? MAY_F64 : 0u);
    case STK_JSON_ARRAY:
        kinds |= list_kinds(guess, node, false, &n_items);
        if (n_items < guess->min_items) guess->min_items = n_items;
        if (n_items > guess->max_items) guess->max_items = n_items;
        return kinds;
    default: return kinds;
    }
}

void stk_guess_see(stk_guess *guess, const stk_raw_cell *cell)
{
    switch (cell->kind) {
    case STK_RAW_NULL: guess->n_nulls++; return;
    case STK_RAW_FIELD:
        if (cell->n_bytes == 0) {
            guess->n_empty++;
            return;
        }
        guess->possible &= field_kinds(guess, cell->text, cell->n_bytes);
        break;
    case STK_RAW_STRING: guess->possible &= text_kinds(cell->text, cell->n_bytes); break;
    case STK_RAW_NODE: guess->possible &= node_kinds(guess, cell->node); break;
    }
    guess->n_values++;
}

void stk_guess_result(const stk_guess *guess, stk_type *type, uint32_t *n_items)
{
    uint32_t p = guess->possible;
    *n_items = 1;
    if (guess->n_values == 0) {
        *type = STK_TYPE_STRING;
    } else if ((p & MAY_BOOL) != 0 && (p & MAY_ANY_CASE) != 0) {
        *type = STK_TYPE_BOOL;
    } else if (p & MAY_I64) {
        *type = STK_TYPE_I64;
    } else if (p & MAY_U64) {
        *type = STK_TYPE_U64;
    } else if (p & MAY_F64) {
        *type = STK_TYPE_F64;
    } else if (p & (MAY_LIST_I64 | MAY_LIST_F64)) {
        *type = p & MAY_LIST_I64 ? STK_TYPE_I64 : STK_TYPE_F64;
        bool fixed =
            guess->min_items == guess->max_items && guess->max_items > 1 && guess->max_items < UINT32_MAX;
        *n_items = fixed ? (uint32_t)guess->max_items : 0;
    } else {
        *type = p & MAY_STRING ? STK_TYPE_STRING : STK_TYPE_BYTES;
    }
}
