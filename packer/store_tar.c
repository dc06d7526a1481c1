/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures in a tar as sources, grouped as WebDataset does: members that follow each other and agree up to the
 * first dot of the name are one sample; .cls is the label, .json and .txt become columns. Without any .cls the
 * folders in the tar are the classes. One pass lists it and keeps the pictures in an unnamed file beside the output,
 * since a compressed tar can only be read from the front. Names are only ever names here: nothing is extracted to
 * them, and links are left out. */
#include "packer/source_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/spool.h"
#include "packer/table.h"

enum { READ_STEP = 256 << 10, MAX_SIDE = 1 << 20, N_SIDES = 2 };
static const char *const SIDES[N_SIDES] = {"json", "txt"};

typedef struct store_tar {
    stk_source_store base;
    stk_spool spool;
    stk_buffer ends; /* uint64: where each picture ends in the spool */
    char *beside;    /* the path that the spool lies beside */
} store_tar;

typedef struct sample {
    char *key; /* NULL: none begun */
    char *picture;
    int64_t label;
    char *side[N_SIDES];
    size_t n_side[N_SIDES];
} sample;

typedef struct listing {
    stk_sources *sources;
    store_tar *store;
    stk_buffer names, labels;
    uint64_t n, n_labels;
    sample current;
    bool has_side[N_SIDES];
    stk_table *table;
} listing;

static stk_status read_entry(stk_source_store *self, uint64_t i, stk_buffer *out, stk_error *error)
{
    store_tar *t = (store_tar *)self;
    const uint64_t *ends = (const uint64_t *)(const void *)t->ends.data;
    uint64_t begin = i == 0 ? 0 : ends[i - 1];
    out->n_bytes = 0;
    STK_TRY(stk_buffer_resize(out, (size_t)(ends[i] - begin), error));
    return stk_spool_read(&t->spool, begin, out->data, out->n_bytes, error);
}

static uint64_t entry_size(stk_source_store *self, uint64_t i)
{
    const uint64_t *ends = (const uint64_t *)(const void *)((store_tar *)self)->ends.data;
    return i == 0 ? ends[0] : ends[i] - ends[i - 1];
}

static void close_store(stk_source_store *self)
{
    store_tar *t = (store_tar *)self;
    stk_spool_free(&t->spool);
    stk_buffer_free(&t->ends);
    free(t->beside);
    free(t);
}

static void clear_sample(sample *s)
{
    free(s->key);
    free(s->picture);
    for (int k = 0; k < N_SIDES; k++) free(s->side[k]);
    *s = (sample){.label = -1};
}

/* The sample is complete: a name, a label and a row of the table, when it has a picture. */
static stk_status end_sample(listing *l, stk_error *error)
{
    sample *s = &l->current;
    if (s->picture == NULL) {
        clear_sample(s);
        return STK_OK;
    }
    uint64_t end = stk_spool_bytes(&l->store->spool);
    STK_TRY(stk_buffer_append(&l->store->ends, &end, sizeof end, error));
    STK_TRY(stk_buffer_append(&l->names, s->picture, strlen(s->picture) + 1, error));
    STK_TRY(stk_buffer_append(&l->labels, &s->label, sizeof s->label, error));
    for (int k = 0; k < N_SIDES; k++) {
        bool is_null = s->side[k] == NULL;
        STK_TRY(stk_table_column_add(&l->table->columns[k], is_null ? "" : s->side[k], s->n_side[k], is_null, error));
        if (!is_null) l->has_side[k] = true;
    }
    l->n++;
    clear_sample(s);
    return STK_OK;
}

static stk_status read_side(struct archive *a, char **out, size_t *n_out, stk_error *error)
{
    char *text = malloc(MAX_SIDE + 1);
    if (text == NULL) return stk_fail_memory(error, "a tar member");
    la_ssize_t n = archive_read_data(a, text, MAX_SIDE);
    if (n < 0) {
        free(text);
        return stk_fail(error, STK_ERR_CORRUPT, "%s", archive_error_string(a));
    }
    text[n] = '\0';
    free(*out);
    *out = text;
    *n_out = (size_t)n;
    return STK_OK;
}

