/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures in a tar as sources, grouped as WebDataset does: members that follow each other and agree up to the
 * first dot of the name are one sample; .cls is the label, .json and .txt become columns; class names
 * are those that stoker export left as an extended attribute (reader/export_tar.c). Without any .cls the
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

enum { READ_STEP = 256 << 10, MAX_SIDE = 1 << 20, MAX_CLASSES = 64 << 20, N_SIDES = 2, MAX_KINDS = 5, MAX_KIND = 24 };
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
    stk_buffer classes; /* as stoker export wrote them: their number and names, each with its zero */
    uint64_t n, n_labels;
    uint64_t n_untaken;                  /* members of no use here */
    uint64_t n_lonely;                   /* samples without a picture */
    char kinds[MAX_KINDS][MAX_KIND];     /* of the untaken: the first few different ends of names */
    uint32_t n_kinds;
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
        bool had_some = s->label >= 0;
        for (int k = 0; k < N_SIDES; k++) had_some |= s->side[k] != NULL;
        l->n_lonely += had_some;
        clear_sample(s);
        return STK_OK;
    }
    uint64_t end = stk_spool_bytes(&l->store->spool);
    STK_TRY(stk_buffer_append(&l->store->ends, &end, sizeof end, error));
    STK_TRY(stk_buffer_append(&l->names, s->picture, strlen(s->picture) + 1, error));
    STK_TRY(stk_buffer_append(&l->labels, &s->label, sizeof s->label, error));
    l->n_labels += s->label >= 0;
    for (int k = 0; k < N_SIDES; k++) {
        bool is_null = s->side[k] == NULL;
        STK_TRY(stk_table_column_add(&l->table->columns[k], is_null ? "" : s->side[k], s->n_side[k], is_null, error));
        if (!is_null) l->has_side[k] = true;
    }
    l->n++;
    clear_sample(s);
    return STK_OK;
}

static stk_status read_side(struct archive *a, const char *name, char **out, size_t *n_out, stk_error *error)
{
    char *text = malloc(MAX_SIDE + 1);
    if (text == NULL) return stk_fail_memory(error, "a tar member");
    la_ssize_t n = archive_read_data(a, text, MAX_SIDE);
    if (n < 0) {
        free(text);
        return stk_fail(error, STK_ERR_CORRUPT, "%s", archive_error_string(a));
    }
    char more;
    if (n == MAX_SIDE && archive_read_data(a, &more, 1) > 0) {
        free(text);
        return stk_fail(error, STK_ERR_LIMIT, "%s: over 1 MiB, more than a column takes; leave it out of the tar", name);
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
    STK_TRY(read_side(a, l->current.key, &text, &n, error));
    long long value = strtoll(text, &end, 10);
    end += strspn(end, " \t\r\n");
    bool ok = n > 0 && *end == '\0' && value >= 0;
    if (ok) l->current.label = value;
    free(text);
    return ok ? STK_OK : stk_fail(error, STK_ERR_UNSUPPORTED, "%s.cls: is no class number", l->current.key);
}

static void count_untaken(listing *l, const char *end)
{
    char kind[MAX_KIND];
    snprintf(kind, sizeof kind, "%s", end != NULL ? end : "without an extension");
    l->n_untaken++;
    l->sources->n_special++;
    for (uint32_t k = 0; k < l->n_kinds; k++)
        if (strcmp(l->kinds[k], kind) == 0) return;
    if (l->n_kinds < MAX_KINDS) memcpy(l->kinds[l->n_kinds++], kind, sizeof kind);
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
        if (strcmp(dot + 1, SIDES[k]) == 0) return read_side(a, name, &s->side[k], &s->n_side[k], error);
    if (s->picture == NULL && is_picture_name(name)) return read_picture(l, a, name, error);
    if (base[0] != '.') count_untaken(l, dot); /* .DS_Store and the like are nobody's loss */
    return STK_OK;
}

static stk_status keep_classes(listing *l, struct archive_entry *entry, stk_error *error)
{
    const char *name;
    const void *value;
    size_t n;
    archive_entry_xattr_reset(entry);
    while (archive_entry_xattr_next(entry, &name, &value, &n) == ARCHIVE_OK)
        if (strcmp(name, "user.stoker.classes") == 0 && l->classes.n_bytes < MAX_CLASSES) STK_TRY(stk_buffer_append(&l->classes, value, n, error));
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
            if (name != NULL && archive_entry_filetype(entry) != AE_IFDIR) count_untaken(l, "links and the like");
            continue;
        }
        while (name[0] == '/' || (name[0] == '.' && name[1] == '/')) name++;
        STK_GOTO(keep_classes(l, entry, error));
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

/* What of the tar is not in the output, and which records have no label, in a sentence each. */
static stk_status take_notes(listing *l, stk_error *error)
{
    char text[400];
    int at = 0;
    if (l->n_untaken > 0) {
        at = snprintf(text, sizeof text, "%llu members were left out, being no first picture, .cls, .json or .txt of a sample:",
                      (unsigned long long)l->n_untaken);
        for (uint32_t k = 0; k < l->n_kinds; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s %s", k > 0 ? "," : "", l->kinds[k]);
    }
    if (l->n_lonely > 0)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s%llu samples have no picture; members of a sample must follow each other in the tar",
                       at > 0 ? "; " : "", (unsigned long long)l->n_lonely);
    if (at > 0 && (l->sources->member_note = strdup(text)) == NULL) return stk_fail_memory(error, "a note");
    if (l->n_labels == 0 || l->n_labels == l->n) return STK_OK;
    snprintf(text, sizeof text, "%llu of %llu samples have no .cls: they get no label",
             (unsigned long long)(l->n - l->n_labels), (unsigned long long)l->n);
    l->sources->label_note = strdup(text);
    return l->sources->label_note != NULL ? STK_OK : stk_fail_memory(error, "a note");
}

/* Folders as classes: each sample's innermost folder. Without any there are no labels; a picture beside the folders is none
 * of the data set, as in a folder of class folders. */
static stk_status label_by_folder(listing *l, stk_error *error)
{
    stk_sources *out = l->sources;
    char **folders = calloc((size_t)l->n + 1, sizeof *folders);
    char **names = calloc((size_t)l->n + 1, sizeof *names);
    uint8_t *states = calloc((size_t)l->n + 1, sizeof *states);
    stk_status status = STK_OK;
    uint32_t n = 0, kept = 0;
    if (folders == NULL || names == NULL || states == NULL) goto no_memory;
    const char *name = (const char *)l->names.data;
    for (uint64_t i = 0; i < l->n; i++, name += strlen(name) + 1) {
        const char *slash = strrchr(name, '/');
        states[i] = slash == NULL ? STK_SOURCE_NO_CLASS : STK_SOURCE_FILE;
        if (slash == NULL) continue;
        folders[i] = strndup(name, (size_t)(slash - name));
        if (folders[i] == NULL) goto no_memory;
        names[n++] = folders[i];
    }
    if (n == 0) goto cleanup;
    qsort(names, n, sizeof *names, compare_names);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || strcmp(names[kept - 1], names[i]) != 0) names[kept++] = names[i];
    out->class_names = calloc((size_t)kept + 1, sizeof *out->class_names);
    if (out->class_names == NULL) goto no_memory;
    for (; out->n_classes < kept; out->n_classes++) {
        out->class_names[out->n_classes] = strdup(names[out->n_classes]);
        if (out->class_names[out->n_classes] == NULL) goto no_memory;
    }
    for (uint64_t i = 0; i < l->n; i++) {
        if (folders[i] == NULL) continue;
        char **found = bsearch(&folders[i], out->class_names, kept, sizeof *found, compare_names);
        out->labels[i] = found - out->class_names;
    }
    out->has_labels = true;
    out->states = states;
    states = NULL;
    goto cleanup;
no_memory:
    status = stk_fail_memory(error, "class names");
cleanup:
    for (uint64_t i = 0; folders != NULL && i < l->n; i++) free(folders[i]);
    free(folders);
    free(names);
    free(states);
    return status;
}

