/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <stoker/pack.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/json.h"
#include "format/array_layout.h"
#include "reader/dataset_internal.h"
#include "reader/sample_array.h"
#include "reader/sample_render.h"

void stk_dataset_options_init(stk_dataset_options *options)
{
    *options = (stk_dataset_options){
        .struct_size = sizeof *options,
        .io = STK_IO_AUTO,
        .verify = STK_VERIFY_FIRST,
        .max_pixels = 178956970,
        .max_record_bytes = (uint64_t)4 << 30,
    };
}

stk_status stk_dataset_options_check(const stk_dataset_options *o, stk_error *error)
{
    if (o->struct_size != sizeof *o)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "options were not filled by stk_dataset_options_init of this version");
    if ((unsigned)o->io > STK_IO_PREAD) return stk_fail(error, STK_ERR_ARGUMENT, "options.io is out of range");
    if ((unsigned)o->verify > STK_VERIFY_OFF)
        return stk_fail(error, STK_ERR_ARGUMENT, "options.verify is out of range");
    if (o->stage != NULL && o->stage[0] == '\0')
        return stk_fail(error, STK_ERR_ARGUMENT, "options.stage is empty: give \"auto\" or a folder");
    return STK_OK;
}

static uint32_t find_column(const stk_storage *storage, const char *name)
{
    for (uint32_t c = 0; c < storage->n_columns; c++)
        if (strcmp(storage->columns[c].name, name) == 0) return c;
    return UINT32_MAX;
}

/* Kinds of damage that whoever packed the set chose to keep ("on_damaged" of the metadata: "keep", or
 * "keep=kind,kind"): their pixels are delivered as the decoder gives them. Stray bytes cost no pixel and always are. */
static uint32_t accepted_damage(const char *metadata)
{
    uint32_t kinds = STK_DAMAGE_EXTRANEOUS;
    stk_json *root = NULL;
    if (metadata == NULL || stk_json_parse(metadata, strlen(metadata), &root, NULL) != STK_OK) return kinds;
    const char *text = stk_json_string(stk_json_get(root, "on_damaged"), NULL);
    if (text != NULL && strcmp(text, "keep") == 0) kinds = UINT32_MAX;
    if (text != NULL && strncmp(text, "keep=", 5) == 0)
        for (uint32_t bit = 1; bit <= STK_DAMAGE_OTHER; bit <<= 1)
            if (strstr(text + 4, stk_damage_name((stk_damage)bit)) != NULL) kinds |= bit;
    stk_json_close(&root);
    return kinds;
}

stk_status stk_dataset_open(const char *path, const stk_dataset_options *options, stk_dataset **out,
                            stk_error *error)
{
    if (out == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "out is NULL");
    *out = NULL;
    if (path == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "path is NULL");
    stk_dataset_options defaults;
    stk_dataset_options_init(&defaults);
    if (options == NULL) options = &defaults;
    stk_storage *storage = NULL;
    STK_TRY(stk_dataset_options_check(options, error));
    STK_TRY(stk_storage_open(path, options, &storage, error));
    return stk_dataset_over(storage, path, options, out, error);
}

stk_status stk_dataset_over(stk_storage *storage, const char *path, const stk_dataset_options *options,
                            stk_dataset **out, stk_error *error)
{
    *out = NULL;
    stk_dataset *d = calloc(1, sizeof *d);
    if (d == NULL) {
        stk_storage_close(&storage);
        return stk_fail_memory(error, "the data set");
    }
    stk_status status;
    d->source = d->storage = storage;
    d->options = *options;
    d->options.hdf5_images = d->options.hdf5_labels = d->options.stage = NULL; /* the caller's; not kept */
    STK_GOTO(stk_payload_open(d->source, &d->options, &d->payload, error));
    if (path != NULL && options->stage != NULL)
        STK_GOTO(stk_changeover_open(path, options, d->source, d->payload, &d->changeover, &d->storage, error));
    d->tables = calloc((size_t)d->storage->n_table_sets + 1, sizeof *d->tables);
    if (d->tables == NULL) {
        status = stk_fail_memory(error, "the data set's tables");
        goto cleanup;
    }
    d->path_column = find_column(d->storage, "path");
    d->accepted_damage = accepted_damage(d->storage->metadata);
    *out = d;
cleanup:
    if (status != STK_OK) stk_dataset_close(&d);
    return status;
}

