/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/source_store.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

stk_status stk_store_list(stk_sources *sources, const char *path, stk_buffer *names, uint64_t n, stk_error *error)
{
    if (n > UINT32_MAX || names->n_bytes > UINT32_MAX)
        return stk_fail(error, STK_ERR_LIMIT, "%s: more entries than one list can hold; split the file", path);
    stk_source_dir *dir = stk_sources_add_dir(sources);
    if (dir == NULL) return stk_fail_memory(error, "the list of sources");
    dir->path = strdup("");
    dir->names = malloc(names->n_bytes + 1);
    dir->offsets = malloc(((size_t)n + 1) * sizeof *dir->offsets);
    if (dir->path == NULL || dir->names == NULL || dir->offsets == NULL)
        return stk_fail_memory(error, "the list of sources");
    if (names->n_bytes > 0) memcpy(dir->names, names->data, names->n_bytes);
    uint32_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        dir->offsets[i] = at;
        at += (uint32_t)strlen(dir->names + at) + 1;
    }
    dir->n = (uint32_t)n;
    stk_sources_number(sources);
    return STK_OK;
}
