/* SPDX-License-Identifier: Apache-2.0
 *
 * All files below a folder, found by the end of their path: by name, or by name without extension. */
#ifndef STK_PACKER_FILE_INDEX_H
#define STK_PACKER_FILE_INDEX_H

#include "packer/sources.h"

#include <stoker/dataset.h>

typedef struct stk_file_index stk_file_index;

stk_status stk_file_index_open(const char *root, stk_file_index **out, stk_error *error);
void stk_file_index_close(stk_file_index **index);

/* `path`: a name, perhaps with folders before it, perhaps without extension. *state becomes FILE and `name`
 * the file's path relative to the root (zero-terminated) when exactly one file fits; else MISSING or
 * AMBIGUOUS. */
stk_status stk_file_index_find(const stk_file_index *index, const char *path, stk_buffer *name,
                               stk_source_state *state, stk_error *error);

#endif
