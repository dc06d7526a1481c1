/* SPDX-License-Identifier: Apache-2.0
 *
 * From raw cells to typed columns. A CSV column gets a number type only when every field is the very text
 * that the number prints as ("001", "1.10" stay text); JSON values have their types already. "name:type"
 * overrides convert whatever can be converted, and say which line cannot. */
#ifndef STK_PACKER_COLUMN_TYPE_H
#define STK_PACKER_COLUMN_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/columns.h>

#include "packer/manifest_rows.h"
#include "packer/table.h"

/* What a column could be, narrowed by each value seen. Start with stk_guess_begin. */
typedef struct stk_guess {
    uint32_t possible;
    uint64_t n_values;             /* neither null nor empty */
    uint64_t n_nulls;              /* JSON nulls and missing keys */
    uint64_t n_empty;              /* empty CSV fields */
    uint64_t min_items, max_items; /* of lists */
    bool below;                    /* a whole number below -1, which is no label */
    uint64_t inner;                /* length of every list within lists; 0: none seen */
} stk_guess;
void stk_guess_begin(stk_guess *guess);
void stk_guess_see(stk_guess *guess, const stk_raw_cell *cell);

/* Type and n_items that fit all values seen. */
void stk_guess_result(const stk_guess *guess, stk_type *type, uint32_t *n_items);

/* Parses the type of an override: "int32", "float32[4]", "float32[]", "string" ... */
stk_status stk_column_type_parse(const char *text, stk_type *type, uint32_t *n_items, stk_error *error);

/* Appends the cell to a column of whatever type. Errors say what does not fit (the caller adds where).
 * scratch is kept between calls. */
stk_status stk_column_convert(stk_table_column *column, const stk_raw_cell *cell, stk_buffer *scratch,
                              stk_error *error);

/* The cell as text: a field or string itself, another JSON value as JSON text. *is_null for null. */
stk_status stk_raw_cell_text(const stk_raw_cell *cell, stk_buffer *out, bool *is_null, stk_error *error);

#endif
