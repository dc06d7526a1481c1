/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/merge_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/json.h"

/* What a part's metadata says: "part": [k, n], "whole": id, at its end (recipe_text.c). */
typedef struct part_claim {
    uint64_t number, of;
    char whole[17];
    size_t end; /* of the metadata before these members */
} part_claim;

static stk_status read_claim(const stk_part *part, part_claim *out, stk_error *error)
{
    stk_json *root = NULL;
    const char *text = part->storage->metadata;
    STK_TRY(stk_json_parse(text, strlen(text), &root, error));
    const stk_json *claim = stk_json_get(root, "part");
    const char *whole = stk_json_string(stk_json_get(root, "whole"), NULL);
    /* The members are ours and stand last: what is before them is the metadata of the whole. */
    const char *at = NULL;
    for (const char *next = strstr(text, ",\"part\":["); next != NULL; next = strstr(next + 1, ",\"part\":["))
        at = next;
    bool fine = stk_json_u64(stk_json_at(claim, 0), &out->number) &&
                stk_json_u64(stk_json_at(claim, 1), &out->of) && out->number >= 1 && out->number <= out->of &&
                whole != NULL && strlen(whole) == 16 && at != NULL;
    if (fine) {
        memcpy(out->whole, whole, sizeof out->whole);
        out->end = (size_t)(at - text);
    }
    stk_json_close(&root);
    if (fine) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: is no part: it was not packed with --part K/N", part->path);
}

/* The part's list of sources, where it has one that belongs to it. One that cannot be read now is an error: the whole
 * would silently go without its own. */
static stk_status read_history(stk_part *part, stk_error *error)
{
    char path[PATH_MAX];
    size_t n = strlen(part->path);
    while (n > 1 && part->path[n - 1] == '/')
        n--;
    if ((size_t)snprintf(path, sizeof path, "%.*s.sources", (int)n, part->path) >= sizeof path) return STK_OK;
    stk_status status = stk_history_open(path, &part->history, error);
    if (status == STK_ERR_NOT_FOUND || status == STK_ERR_CORRUPT) return STK_OK;
    STK_TRY(status);
    if (strcmp(part->history.dataset_id, part->storage->id) != 0) stk_history_close(&part->history);
    return STK_OK;
}

static bool same_columns(const stk_storage *a, const stk_storage *b)
{
    if (a->n_columns != b->n_columns) return false;
    for (uint32_t c = 0; c < a->n_columns; c++) {
        const stk_column *x = &a->columns[c], *y = &b->columns[c];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->n_items != y->n_items ||
            x->nullable != y->nullable || x->dictionary != y->dictionary)
            return false;
    }
    return true;
}

static stk_status same_tables(stk_storage *a, stk_storage *b, bool *same, stk_error *error)
{
    const uint8_t *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    *same = a->n_table_sets == b->n_table_sets && a->n_table_sets <= 1;
    if (!*same || a->n_table_sets == 0) return STK_OK;
    STK_TRY(a->ops->tables(a, 0, &x, &n, error));
    STK_TRY(b->ops->tables(b, 0, &y, &m, error));
    *same = n == m && memcmp(x, y, n) == 0;
    return STK_OK;
}

/* All parts of one pack? Names those that are not. */
static stk_status check_family(stk_merge_parts *parts, const part_claim *claims, stk_error *error)
{
    stk_buffer list = {0};
    stk_status status = STK_OK;
    stk_storage *first = parts->parts[0].storage;
    uint32_t n_strange = 0;
    for (uint32_t i = 1; i < parts->n; i++) {
        stk_storage *s = parts->parts[i].storage;
        bool same = claims[i].of == claims[0].of && strcmp(claims[i].whole, claims[0].whole) == 0 &&
                    claims[i].end == claims[0].end &&
                    memcmp(s->metadata, first->metadata, claims[0].end) == 0 && same_columns(first, s);
        if (same) STK_GOTO(same_tables(first, s, &same, error));
        if (!same)
            STK_GOTO(
                stk_buffer_printf(&list, error, "%s%s", n_strange++ > 0 ? ", " : "", parts->parts[i].path));
    }
    if (n_strange > 0)
        status = stk_fail(error, STK_ERR_ARGUMENT,
                          "not parts of the same pack as %s (other files or parameters): %s",
                          parts->parts[0].path, (const char *)list.data);
cleanup:
    stk_buffer_free(&list);
    return status;
}

