/* SPDX-License-Identifier: Apache-2.0 */
#include "format/concat.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/json.h"

typedef struct part {
    stk_storage *storage;
    uint64_t first_row;
    uint32_t first_file, first_tables;
    int64_t *labels;   /* of its classes; NULL: as they are */
    uint32_t *columns; /* [n_columns of the whole]; UINT32_MAX: it has none */
} part;

typedef struct concat {
    stk_storage head;
    part *parts;
    uint32_t n_parts;
    stk_column *columns;      /* names are the parts' */
    const char **class_names; /* the parts' too */
    stk_buffer metadata;
} concat;

static void concat_close(stk_storage *self)
{
    concat *c = (concat *)self;
    for (uint32_t p = 0; c->parts != NULL && p < c->n_parts; p++) {
        free(c->parts[p].labels);
        free(c->parts[p].columns);
    }
    free(c->parts);
    free(c->columns);
    free(c->class_names);
    stk_buffer_free(&c->metadata);
    free(c);
}

/* The part that holds row i: the last one whose first row is not beyond it. */
static const part *part_of(const concat *c, uint64_t i)
{
    uint32_t low = 0, high = c->n_parts;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->parts[middle].first_row <= i)
            low = middle;
        else
            high = middle;
    }
    return &c->parts[low];
}

/* ---- The storage's own calls. */

static stk_status concat_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error)
{
    const part *p = part_of((const concat *)self, i);
    STK_TRY(p->storage->ops->row(p->storage, i - p->first_row, out, error));
    out->file += p->first_file;
    if (out->tables != 0) out->tables += p->first_tables;
    if (p->labels == NULL || out->label < 0) return STK_OK;
    if (out->label >= (int64_t)p->storage->n_classes)
        return stk_fail(error, STK_ERR_CORRUPT, "label %lld of %u classes", (long long)out->label,
                        p->storage->n_classes);
    out->label = p->labels[out->label];
    return STK_OK;
}

static stk_status concat_file(stk_storage *self, uint32_t file, stk_file *out, uint64_t *n_bytes, stk_error *error)
{
    const concat *c = (const concat *)self;
    uint32_t p = c->n_parts - 1;
    while (p > 0 && (c->parts[p].first_file > file || c->parts[p].storage->n_files == 0))
        p--;
    stk_storage *s = c->parts[p].storage;
    return s->ops->file(s, file - c->parts[p].first_file, out, n_bytes, error);
}

static stk_status concat_fetch(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error)
{
    const part *p = part_of((const concat *)self, i);
    stk_row own = *row;
    own.file -= p->first_file;
    if (own.tables != 0) own.tables -= p->first_tables;
    return p->storage->ops->fetch(p->storage, i - p->first_row, &own, dst, error);
}

static stk_status concat_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                               stk_value *out, stk_error *error)
{
    const part *p = part_of((const concat *)self, i);
    if (column >= self->n_columns || i >= self->n_rows)
        return stk_fail(error, STK_ERR_ARGUMENT, "no column %u or no record %llu", column, (unsigned long long)i);
    if (p->columns[column] == UINT32_MAX) {
        *out = (stk_value){.is_null = true, .data = buffer};
        return STK_OK;
    }
    return p->storage->ops->value(p->storage, p->columns[column], i - p->first_row, buffer, capacity, out, error);
}

static stk_status concat_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                                stk_error *error)
{
    const concat *c = (const concat *)self;
    uint32_t p = c->n_parts - 1;
    while (p > 0 && (c->parts[p].first_tables > set || c->parts[p].storage->n_table_sets == 0))
        p--;
    stk_storage *s = c->parts[p].storage;
    return s->ops->tables(s, set - c->parts[p].first_tables, blob, n_bytes, error);
}

static const stk_storage_ops concat_ops = {.name = "concat",
                                           .close = concat_close,
                                           .row = concat_row,
                                           .file = concat_file,
                                           .fetch = concat_fetch,
                                           .value = concat_value,
                                           .tables = concat_tables};

/* ---- Opening. */

static uint32_t find_class(const concat *c, const char *name)
{
    uint32_t k = 0;
    while (k < c->head.n_classes && strcmp(c->class_names[k], name) != 0)
        k++;
    return k;
}

static stk_status join_classes_of(concat *c, part *p, stk_error *error)
{
    const stk_storage *s = p->storage;
    bool same = true;
    p->labels = malloc(((size_t)s->n_classes + 1) * sizeof *p->labels);
    if (p->labels == NULL) return stk_fail_memory(error, "classes");
    for (uint32_t k = 0; k < s->n_classes; k++) {
        uint32_t at = find_class(c, s->class_names[k]);
        if (at == c->head.n_classes) c->class_names[c->head.n_classes++] = s->class_names[k];
        p->labels[k] = at;
        same = same && at == k;
    }
    if (!same) return STK_OK;
    free(p->labels);
    p->labels = NULL;
    return STK_OK;
}

static stk_status join_classes(concat *c, stk_error *error)
{
    size_t most = 1;
    uint32_t named = UINT32_MAX, numbered = UINT32_MAX;
    for (uint32_t p = 0; p < c->n_parts; p++) {
        const stk_storage *s = c->parts[p].storage;
        most += s->n_classes;
        if (s->has_labels) *(s->n_classes > 0 ? &named : &numbered) = p;
        c->head.has_labels = c->head.has_labels || s->has_labels;
    }
    if (named != UINT32_MAX && numbered != UINT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "data set %u has named classes and data set %u plain numbers as labels; pack them alike", named,
                        numbered);
    c->class_names = calloc(most, sizeof *c->class_names);
    if (c->class_names == NULL) return stk_fail_memory(error, "classes");
    for (uint32_t p = 0; p < c->n_parts; p++)
        STK_TRY(join_classes_of(c, &c->parts[p], error));
    c->head.class_names = c->class_names;
    return STK_OK;
}

