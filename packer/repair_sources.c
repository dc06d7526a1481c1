/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/repair_sources.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/pack_source.h"
#include "packer/recipe_text.h"
#include "packer/source_store.h"

static stk_patient *find_record(stk_patients *p, uint64_t record)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->items[middle].record < record)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->n && p->items[low].record == record ? &p->items[low] : NULL;
}

static stk_status take_paths(const stk_history *history, stk_patients *patients, stk_error *error)
{
    stk_buffer scratch = {0};
    stk_status status = STK_OK;
    stk_history_entry entry;
    size_t at = history->first_line;
    STK_GOTO(stk_history_room(history, &scratch, error));
    while (stk_history_next(history, &at, &scratch, &entry)) {
        if (entry.fate != STK_FATE_RECORD || !entry.has_xxh3) continue;
        stk_patient *p = find_record(patients, entry.record);
        if (p == NULL || p->path != NULL) continue;
        p->source_bytes = entry.size;
        p->source_xxh3 = entry.xxh3;
        p->path = strdup(entry.path);
        if (p->path == NULL) {
            status = stk_fail_memory(error, "a path");
            goto cleanup;
        }
    }
cleanup:
    stk_buffer_free(&scratch);
    return status;
}

stk_status stk_healer_open(const char *dst, stk_patients *patients, stk_healer *out, stk_error *error)
{
    char path[PATH_MAX];
    *out = (stk_healer){0};
    if ((size_t)snprintf(path, sizeof path, "%s.sources", dst) >= sizeof path)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", dst);
    stk_error why;
    stk_status status = stk_history_open(path, &out->history, &why);
    if (status == STK_OK) status = stk_recipe_read(out->history.recipe, &out->options, &why);
    if (status == STK_ERR_MEMORY) return stk_fail_memory(error, "the list of sources");
    if (status != STK_OK) {
        snprintf(out->why_not, sizeof out->why_not, "there is no list of sources (%.200s)", why.text);
        return STK_OK;
    }
    out->has_history = true;
    /* Whether there was to be a record was decided then. */
    out->options.on_damaged = STK_DAMAGED_KEEP;
    return take_paths(&out->history, patients, error);
}

/* A path from DST.sources must stay below the folder that it is relative to. */
static bool stays_below(const char *path)
{
    if (path[0] == '/' || path[0] == '\0') return false;
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    }
    return true;
}

/* The patients' files as a list of their own. */
static stk_status list_folder(stk_healer *h, const char *from, stk_patients *patients, stk_error *error)
{
    stk_buffer names = {0};
    stk_status status = STK_OK;
    uint64_t n = 0;
    for (size_t i = 0; i < patients->n; i++) {
        stk_patient *p = &patients->items[i];
        if (p->path == NULL || !stays_below(p->path)) continue;
        STK_GOTO(stk_buffer_append(&names, p->path, strlen(p->path) + 1, error));
        p->position = n++;
    }
    STK_GOTO(stk_store_list(&h->sources, from, &names, n, error));
    h->sources.root = strdup(from);
    if (h->sources.root == NULL) status = stk_fail_memory(error, "a path");
cleanup:
    stk_buffer_free(&names);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp((*(stk_patient *const *)a)->path, (*(stk_patient *const *)b)->path);
}

/* Goes once through a list that may be long, looking each entry up among the patients. */
static stk_status match(stk_healer *h, stk_patients *patients, stk_error *error)
{
    stk_patient **sorted = calloc(patients->n + 1, sizeof *sorted);
    if (sorted == NULL) return stk_fail_memory(error, "the list of damaged records");
    size_t n = 0;
    for (size_t i = 0; i < patients->n; i++)
        if (patients->items[i].path != NULL) sorted[n++] = &patients->items[i];
    qsort(sorted, n, sizeof *sorted, compare_paths);
    for (uint64_t i = 0; i < h->sources.n; i++) {
        char path[PATH_MAX];
        stk_source source;
        stk_sources_get(&h->sources, i, &source);
        if (stk_source_path(&h->sources, &source, path, sizeof path) >= sizeof path) continue;
        stk_patient key = {.path = path}, *wanted = &key;
        stk_patient **found = bsearch(&wanted, sorted, n, sizeof *sorted, compare_paths);
        if (found == NULL) continue;
        while (found > sorted && strcmp(found[-1]->path, path) == 0) found--;
        for (; found < sorted + n && strcmp((*found)->path, path) == 0; found++)
            if ((*found)->position == UINT64_MAX) (*found)->position = i;
    }
    free(sorted);
    return STK_OK;
}

