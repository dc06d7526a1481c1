/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/writer_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "format/array_layout.h"
#include "format/spool.h"
#include "packer/source_store.h"
#include "packer/table.h"

typedef struct entry {
    uint64_t end; /* in the spool */
    bool pixels;
} entry;

struct stk_writer_batch {
    stk_source_store base; /* first: the list's store is the batch itself */
    char *beside;
    stk_spool spool;
    stk_buffer entries; /* of type entry */
    stk_buffer names, labels;
    stk_sources sources;
    const stk_column *columns; /* of the table, for making it anew; kept by the writer */
    uint32_t n_columns;
};

static const entry *entry_at(const stk_writer_batch *b, uint64_t i)
{
    return (const entry *)(const void *)b->entries.data + i;
}

static uint64_t begin_of(const stk_writer_batch *b, uint64_t i)
{
    return i == 0 ? 0 : entry_at(b, i - 1)->end;
}

/* ---- The batch as a store. */

static stk_status read_entry(stk_source_store *self, uint64_t i, stk_buffer *out, stk_error *error)
{
    const stk_writer_batch *b = (const stk_writer_batch *)self;
    uint64_t begin = begin_of(b, i);
    out->n_bytes = 0;
    STK_TRY(stk_buffer_resize(out, (size_t)(entry_at(b, i)->end - begin), error));
    return stk_spool_read(&b->spool, begin, out->data, out->n_bytes, error);
}

static uint64_t entry_size(stk_source_store *self, uint64_t i)
{
    const stk_writer_batch *b = (const stk_writer_batch *)self;
    return entry_at(b, i)->end - begin_of(b, i);
}

static bool is_decoded(stk_source_store *self, uint64_t i)
{
    return entry_at((const stk_writer_batch *)self, i)->pixels;
}

static void keep_store(stk_source_store *self)
{
    (void)self; /* the batch outlives its list */
}

/* ---- Life. */

static stk_status copy_classes(const stk_writer_options *o, stk_sources *sources, stk_error *error)
{
    sources->class_names = calloc((size_t)o->n_classes + 1, sizeof *sources->class_names);
    if (sources->class_names == NULL) return stk_fail_memory(error, "class names");
    for (; sources->n_classes < o->n_classes; sources->n_classes++) {
        sources->class_names[sources->n_classes] = strdup(o->class_names[sources->n_classes]);
        if (sources->class_names[sources->n_classes] == NULL) return stk_fail_memory(error, "class names");
    }
    return STK_OK;
}

static stk_status open_table(stk_writer_batch *b, stk_error *error)
{
    stk_table_free(b->sources.table);
    b->sources.table = NULL;
    if (b->n_columns == 0) return STK_OK;
    STK_TRY(stk_table_open(b->n_columns, &b->sources.table, error));
    for (uint32_t c = 0; c < b->n_columns; c++)
        STK_TRY(stk_table_column_init(&b->sources.table->columns[c], b->columns[c].name, b->columns[c].type,
                                      b->columns[c].n_items, error));
    return STK_OK;
}

stk_status stk_writer_batch_open(const char *beside, const stk_writer_options *o, stk_writer_batch **out,
                                 stk_error *error)
{
    *out = NULL;
    stk_status status = STK_OK;
    stk_writer_batch *b = calloc(1, sizeof *b);
    if (b == NULL) return stk_fail_memory(error, "the writer");
    b->base = (stk_source_store){read_entry, entry_size, keep_store, is_decoded};
    b->columns = o->columns;
    b->n_columns = o->n_columns;
    b->beside = strdup(beside);
    b->sources.root = strdup(beside);
    if (b->beside == NULL || b->sources.root == NULL) {
        status = stk_fail_memory(error, "a path");
        goto cleanup;
    }
    stk_spool_init(&b->spool, b->beside);
    STK_GOTO(copy_classes(o, &b->sources, error));
    STK_GOTO(open_table(b, error));
    b->sources.store = &b->base;
    *out = b;
    b = NULL;
cleanup:
    stk_writer_batch_close(&b);
    return status;
}

void stk_writer_batch_close(stk_writer_batch **batch)
{
    stk_writer_batch *b = *batch;
    if (b == NULL) return;
    b->sources.labels = NULL; /* lies in the buffer */
    stk_sources_free(&b->sources);
    stk_spool_free(&b->spool);
    stk_buffer_free(&b->entries);
    stk_buffer_free(&b->names);
    stk_buffer_free(&b->labels);
    free(b->beside);
    free(b);
    *batch = NULL;
}

