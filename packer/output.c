/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "format/folder.h"
#include "format/shard_reader.h"

typedef struct done_shard {
    char name[32];
    char id[33];
    uint64_t n_records, n_bytes;
} done_shard;

struct stk_output {
    stk_output_options options;
    stk_shard_writer *writer;
    stk_hdf5_sink *hdf5;   /* instead of shards */
    char path[PATH_MAX];   /* of the shard being written */
    uint64_t n_records;    /* in all shards, with those of before */
    uint64_t first_record; /* of the current shard */
    done_shard *shards;
    uint32_t n_shards, capacity;
    uint64_t n_bytes;
    bool has_labels;
    bool resumed;       /* files of the killed run may lie where new ones are to be */
    uint64_t hoped;     /* records that are to be adopted, in all */
    uint64_t skip_left; /* records to come of a shard that is whole already */
};

static stk_status set_path(stk_output *o, stk_error *error)
{
    char name[32];
    stk_folder_shard_name(o->options.first_number + o->n_shards, name);
    int n = o->options.folder ? snprintf(o->path, sizeof o->path, "%s/%s", o->options.path, name)
                              : snprintf(o->path, sizeof o->path, "%s", o->options.path);
    if (n >= 0 && (size_t)n < sizeof o->path) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", o->options.path);
}

static stk_shard_writer_options writer_options(const stk_output *o)
{
    return (stk_shard_writer_options){
        .columns = o->options.columns,
        .n_columns = o->options.n_columns,
        .table_sets = &o->options.tables,
        .table_set_bytes = &o->options.n_table_bytes,
        .n_table_sets = o->options.tables != NULL ? 1 : 0,
        .first_record = o->n_records,
    };
}

static stk_status begin_shard(stk_output *o, stk_error *error)
{
    STK_TRY(set_path(o, error));
    stk_shard_writer_options options = writer_options(o);
    o->first_record = o->n_records;
    if (o->resumed) (void)unlink(o->path); /* what stays will be met by the writer */
    return stk_shard_writer_open(o->path, &options, &o->writer, error);
}

static stk_status add_done(stk_output *o, const char *id, uint64_t n_bytes, stk_error *error)
{
    if (o->n_shards == o->capacity) {
        uint32_t capacity = o->capacity * 2 + 4;
        done_shard *shards = realloc(o->shards, capacity * sizeof *shards);
        if (shards == NULL) return stk_fail_memory(error, "the list of shards");
        o->shards = shards;
        o->capacity = capacity;
    }
    done_shard *shard = &o->shards[o->n_shards];
    *shard = (done_shard){.n_bytes = n_bytes, .n_records = o->n_records - o->first_record};
    stk_folder_shard_name(o->options.first_number + o->n_shards, shard->name);
    memcpy(shard->id, id, sizeof shard->id);
    o->n_bytes += n_bytes;
    o->n_shards++;
    return STK_OK;
}

