/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/append.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "format/folder.h"
#include "packer/string_set.h"

static stk_status join(const char *folder, const char *name, char out[PATH_MAX], stk_error *error)
{
    int n = snprintf(out, PATH_MAX, "%s%s", folder, name);
    if (n >= 0 && n < PATH_MAX) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", folder);
}

/* ---- What is there. */

static stk_status refuse(const stk_job *job, const stk_pack_options *o, stk_error *error)
{
    if (!job->folder)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "%s: is one file; --append adds to a folder of shards (written with DST/)", job->dst);
    if (o->n_parts > 0)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append and --part: pack and merge the parts to a data set of their own, or append them one "
                        "after the other as folders");
    if (o->shuffle)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append and --shuffle: the whole would not be shuffled; loaders shuffle what they read");
    return STK_OK;
}

static stk_status read_history(const char *dst, stk_append *out, stk_error *error)
{
    char path[PATH_MAX];
    STK_TRY(join(dst, ".sources", path, error));
    stk_status status = stk_history_open(path, &out->history, NULL);
    if (status == STK_ERR_MEMORY) return stk_fail_memory(error, "the list of sources");
    out->has_history = status == STK_OK && strcmp(out->history.dataset_id, out->manifest.id) == 0;
    return STK_OK;
}

stk_status stk_append_open(const stk_job *job, const stk_pack_options *o, stk_append *out, stk_error *error)
{
    stk_status status;
    STK_GOTO(refuse(job, o, error));
    STK_GOTO(stk_manifest_open_folder(&out->manifest, job->dst, error));
    out->before = calloc(out->manifest.n_shards + (size_t)1, sizeof *out->before);
    if (out->before == NULL) {
        status = stk_fail_memory(error, "the list of shards");
        goto cleanup;
    }
    for (uint32_t i = 0; i < out->manifest.n_shards; i++)
        out->before[i] = stk_folder_shard_of(&out->manifest.shards[i]);
    out->first_number = stk_manifest_next_number(&out->manifest);
    STK_GOTO(read_history(job->dst, out, error));
cleanup:
    return status;
}

void stk_append_close(stk_append *a)
{
    free(a->before);
    stk_manifest_close(&a->manifest);
    stk_history_close(&a->history);
    *a = (stk_append){0};
}

stk_status stk_append_begin(stk_append *a, uint64_t job_id, bool force, const char *dst, stk_error *error)
{
    snprintf(a->job, sizeof a->job, "%016llx", (unsigned long long)job_id);
    for (uint32_t i = 0; i < a->manifest.n_shards && !force; i++) {
        const stk_manifest_shard *s = &a->manifest.shards[i];
        if (s->job == NULL || strcmp(s->job, a->job) != 0) continue;
        return stk_fail(error, STK_ERR_EXISTS,
                        "%s/%s: these files were appended already with these options; --force adds them once more", dst,
                        s->file);
    }
    return STK_OK;
}

static stk_status list_known(const stk_history *history, stk_string_set *known, stk_error *error)
{
    stk_buffer scratch = {0};
    stk_history_entry entry;
    uint32_t number;
    size_t at = history->first_line;
    stk_status status;
    STK_GOTO(stk_history_room(history, &scratch, error));
    while (stk_history_next(history, &at, &scratch, &entry))
        if (entry.fate == STK_FATE_RECORD) STK_GOTO(stk_string_set_add(known, entry.path, strlen(entry.path), &number, error));
cleanup:
    stk_buffer_free(&scratch);
    return status;
}

stk_status stk_append_count_known(const stk_append *a, const stk_sources *sources, uint64_t *n, stk_error *error)
{
    stk_string_set known = {0};
    char path[PATH_MAX];
    stk_status status = STK_OK;
    *n = 0;
    if (!a->has_history) return STK_OK;
    STK_GOTO(list_known(&a->history, &known, error));
    uint32_t n_known = (uint32_t)known.names.n;
    for (uint64_t i = 0; i < sources->n; i++) {
        stk_source source;
        uint32_t number;
        stk_sources_get(sources, i, &source);
        size_t length = stk_source_path(sources, &source, path, sizeof path);
        if (length >= sizeof path) continue;
        STK_GOTO(stk_string_set_add(&known, path, length, &number, error));
        *n += number < n_known;
    }
cleanup:
    stk_string_set_free(&known);
    if (status != STK_ERR_LIMIT) return status;
    *n = 0; /* more names than a set takes: it is only a note */
    return STK_OK;
}

/* ---- Classes. */