static stk_status read_picture(listing *l, struct archive *a, const char *name, stk_error *error)
{
    stk_buffer step = {0};
    stk_status status;
    la_ssize_t n;
    l->current.picture = strdup(name);
    if (l->current.picture == NULL) return stk_fail_memory(error, "a name");
    STK_GOTO(stk_buffer_resize(&step, READ_STEP, error));
    while ((n = archive_read_data(a, step.data, READ_STEP)) > 0)
        STK_GOTO(stk_spool_append(&l->store->spool, step.data, (size_t)n, error));
    if (n < 0) status = stk_fail(error, STK_ERR_CORRUPT, "%s: %s", name, archive_error_string(a));
cleanup:
    stk_buffer_free(&step);
    return status;
}

static bool is_picture_name(const char *name)
{
    size_t n = strlen(name);
    return stk_has_image_extension(name) || (n > 4 && strcmp(name + n - 4, ".npy") == 0);
}

static stk_status read_label(listing *l, struct archive *a, stk_error *error)
{
    char *text = NULL, *end = NULL;
    size_t n = 0;
    STK_TRY(read_side(a, &text, &n, error));
    long long value = strtoll(text, &end, 10);
    end += strspn(end, " \t\r\n");
    bool ok = n > 0 && *end == '\0' && value >= 0;
    if (ok) {
        l->current.label = value;
        l->n_labels++;
    }
    free(text);
    return ok ? STK_OK : stk_fail(error, STK_ERR_UNSUPPORTED, "%s.cls: is no class number", l->current.key);
}

static stk_status take_member(listing *l, struct archive *a, const char *name, stk_error *error)
{
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    const char *dot = strchr(base[0] == '.' && base[0] != '\0' ? base + 1 : base, '.');
    size_t n_key = dot != NULL ? (size_t)(dot - name) : strlen(name);
    sample *s = &l->current;
    if (s->key == NULL || strlen(s->key) != n_key || strncmp(s->key, name, n_key) != 0) {
        STK_TRY(end_sample(l, error));
        s->key = strndup(name, n_key);
        if (s->key == NULL) return stk_fail_memory(error, "a name");
    }
    if (dot != NULL && strcmp(dot, ".cls") == 0) return read_label(l, a, error);
    for (int k = 0; dot != NULL && k < N_SIDES; k++)
        if (strcmp(dot + 1, SIDES[k]) == 0) return read_side(a, &s->side[k], &s->n_side[k], error);
    if (s->picture == NULL && is_picture_name(name)) return read_picture(l, a, name, error);
    return STK_OK;
}

static stk_status read_all(listing *l, const char *path, stk_error *error)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    stk_status status = STK_OK;
    if (a == NULL) return stk_fail_memory(error, "a tar reader");
    archive_read_support_filter_all(a);
    archive_read_support_format_tar(a);
    int rc = archive_read_open_filename(a, path, READ_STEP);
    while (rc == ARCHIVE_OK && (rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        if (name == NULL || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != NULL) {
            l->sources->n_special++;
            continue;
        }
        while (name[0] == '/' || (name[0] == '.' && name[1] == '/')) name++;
        STK_GOTO(take_member(l, a, name, error));
    }
    if (rc != ARCHIVE_EOF) {
        status = stk_fail(error, STK_ERR_CORRUPT, "%s", archive_error_string(a));
        goto cleanup;
    }
    status = end_sample(l, error);
cleanup:
    archive_read_free(a);
    if (status != STK_OK) stk_fail_prefix(error, "%s: ", path);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folders as classes: each sample's innermost folder. */
static stk_status label_by_folder(listing *l, stk_error *error)
{
    stk_sources *out = l->sources;
    char **folders = calloc((size_t)l->n + 1, sizeof *folders);
    if (folders == NULL) return stk_fail_memory(error, "class names");
    stk_status status = STK_OK;
    bool all = true;
    uint64_t n = 0;
    const char *name = (const char *)l->names.data;
    for (; n < l->n; n++, name += strlen(name) + 1) {
        const char *slash = strrchr(name, '/');
        all = all && slash != NULL;
        folders[n] = strndup(name, slash != NULL ? (size_t)(slash - name) : 0);
        if (folders[n] == NULL) {
            status = stk_fail_memory(error, "class names");
            goto cleanup;
        }
    }
    if (!all) goto cleanup;
    out->class_names = calloc((size_t)n + 1, sizeof *out->class_names);
    if (out->class_names == NULL) {
        status = stk_fail_memory(error, "class names");
        goto cleanup;
    }
    memcpy(out->class_names, folders, (size_t)n * sizeof *folders);
    qsort(out->class_names, (size_t)n, sizeof *out->class_names, compare_names);
    uint32_t kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || strcmp(out->class_names[kept - 1], out->class_names[i]) != 0)
            out->class_names[kept++] = out->class_names[i];
    for (uint32_t k = 0; k < kept; k++) { /* copies: the others are freed below */
        out->class_names[k] = strdup(out->class_names[k]);
        if (out->class_names[k] == NULL) {
            status = stk_fail_memory(error, "class names");
            goto cleanup;
        }
        out->n_classes = k + 1;
    }
    for (uint64_t i = 0; i < n; i++) {
        char **found = bsearch(&folders[i], out->class_names, kept, sizeof *found, compare_names);
        out->labels[i] = found - out->class_names;
    }
    out->has_labels = true;
cleanup:
    for (uint64_t i = 0; i < n; i++) free(folders[i]);
    free(folders);
    return status;
}