/* Each number once? Names those that are missing or doubled. The parts are sorted by number. */
static stk_status check_complete(const stk_merge_parts *parts, uint64_t of, stk_error *error)
{
    stk_buffer list = {0};
    stk_status status = STK_OK;
    uint64_t expected = 1;
    for (uint32_t i = 0; i <= parts->n; i++) {
        uint64_t number = i < parts->n ? parts->parts[i].number : of + 1;
        if (i > 0 && i < parts->n && number == parts->parts[i - 1].number)
            STK_GOTO(stk_buffer_printf(&list, error, "%spart %llu is there twice (%s, %s)",
                                       list.n_bytes > 0 ? "; " : "", (unsigned long long)number,
                                       parts->parts[i - 1].path, parts->parts[i].path));
        if (number > expected + 1)
            STK_GOTO(stk_buffer_printf(&list, error, "%sparts %llu to %llu are missing",
                                       list.n_bytes > 0 ? "; " : "", (unsigned long long)expected,
                                       (unsigned long long)number - 1));
        else if (number == expected + 1)
            STK_GOTO(stk_buffer_printf(&list, error, "%spart %llu is missing", list.n_bytes > 0 ? "; " : "",
                                       (unsigned long long)expected));
        if (number >= expected) expected = number + 1;
    }
    if (list.n_bytes > 0)
        status = stk_fail(error, STK_ERR_ARGUMENT, "of %llu parts: %s", (unsigned long long)of,
                          (const char *)list.data);
cleanup:
    stk_buffer_free(&list);
    return status;
}

static int compare_parts(const void *a, const void *b)
{
    uint64_t x = ((const stk_part *)a)->number, y = ((const stk_part *)b)->number;
    return x < y ? -1 : x > y;
}

static stk_status set_whole(stk_merge_parts *parts, const part_claim *claim, stk_error *error)
{
    const char *text = parts->parts[0].storage->metadata;
    parts->metadata = malloc(claim->end + 2);
    if (parts->metadata == NULL) return stk_fail_memory(error, "metadata");
    memcpy(parts->metadata, text, claim->end);
    memcpy(parts->metadata + claim->end, "}", 2);
    memcpy(parts->whole, claim->whole, sizeof parts->whole);
    parts->check =
        strstr(parts->metadata, "\"check\":\"header\"") != NULL ? STK_CHECK_HEADER : STK_CHECK_DECODE;
    return STK_OK;
}

static stk_status open_all(const char *const *paths, stk_merge_parts *parts, part_claim *claims,
                           stk_error *error)
{
    parts->has_history = true;
    for (uint32_t i = 0; i < parts->n; i++) {
        stk_part *part = &parts->parts[i];
        part->path = paths[i];
        STK_TRY(stk_storage_open(paths[i], NULL, &part->storage, error));
        STK_TRY(read_claim(part, &claims[i], error));
        part->number = claims[i].number;
        STK_TRY(read_history(part, error));
        if (part->history.dataset_id == NULL) parts->has_history = false;
        parts->n_records += part->storage->n_rows;
    }
    STK_TRY(check_family(parts, claims, error));
    STK_TRY(set_whole(parts, &claims[0], error));
    if (parts->n > 1) qsort(parts->parts, parts->n, sizeof *parts->parts, compare_parts);
    STK_TRY(check_complete(parts, claims[0].of, error));
    if (parts->n_records == 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "no images found: all parts are empty");
    return STK_OK;
}

stk_status stk_merge_parts_open(const char *const *paths, uint32_t n, stk_merge_parts *out, stk_error *error)
{
    *out = (stk_merge_parts){.n = n};
    out->parts = calloc(n, sizeof *out->parts);
    part_claim *claims = calloc(n, sizeof *claims);
    stk_status status = out->parts == NULL || claims == NULL ? stk_fail_memory(error, "the list of parts")
                                                             : open_all(paths, out, claims, error);
    free(claims);
    return status;
}

void stk_merge_parts_close(stk_merge_parts *parts)
{
    for (uint32_t i = 0; parts->parts != NULL && i < parts->n; i++) {
        stk_storage_close(&parts->parts[i].storage);
        stk_history_close(&parts->parts[i].history);
    }
    free(parts->parts);
    free(parts->metadata);
    *parts = (stk_merge_parts){0};
}
