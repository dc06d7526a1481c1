/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/pack_job.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/remove_tree.h"
#include "common/take_lock.h"
#include "format/folder.h"
#include "format/replaceable.h"

/* a + b as a new string. */
static stk_status join(const char *a, const char *b, char **out, stk_error *error)
{
    size_t n = strlen(a), m = strlen(b);
    if (n + m >= PATH_MAX) return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", a);
    *out = malloc(n + m + 1);
    if (*out == NULL) return stk_fail_memory(error, "a path");
    memcpy(*out, a, n);
    memcpy(*out + n, b, m + 1);
    return STK_OK;
}

/* A folder that a pack may replace: a data set and nothing else, or an empty one. Anything that somebody put beside the
 * shards would be lost with them. */
static stk_status check_folder(const char *path, stk_error *error)
{
    DIR *stream = opendir(path);
    if (stream == NULL) return stk_fail_errno(error, errno, "%s: cannot be listed", path);
    bool empty = true, ours = false;
    char foreign[256] = "";
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        empty = false;
        if (strcmp(name, STK_FOLDER_MANIFEST) == 0) ours = true;
        else if (!stk_folder_is_shard_name(name) && foreign[0] == '\0') snprintf(foreign, sizeof foreign, "%s", name);
    }
    closedir(stream);
    if (!ours && !empty)
        return stk_fail(error, STK_ERR_EXISTS, "%s: is a folder that holds no stoker data set; it is not replaced", path);
    if (foreign[0] != '\0')
        return stk_fail(error, STK_ERR_EXISTS,
                        "%s: holds '%s', which is no part of the data set and would be lost; move it away first", path,
                        foreign);
    return STK_OK;
}

/* A folder in the place of a file that is put beside DST would be met only when DST is in place already. */
static stk_status check_beside(const stk_job *job, const char *suffix, stk_error *error)
{
    char path[4200];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", job->dst, suffix);
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return STK_OK;
    return stk_fail(error, STK_ERR_EXISTS,
                    "%s: is a folder, and a file of that name is written beside the output; move it away first", path);
}

/* May what lies at DST be replaced? Only when it is a data set: --force must not remove a folder of photos, or a
 * script, because of a slip in a path. */
static stk_status check_target(const stk_job *job, bool force, stk_error *error)
{
    struct stat st;
    STK_TRY(check_beside(job, ".sources", error));
    STK_TRY(check_beside(job, ".report.jsonl", error));
    if (lstat(job->dst, &st) != 0) {
        if (errno == ENOENT) return STK_OK;
        return stk_fail_errno(error, errno, "%s: cannot look at the output's place", job->dst);
    }
    if (!force)
        return stk_fail(error, STK_ERR_EXISTS, "%s: exists already; use --force to replace it", job->dst);
    if (S_ISDIR(st.st_mode) != job->folder)
        return stk_fail(error, STK_ERR_EXISTS, "%s: is %s; remove it or choose another name", job->dst,
                        S_ISDIR(st.st_mode) ? "a folder, not a file (a folder of shards is written DST/)"
                                            : "a file, not a folder");
    return job->folder ? check_folder(job->dst, error) : stk_check_replaceable(job->dst, false, error);
}

/* dst without final slashes; whether it had one is `folder`. */
static stk_status take_name(const char *dst, stk_job *out, stk_error *error)
{
    size_t n = strlen(dst);
    *out = (stk_job){.lock_fd = -1};
    out->folder = n > 0 && dst[n - 1] == '/';
    while (n > 1 && dst[n - 1] == '/')
        n--;
    if (n == 0 || (n == 1 && dst[0] == '/'))
        return stk_fail(error, STK_ERR_ARGUMENT, "'%s' is no name for an output", dst);
    out->dst = strndup(dst, n);
    return out->dst != NULL ? STK_OK : stk_fail_memory(error, "a path");
}

static stk_status make_lock(stk_job *out, stk_error *error)
{
    STK_TRY(join(out->dst, ".tmp.lock", &out->lock, error));
    return stk_take_lock(out->lock, out->dst, &out->lock_fd, error);
}

stk_status stk_job_lock(const char *dst, bool force, stk_job *out, stk_error *error)
{
    stk_status status;
    STK_GOTO(take_name(dst, out, error));
    STK_GOTO(check_target(out, force, error));
    STK_GOTO(make_lock(out, error));
cleanup:
    if (status != STK_OK) stk_job_close(out);
    return status;
}

/* What a symbolic link points to is what is changed: lists and temporary files lie beside that, not beside the link. */
static stk_status follow_link(stk_job *job, stk_error *error)
{
    struct stat st;
    if (lstat(job->dst, &st) != 0 || !S_ISLNK(st.st_mode)) return STK_OK;
    char *real = realpath(job->dst, NULL);
    if (real == NULL) return stk_fail_errno(error, errno, "%s: cannot open", job->dst);
    free(job->dst);
    job->dst = real;
    return STK_OK;
}

