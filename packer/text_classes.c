/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/text_classes.h"

#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "packer/name_order.h"

stk_status stk_text_classes(stk_string_set *set, int64_t *labels, uint64_t n_rows, stk_sources *out, stk_error *error)
{
    uint32_t n = set->names.n;
    stk_status status = STK_OK;
    if (n == 0) return STK_OK;
    uint32_t *sorted = malloc(n * sizeof *sorted), *rank = malloc(n * sizeof *rank);
    out->class_names = calloc(n, sizeof *out->class_names);
    if (sorted == NULL || rank == NULL || out->class_names == NULL) {
        status = stk_fail_memory(error, "class names");
        goto cleanup;
    }
    memcpy(sorted, set->names.offsets, n * sizeof *sorted);
    STK_GOTO(stk_names_sort(set->names.text, sorted, n, error));
    for (uint32_t i = 0; i < n; i++) {
        const char *name = set->names.text + sorted[i];
        uint32_t number;
        STK_GOTO(stk_string_set_add(set, name, strlen(name), &number, error));
        rank[number] = i;
        out->class_names[out->n_classes] = strdup(name);
        if (out->class_names[out->n_classes] == NULL) {
            status = stk_fail_memory(error, "class names");
            goto cleanup;
        }
        out->n_classes++;
    }
    for (uint64_t row = 0; row < n_rows; row++)
        if (labels[row] >= 0) labels[row] = rank[labels[row]];
cleanup:
    free(sorted);
    free(rank);
    return status;
}
