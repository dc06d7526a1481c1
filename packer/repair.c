/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_repair: find what is damaged, make it anew or give it up in a copy of its file, check the copy, put it in
 * place. */
#include <stoker/repair.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file_copy.h"
#include "format/shard_mend.h"
#include "format/shard_reader.h"
#include "packer/pack_job.h"
#include "packer/repair_find.h"
#include "packer/repair_folder.h"
#include "packer/repair_sources.h"
#include "packer/source_log.h"

void stk_repair_options_init(stk_repair_options *options)
{
    *options = (stk_repair_options){.struct_size = sizeof *options};
}

typedef struct repair {
    stk_repair_options options;
    stk_repair_report report;
    stk_job job;
    stk_repair_folder folder; /* of a single file: the one shard */
    stk_patients patients;
    stk_healer healer;
    double last_progress;
} repair;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool tick(void *user, uint64_t records, uint64_t bytes)
{
    repair *r = user;
    if (r->options.progress == NULL || now() - r->last_progress < 0.1) return true;
    r->last_progress = now();
    return r->options.progress(r->options.user, records, r->report.records, bytes);
}

/* ---- Finding. */

static stk_status find_all(repair *r, stk_error *error)
{
    stk_find_progress progress = {.tick = tick, .user = r};
    for (uint32_t k = 0; k < r->folder.n; k++) {
        stk_storage *shard = NULL;
        STK_TRY(stk_repair_folder_shard(&r->folder, k, &shard, error));
        stk_status status = stk_repair_find(shard, k, r->folder.shards[k].first_row, &progress, &r->patients, error);
        stk_storage_close(&shard);
        STK_TRY(status);
    }
    r->report.bytes = progress.bytes;
    return STK_OK;
}

/* ---- Mending one shard. `mender` is NULL in a dry run. */

static void tell(repair *r, const stk_patient *p, const char *action, const char *reason)
{
    bool dead = strcmp(action, "dead") == 0;
    r->report.bad++;
    if (dead) r->report.dead++;
    else r->report.rebuilt++;
    if (r->options.issue == NULL) return;
    stk_repair_issue issue = {.record = p->record,
                              .file = r->folder.shards[p->shard].path,
                              .path = p->path != NULL ? p->path : "",
                              .action = action,
                              .reason = reason};
    r->options.issue(r->options.user, &issue);
}

static stk_status heal(repair *r, stk_shard_mender *mender, const stk_patient *p, stk_error *error)
{
    const uint8_t *payload = NULL;
    char why[256] = "";
    uint8_t alive = p->row.encoding & (uint8_t)~STK_ENCODING_DEAD;
    if (p->payload_lost) STK_TRY(stk_healer_make(&r->healer, p, &payload, why, error));
    bool dead = p->payload_lost && payload == NULL;
    uint8_t encoding = dead ? alive | STK_ENCODING_DEAD : alive;
    if (mender != NULL) STK_TRY(stk_shard_mender_set(mender, p->local, encoding, payload, error));
    tell(r, p, dead ? "dead" : "rebuilt", dead ? why : p->wrong);
    return STK_OK;
}

static stk_status heal_all(repair *r, stk_shard_mender *mender, const stk_patient *first, size_t n, stk_error *error)
{
    stk_storage *shard = NULL;
    STK_TRY(stk_repair_folder_shard(&r->folder, first->shard, &shard, error));
    stk_status status;
    STK_GOTO(stk_healer_begin_shard(&r->healer, shard, error));
    for (size_t i = 0; i < n; i++) STK_GOTO(heal(r, mender, &first[i], error));
cleanup:
    stk_storage_close(&shard);
    return status;
}

/* The copy is only put in place when all that it tells of, but for dead records, is in it. */
static stk_status check_copy(repair *r, uint32_t number, stk_error *error)
{
    stk_storage *shard = NULL;
    stk_patients left = {0};
    stk_find_progress progress = {0};
    stk_status status;
    STK_GOTO(stk_shard_open(r->job.data, NULL, &shard, error));
    STK_GOTO(stk_repair_find(shard, number, r->folder.shards[number].first_row, &progress, &left, error));
    for (size_t i = 0; i < left.n; i++) {
        if ((left.items[i].row.encoding & STK_ENCODING_DEAD) != 0) continue;
        status = stk_fail(error, STK_ERR_IO, "%s: record %llu of the mended copy is damaged: the disk is failing",
                          r->job.data, (unsigned long long)left.items[i].record);
        goto cleanup;
    }
cleanup:
    stk_patients_free(&left);
    stk_storage_close(&shard);
    return status;
}

