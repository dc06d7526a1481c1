/* SPDX-License-Identifier: Apache-2.0
 *
 * Image files that are not packed, as a storage: row i is the i-th file of a list. For trying things out: each read
 * opens a file, and what an image is shows only in its own header. */
#ifndef STK_FORMAT_LOOSE_FILES_H
#define STK_FORMAT_LOOSE_FILES_H

#include "format/storage.h"

/* Everything of the list is copied. The id is of the names, labels and classes, not of the files' contents. */
stk_status stk_loose_files_open(const stk_file_list *list, stk_storage **out, stk_error *error);

#endif
