/* SPDX-License-Identifier: Apache-2.0
 *
 * The moment when an output appears: whole, by rename, and on the disk before anybody is told. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/file.h"
#include "packer/pack_job.h"

/* Swaps two names in one step, where the file system can. */
static int exchange(const char *a, const char *b)
{
    enum { EXCHANGE = 2 };
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, EXCHANGE);
}

/* Without exchange there is a moment without either name; the old one is put back when the new one cannot take
 * it. */
static stk_status move_folders(const stk_job *job, stk_error *error)
{
    char old[4200];
    snprintf(old, sizeof old, "%s/old", job->temp);
    if (rename(job->dst, old) != 0)
        return stk_fail_errno(error, errno, "%s: cannot be moved aside", job->dst);
    if (rename(job->data, job->dst) == 0) return STK_OK;
    int why = errno;
    (void)rename(old, job->dst);
    return stk_fail_errno(error, why, "%s: cannot put the finished output in place", job->dst);
}

/* Puts a folder in the place of another. The old one ends up in the job's folder, which is removed later; no later run
 * may take it for what this one had made, so this one's list of sources is put away first. */
static stk_status replace_folder(stk_job *job, stk_error *error)
{
    /* A writer has no such list, nor has a merge of parts without lists. */
    if (rename(job->sources, job->next_sources) != 0 && errno != ENOENT)
        return stk_fail_errno(error, errno, "%s: cannot be put away", job->sources);
    stk_status status = stk_sync_folder_of(job->next_sources, error);
    if (status == STK_OK && exchange(job->data, job->dst) != 0) status = move_folders(job, error);
    if (status != STK_OK) {
        (void)rename(job->next_sources, job->sources);
        return status;
    }
    job->published = true;
    return stk_sync_folder_of(job->dst, error);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* A file beside DST; one that an earlier output left goes when there is no new one. */
static stk_status publish_beside(const stk_job *job, const char *temporary, const char *suffix,
                                 stk_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s%s", job->dst, suffix);
    stk_status status = stk_publish(temporary, path, true, error);
    if (status != STK_ERR_NOT_FOUND) return status;
    if (unlink(path) != 0 && errno != ENOENT)
        return stk_fail_errno(error, errno, "%s: cannot be removed", path);
    return STK_OK;
}

stk_status stk_job_commit(stk_job *job, bool force, stk_error *error)
{
    if (job->folder && force && exists(job->dst))
        STK_TRY(replace_folder(job, error));
    else
        STK_TRY(stk_publish(job->data, job->dst, force, error));
    stk_status status = publish_beside(job, job->published ? job->next_sources : job->sources, ".sources", error);
    if (status == STK_OK) status = publish_beside(job, job->report, ".report.jsonl", error);
    if (status != STK_OK) stk_fail_prefix(error, "%s is whole and in its place, but not a file beside it: ", job->dst);
    return status;
}