static stk_status join_column(concat *c, uint32_t number, uint32_t own, stk_error *error)
{
    part *p = &c->parts[number];
    const stk_column *column = &p->storage->columns[own];
    uint32_t at = 0;
    while (at < c->head.n_columns && strcmp(c->columns[at].name, column->name) != 0)
        at++;
    if (at == c->head.n_columns) {
        c->columns[c->head.n_columns++] = *column;
        c->columns[at].nullable = column->nullable || number > 0; /* those before it have none */
    }
    stk_column *joined = &c->columns[at];
    if (joined->type != column->type || joined->n_items != column->n_items)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "column '%s' is %s[%u] in one data set and %s[%u] in data set %u; pack them alike", column->name,
                        stk_type_name(joined->type), joined->n_items, stk_type_name(column->type), column->n_items,
                        number);
    joined->nullable = joined->nullable || column->nullable;
    p->columns[at] = own;
    return STK_OK;
}

static stk_status join_columns(concat *c, stk_error *error)
{
    size_t most = 1;
    for (uint32_t p = 0; p < c->n_parts; p++)
        most += c->parts[p].storage->n_columns;
    c->columns = calloc(most, sizeof *c->columns);
    if (c->columns == NULL) return stk_fail_memory(error, "columns");
    for (uint32_t p = 0; p < c->n_parts; p++) {
        c->parts[p].columns = malloc(most * sizeof *c->parts[p].columns);
        if (c->parts[p].columns == NULL) return stk_fail_memory(error, "columns");
        for (size_t k = 0; k < most; k++)
            c->parts[p].columns[k] = UINT32_MAX;
        for (uint32_t own = 0; own < c->parts[p].storage->n_columns; own++)
            STK_TRY(join_column(c, p, own, error));
    }
    for (uint32_t k = 0; k < c->head.n_columns; k++)
        for (uint32_t p = 0; p < c->n_parts; p++)
            if (c->parts[p].columns[k] == UINT32_MAX) c->columns[k].nullable = true;
    c->head.columns = c->columns;
    return STK_OK;
}

static stk_status sum_up(concat *c, stk_error *error)
{
    stk_storage *head = &c->head;
    for (uint32_t i = 0; i < c->n_parts; i++) {
        part *p = &c->parts[i];
        const stk_storage *s = p->storage;
        p->first_row = head->n_rows;
        p->first_file = head->n_files;
        p->first_tables = head->n_table_sets;
        if (s->n_rows > UINT64_MAX / 2 - head->n_rows || s->n_files > UINT32_MAX - head->n_files ||
            s->n_table_sets > UINT32_MAX - 1 - head->n_table_sets)
            return stk_fail(error, STK_ERR_LIMIT, "too many records or files in one data set");
        head->n_rows += s->n_rows;
        head->n_files += s->n_files;
        head->n_table_sets += s->n_table_sets;
        head->total_bytes += s->total_bytes;
        if (head->road == NULL) head->road = s->road;
        if (head->slow == NULL) head->slow = s->slow;
    }
    return STK_OK;
}

/* The metadata: the classes, and the ids of the parts; what else they say is theirs. */
static stk_status write_metadata(concat *c, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(&c->metadata, error);
    stk_jw_object(&w);
    stk_jw_key(&w, "version");
    stk_jw_u64(&w, 1);
    stk_jw_key(&w, "classes");
    stk_jw_array(&w);
    for (uint32_t k = 0; k < c->head.n_classes; k++)
        stk_jw_bytes(&w, c->class_names[k], strlen(c->class_names[k]));
    stk_jw_end_array(&w);
    stk_jw_key(&w, "concat");
    stk_jw_array(&w);
    for (uint32_t p = 0; p < c->n_parts; p++)
        stk_jw_string(&w, c->parts[p].storage->id);
    stk_jw_end_array(&w);
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    stk_hash128_text(stk_hash128_of(c->metadata.data, c->metadata.n_bytes), c->head.id);
    STK_TRY(stk_buffer_append(&c->metadata, "", 1, error));
    c->head.metadata = (const char *)c->metadata.data;
    return STK_OK;
}

stk_status stk_concat_open(stk_storage *const *parts, uint32_t n_parts, stk_storage **out, stk_error *error)
{
    *out = NULL;
    stk_status status = STK_OK;
    if (n_parts == 0) return stk_fail(error, STK_ERR_ARGUMENT, "no data set to join was given");
    concat *c = calloc(1, sizeof *c);
    if (c == NULL) return stk_fail_memory(error, "the joined data set");
    c->head.ops = &concat_ops;
    c->n_parts = n_parts;
    c->parts = calloc(n_parts, sizeof *c->parts);
    if (c->parts == NULL) {
        status = stk_fail_memory(error, "the joined data set");
        goto cleanup;
    }
    for (uint32_t p = 0; p < n_parts; p++)
        c->parts[p].storage = parts[p];
    STK_GOTO(sum_up(c, error));
    STK_GOTO(join_classes(c, error));
    STK_GOTO(join_columns(c, error));
    STK_GOTO(write_metadata(c, error));
    *out = &c->head;
    c = NULL;
cleanup:
    if (c != NULL) concat_close(&c->head);
    return status;
}