void stk_dataset_close(stk_dataset **dataset)
{
    if (dataset == NULL || *dataset == NULL) return;
    stk_dataset *d = *dataset;
    for (int i = 0; i < STK_SPARE_BENCHES; i++) {
        stk_workbench *bench = atomic_exchange(&d->spare[i], NULL);
        stk_workbench_close(&bench);
    }
    for (uint32_t t = 0; d->tables != NULL && t < d->storage->n_table_sets; t++) {
        stk_tile_tables *tables = atomic_exchange(&d->tables[t], NULL);
        stk_tile_tables_close(&tables);
    }
    free((void *)d->tables);
    stk_changeover_stop(d->changeover);
    stk_payload_close(&d->payload);
    stk_changeover_close(&d->changeover);
    if (d->source != NULL) stk_storage_close(&d->source);
    free((void *)d->parts);
    free(d);
    *dataset = NULL;
}

uint64_t stk_dataset_len(const stk_dataset *d) { return d->storage->n_rows; }
const char *stk_dataset_id(const stk_dataset *d) { return d->storage->id; }
const char *stk_dataset_container(const stk_dataset *d) { return d->storage->ops->name; }
const char *stk_dataset_road(const stk_dataset *d) { return stk_payload_road(d->payload); }
const char *stk_dataset_slow_pattern(const stk_dataset *d) { return d->storage->slow; }
const char *stk_dataset_contents(const stk_dataset *d) { return d->storage->contents; }

void stk_dataset_stage(const stk_dataset *d, stk_dataset_stage_info *out)
{
    if (d->n_parts > 0) stk_dataset_stage_of_parts(d, out);
    else stk_changeover_state(d->changeover, out);
}

uint64_t stk_dataset_bytes(const stk_dataset *d) { return d->storage->total_bytes; }
bool stk_dataset_has_labels(const stk_dataset *d) { return d->storage->has_labels; }
uint32_t stk_dataset_classes(const stk_dataset *d) { return d->storage->n_classes; }
uint32_t stk_dataset_columns(const stk_dataset *d) { return d->storage->n_columns; }

const char *stk_dataset_metadata(const stk_dataset *d)
{
    return d->storage->metadata != NULL ? d->storage->metadata : "{}";
}

const char *stk_dataset_class_name(const stk_dataset *d, uint32_t i)
{
    return i < d->storage->n_classes ? d->storage->class_names[i] : NULL;
}

uint32_t stk_dataset_find_column(const stk_dataset *d, const char *name)
{
    return name == NULL ? UINT32_MAX : find_column(d->storage, name);
}

static stk_status check_record(const stk_dataset *d, uint64_t i, stk_error *error)
{
    if (i < d->storage->n_rows) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "record %llu is out of range: the data set has %llu",
                    (unsigned long long)i, (unsigned long long)d->storage->n_rows);
}

static stk_status check_column(const stk_dataset *d, uint32_t column, stk_error *error)
{
    if (column < d->storage->n_columns) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "column %u is out of range: the data set has %u", column,
                    d->storage->n_columns);
}

stk_status stk_dataset_column(const stk_dataset *d, uint32_t column, stk_column *out, stk_error *error)
{
    STK_TRY(check_column(d, column, error));
    *out = d->storage->columns[column];
    return STK_OK;
}

/* What a staged copy's index does not give, being damaged or gone, the source's does. */
static bool ask_source(const stk_dataset *d, stk_status status)
{
    return __builtin_expect(d->storage != d->source, 0) &&
           (status == STK_ERR_CORRUPT || status == STK_ERR_CHECKSUM || status == STK_ERR_IO);
}

stk_status stk_dataset_value(const stk_dataset *d, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                             stk_value *out, stk_error *error)
{
    *out = (stk_value){0};
    STK_TRY(check_column(d, column, error));
    STK_TRY(check_record(d, i, error));
    stk_status status = d->storage->ops->value(d->storage, column, i, buffer, capacity, out, error);
    if (!ask_source(d, status)) return status;
    return d->source->ops->value(d->source, column, i, buffer, capacity, out, error);
}

stk_status stk_dataset_row(const stk_dataset *d, uint64_t i, stk_row *row, stk_error *error)
{
    STK_TRY(check_record(d, i, error));
    stk_status status = d->storage->ops->row(d->storage, i, row, error);
    return ask_source(d, status) ? d->source->ops->row(d->source, i, row, error) : status;
}

stk_status stk_dataset_image_row(const stk_dataset *d, uint64_t i, stk_row *row, stk_error *error)
{
    STK_TRY(stk_dataset_row(d, i, row, error));
    if (row->encoding != STK_ENCODING_UNKNOWN) return STK_OK;
    stk_workbench *bench;
    STK_TRY(stk_dataset_take_bench(d, &bench, error));
    const uint8_t *data;
    stk_payload_begin_round(&bench->payload);
    stk_status status = stk_payload_get(d->payload, &bench->payload, i, row, &data, error);
    if (status == STK_OK) status = stk_row_resolve(bench->codec, data, row, error);
    stk_dataset_give_bench(d, bench);
    return status;
}

