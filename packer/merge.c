/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_merge: the records of all parts, in the order of their numbers, through the very writer that a pack
 * uses. */
#include <stoker/merge.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/hdf5_sink.h"
#include "packer/merge_parts.h"
#include "packer/pack_job.h"
#include "packer/output.h"
#include "packer/report.h"
#include "packer/source_log.h"

void stk_merge_options_init(stk_merge_options *options)
{
    *options = (stk_merge_options){.struct_size = sizeof *options, .shard_bytes = (uint64_t)4 << 30};
}

typedef struct merge {
    stk_merge_options options;
    stk_merge_parts parts;
    stk_job job;
    stk_output *output;
    stk_buffer payload;
    stk_buffer values; /* of a record's columns */
    stk_cell *cells;
    size_t *value_at;
    uint64_t n_done, bytes_done;
    double last_progress;
    char id[33];
} merge;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static stk_status read_payload(merge *m, const stk_part *part, uint64_t i, const stk_row *row,
                               stk_error *error)
{
    stk_storage *s = part->storage;
    STK_TRY(stk_buffer_resize(&m->payload, row->n_bytes, error));
    if (row->offset == UINT64_MAX) {
        STK_TRY(s->ops->fetch(s, i, row, m->payload.data, error));
    } else {
        stk_file file;
        uint64_t n_file;
        STK_TRY(s->ops->file(s, row->file, &file, &n_file, error));
        STK_TRY(stk_file_read_at(&file, m->payload.data, row->n_bytes, row->offset, error));
    }
    if (stk_hash64(m->payload.data, m->payload.n_bytes) == row->xxh3) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM,
                    "%s: record %llu is damaged; mend it (stoker repair --from SRC PART), or pack this part again", part->path,
                    (unsigned long long)i);
}

/* One value behind the others in m->values; grows it when the value does not fit. */
static stk_status read_value(merge *m, const stk_part *part, uint32_t column, uint64_t i, stk_error *error)
{
    stk_storage *s = part->storage;
    size_t at = m->values.n_bytes;
    stk_value value;
    for (;;) {
        stk_status status =
            s->ops->value(s, column, i, m->values.data + at, m->values.capacity - at, &value, error);
        if (status == STK_OK) break;
        if (status != STK_ERR_LIMIT || value.n_bytes <= m->values.capacity - at) return status;
        STK_TRY(stk_buffer_reserve(&m->values, at + value.n_bytes, error));
    }
    /* The next value begins aligned. */
    m->values.n_bytes = at + (value.n_bytes + 7) / 8 * 8;
    STK_TRY(stk_buffer_reserve(&m->values, m->values.n_bytes, error));
    m->value_at[column] = at;
    m->cells[column] = (stk_cell){.is_null = value.is_null, .n_items = value.n_items};
    return STK_OK;
}

static stk_status read_cells(merge *m, const stk_part *part, uint64_t i, stk_error *error)
{
    m->values.n_bytes = 0;
    for (uint32_t c = 0; c < part->storage->n_columns; c++)
        STK_TRY(read_value(m, part, c, i, error));
    /* Only now the buffer has stopped moving. */
    for (uint32_t c = 0; c < part->storage->n_columns; c++)
        m->cells[c].data = m->values.data + m->value_at[c];
    return STK_OK;
}

static stk_status show_progress(merge *m, stk_error *error)
{
    if (m->options.progress == NULL || now() - m->last_progress < 0.1) return STK_OK;
    m->last_progress = now();
    if (m->options.progress(m->options.user, m->n_done, m->parts.n_records, m->bytes_done)) return STK_OK;
    return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
}

static stk_status copy_record(merge *m, const stk_part *part, uint64_t i, stk_error *error)
{
    stk_row row;
    STK_TRY(part->storage->ops->row(part->storage, i, &row, error));
    STK_TRY(read_payload(m, part, i, &row, error));
    STK_TRY(read_cells(m, part, i, error));
    stk_record record = {
        .payload = m->payload.data,
        .n_bytes = m->payload.n_bytes,
        .xxh3 = row.xxh3,
        .label = row.label,
        .width = row.width,
        .height = row.height,
        .tables = row.tables,
        .encoding = (stk_encoding)row.encoding,
        .orientation = row.orientation,
        .channels = row.channels,
        .cells = m->cells,
    };
    STK_TRY(stk_output_add(m->output, &record, error));
    m->n_done++;
    m->bytes_done += row.n_bytes;
    return show_progress(m, error);
}

static stk_status copy_all(merge *m, stk_error *error)
{
    const stk_storage *first = m->parts.parts[0].storage;
    m->cells = calloc(first->n_columns + 1, sizeof *m->cells);
    m->value_at = calloc(first->n_columns + 1, sizeof *m->value_at);
    if (m->cells == NULL || m->value_at == NULL) return stk_fail_memory(error, "a record's columns");
    STK_TRY(stk_buffer_reserve(&m->values, 1 << 16, error));
    for (uint32_t k = 0; k < m->parts.n; k++) {
        const stk_part *part = &m->parts.parts[k];
        for (uint64_t i = 0; i < part->storage->n_rows; i++) {
            stk_status status = copy_record(m, part, i, error);
            if (status != STK_OK) return status;
        }
    }
    return STK_OK;
}