stk_status stk_job_lock_present(const char *dst, bool writes, stk_job *out, stk_error *error)
{
    struct stat st;
    stk_status status;
    STK_GOTO(take_name(dst, out, error));
    STK_GOTO(follow_link(out, error));
    if (stat(out->dst, &st) != 0) {
        status = stk_fail_errno(error, errno, "%s: cannot open", out->dst);
        goto cleanup;
    }
    out->folder = S_ISDIR(st.st_mode);
    if (writes) STK_GOTO(make_lock(out, error));
cleanup:
    if (status != STK_OK) stk_job_close(out);
    return status;
}

/* Is it the name of a job's folder: <base>.tmp.<16 hex digits>? */
static bool is_job_name(const char *name, const char *base)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || strncmp(name + n, ".tmp.", 5) != 0) return false;
    const char *id = name + n + 5;
    return strlen(id) == 16 && strspn(id, "0123456789abcdef") == 16;
}

/* Where names cannot be exchanged, a run that was killed between its two renames (commit.c) left DST's old folder in its
 * own, and no DST: it goes back before anything is removed. */
static void put_back(const stk_job *job, const char *temp)
{
    char old[PATH_MAX];
    struct stat st;
    int n = snprintf(old, sizeof old, "%s/old", temp);
    if (n > 0 && (size_t)n < sizeof old && lstat(job->dst, &st) != 0 && errno == ENOENT) (void)rename(old, job->dst);
}

/* Removes the folders of other jobs for this DST; under the lock all of them are dead. */
static void remove_dead_jobs(const stk_job *job)
{
    const char *slash = strrchr(job->dst, '/');
    const char *base = slash != NULL ? slash + 1 : job->dst;
    char folder[PATH_MAX], path[PATH_MAX];
    size_t n = slash == NULL ? 0 : (size_t)(slash - job->dst) + 1;
    snprintf(folder, sizeof folder, "%.*s", n == 0 ? 1 : (int)n, n == 0 ? "." : job->dst);
    DIR *stream = opendir(folder);
    if (stream == NULL) return;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (!is_job_name(entry->d_name, base)) continue;
        int length = snprintf(path, sizeof path, "%.*s%s", (int)n, job->dst, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof path || strcmp(path, job->temp) == 0) continue;
        put_back(job, path);
        (void)stk_remove_tree(path); /* litter that cannot be removed harms nobody */
    }
    closedir(stream);
}

/* Has a killed run of this job left something to go on with? */
static bool has_left_over(const stk_job *job)
{
    struct stat st;
    return lstat(job->temp, &st) == 0 && S_ISDIR(st.st_mode) && access(job->sources, R_OK | W_OK) == 0 &&
           stat(job->data, &st) == 0 && S_ISDIR(st.st_mode) == job->folder;
}

stk_status stk_job_begin(stk_job *job, uint64_t id, bool resume, bool *found, stk_error *error)
{
    char suffix[32];
    *found = false;
    snprintf(suffix, sizeof suffix, ".tmp.%016llx", (unsigned long long)id);
    STK_TRY(join(job->dst, suffix, &job->temp, error));
    STK_TRY(join(job->temp, "/data", &job->data, error));
    STK_TRY(join(job->temp, "/sources", &job->sources, error));
    STK_TRY(join(job->temp, "/sources.next", &job->next_sources, error));
    STK_TRY(join(job->temp, "/report", &job->report, error));
    if (job->lock_fd >= 0) remove_dead_jobs(job);
    /* Without a lock nobody knows whether the other run is dead. */
    *found = resume && job->lock_fd >= 0 && has_left_over(job);
    if (*found) return STK_OK;
    if (job->lock_fd >= 0) put_back(job, job->temp);
    (void)stk_remove_tree(job->temp);
    if (mkdir(job->temp, 0777) != 0)
        return stk_fail_errno(error, errno, "%s: cannot make the temporary folder", job->temp);
    if (job->folder && mkdir(job->data, 0777) != 0)
        return stk_fail_errno(error, errno, "%s: cannot make the temporary folder", job->data);
    return STK_OK;
}

void stk_job_close(stk_job *job)
{
    if (job->temp != NULL && !job->keep) (void)stk_remove_tree(job->temp);
    if (job->lock_fd >= 0) {
        unlink(job->lock); /* first, so that nobody locks a file that is about to go */
        close(job->lock_fd);
    }
    free(job->dst);
    free(job->lock);
    free(job->temp);
    free(job->data);
    free(job->sources);
    free(job->next_sources);
    free(job->report);
    *job = (stk_job){.lock_fd = -1};
}