static stk_status list_store(stk_healer *h, const char *from, const char *dst, stk_patients *patients,
                             stk_error *error)
{
    stk_pack_source source;
    stk_scan_watch watch = {0};
    stk_status status;
    STK_GOTO(stk_pack_source_find(from, dst, &h->options, &source, error));
    STK_GOTO(stk_pack_source_list(&source, &h->options, watch, &h->sources, error));
    STK_GOTO(match(h, patients, error));
cleanup:
    stk_pack_source_free(&source);
    return status;
}

stk_status stk_healer_find(stk_healer *h, const char *from, const char *dst, stk_patients *patients,
                           stk_error *error)
{
    struct stat st;
    if (from == NULL) {
        if (h->has_history)
            snprintf(h->why_not, sizeof h->why_not, "it was not said where the sources lie (--from)");
        return STK_OK;
    }
    if (stat(from, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot open the sources", from);
    if (!h->has_history || patients->n == 0) return STK_OK;
    h->has_sources = true;
    return S_ISDIR(st.st_mode) ? list_folder(h, from, patients, error)
                               : list_store(h, from, dst, patients, error);
}

static void end_shard(stk_healer *h)
{
    if (h->open) stk_record_maker_close(&h->maker);
    h->open = false;
    stk_tile_tables_close(&h->tables);
}

void stk_healer_close(stk_healer *h)
{
    end_shard(h);
    if (h->has_sources) stk_sources_free(&h->sources);
    stk_history_close(&h->history);
    *h = (stk_healer){0};
}

stk_status stk_healer_begin_shard(stk_healer *h, stk_storage *shard, stk_error *error)
{
    const uint8_t *blob;
    size_t n_bytes;
    end_shard(h);
    if (!h->has_sources) return STK_OK;
    if (shard->n_table_sets > 0) {
        STK_TRY(shard->ops->tables(shard, 0, &blob, &n_bytes, error));
        STK_TRY(stk_tile_tables_open(blob, n_bytes, &h->tables, error));
    }
    h->recipe = (stk_recipe){.options = &h->options, .tables = h->tables};
    STK_TRY(stk_record_maker_open(&h->recipe, &h->sources, &h->maker, error));
    h->open = true;
    return STK_OK;
}

static const char *why_no_record(const stk_patient *p, const stk_product *product)
{
    if (!product->source_read) return product->reason[0] != '\0' ? product->reason : "its source is no image now";
    if (product->source_bytes != p->source_bytes || product->source_xxh3 != p->source_xxh3)
        return "its source has changed";
    return product->fate != STK_FATE_RECORD ? product->reason : "its source gives other bytes now";
}

stk_status stk_healer_make(stk_healer *h, const stk_patient *p, const uint8_t **payload, char why[256],
                           stk_error *error)
{
    *payload = NULL;
    const char *reason = NULL;
    stk_product product;
    stk_source source;
    if (!h->open)
        reason = h->why_not;
    else if (p->path == NULL)
        reason = "the list of sources does not name its source";
    else if (p->position == UINT64_MAX)
        reason = "its source is not there";
    if (reason == NULL) {
        stk_sources_get(&h->sources, p->position, &source);
        STK_TRY(stk_record_make(&h->maker, &source, &product, error));
        const stk_record *r = &product.record;
        if (product.fate == STK_FATE_RECORD && product.source_xxh3 == p->source_xxh3 && r->xxh3 == p->row.xxh3 &&
            r->n_bytes == p->row.n_bytes && r->encoding == (p->row.encoding & ~(unsigned)STK_ENCODING_DEAD))
            *payload = r->payload;
        else
            reason = why_no_record(p, &product);
    }
    if (*payload == NULL) snprintf(why, 256, "%s", reason);
    return STK_OK;
}