static uint32_t count_zeros(const stk_buffer *text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text->n_bytes; i++) n += text->data[i] == 0;
    return n;
}

/* The names that came with the tar, where they are whole and name every label; else a note. */
static stk_status name_classes(listing *l, stk_error *error)
{
    stk_sources *out = l->sources;
    if (l->classes.n_bytes == 0) return STK_OK;
    STK_TRY(stk_buffer_append(&l->classes, "", 1, error)); /* whatever it holds, it ends */
    const char *name = (const char *)l->classes.data;
    long long n = strtoll(name, NULL, 10);
    bool whole = n > 0 && n <= UINT32_MAX && count_zeros(&l->classes) == (uint64_t)n + 2;
    for (uint64_t i = 0; i < l->n; i++) whole = whole && out->labels[i] < n;
    if (!whole) {
        free(out->label_note);
        out->label_note = strdup("the tar's class names do not fit its samples: labels are numbers without names");
        return out->label_note != NULL ? STK_OK : stk_fail_memory(error, "a note");
    }
    out->class_names = calloc((size_t)n, sizeof *out->class_names);
    if (out->class_names == NULL) return stk_fail_memory(error, "class names");
    for (; out->n_classes < n; out->n_classes++) {
        name += strlen(name) + 1;
        out->class_names[out->n_classes] = strdup(name);
        if (out->class_names[out->n_classes] == NULL) return stk_fail_memory(error, "class names");
    }
    return STK_OK;
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
    STK_GOTO(take_notes(&l, error));
    if (l.n_labels > 0) STK_GOTO(name_classes(&l, error));
    out->root = strdup(path);
    if (out->root == NULL) status = stk_fail_memory(error, "a path");
cleanup:
    clear_sample(&l.current);
    stk_buffer_free(&l.names);
    stk_buffer_free(&l.labels);
    stk_buffer_free(&l.classes);
    stk_table_free(l.table);
    if (status != STK_OK) stk_sources_free(out);
    return status;
}