static int compare_names(const void *a, const void *b)
{
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

/* The union: the data set's names, then those that only the sources have; map[k] is the new label of class k. */
static stk_status unite(const stk_metadata *m, stk_sources *s, char **names, uint32_t *n_names, int64_t *map,
                        stk_error *error)
{
    const char ***sorted = calloc(m->n_classes + (size_t)1, sizeof *sorted);
    stk_status status = STK_OK;
    if (sorted == NULL) return stk_fail_memory(error, "class names");
    for (*n_names = 0; *n_names < m->n_classes; ++*n_names) {
        names[*n_names] = strdup(m->class_names[*n_names]);
        if (names[*n_names] == NULL) goto no_memory;
        sorted[*n_names] = &m->class_names[*n_names];
    }
    qsort(sorted, m->n_classes, sizeof *sorted, compare_names);
    for (uint32_t k = 0; k < s->n_classes; k++) {
        const char *name = s->class_names[k];
        const char **key = &name, ***found = bsearch(&key, sorted, m->n_classes, sizeof *sorted, compare_names);
        map[k] = found != NULL ? *found - m->class_names : (int64_t)*n_names;
        if (found != NULL) continue;
        names[*n_names] = strdup(name);
        if (names[*n_names] == NULL) goto no_memory;
        ++*n_names;
    }
    goto cleanup;
no_memory:
    status = stk_fail_memory(error, "class names");
cleanup:
    free(sorted);
    return status;
}

static void relabel(stk_sources *s, const int64_t *map)
{
    for (size_t d = 0; d < s->n_dirs; d++)
        if (s->dirs[d].label >= 0) s->dirs[d].label = map[s->dirs[d].label];
    for (uint64_t i = 0; s->labels != NULL && i < s->n; i++)
        if (s->labels[i] >= 0) s->labels[i] = map[s->labels[i]];
}

static void free_names(char **names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

stk_status stk_append_classes(const stk_append *a, stk_sources *s, stk_error *error)
{
    const stk_metadata *m = &a->manifest.metadata;
    if (a->manifest.has_labels != s->has_labels)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        a->manifest.has_labels
                            ? "--append: the data set has labels, the sources have none (class folders, or a label "
                              "column, are needed)"
                            : "--append: the data set has no labels, the sources have (--label-column '' leaves them "
                              "out)");
    if ((m->n_classes > 0) != (s->n_classes > 0))
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append: the labels of the data set are %s, those of the sources %s",
                        m->n_classes > 0 ? "class names" : "numbers", m->n_classes > 0 ? "numbers" : "class names");
    if (s->n_classes == 0) return STK_OK;
    char **names = calloc((size_t)m->n_classes + s->n_classes, sizeof *names);
    int64_t *map = calloc(s->n_classes, sizeof *map);
    uint32_t n_names = 0;
    stk_status status = names != NULL && map != NULL ? unite(m, s, names, &n_names, map, error)
                                                     : stk_fail_memory(error, "class names");
    if (status == STK_OK) {
        relabel(s, map);
        char **old = s->class_names;
        uint32_t n_old = s->n_classes;
        s->class_names = names;
        s->n_classes = n_names;
        names = old;
        n_names = n_old;
    }
    if (names != NULL) free_names(names, n_names);
    free(map);
    return status;
}

/* ---- Parameters and columns. */

/* Are all members but the classes the same? Else STK_ERR_ARGUMENT with the first that is not. */
static stk_status compare_objects(const char *before_text, const char *now_text, stk_error *error)
{
    stk_json *before = NULL, *now = NULL;
    stk_buffer a = {0}, b = {0};
    const char *key;
    const stk_json *value;
    void *position = NULL;
    stk_status status;
    STK_GOTO(stk_json_parse(before_text, strlen(before_text), &before, error));
    STK_GOTO(stk_json_parse(now_text, strlen(now_text), &now, error));
    while (status == STK_OK && stk_json_next(now, &position, &key, &value)) {
        if (strcmp(key, "classes") == 0) continue;
        a.n_bytes = b.n_bytes = 0;
        const stk_json *old = stk_json_get(before, key);
        if (old != NULL) STK_GOTO(stk_json_print(old, &a, error));
        STK_GOTO(stk_json_print(value, &b, error));
        if (a.n_bytes == b.n_bytes && memcmp(a.data, b.data, a.n_bytes) == 0) continue;
        status = stk_fail(error, STK_ERR_ARGUMENT,
                          "--append: the data set was packed with %s %.*s, this would be %.*s; give the same options",
                          key, a.n_bytes == 0 ? 6 : (int)a.n_bytes, a.n_bytes == 0 ? "absent" : (const char *)a.data,
                          (int)b.n_bytes, (const char *)b.data);
    }
    if (status == STK_OK && stk_json_len(before) != stk_json_len(now))
        status = stk_fail(error, STK_ERR_ARGUMENT, "--append: the data set was packed with other options");
cleanup:
    stk_json_close(&before);
    stk_json_close(&now);
    stk_buffer_free(&a);
    stk_buffer_free(&b);
    return status;
}

static stk_status check_column(const stk_column *want, stk_column *c, stk_error *error)
{
    if (strcmp(want->name, c->name) != 0)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append: the data set has a column '%s' where the sources have '%s'; the same columns in the "
                        "same order are needed",
                        want->name, c->name);
    if (want->type != c->type || want->n_items != c->n_items)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append: column '%s' is %s in the data set and %s in the sources; --column '%s:%s' may help",
                        c->name, stk_type_name(want->type), stk_type_name(c->type), c->name, stk_type_name(want->type));
    if (c->nullable && !want->nullable)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--append: column '%s' has empty values in the sources, but never in the data set", c->name);
    c->nullable = want->nullable;
    c->dictionary = want->dictionary;
    return STK_OK;
}

stk_status stk_append_check(const stk_append *a, const char *metadata, const char *recipe, stk_column *columns,
                            uint32_t n_columns, stk_error *error)
{
    STK_TRY(compare_objects(a->manifest.metadata.text, metadata, error));
    if (a->has_history) STK_TRY(compare_objects(a->history.recipe, recipe, error));
    for (uint32_t c = 0; c < n_columns && c < a->manifest.n_columns; c++)
        STK_TRY(check_column(&a->manifest.columns[c], &columns[c], error));
    if (n_columns == a->manifest.n_columns) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "--append: the data set has %u columns, the sources %u",
                    a->manifest.n_columns, n_columns);
}

void stk_append_output(const stk_append *a, stk_output_options *o)
{
    o->before = a->before;
    o->n_before = a->manifest.n_shards;
    o->first_record = a->manifest.n_rows;
    o->first_number = a->first_number;
    o->first_table_set = a->manifest.n_table_sets;
    o->labels_before = a->manifest.has_labels;
    o->job = a->job;
}