static stk_status open_output(merge *m, stk_error *error)
{
    stk_storage *first = m->parts.parts[0].storage;
    stk_output_options options = {
        .path = m->job.data,
        .folder = m->job.folder,
        .shard_bytes = m->options.shard_bytes,
        .columns = first->columns,
        .n_columns = first->n_columns,
        .metadata = m->parts.metadata,
    };
    if (first->n_table_sets > 0)
        STK_TRY(first->ops->tables(first, 0, &options.tables, &options.n_table_bytes, error));
    return stk_output_open(&options, &m->output, error);
}

/* What the parts noted of their files, as the whole would have noted it. */
static stk_status write_lists(merge *m, stk_text_file *log, stk_report *report, stk_error *error)
{
    stk_buffer scratch = {0};
    stk_status status = STK_OK;
    uint64_t base = 0;
    STK_GOTO(stk_source_log_begin(log, m->parts.parts[0].history.recipe, error));
    for (uint32_t k = 0; k < m->parts.n; k++) {
        const stk_part *part = &m->parts.parts[k];
        size_t at = part->history.first_line;
        stk_history_entry entry;
        STK_GOTO(stk_history_room(&part->history, &scratch, error));
        while (stk_history_next(&part->history, &at, &scratch, &entry)) {
            stk_product product;
            stk_history_product(&entry, &product);
            STK_GOTO(stk_source_log_add(log, entry.path, &product, base + entry.record, INT64_MAX, error));
            STK_GOTO(stk_report_add(report, entry.path, &product, error));
        }
        base += part->storage->n_rows;
    }
    STK_GOTO(stk_source_log_end(log, m->id, report->counts.files, error));
    STK_GOTO(stk_report_finish(report, error));
cleanup:
    stk_buffer_free(&scratch);
    return status;
}

static stk_status merge_lists(merge *m, stk_error *error)
{
    if (!m->parts.has_history) return STK_OK;
    stk_text_file log = {.file = STK_FILE_CLOSED};
    stk_report report;
    stk_pack_options none = {.check = m->parts.check};
    STK_TRY(stk_report_open(&none, &report, error));
    stk_status status = STK_OK;
    STK_GOTO(stk_text_file_open(m->job.sources, &log, error));
    STK_GOTO(stk_report_open_file(&report, m->job.report, error));
    STK_GOTO(write_lists(m, &log, &report, error));
cleanup:
    stk_text_file_close(&log);
    stk_report_close(&report);
    return status;
}

/* The parts stay. */
static stk_status refuse_part(const char *const *parts, uint32_t n_parts, const char *dst, stk_error *error)
{
    struct stat out, part;
    if (stat(dst, &out) != 0) return STK_OK;
    for (uint32_t k = 0; k < n_parts; k++)
        if (stat(parts[k], &part) == 0 && part.st_dev == out.st_dev && part.st_ino == out.st_ino)
            return stk_fail(error, STK_ERR_ARGUMENT, "%s: is one of the parts; give another name for the whole", dst);
    return STK_OK;
}

static stk_status run(merge *m, const char *const *parts, uint32_t n_parts, const char *dst,
                      stk_merge_report *report, stk_error *error)
{
    bool found = false;
    STK_TRY(stk_merge_name(dst, error));
    STK_TRY(refuse_part(parts, n_parts, dst, error));
    STK_TRY(stk_merge_parts_open(parts, n_parts, &m->parts, error));
    STK_TRY(stk_job_lock(dst, m->options.force, &m->job, error));
    STK_TRY(stk_job_begin(&m->job, stk_hash64(m->parts.whole, strlen(m->parts.whole)), false, &found, error));
    STK_TRY(open_output(m, error));
    STK_TRY(copy_all(m, error));
    STK_TRY(stk_output_finish(m->output, m->id, &report->bytes, error));
    STK_TRY(merge_lists(m, error));
    STK_TRY(stk_job_commit(&m->job, m->options.force, error));
    report->records = m->n_done;
    memcpy(report->dataset_id, m->id, sizeof m->id);
    return STK_OK;
}

static stk_status read_options(const stk_merge_options *options, stk_merge_options *out, stk_error *error)
{
    stk_merge_options_init(out);
    if (options == NULL) return STK_OK;
    if (options->struct_size < sizeof options->struct_size || options->struct_size > sizeof *out)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "merge options: struct_size is %zu; call stk_merge_options_init",
                        options->struct_size);
    memcpy(out, options, options->struct_size);
    if (out->shard_bytes < 1 << 16)
        return stk_fail(error, STK_ERR_ARGUMENT, "shard size: %llu bytes; at least 65536 are needed",
                        (unsigned long long)out->shard_bytes);
    return STK_OK;
}

stk_status stk_merge(const char *const *parts, uint32_t n_parts, const char *dst,
                     const stk_merge_options *options, stk_merge_report *report, stk_error *error)
{
    merge m = {.job = {.lock_fd = -1}};
    stk_merge_report local = {0};
    double started = now();
    if (report != NULL) *report = local;
    if (dst == NULL || parts == NULL || n_parts == 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "merge: name the parts and the output");
    STK_TRY(read_options(options, &m.options, error));
    stk_status status = run(&m, parts, n_parts, dst, &local, error);
    local.seconds = now() - started;
    if (report != NULL && status == STK_OK) *report = local;
    stk_output_close(&m.output);
    stk_job_close(&m.job);
    stk_merge_parts_close(&m.parts);
    stk_buffer_free(&m.payload);
    stk_buffer_free(&m.values);
    free(m.cells);
    free(m.value_at);
    return status;
}
