/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets that are no container of their own: several joined, and files that are not packed. */
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "format/concat.h"
#include "format/loose_files.h"
#include "reader/dataset_internal.h"

/* Payloads that the parts have staged copies of, now or later, come from those. */
static stk_status read_from_copies(stk_dataset *d, const stk_dataset *const *parts, uint32_t n_parts, stk_error *error)
{
    const stk_payload_source **payloads = calloc(n_parts, sizeof *payloads);
    d->parts = calloc(n_parts, sizeof *d->parts);
    if (payloads == NULL || d->parts == NULL) {
        free((void *)payloads);
        return stk_fail_memory(error, "the joined data set");
    }
    for (uint32_t p = 0; p < n_parts; p++) {
        d->parts[p] = parts[p];
        payloads[p] = parts[p]->payload;
    }
    d->n_parts = n_parts;
    stk_status status = stk_payload_join(d->payload, payloads, n_parts, error);
    free((void *)payloads);
    return status;
}

stk_status stk_dataset_concat(const stk_dataset *const *parts, uint32_t n_parts, stk_dataset **out, stk_error *error)
{
    if (out == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (n_parts == 0) return stk_fail(error, STK_ERR_ARGUMENT, "no data set to join was given");
    stk_storage *joined = NULL, **storages = calloc(n_parts, sizeof *storages);
    if (storages == NULL) return stk_fail_memory(error, "the joined data set");
    uint32_t accepted_damage = 0;
    for (uint32_t p = 0; p < n_parts; p++) {
        storages[p] = parts[p]->source; /* a staged copy's has nothing to fall back on where it is damaged */
        accepted_damage |= parts[p]->accepted_damage;
    }
    stk_status status = stk_concat_open(storages, n_parts, &joined, error);
    free(storages);
    STK_TRY(status);
    STK_TRY(stk_dataset_over(joined, NULL, &parts[0]->options, out, error));
    (*out)->accepted_damage = accepted_damage;
    status = read_from_copies(*out, parts, n_parts, error);
    if (status != STK_OK) stk_dataset_close(out);
    return status;
}

void stk_dataset_stage_of_parts(const stk_dataset *d, stk_dataset_stage_info *out)
{
    bool same = true, copying = false, some = false;
    stk_dataset_stage(d->parts[0], out);
    const char *first = out->state;
    for (uint32_t p = 0; p < d->n_parts; p++) {
        stk_dataset_stage_info part;
        stk_dataset_stage(d->parts[p], &part);
        same = same && strcmp(part.state, first) == 0;
        copying = copying || strcmp(part.state, "copying") == 0;
        some = some || strcmp(part.state, "whole") == 0 || strcmp(part.state, "subset") == 0;
        if (p > 0) out->bytes += part.bytes;
        if (out->text[0] == '\0') out->text = part.text;
    }
    if (copying) out->state = "copying";
    else if (!same && some) out->state = "subset";
}

stk_status stk_dataset_open_files(const stk_file_list *list, const stk_dataset_options *options, stk_dataset **out,
                                  stk_error *error)
{
    stk_storage *storage = NULL;
    stk_dataset_options defaults;
    if (out == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (list == NULL || list->root == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "no folder was given");
    stk_dataset_options_init(&defaults);
    if (options == NULL) options = &defaults;
    STK_TRY(stk_dataset_options_check(options, error));
    STK_TRY(stk_loose_files_open(list, &storage, error));
    return stk_dataset_over(storage, NULL, options, out, error);
}
