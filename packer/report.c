/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/json.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

stk_status stk_report_open(const stk_pack_options *options, stk_report *out, stk_error *error)
{
    *out = (stk_report){
        .options = options, .file = {.file = STK_FILE_CLOSED}, .started = now(), .phase = "scan"};
    if (pthread_mutex_init(&out->lock, NULL) != 0) return stk_fail_memory(error, "a lock");
    return STK_OK;
}

void stk_report_goes_on(stk_report *report, double started, uint64_t n_told)
{
    report->started = started;
    report->n_told = n_told;
}

stk_status stk_report_open_file(stk_report *report, const char *path, stk_error *error)
{
    return stk_text_file_open(path, &report->file, error);
}

void stk_report_close(stk_report *report)
{
    stk_text_file_close(&report->file);
    stk_buffer_free(&report->issues);
    pthread_mutex_destroy(&report->lock);
}

static void count(stk_pack_report *c, const stk_product *p)
{
    c->files++;
    c->source_bytes += p->source_bytes;
    c->damaged += p->damage != 0;
    c->missing += p->missing;
    switch (p->fate) {
    case STK_FATE_RECORD:
        c->records++;
        c->reused += p->reused;
        c->resumed += p->resumed;
        c->reencoded += p->reencoded;
        c->resampled += p->resampled;
        c->verbatim += p->verbatim_jpeg;
        break;
    case STK_FATE_LEFT_OUT: c->skipped++; break;
    case STK_FATE_IGNORED: c->ignored++; break;
    }
}

static stk_status write_issue(stk_report *report, const char *path, const stk_product *p, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(&report->file.pending, error);
    stk_jw_object(&w);
    stk_jw_key(&w, "path");
    stk_jw_bytes(&w, path, strlen(path));
    stk_jw_key(&w, "action");
    stk_jw_string(&w, p->action);
    stk_jw_key(&w, "kind");
    stk_jw_string(&w, p->kind);
    stk_jw_key(&w, "reason");
    stk_jw_bytes(&w, p->reason, strlen(p->reason));
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    STK_TRY(stk_buffer_append(&report->file.pending, "\n", 1, error));
    return stk_text_file_flow(&report->file, error);
}

static stk_status queue_issue(stk_report *report, const char *path, const stk_product *p, stk_error *error)
{
    const char *const parts[] = {path, p->action, p->kind, p->reason};
    if (report->n_issues++ < report->n_told) return STK_OK;
    for (int i = 0; i < 4; i++)
        STK_TRY(stk_buffer_append(&report->issues, parts[i], strlen(parts[i]) + 1, error));
    return STK_OK;
}

stk_status stk_report_add(stk_report *report, const char *path, const stk_product *p, stk_error *error)
{
    pthread_mutex_lock(&report->lock);
    count(&report->counts, p);
    report->hints += p->hint;
    stk_status status = STK_OK;
    if (p->action != NULL && report->options->issue != NULL) status = queue_issue(report, path, p, error);
    pthread_mutex_unlock(&report->lock);
    if (status == STK_OK && p->action != NULL) status = write_issue(report, path, p, error);
    return status;
}

stk_status stk_report_note(stk_report *report, const char *path, const char *action, const char *kind, const char *reason,
                           stk_error *error)
{
    stk_product product = {.fate = STK_FATE_IGNORED, .action = action, .kind = kind};
    snprintf(product.reason, sizeof product.reason, "%s", reason);
    stk_status status = STK_OK;
    pthread_mutex_lock(&report->lock);
    if (report->options->issue != NULL) status = queue_issue(report, path, &product, error);
    pthread_mutex_unlock(&report->lock);
    return status == STK_OK ? write_issue(report, path, &product, error) : status;
}

/* Takes what waits out of the queue first: the callback may take its time. */
static void deliver_issues(stk_report *report)
{
    pthread_mutex_lock(&report->lock);
    stk_buffer issues = report->issues;
    report->issues = (stk_buffer){0};
    pthread_mutex_unlock(&report->lock);
    if (issues.n_bytes == 0) return;
    const char *at = (const char *)issues.data, *end = at + issues.n_bytes;
    while (at < end) {
        stk_pack_issue issue = {.path = at};
        issue.action = issue.path + strlen(issue.path) + 1;
        issue.kind = issue.action + strlen(issue.action) + 1;
        issue.reason = issue.kind + strlen(issue.kind) + 1;
        at = issue.reason + strlen(issue.reason) + 1;
        report->options->issue(report->options->user, &issue);
    }
    stk_buffer_free(&issues);
}

bool stk_report_tick(stk_report *report, bool always)
{
    if (report->options->issue != NULL) deliver_issues(report);
    if (report->options->progress == NULL) return true;
    double seconds = now() - report->started;
    pthread_mutex_lock(&report->lock);
    /* The callback is asked ten times a second at most. */
    bool due = always || seconds - report->counts.seconds >= 0.1;
    if (due) report->counts.seconds = seconds;
    stk_pack_progress progress = {
        .phase = report->phase,
        .files_done = report->found > 0 ? report->found : report->counts.files,
        .files_total = report->files_total,
        .bytes_done = report->counts.source_bytes,
        .n_bad = report->counts.skipped,
        .seconds = seconds,
    };
    pthread_mutex_unlock(&report->lock);
    return !due || report->options->progress(report->options->user, &progress);
}

double stk_report_seconds(const stk_report *report)
{
    return now() - report->started;
}

void stk_report_found(stk_report *report, uint64_t n_files)
{
    pthread_mutex_lock(&report->lock);
    report->found = n_files;
    pthread_mutex_unlock(&report->lock);
}

void stk_report_phase(stk_report *report, const char *phase)
{
    pthread_mutex_lock(&report->lock);
    report->phase = phase;
    pthread_mutex_unlock(&report->lock);
}

static void write_count(stk_json_writer *w, const char *key, uint64_t value)
{
    stk_jw_key(w, key);
    stk_jw_u64(w, value);
}

/* No times and no reused counts: the same input gives the same report. */
stk_status stk_report_finish(stk_report *report, stk_error *error)
{
    const stk_pack_report *c = &report->counts;
    stk_json_writer w = stk_jw_begin(&report->file.pending, error);
    stk_jw_object(&w);
    stk_jw_key(&w, "summary");
    stk_jw_object(&w);
    write_count(&w, "files", c->files);
    write_count(&w, "records", c->records);
    write_count(&w, "skipped", c->skipped);
    write_count(&w, "damaged", c->damaged);
    write_count(&w, "missing", c->missing);
    write_count(&w, "ignored", c->ignored);
    write_count(&w, "reencoded", c->reencoded);
    write_count(&w, "resampled", c->resampled);
    write_count(&w, "verbatim", c->verbatim);
    write_count(&w, "could_load_faster", report->hints);
    stk_jw_key(&w, "check");
    stk_jw_string(&w, report->options->check == STK_CHECK_DECODE ? "decode" : "header");
    stk_jw_end_object(&w);
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    STK_TRY(stk_buffer_append(&report->file.pending, "\n", 1, error));
    return stk_text_file_finish(&report->file, error);
}