static stk_status mend_shard(repair *r, const stk_patient *first, size_t n, stk_error *error)
{
    stk_repair_shard *shard = &r->folder.shards[first->shard];
    stk_shard_mender *mender = NULL;
    stk_status status;
    STK_GOTO(stk_file_copy(shard->path, r->job.data, error));
    STK_GOTO(stk_shard_mender_open(r->job.data, &mender, error));
    STK_GOTO(heal_all(r, mender, first, n, error));
    STK_GOTO(stk_shard_mender_finish(mender, shard->new_id, error));
    STK_GOTO(check_copy(r, first->shard, error));
    STK_GOTO(stk_repair_folder_take(&r->folder, first->shard, r->job.data, error));
cleanup:
    stk_shard_mender_close(&mender);
    return status;
}

/* Is there anything to write? A record that was dead and stays so is as it should be. */
static bool needs_mending(const repair *r, const stk_patient *first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((first[i].row.encoding & STK_ENCODING_DEAD) == 0 || r->healer.has_sources || !first[i].payload_lost)
            return true;
    return false;
}

static stk_status mend_all(repair *r, stk_error *error)
{
    for (size_t i = 0, n; i < r->patients.n; i += n) {
        const stk_patient *first = &r->patients.items[i];
        for (n = 1; i + n < r->patients.n && first[n].shard == first->shard;) n++;
        if (r->options.dry_run || !needs_mending(r, first, n))
            STK_TRY(heal_all(r, NULL, first, n, error));
        else
            STK_TRY(mend_shard(r, first, n, error));
    }
    return STK_OK;
}

/* ---- Around it. */

/* DST.sources names the data set that it belongs to. */
static stk_status rename_in_sources(repair *r, stk_error *error)
{
    stk_buffer text = {0};
    char path[PATH_MAX];
    const stk_history *h = &r->healer.history;
    if (!r->healer.has_history || strcmp(h->dataset_id, r->folder.old_id) != 0 ||
        strcmp(r->folder.old_id, r->report.dataset_id) == 0)
        return STK_OK;
    stk_status status = STK_OK;
    if ((size_t)snprintf(path, sizeof path, "%s.sources", r->job.dst) >= sizeof path)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", r->job.dst);
    STK_GOTO(stk_source_log_frame(h, NULL, r->report.dataset_id, &text, error));
    STK_GOTO(stk_write_file_synced(r->job.sources, text.data, text.n_bytes, error));
    STK_GOTO(stk_publish(r->job.sources, path, true, error));
cleanup:
    stk_buffer_free(&text);
    return status;
}

static stk_status run(repair *r, const char *dst, stk_error *error)
{
    bool found = false;
    STK_TRY(stk_job_lock_present(dst, !r->options.dry_run, &r->job, error));
    STK_TRY(stk_repair_folder_open(r->job.dst, r->job.folder, &r->folder, error));
    r->report.records = r->folder.n_rows;
    STK_TRY(find_all(r, error));
    STK_TRY(stk_healer_open(r->job.dst, &r->patients, &r->healer, error));
    STK_TRY(stk_healer_find(&r->healer, r->options.from, r->job.dst, &r->patients, error));
    bool writes = !r->options.dry_run;
    if (writes) { /* also when nothing is to be mended: what a killed run left goes with it */
        r->job.folder = false; /* the job's data is one file: a mended shard */
        STK_TRY(stk_job_begin(&r->job, 0, false, &found, error));
    }
    STK_TRY(mend_all(r, error));
    if (writes) STK_TRY(stk_repair_folder_publish(&r->folder, r->job.report, error));
    memcpy(r->report.dataset_id, r->folder.new_id, sizeof r->folder.new_id);
    if (writes) STK_TRY(rename_in_sources(r, error));
    return r->options.prune && !r->options.dry_run ? stk_repair_folder_prune(&r->folder, error) : STK_OK;
}

static stk_status read_options(const stk_repair_options *options, stk_repair_options *out, stk_error *error)
{
    stk_repair_options_init(out);
    if (options == NULL) return STK_OK;
    if (options->struct_size < sizeof options->struct_size || options->struct_size > sizeof *out)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "repair options: struct_size is %zu; call stk_repair_options_init", options->struct_size);
    memcpy(out, options, options->struct_size);
    return STK_OK;
}

stk_status stk_repair(const char *dst, const stk_repair_options *options, stk_repair_report *report,
                      stk_error *error)
{
    repair r = {.job = {.lock_fd = -1}};
    double started = now();
    if (report != NULL) *report = r.report;
    if (dst == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "repair: name a data set");
    STK_TRY(read_options(options, &r.options, error));
    stk_status status = run(&r, dst, error);
    r.report.seconds = now() - started;
    if (report != NULL && status == STK_OK) *report = r.report;
    stk_healer_close(&r.healer);
    stk_patients_free(&r.patients);
    stk_repair_folder_close(&r.folder);
    stk_job_close(&r.job);
    return status;
}
