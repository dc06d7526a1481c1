/* SPDX-License-Identifier: Apache-2.0 */
#include "format/folder.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/folder_manifest.h"
#include "format/shard_reader.h"

typedef struct folder {
    stk_storage head;
    char *path;
    stk_manifest manifest;
    _Atomic(stk_storage *) *shards; /* NULL = not touched yet; no locks, as index_reader.h */
} folder;

static void folder_close(stk_storage *self)
{
    folder *f = (folder *)self;
    for (uint32_t i = 0; f->shards != NULL && i < f->manifest.n_shards; i++) {
        stk_storage *shard = atomic_load_explicit(&f->shards[i], memory_order_relaxed);
        stk_storage_close(&shard);
    }
    free(f->shards);
    stk_manifest_close(&f->manifest);
    free(f->path);
    free(f);
}

static bool same_columns(const folder *f, const stk_storage *shard)
{
    if (shard->n_columns != f->manifest.n_columns) return false;
    for (uint32_t i = 0; i < shard->n_columns; i++) {
        const stk_column *a = &shard->columns[i], *b = &f->manifest.columns[i];
        if (strcmp(a->name, b->name) != 0 || a->type != b->type || a->n_items != b->n_items ||
            a->nullable != b->nullable)
            return false;
    }
    return true;
}

/* A shard of another data set, or of an earlier state of this one, is not read as if it belonged here. */
static stk_status check_shard(const folder *f, const stk_manifest_shard *want, const stk_storage *shard,
                              stk_error *error)
{
    const char *what = NULL;
    if (strcmp(shard->id, want->id) != 0)
        what = "its id is another";
    else if (shard->total_bytes != want->n_bytes)
        what = "its size is another";
    else if (shard->n_rows != want->n_rows)
        what = "its number of records is another";
    else if (stk_shard_first_record(shard) != want->first_row)
        what = "its place in the data set is another";
    else if (shard->n_table_sets != want->n_table_sets)
        what = "its number of table sets is another";
    else if (!same_columns(f, shard))
        what = "its columns are others";
    if (what == NULL) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s/%s: does not belong to this data set (%s than in %s); copy the whole "
                    "folder again",
                    f->path, want->file, what, STK_FOLDER_MANIFEST);
}

static stk_status open_shard(folder *f, uint32_t number, stk_storage **out, stk_error *error)
{
    const stk_manifest_shard *want = &f->manifest.shards[number];
    stk_buffer path = {0};
    stk_storage *opened = NULL, *before = NULL;
    stk_status status;
    STK_GOTO(stk_buffer_printf(&path, error, "%s/%s", f->path, want->file));
    STK_GOTO(stk_shard_open((const char *)path.data, NULL, &opened, error));
    STK_GOTO(check_shard(f, want, opened, error));
    if (atomic_compare_exchange_strong_explicit(&f->shards[number], &before, opened, memory_order_acq_rel,
                                                memory_order_acquire)) {
        *out = opened;
        opened = NULL;
    } else {
        *out = before;
    }
cleanup:
    stk_storage_close(&opened);
    stk_buffer_free(&path);
    return status;
}

static stk_status get_shard(folder *f, uint32_t number, stk_storage **out, stk_error *error)
{
    *out = atomic_load_explicit(&f->shards[number], memory_order_acquire);
    if (__builtin_expect(*out != NULL, 1)) return STK_OK;
    return open_shard(f, number, out, error);
}

/* The shard that holds row i: the last one whose first row is not beyond it. */
static uint32_t shard_of(const folder *f, uint64_t i)
{
    uint32_t low = 0, high = f->manifest.n_shards;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (f->manifest.shards[middle].first_row <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static stk_status folder_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error)
{
    folder *f = (folder *)self;
    stk_storage *shard;
    uint32_t number = shard_of(f, i);
    const stk_manifest_shard *at = &f->manifest.shards[number];
    STK_TRY(get_shard(f, number, &shard, error));
    STK_TRY(shard->ops->row(shard, i - at->first_row, out, error));
    out->file = number;
    if (out->tables != 0) out->tables += at->first_table_set;
    return STK_OK;
}

static stk_status folder_file(stk_storage *self, uint32_t number, stk_file *out, uint64_t *n_bytes,
                              stk_error *error)
{
    folder *f = (folder *)self;
    stk_storage *shard;
    if (number >= f->manifest.n_shards)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: no shard number %u", f->path, number);
    STK_TRY(get_shard(f, number, &shard, error));
    return shard->ops->file(shard, 0, out, n_bytes, error);
}

static stk_status folder_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                               stk_value *out, stk_error *error)
{
    folder *f = (folder *)self;
    stk_storage *shard;
    if (column >= self->n_columns || i >= self->n_rows)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: no column %u or no record %llu", f->path, column,
                        (unsigned long long)i);
    uint32_t number = shard_of(f, i);
    STK_TRY(get_shard(f, number, &shard, error));
    return shard->ops->value(shard, column, i - f->manifest.shards[number].first_row, buffer, capacity, out,
                             error);
}

