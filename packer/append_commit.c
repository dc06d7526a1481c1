/* SPDX-License-Identifier: Apache-2.0
 *
 * The moment when appended shards belong to their data set. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "format/folder.h"
#include "packer/append.h"
#include "packer/source_log.h"

static stk_status place(const char *folder, const char *name, char out[PATH_MAX], stk_error *error)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n >= 0 && n < PATH_MAX) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", folder);
}

/* Moves the shards; *n says how many. A file of that name was left by a run that was killed here: nothing names it. */
static stk_status move_shards(const stk_append *a, const stk_job *job, uint32_t *n, stk_error *error)
{
    for (*n = 0;; ++*n) {
        char name[32], from[PATH_MAX], to[PATH_MAX];
        stk_folder_shard_name(a->first_number + *n, name);
        STK_TRY(place(job->data, name, from, error));
        STK_TRY(place(job->dst, name, to, error));
        if (access(from, F_OK) != 0) return STK_OK;
        if (rename(from, to) != 0) return stk_fail_errno(error, errno, "%s: cannot be put in place", to);
    }
}

static void take_back(const stk_append *a, const stk_job *job, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[32], path[PATH_MAX];
        stk_folder_shard_name(a->first_number + i, name);
        if (place(job->dst, name, path, NULL) == STK_OK) (void)unlink(path);
    }
}

static stk_status publish(const stk_append *a, const stk_job *job, stk_error *error)
{
    char from[PATH_MAX], to[PATH_MAX];
    uint32_t n = 0;
    stk_status status;
    STK_GOTO(place(job->data, STK_FOLDER_MANIFEST, from, error));
    STK_GOTO(place(job->dst, STK_FOLDER_MANIFEST, to, error));
    STK_GOTO(move_shards(a, job, &n, error));
    STK_GOTO(stk_sync_folder_of(to, error)); /* the shards are there before anything names them */
    if (rename(from, to) != 0) status = stk_fail_errno(error, errno, "%s: cannot be replaced", to);
cleanup:
    if (status != STK_OK)
        take_back(a, job, n);
    else
        status = stk_sync_folder_of(to, error);
    return status;
}

/* The new files' lines, then those of before. */
static stk_status join_sources(const stk_append *a, const stk_job *job, const char *dataset_id, stk_error *error)
{
    char path[PATH_MAX];
    stk_history added = {0};
    stk_buffer text = {0};
    stk_status status;
    snprintf(path, sizeof path, "%s.sources", job->dst);
    STK_GOTO(stk_history_open(job->sources, &added, error));
    STK_GOTO(stk_source_log_frame(&added, a->has_history ? &a->history : NULL, dataset_id, &text, error));
    STK_GOTO(stk_write_file_synced(job->next_sources, text.data, text.n_bytes, error));
    STK_GOTO(stk_publish(job->next_sources, path, true, error));
cleanup:
    stk_buffer_free(&text);
    stk_history_close(&added);
    return status;
}

/* What is reported of this run, behind what earlier ones reported. */
static stk_status join_reports(const stk_job *job, stk_error *error)
{
    char path[PATH_MAX];
    stk_buffer text = {0}, added = {0};
    stk_status status;
    snprintf(path, sizeof path, "%s.report.jsonl", job->dst);
    status = stk_file_read_all(path, INT64_MAX, &text, error);
    if (status == STK_ERR_NOT_FOUND) status = STK_OK;
    STK_GOTO(status);
    STK_GOTO(stk_file_read_all(job->report, INT64_MAX, &added, error));
    STK_GOTO(stk_buffer_append(&text, added.data, added.n_bytes, error));
    STK_GOTO(stk_write_file_synced(job->report, text.data, text.n_bytes, error));
    STK_GOTO(stk_publish(job->report, path, true, error));
cleanup:
    stk_buffer_free(&text);
    stk_buffer_free(&added);
    return status;
}

stk_status stk_append_commit(const stk_append *a, const stk_job *job, const char *dataset_id, stk_error *error)
{
    STK_TRY(publish(a, job, error));
    stk_status status = join_sources(a, job, dataset_id, error);
    if (status == STK_OK) status = join_reports(job, error);
    if (status != STK_OK)
        stk_fail_prefix(error, "%s/ is whole and has the new shards, but not a file beside it: ", job->dst);
    return status;
}
