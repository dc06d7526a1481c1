/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/export.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/cpu.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/take_lock.h"
#include "format/replaceable.h"
#include "reader/dataset_internal.h"

void stk_export_options_init(stk_export_options *options)
{
    *options = (stk_export_options){.struct_size = sizeof *options};
}

stk_status stk_export_step(const stk_export_run *run, uint64_t i, stk_error *error)
{
    const stk_export_options *o = run->options;
    if (o->progress == NULL || o->progress(o->user, i + 1, stk_dataset_len(run->dataset))) return STK_OK;
    return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
}

/* Is it the record's fault? */
static bool is_record_bad(stk_status status)
{
    return status != STK_ERR_MEMORY && status != STK_ERR_CANCELLED && status != STK_ERR_THREAD &&
           status != STK_ERR_STATE && status != STK_ERR_INTERNAL;
}

stk_status stk_export_bad_record(stk_export_run *run, uint64_t i, stk_status status, stk_error *bad, stk_error *error)
{
    const stk_export_options *o = run->options;
    bad->status = status;
    if (strncmp(bad->text, "record ", 7) != 0) stk_dataset_name_record(run->dataset, i, bad);
    if (o->on_bad != STK_EXPORT_BAD_SKIP || !is_record_bad(status)) {
        if (error != NULL) *error = *bad;
        return status;
    }
    if (run->skipped++ == 0) run->first_bad = *bad;
    if (i < run->told) return STK_OK;
    run->told = i + 1;
    stk_export_issue issue = {.record = i, .reason = bad->text};
    if (o->issue != NULL) o->issue(o->user, &issue);
    return STK_OK;
}

stk_status stk_export_value(const stk_dataset *d, uint32_t column, uint64_t i, stk_buffer *room, stk_value *out,
                            stk_error *error)
{
    STK_TRY(stk_buffer_reserve(room, 256, error));
    stk_status status = stk_dataset_value(d, column, i, room->data, room->capacity, out, error);
    if (status != STK_ERR_LIMIT || out->n_bytes <= room->capacity) return status;
    STK_TRY(stk_buffer_reserve(room, out->n_bytes, error));
    return stk_dataset_value(d, column, i, room->data, room->capacity, out, error);
}

/* Is it what an export to <base> writes: <base>.tmp.<pid>, and for a moment that with .meta? A pack's folder has 16 digits there. */
static bool is_temporary(const char *name, const char *base)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || strncmp(name + n, ".tmp.", 5) != 0) return false;
    size_t digits = strspn(name + n + 5, "0123456789");
    const char *rest = name + n + 5 + digits;
    return digits > 0 && digits <= 10 && (*rest == '\0' || strcmp(rest, ".meta") == 0);
}

/* Removes what killed exports to dst left; under the lock all of them are dead. */
static void remove_left_overs(const char *dst)
{
    const char *slash = strrchr(dst, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - dst) + 1;
    char path[PATH_MAX];
    if (n >= sizeof path) return;
    memcpy(path, n == 0 ? "." : dst, n == 0 ? 1 : n);
    path[n == 0 ? 1 : n] = '\0';
    DIR *stream = opendir(path);
    if (stream == NULL) return;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (!is_temporary(entry->d_name, dst + n)) continue;
        int length = snprintf(path, sizeof path, "%.*s%s", (int)n, dst, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path) (void)unlink(path); /* what stays harms nobody */
    }
    closedir(stream);
}

static stk_status write_file(stk_export_run *run, const char *path, stk_error *error)
{
    STK_TRY(run->options->to == STK_EXPORT_TAR ? stk_export_tar(run, path, error) : stk_export_hdf5(run, path, error));
    if (run->records > 0) return STK_OK;
    if (error != NULL) *error = run->first_bad;
    stk_fail_prefix(error, "no record could be read; the first: ");
    return run->first_bad.status;
}

static void fill_report(const stk_export_run *run, const char *path)
{
    struct stat st = {0};
    stk_export_report *report = run->options->report;
    if (report == NULL) return;
    if (stat(path, &st) != 0) st.st_size = 0;
    *report = (stk_export_report){run->records, run->skipped, (uint64_t)st.st_size};
}

static stk_status write_and_publish(const stk_dataset *dataset, const char *dst, const stk_export_options *o,
                                    stk_error *error)
{
    stk_export_run run = {.dataset = dataset, .options = o};
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", dst, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", dst);
    stk_status status = write_file(&run, temporary, error);
    if (status == STK_OK) status = stk_publish(temporary, dst, o->force, error);
    if (status != STK_OK) unlink(temporary);
    if (status == STK_OK) fill_report(&run, dst);
    return status;
}

stk_status stk_export(const stk_dataset *dataset, const char *dst, const stk_export_options *options, stk_error *error)
{
    char lock[PATH_MAX];
    int lock_fd = -1;
    struct stat st;
    if (dataset == NULL || dst == NULL || options == NULL || options->struct_size != sizeof *options)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "export: data set, dst and options filled by stk_export_options_init are needed");
    if ((unsigned)options->to > STK_EXPORT_TAR || (unsigned)options->on_bad > STK_EXPORT_BAD_SKIP)
        return stk_fail(error, STK_ERR_ARGUMENT, "export: options.to or options.on_bad is out of range");
    stk_export_options o = *options;
    if (o.n_threads == 0) o.n_threads = (uint32_t)stk_cpu_usable_threads();
    if (!o.force && lstat(dst, &st) == 0) return stk_fail(error, STK_ERR_EXISTS, "%s: exists already", dst);
    if (o.force) STK_TRY(stk_check_replaceable(dst, o.to == STK_EXPORT_TAR, error));
    if (stk_dataset_len(dataset) == 0) return stk_fail(error, STK_ERR_ARGUMENT, "there is no record to export");
    int n = snprintf(lock, sizeof lock, "%s.tmp.lock", dst);
    if (n < 0 || (size_t)n >= sizeof lock) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", dst);
    STK_TRY(stk_take_lock(lock, dst, &lock_fd, error));
    if (lock_fd >= 0) remove_left_overs(dst);
    stk_status status = write_and_publish(dataset, dst, &o, error);
    if (lock_fd >= 0) {
        unlink(lock); /* first, so that nobody locks a file that is about to go */
        close(lock_fd);
    }
    return status;
}
