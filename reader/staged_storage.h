/* SPDX-License-Identifier: Apache-2.0
 *
 * A staged copy's payloads as a storage: the same files under the same numbers as the source's, for those ranges that
 * were staged. Rows, columns and metadata stay with whoever has the index. */
#ifndef STK_READER_STAGED_STORAGE_H
#define STK_READER_STAGED_STORAGE_H

#include <stdbool.h>

#include "format/storage.h"
#include "staging/staged.h"

/* like: the source's storage; whole: the copy opened as a data set, for payloads without a place of their own; NULL = only
 * a part was staged. Both are borrowed; staged is taken over on success. */
stk_status stk_staged_storage_open(stk_staged *staged, const stk_storage *like, stk_storage *whole, stk_storage **out,
                                   stk_error *error);

/* Whether the row's payload is in the copy. */
bool stk_staged_storage_has(const stk_storage *storage, const stk_row *row);

#endif
