/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "format/folder.h"

typedef struct done_shard {
    char name[32];
    char id[33];
    uint64_t n_records, n_bytes;
} done_shard;

struct stk_output {
    stk_output_options options;
    stk_shard_writer *writer;
    char path[PATH_MAX];   /* of the shard being written */
    uint64_t n_records;    /* in all shards */
    uint64_t first_record; /* of the current shard */
    done_shard *shards;
    uint32_t n_shards, capacity;
    uint64_t n_bytes;
};

static stk_status begin_shard(stk_output *o, stk_error *error)
{
    char name[32];
    stk_folder_shard_name(o->n_shards, name);
    int n = o->options.folder ? snprintf(o->path, sizeof o->path, "%s/%s", o->options.path, name)
                              : snprintf(o->path, sizeof o->path, "%s", o->options.path);
    if (n < 0 || (size_t)n >= sizeof o->path)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", o->options.path);
    stk_shard_writer_options options = {
        .columns = o->options.columns,
        .n_columns = o->options.n_columns,
        .table_sets = &o->options.tables,
        .table_set_bytes = &o->options.n_table_bytes,
        .n_table_sets = o->options.tables != NULL ? 1 : 0,
        .first_record = o->n_records,
    };
    o->first_record = o->n_records;
    return stk_shard_writer_open(o->path, &options, &o->writer, error);
}

static stk_status end_shard(stk_output *o, stk_error *error)
{
    if (o->n_shards == o->capacity) {
        uint32_t capacity = o->capacity * 2 + 4;
        done_shard *shards = realloc(o->shards, capacity * sizeof *shards);
        if (shards == NULL) return stk_fail_memory(error, "the list of shards");
        o->shards = shards;
        o->capacity = capacity;
    }
    done_shard *shard = &o->shards[o->n_shards];
    stk_folder_shard_name(o->n_shards, shard->name);
    STK_TRY(stk_shard_writer_finish(o->writer, o->options.metadata, shard->id, error));
    stk_shard_writer_close(&o->writer);
    struct stat st;
    if (stat(o->path, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot stat", o->path);
    shard->n_bytes = (uint64_t)st.st_size;
    shard->n_records = o->n_records - o->first_record;
    o->n_bytes += shard->n_bytes;
    o->n_shards++;
    return STK_OK;
}

stk_status stk_output_open(const stk_output_options *options, stk_output **out, stk_error *error)
{
    *out = NULL;
    stk_output *o = calloc(1, sizeof *o);
    if (o == NULL) return stk_fail_memory(error, "the output");
    o->options = *options;
    stk_status status = begin_shard(o, error);
    if (status != STK_OK) {
        stk_output_close(&o);
        return status;
    }
    *out = o;
    return STK_OK;
}

stk_status stk_output_add(stk_output *o, const stk_record *record, stk_error *error)
{
    /* Index, strings and metadata come on top: the limit is on what grows with the payloads. */
    uint64_t end = stk_shard_writer_bytes(o->writer) + record->n_bytes;
    if (o->options.folder && o->n_records > o->first_record && end > o->options.shard_bytes) {
        STK_TRY(end_shard(o, error));
        STK_TRY(begin_shard(o, error));
    }
    STK_TRY(stk_shard_writer_add(o->writer, record, NULL, error));
    o->n_records++;
    return STK_OK;
}

uint64_t stk_output_records(const stk_output *o)
{
    return o->n_records;
}

static stk_status write_manifest(stk_output *o, char *id, stk_error *error)
{
    stk_buffer text = {0};
    stk_status status = STK_OK;
    stk_folder_shard *shards = calloc(o->n_shards, sizeof *shards);
    if (shards == NULL) return stk_fail_memory(error, "the list of shards");
    for (uint32_t i = 0; i < o->n_shards; i++)
        shards[i] = (stk_folder_shard){.file = o->shards[i].name,
                                       .n_records = o->shards[i].n_records,
                                       .n_bytes = o->shards[i].n_bytes,
                                       .id = o->shards[i].id,
                                       .n_table_sets = o->options.tables != NULL ? 1 : 0};
    stk_folder_info info = {.shards = shards,
                            .n_shards = o->n_shards,
                            .columns = o->options.columns,
                            .n_columns = o->options.n_columns,
                            .has_labels = o->options.has_labels,
                            .metadata = o->options.metadata};
    STK_GOTO(stk_folder_manifest(&info, &text, id, error));
    snprintf(o->path, sizeof o->path, "%s/%s", o->options.path, STK_FOLDER_MANIFEST);
    STK_GOTO(stk_write_file_atomic(o->path, text.data, text.n_bytes, error));
    o->n_bytes += text.n_bytes;
cleanup:
    stk_buffer_free(&text);
    free(shards);
    return status;
}

stk_status stk_output_finish(stk_output *o, char *id, uint64_t *n_bytes, stk_error *error)
{
    STK_TRY(end_shard(o, error));
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
    free(o->shards);
    free(o);
    *output = NULL;
}