/* ---- Filling. */

/* What stands before the item's bytes, so that the whole reads as a file: a PNM's head, an array's header. */
static stk_status append_head(stk_writer_batch *b, const stk_item *item, stk_error *error)
{
    char text[64];
    stk_buffer head = {0};
    stk_status status = STK_OK;
    if (item->kind == STK_ITEM_PIXELS) {
        int n = snprintf(text, sizeof text, "P%c %u %u 255\n", item->channels == 1 ? '5' : '6', item->width,
                         item->height);
        return stk_spool_append(&b->spool, text, (size_t)n, error);
    }
    if (item->kind != STK_ITEM_ARRAY) return STK_OK;
    STK_GOTO(stk_array_put_header(item->dtype, item->n_dims, item->shape, &head, error));
    STK_GOTO(stk_spool_append(&b->spool, head.data, head.n_bytes, error));
cleanup:
    stk_buffer_free(&head);
    return status;
}

static stk_status append_name(stk_writer_batch *b, const stk_item *item, uint64_t number, stk_error *error)
{
    char text[32];
    const char *name = item->path;
    if (name == NULL) {
        snprintf(text, sizeof text, "%08llu", (unsigned long long)number);
        name = text;
    }
    return stk_buffer_append(&b->names, name, strlen(name) + 1, error);
}

static stk_status append_values(stk_writer_batch *b, const stk_item *item, stk_error *error)
{
    for (uint32_t c = 0; c < b->n_columns; c++) {
        const stk_value *v = &item->values[c];
        size_t size = stk_type_size(b->columns[c].type);
        size_t n_bytes = v->is_null ? 0 : v->n_items * (size > 0 ? size : 1);
        STK_TRY(stk_table_column_add(&b->sources.table->columns[c], v->data, n_bytes, v->is_null, error));
    }
    return STK_OK;
}

stk_status stk_writer_batch_add(stk_writer_batch *b, const stk_item *item, uint64_t number, stk_error *error)
{
    entry added = {.pixels = item->kind == STK_ITEM_PIXELS};
    STK_TRY(append_head(b, item, error));
    if (item->n_bytes > 0) STK_TRY(stk_spool_append(&b->spool, item->data, item->n_bytes, error));
    added.end = stk_spool_bytes(&b->spool);
    STK_TRY(append_name(b, item, number, error));
    STK_TRY(append_values(b, item, error));
    STK_TRY(stk_buffer_append(&b->labels, &item->label, sizeof item->label, error));
    STK_TRY(stk_buffer_append(&b->entries, &added, sizeof added, error));
    if (item->label >= 0) b->sources.has_labels = true;
    return STK_OK;
}

uint64_t stk_writer_batch_len(const stk_writer_batch *b)
{
    return b->entries.n_bytes / sizeof(entry);
}

uint64_t stk_writer_batch_bytes(const stk_writer_batch *b)
{
    return stk_spool_bytes(&b->spool) + b->names.n_bytes;
}

uint64_t stk_writer_batch_small(const stk_writer_batch *b, uint64_t small_bytes)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < stk_writer_batch_len(b); i++)
        n += entry_at(b, i)->end - begin_of(b, i) <= small_bytes;
    return n;
}

static void drop_list(stk_writer_batch *b)
{
    for (size_t i = 0; i < b->sources.n_dirs; i++)
        stk_source_dir_free(&b->sources.dirs[i]);
    b->sources.n_dirs = 0;
    b->sources.n = 0;
}

stk_status stk_writer_batch_sources(stk_writer_batch *b, const stk_sources **out, stk_error *error)
{
    drop_list(b);
    STK_TRY(stk_store_list(&b->sources, b->beside, &b->names, stk_writer_batch_len(b), error));
    b->sources.labels = (int64_t *)(void *)b->labels.data;
    if (b->sources.table != NULL) b->sources.table->n_rows = stk_writer_batch_len(b);
    *out = &b->sources;
    return STK_OK;
}

stk_status stk_writer_batch_empty(stk_writer_batch *b, stk_error *error)
{
    drop_list(b);
    stk_spool_free(&b->spool);
    stk_spool_init(&b->spool, b->beside);
    b->entries.n_bytes = b->names.n_bytes = b->labels.n_bytes = 0;
    return open_table(b, error);
}