static stk_status end_shard(stk_output *o, stk_error *error)
{
    char id[33];
    struct stat st;
    STK_TRY(stk_shard_writer_finish(o->writer, o->options.metadata, id, error));
    stk_shard_writer_close(&o->writer);
    if (stat(o->path, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot stat", o->path);
    return add_done(o, id, (uint64_t)st.st_size, error);
}

stk_status stk_output_open(const stk_output_options *options, stk_output **out, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "the output");
    (*out)->options = *options;
    (*out)->n_records = options->first_record;
    (*out)->has_labels = options->labels_before;
    if (options->hdf5 == NULL) return STK_OK;
    stk_hdf5_sink_options hdf5 = *options->hdf5;
    hdf5.path = options->path;
    hdf5.metadata = options->metadata;
    hdf5.columns = writer_options(*out);
    stk_status status = stk_hdf5_sink_open(&hdf5, &(*out)->hdf5, error);
    if (status != STK_OK) stk_output_close(out);
    return status;
}

static stk_status add_to_hdf5(stk_output *o, const stk_record *record, stk_error *error)
{
    STK_TRY(stk_hdf5_sink_add(o->hdf5, record, error));
    o->n_records++;
    return STK_OK;
}

stk_status stk_output_add(stk_output *o, const stk_record *record, stk_error *error)
{
    if (o->hdf5 != NULL) return add_to_hdf5(o, record, error);
    if (o->writer != NULL && o->options.folder && o->n_records > o->first_record) {
        /* Index, strings and metadata come on top: the limit is on what grows with the payloads. */
        uint64_t end = stk_shard_writer_bytes(o->writer) + record->n_bytes;
        if (end > o->options.shard_bytes) STK_TRY(end_shard(o, error));
    }
    if (o->writer == NULL) STK_TRY(begin_shard(o, error));
    STK_TRY(stk_shard_writer_add(o->writer, record, NULL, error));
    if (record->label != -1) o->has_labels = true;
    o->n_records++;
    return STK_OK;
}

void stk_output_resume(stk_output *o, uint64_t n_records)
{
    o->resumed = true;
    o->hoped = o->options.first_record + n_records;
}

/* A shard of the killed run that is whole, fsynced, and holds no more than will be adopted, is taken as it
 * is. */
static stk_status take_whole_shard(stk_output *o, stk_error *error)
{
    stk_storage *shard = NULL;
    stk_status status = stk_shard_open(o->path, NULL, &shard, NULL);
    if (status != STK_OK) return status == STK_ERR_MEMORY ? stk_fail_memory(error, "a shard") : STK_OK;
    bool fits = stk_shard_first_record(shard) == o->n_records && shard->n_rows > 0 &&
                shard->n_rows <= o->hoped - o->n_records && strcmp(shard->metadata, o->options.metadata) == 0;
    if (fits) {
        o->first_record = o->n_records;
        o->skip_left = shard->n_rows;
        if (shard->has_labels) o->has_labels = true;
    }
    stk_storage_close(&shard);
    return STK_OK;
}

/* The last record of a whole shard was passed. */
static stk_status end_whole_shard(stk_output *o, stk_error *error)
{
    stk_storage *shard = NULL;
    STK_TRY(stk_shard_open(o->path, NULL, &shard, error));
    stk_status status = add_done(o, shard->id, shard->total_bytes, error);
    stk_storage_close(&shard);
    return status;
}

static stk_status resume_shard(stk_output *o, stk_error *error)
{
    STK_TRY(set_path(o, error));
    if (o->options.folder) STK_TRY(take_whole_shard(o, error));
    if (o->skip_left > 0) return STK_OK;
    stk_shard_writer_options options = writer_options(o);
    o->first_record = o->n_records;
    stk_status status = stk_shard_writer_reopen(o->path, &options, &o->writer, NULL);
    return status == STK_ERR_MEMORY ? stk_fail_memory(error, "a shard") : STK_OK;
}

stk_status stk_output_adopt(stk_output *o, int64_t label, const stk_cell *cells, bool *adopted,
                            stk_error *error)
{
    *adopted = false;
    if (!o->resumed || o->n_records >= o->hoped) return STK_OK;
    if (o->writer == NULL && o->skip_left == 0) STK_TRY(resume_shard(o, error));
    if (o->skip_left > 0) {
        *adopted = true;
        o->n_records++;
        return --o->skip_left > 0 ? STK_OK : end_whole_shard(o, error);
    }
    if (o->writer == NULL) return STK_OK;
    STK_TRY(stk_shard_writer_adopt(o->writer, label, cells, adopted, error));
    if (!*adopted) return STK_OK;
    if (label != -1) o->has_labels = true;
    o->n_records++;
    return STK_OK;
}

stk_status stk_output_keep(stk_output *o, stk_error *error)
{
    return o->writer != NULL ? stk_shard_writer_keep(o->writer, error) : STK_OK;
}

uint64_t stk_output_records(const stk_output *o)
{
    return o->n_records;
}

static stk_status write_manifest(stk_output *o, char *id, stk_error *error)
{
    stk_buffer text = {0};
    stk_status status = STK_OK;
    uint32_t n_before = o->options.n_before;
    stk_folder_shard *shards = calloc((size_t)n_before + o->n_shards, sizeof *shards);
    if (shards == NULL) return stk_fail_memory(error, "the list of shards");
    if (n_before > 0) memcpy(shards, o->options.before, n_before * sizeof *shards);
    for (uint32_t i = 0; i < o->n_shards; i++)
        shards[n_before + i] = (stk_folder_shard){.file = o->shards[i].name,
                                                  .n_records = o->shards[i].n_records,
                                                  .n_bytes = o->shards[i].n_bytes,
                                                  .id = o->shards[i].id,
                                                  .first_table_set =
                                                      o->options.tables != NULL ? o->options.first_table_set : 0,
                                                  .n_table_sets = o->options.tables != NULL ? 1 : 0,
                                                  .job = o->options.job};
    stk_folder_info info = {.shards = shards,
                            .n_shards = n_before + o->n_shards,
                            .columns = o->options.columns,
                            .n_columns = o->options.n_columns,
                            .has_labels = o->has_labels,
                            .metadata = o->options.metadata};
    STK_GOTO(stk_folder_manifest(&info, &text, id, error));
    snprintf(o->path, sizeof o->path, "%s/%s", o->options.path, STK_FOLDER_MANIFEST);
    /* Not under a temporary name, which a killed run would leave in the folder: that appears as a whole later. */
    STK_GOTO(stk_write_file_synced(o->path, text.data, text.n_bytes, error));
    o->n_bytes += text.n_bytes;
cleanup:
    stk_buffer_free(&text);
    free(shards);
    return status;
}

/* Shards of the killed run behind the last one of this. */
static void remove_left_over(stk_output *o)
{
    uint32_t n = o->n_shards;
    for (; o->resumed && o->options.folder && set_path(o, NULL) == STK_OK; o->n_shards++)
        if (unlink(o->path) != 0) break;
    o->n_shards = n;
}

static stk_status finish_hdf5(stk_output *o, char *id, uint64_t *n_bytes, stk_error *error)
{
    struct stat st;
    STK_TRY(stk_hdf5_sink_finish(o->hdf5, id, error));
    if (stat(o->options.path, &st) != 0)
        return stk_fail_errno(error, errno, "%s: cannot stat", o->options.path);
    *n_bytes = (uint64_t)st.st_size;
    return STK_OK;
}

stk_status stk_output_finish(stk_output *o, char *id, uint64_t *n_bytes, stk_error *error)
{
    if (o->hdf5 != NULL) return finish_hdf5(o, id, n_bytes, error);
    if (o->writer == NULL && o->n_shards == 0) STK_TRY(begin_shard(o, error));
    if (o->writer != NULL) STK_TRY(end_shard(o, error));
    remove_left_over(o);
    if (o->options.folder)
        STK_TRY(write_manifest(o, id, error));
    else
        memcpy(id, o->shards[0].id, sizeof o->shards[0].id);
    *n_bytes = o->n_bytes;
    return STK_OK;
}

void stk_output_close(stk_output **output)
{
    stk_output *o = *output;
    if (o == NULL) return;
    stk_shard_writer_close(&o->writer);
    stk_hdf5_sink_close(&o->hdf5);
    free(o->shards);
    free(o);
    *output = NULL;
}