/* Columns that no sample has are dropped. */
static stk_status take_table(listing *l, stk_error *error)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < N_SIDES; k++) {
        if (!l->has_side[k]) continue;
        if (kept != k) {
            stk_table_column empty = l->table->columns[kept];
            l->table->columns[kept] = l->table->columns[k];
            l->table->columns[k] = empty;
        }
        STK_TRY(stk_table_column_decide_dictionary(&l->table->columns[kept], error));
        kept++;
    }
    l->table->n_rows = l->n;
    if (kept < N_SIDES) { /* stk_table_free frees n_columns of them */
        for (uint32_t k = kept; k < N_SIDES; k++) {
            stk_table_column *c = &l->table->columns[k];
            free((char *)c->column.name);
            stk_buffer_free(&c->data);
            free(c->ends);
            free(c->nulls);
            *c = (stk_table_column){0};
        }
        l->table->n_columns = kept;
    }
    if (kept > 0) {
        l->sources->table = l->table;
        l->table = NULL;
    }
    return STK_OK;
}

static stk_status begin(listing *l, const char *beside, stk_error *error)
{
    store_tar *t = calloc(1, sizeof *t);
    if (t == NULL) return stk_fail_memory(error, "the source");
    t->base = (stk_source_store){read_entry, entry_size, close_store, false};
    t->spool.file = STK_FILE_CLOSED;
    l->store = t;
    l->sources->store = &t->base;
    l->current.label = -1;
    t->beside = strdup(beside);
    if (t->beside == NULL) return stk_fail_memory(error, "a path");
    stk_spool_init(&t->spool, t->beside);
    STK_TRY(stk_table_open(N_SIDES, &l->table, error));
    for (uint32_t k = 0; k < N_SIDES; k++)
        STK_TRY(stk_table_column_init(&l->table->columns[k], SIDES[k], STK_TYPE_STRING, 1, error));
    return STK_OK;
}

stk_status stk_store_tar(const char *path, const char *beside, stk_sources *out, stk_error *error)
{
    listing l = {.sources = out};
    stk_status status;
    *out = (stk_sources){0};
    STK_GOTO(begin(&l, beside, error));
    STK_GOTO(read_all(&l, path, error));
    if (l.n == 0) {
        status = stk_fail(error, STK_ERR_NOT_FOUND, "%s: no images found in the tar", path);
        goto cleanup;
    }
    STK_GOTO(stk_store_list(out, path, &l.names, l.n, error));
    out->labels = (int64_t *)(void *)l.labels.data; /* aligned_alloc memory: free() takes it */
    l.labels = (stk_buffer){0};
    out->has_labels = l.n_labels > 0;
    if (l.n_labels == 0) STK_GOTO(label_by_folder(&l, error));
    STK_GOTO(take_table(&l, error));
    out->root = strdup(path);
    if (out->root == NULL) status = stk_fail_memory(error, "a path");
cleanup:
    clear_sample(&l.current);
    stk_buffer_free(&l.names);
    stk_buffer_free(&l.labels);
    stk_table_free(l.table);
    if (status != STK_OK) stk_sources_free(out);
    return status;
}
