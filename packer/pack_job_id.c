/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/fail.h"
#include "common/hash.h"
#include "packer/pack_job.h"
#include "packer/recipe_text.h"
#include "packer/table.h"

/* Adds a number, or bytes with their length in front, so that no two lists run together. */
static void add_number(stk_hasher *h, uint64_t value)
{
    stk_hasher_add(h, &value, sizeof value);
}

static void add_bytes(stk_hasher *h, const void *data, size_t n)
{
    add_number(h, n);
    if (n > 0) stk_hasher_add(h, data, n);
}

static void add_dir(stk_hasher *h, const stk_source_dir *dir)
{
    add_bytes(h, dir->path, strlen(dir->path));
    add_number(h, dir->n);
    add_number(h, (uint64_t)dir->label);
    add_number(h, (uint64_t)dir->state);
    for (uint32_t i = 0; i < dir->n; i++) {
        const char *name = dir->names + dir->offsets[i];
        stk_hasher_add(h, name, strlen(name) + 1);
    }
}

static void add_table(stk_hasher *h, const stk_table *table)
{
    if (table == NULL) return;
    add_number(h, table->n_columns);
    for (uint32_t c = 0; c < table->n_columns; c++) {
        const stk_table_column *column = &table->columns[c];
        add_bytes(h, column->column.name, strlen(column->column.name));
        add_number(h, (uint64_t)column->column.type);
        add_number(h, column->column.n_items);
        add_bytes(h, column->data.data, column->data.n_bytes);
        if (column->ends != NULL) add_bytes(h, column->ends, (size_t)table->n_rows * sizeof *column->ends);
        add_bytes(h, column->nulls, (size_t)table->n_rows);
    }
}

static void add_sources(stk_hasher *h, const stk_sources *sources)
{
    add_number(h, sources->n);
    for (size_t d = 0; d < sources->n_dirs; d++)
        add_dir(h, &sources->dirs[d]);
    for (uint32_t c = 0; c < sources->n_classes; c++)
        add_bytes(h, sources->class_names[c], strlen(sources->class_names[c]));
    if (sources->states != NULL) add_bytes(h, sources->states, (size_t)sources->n);
    if (sources->labels != NULL) add_bytes(h, sources->labels, (size_t)sources->n * sizeof *sources->labels);
    add_table(h, sources->table);
}

stk_status stk_job_id(const stk_sources *sources, const stk_pack_options *o, bool folder, uint64_t *id,
                      stk_error *error)
{
    stk_buffer text = {0};
    stk_status status = STK_OK;
    stk_hasher *h = stk_hasher_open();
    if (h == NULL) return stk_fail_memory(error, "a checksum");
    STK_GOTO(stk_recipe_text(o, &text, error));
    add_bytes(h, text.data, text.n_bytes);
    add_number(h, o->shuffle ? o->shuffle_seed + 1 : 0);
    add_number(h, o->shuffle);
    add_number(h, (uint64_t)o->part << 32 | o->n_parts);
    add_number(h, folder ? o->shard_bytes : 0);
    add_number(h, folder);
    add_sources(h, sources);
    *id = stk_hasher_result64(h);
cleanup:
    stk_buffer_free(&text);
    stk_hasher_close(&h);
    return status;
}
