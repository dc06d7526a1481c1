/* SPDX-License-Identifier: Apache-2.0
 *
 * Several storages as one: the rows of the first, then those of the second ... */
#ifndef STK_FORMAT_CONCAT_H
#define STK_FORMAT_CONCAT_H

#include "format/storage.h"

/* parts stay the caller's and must stay open as long as *out. Classes are joined by name, in the order in which they
 * first appear; columns by name: rows of a part without one are null. STK_ERR_ARGUMENT: parts that do not go together
 * (a column of two types, class names in one and plain numbers in another). */
stk_status stk_concat_open(stk_storage *const *parts, uint32_t n_parts, stk_storage **out, stk_error *error);

#endif