/* Each shard of a pack holds the sets that its records need, under the same numbers, so that a shard that is lost or damaged
 * takes no other shard's records with it. */
static stk_status folder_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                                stk_error *error)
{
    folder *f = (folder *)self;
    bool found = false;
    stk_status first = stk_fail(error, STK_ERR_ARGUMENT, "%s: no table set number %u", f->path, set);
    for (uint32_t i = 0; i < f->manifest.n_shards; i++) {
        const stk_manifest_shard *at = &f->manifest.shards[i];
        stk_storage *shard;
        stk_error bad = {0};
        if (set < at->first_table_set || set - at->first_table_set >= at->n_table_sets) continue;
        stk_status status = get_shard(f, i, &shard, &bad);
        if (status == STK_OK) status = shard->ops->tables(shard, set - at->first_table_set, blob, n_bytes, &bad);
        if (status == STK_OK) return STK_OK;
        if (!found) first = stk_fail(error, status, "%s", bad.text);
        if (status == STK_ERR_MEMORY) return stk_fail(error, status, "%s", bad.text);
        found = true;
    }
    return first;
}

/* Findings of a shard, numbered as in the whole data set. */
typedef struct shard_findings {
    stk_storage_issue_fn fn;
    void *user;
    const stk_manifest_shard *at;
    uint32_t number;
} shard_findings;

static void pass_on(void *user, const stk_storage_issue *issue)
{
    const shard_findings *f = user;
    stk_storage_issue whole = *issue;
    whole.file = f->number;
    if (whole.record != UINT64_MAX) whole.record += f->at->first_row;
    f->fn(f->user, &whole);
}

/* A shard that cannot be opened is a finding; the others are looked at all the same. */
static stk_status folder_check(stk_storage *self, stk_storage_issue_fn fn, void *user, stk_error *error)
{
    folder *f = (folder *)self;
    for (uint32_t i = 0; i < f->manifest.n_shards; i++) {
        stk_error found;
        stk_storage *shard;
        shard_findings findings = {.fn = fn, .user = user, .at = &f->manifest.shards[i], .number = i};
        stk_status status = get_shard(f, i, &shard, &found);
        if (status == STK_OK) {
            STK_TRY(shard->ops->check(shard, pass_on, &findings, error));
            continue;
        }
        if (status == STK_ERR_MEMORY) return stk_fail(error, status, "%s", found.text);
        stk_storage_issue issue = {.record = UINT64_MAX, .file = i, .reason = found.text};
        fn(user, &issue);
    }
    return STK_OK;
}

static stk_status folder_check_record(stk_storage *self, uint64_t i, stk_error *error)
{
    folder *f = (folder *)self;
    stk_storage *shard;
    uint32_t number = shard_of(f, i);
    STK_TRY(get_shard(f, number, &shard, error));
    return shard->ops->check_record(shard, i - f->manifest.shards[number].first_row, error);
}

static const stk_storage_ops folder_ops = {.name = "stk-folder",
                                           .close = folder_close,
                                           .row = folder_row,
                                           .file = folder_file,
                                           .value = folder_value,
                                           .tables = folder_tables,
                                           .check = folder_check,
                                           .check_record = folder_check_record};

static void fill_head(folder *f)
{
    stk_storage *head = &f->head;
    const stk_manifest *m = &f->manifest;
    head->ops = &folder_ops;
    head->n_rows = m->n_rows;
    head->total_bytes = m->n_bytes;
    head->n_files = m->n_shards;
    head->n_columns = m->n_columns;
    head->columns = m->columns;
    head->n_classes = m->metadata.n_classes;
    head->class_names = m->metadata.class_names;
    head->metadata = m->metadata.text;
    head->has_labels = m->has_labels;
    head->n_table_sets = m->n_table_sets;
    memcpy(head->id, m->id, sizeof head->id);
}

stk_status stk_folder_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                           stk_error *error)
{
    (void)options; /* salvage is for single shards: a folder's order needs every shard whole */
    *out = NULL;
    folder *f = calloc(1, sizeof *f);
    if (f == NULL) return stk_fail_memory(error, "a folder");
    stk_status status = STK_OK;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    f->path = strndup(path, n);
    if (f->path == NULL) {
        status = stk_fail_memory(error, "a folder");
        goto cleanup;
    }
    STK_GOTO(stk_manifest_open_folder(&f->manifest, f->path, error));
    f->shards = calloc(f->manifest.n_shards + (size_t)1, sizeof *f->shards);
    if (f->shards == NULL) {
        status = stk_fail_memory(error, "a folder");
        goto cleanup;
    }
    fill_head(f);
    *out = &f->head;
    f = NULL;
cleanup:
    if (f != NULL) folder_close(&f->head);
    return status;
}