stk_status stk_dataset_record(const stk_dataset *d, uint64_t i, stk_record_info *out, stk_error *error)
{
    stk_row row;
    STK_TRY(stk_dataset_row(d, i, &row, error));
    /* A picture whose header cannot be read is a record all the same: of unknown encoding. */
    if (row.encoding == STK_ENCODING_UNKNOWN) (void)stk_dataset_image_row(d, i, &row, NULL);
    *out = (stk_record_info){
        .label = row.label,
        .width = row.width,
        .height = row.height,
        .channels = row.channels,
        .orientation = row.orientation,
        .encoding = (stk_encoding)row.encoding,
        .n_bytes = row.n_bytes + stk_array_bare_head(&row),
        .offset = row.offset,
        .xxh3 = row.xxh3,
        .shard = row.file,
    };
    return STK_OK;
}

stk_status stk_dataset_tables(const stk_dataset *d, const stk_row *row, const stk_tile_tables **out,
                              stk_error *error)
{
    *out = NULL;
    if (row->tables == 0) return STK_OK;
    uint32_t set = row->tables - 1;
    if (set >= d->storage->n_table_sets)
        return stk_fail(error, STK_ERR_CORRUPT, "the record names table set %u of %u", set,
                        d->storage->n_table_sets);
    stk_tile_tables *tables = atomic_load_explicit(&d->tables[set], memory_order_acquire);
    if (tables == NULL) {
        const uint8_t *blob;
        size_t n_bytes;
        stk_status status = d->storage->ops->tables(d->storage, set, &blob, &n_bytes, error);
        if (ask_source(d, status)) status = d->source->ops->tables(d->source, set, &blob, &n_bytes, error);
        STK_TRY(status);
        STK_TRY(stk_tile_tables_open(blob, n_bytes, &tables, error));
        stk_tile_tables *other = NULL;
        if (!atomic_compare_exchange_strong(&d->tables[set], &other, tables)) {
            stk_tile_tables_close(&tables);
            tables = other;
        }
    }
    *out = tables;
    return STK_OK;
}

stk_status stk_dataset_take_bench(const stk_dataset *dataset, stk_workbench **out, stk_error *error)
{
    stk_dataset *d = (stk_dataset *)(uintptr_t)dataset; /* the spare benches are not what callers see */
    for (int i = 0; i < STK_SPARE_BENCHES; i++) {
        if (atomic_load_explicit(&d->spare[i], memory_order_relaxed) == NULL) continue;
        *out = atomic_exchange(&d->spare[i], NULL);
        if (*out != NULL) return STK_OK;
    }
    return stk_workbench_open(d->payload, d->options.max_pixels, out, error);
}

void stk_dataset_give_bench(const stk_dataset *dataset, stk_workbench *bench)
{
    stk_dataset *d = (stk_dataset *)(uintptr_t)dataset;
    for (int i = 0; i < STK_SPARE_BENCHES; i++) {
        stk_workbench *empty = NULL;
        if (atomic_compare_exchange_strong(&d->spare[i], &empty, bench)) return;
    }
    stk_workbench_close(&bench);
}

void stk_dataset_name_record(const stk_dataset *d, uint64_t i, stk_error *error)
{
    if (error == NULL) return;
    char path[512];
    stk_value value;
    if (d->path_column != UINT32_MAX &&
        d->storage->ops->value(d->storage, d->path_column, i, path, sizeof path, &value, NULL) == STK_OK &&
        !value.is_null && value.n_bytes > 0)
        stk_fail_prefix(error, "record %llu (%.*s): ", (unsigned long long)i, (int)value.n_bytes,
                        (const char *)value.data);
    else
        stk_fail_prefix(error, "record %llu: ", (unsigned long long)i);
}

stk_status stk_dataset_payload(const stk_dataset *d, uint64_t i, stk_buffer *out, stk_error *error)
{
    stk_row row;
    out->n_bytes = 0;
    STK_TRY(stk_dataset_row(d, i, &row, error));
    stk_workbench *bench;
    STK_TRY(stk_dataset_take_bench(d, &bench, error));
    const uint8_t *data;
    stk_payload_begin_round(&bench->payload);
    stk_status status = stk_payload_get(d->payload, &bench->payload, i, &row, &data, error);
    if (status == STK_OK && row.array != NULL)
        status = stk_array_put_header(row.array->type, row.array->n_dims, row.array->shape, out, error);
    if (status == STK_OK && row.n_bytes > 0) status = stk_buffer_append(out, data, (size_t)row.n_bytes, error);
    if (status != STK_OK) stk_dataset_name_record(d, i, error);
    stk_dataset_give_bench(d, bench);
    return status;
}
