/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <stoker/cpu.h>

#include "common/clock.h"
#include "common/fail.h"
#include "staging/stage_base.h"
#include "staging/stage_choice.h"
#include "staging/stage_find.h"
#include "staging/stage_job.h"
#include "staging/stage_outcome.h"
#include "staging/stage_pass.h"
#include "staging/stage_speed.h"

enum { REHASHED = 2, SLOW_MB_S = 700, SLOW_THREADS = 16 };
static const uint64_t tell_ns = 1000000000, wait_ns = 100000000;

const char *stk_stage_state_name(stk_stage_state state)
{
    switch (state) {
    case STK_STAGE_NONE: return "none";
    case STK_STAGE_COPYING: return "copying";
    case STK_STAGE_PART: return "part";
    case STK_STAGE_SUBSET: return "subset";
    case STK_STAGE_WHOLE: return "whole";
    case STK_STAGE_NEEDLESS: return "needless";
    }
    return "unknown";
}

void stk_stage_options_init(stk_stage_options *options)
{
    *options =
        (stk_stage_options){.struct_size = sizeof *options, .wait = true, .keep_free = STK_STAGE_KEEP_DEFAULT};
}

bool stk_stage_job_progress(void *user, const stk_stage_progress *progress)
{
    stk_stage_job *job = user;
    uint64_t now = stk_now_ns();
    if (now - job->told_ns >= tell_ns && strcmp(progress->phase, "wait") != 0) {
        stk_stage_outcome o = {.bytes_done = progress->bytes_done, .bytes_total = progress->bytes_total};
        job->told_ns = now;
        stk_stage_outcome_write(job->bases[job->place], job->source.key, &o);
    }
    return job->o->progress == NULL || job->o->progress(job->o->user, progress);
}

/* ---- Looking. */

static bool is_named(const stk_stage_options *o) { return o->to != NULL && strcmp(o->to, "auto") != 0; }

static void look_at_places(stk_stage_job *job)
{
    const char *folders[STK_PLACES];
    job->n_places = 1;
    folders[0] = job->o->to;
    if (!is_named(job->o)) job->n_places = stk_stage_candidates(folders);
    for (int i = 0; i < job->n_places; i++) {
        stk_place *p = &job->places[i];
        stk_error why = {0};
        char full[STK_STAGE_PATH];
        stk_place_look(job->seams, folders[i], job->o->keep_free, p);
        int n = snprintf(full, sizeof full, "%s%s", job->seams->root, folders[i]);
        stk_status status = n < 0 || (size_t)n >= sizeof full ? STK_ERR_ARGUMENT
                                                              : stk_stage_base(full, false, job->bases[i], &why);
        if (status == STK_OK) continue;
        job->bases[i][0] = '\0';
        if (status == STK_ERR_NOT_FOUND || !p->usable) continue;
        p->usable = false;
        snprintf(p->why_not, sizeof p->why_not, "cannot be used: %.150s", why.text);
    }
}

static void take_place(stk_stage_job *job, int i)
{
    job->place = i;
    (void)stk_stage_join(job->copy, job->bases[i], job->source.key, "");
    (void)stk_stage_join(job->part, job->bases[i], job->source.key, ".part");
    snprintf(job->report->folder, sizeof job->report->folder, "%s", job->places[i].folder);
}

/* Looks for a published copy in all places; *found is its number. A copy that was found with wrong bytes in it counts,
 * with *damaged. */
static stk_status look_for_copy(stk_stage_job *job, int *found, bool *damaged, stk_error *error)
{
    *found = -1;
    *damaged = false;
    for (int i = 0; i < job->n_places; i++) {
        char copy[STK_STAGE_PATH];
        if (job->bases[i][0] == '\0') continue;
        stk_stage_map_close(&job->map);
        stk_status status = stk_stage_find(job->bases[i], &job->source, REHASHED, &job->map, copy, error);
        if (status == STK_ERR_NOT_FOUND || status == STK_ERR_CORRUPT) continue;
        if (status != STK_OK && status != STK_ERR_CHECKSUM) return status;
        /* Once seen, damage is not forgotten because other samples are right. */
        job->suspect = job->suspect || status == STK_ERR_CHECKSUM;
        *damaged = job->suspect;
        *found = i;
        take_place(job, i);
        job->subset = !stk_stage_map_is_whole(&job->map);
        return STK_OK;
    }
    return STK_OK;
}

/* The place in which somebody is copying this data set now, or -1. */
static int find_copier(const stk_stage_job *job)
{
    for (int i = 0; i < job->n_places; i++) {
        char lock[STK_STAGE_PATH];
        if (job->bases[i][0] != '\0' && stk_stage_join(lock, job->bases[i], job->source.key, ".lock") &&
            stk_stage_is_locked(lock))
            return i;
    }
    return -1;
}

static stk_status wait_a_little(stk_stage_job *job, stk_error *error)
{
    stk_stage_outcome o = {0};
    int i = find_copier(job);
    if (i >= 0) stk_stage_outcome_read(job->bases[i], job->source.key, &o);
    stk_stage_progress progress = {.phase = "wait",
                                   .bytes_done = o.bytes_done,
                                   .bytes_total = o.bytes_total,
                                   .seconds = (double)(stk_now_ns() - job->started_ns) * 1e-9};
    if (!stk_stage_job_progress(job, &progress)) return stk_fail(error, STK_ERR_CANCELLED, "cancelled");
    struct timespec pause = {.tv_nsec = (long)wait_ns};
    nanosleep(&pause, NULL);
    return STK_OK;
}

/* ---- Reporting. */

/* A part that could be more by now: worth it from a twentieth of the whole on. */
static bool can_grow(const stk_stage_job *job)
{
    if (!job->subset) return false;
    uint64_t have = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD), want = have + job->places[job->place].room_bytes;
    if (job->o->max_bytes != 0 && want > job->o->max_bytes) want = job->o->max_bytes;
    if (want > job->source.n_bytes) want = job->source.n_bytes;
    if (want == job->source.n_bytes) return want > have;
    return want >= have + job->map.block_bytes && want - have >= job->source.n_bytes / 20;
}

static void report_copy(stk_stage_job *job)
{
    stk_stage_report *r = job->report;
    char top[STK_STAGE_PATH];
    r->bytes_staged = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD);
    r->state = job->subset ? STK_STAGE_SUBSET : STK_STAGE_WHOLE;
    if (!job->subset && stk_stage_join(top, job->copy, job->source.top, "")) memcpy(r->path, top, sizeof r->path);
    if (r->reason[0] == '\0')
        snprintf(r->reason, sizeof r->reason, "%s is staged in %.300s already%s", job->subset ? "a part of it" : "it",
                 job->places[job->place].folder,
                 can_grow(job) && stk_stage_in_use(job->copy) ? "; it can grow when nobody reads it" : "");
}

static void report_last_failure(stk_stage_job *job)
{
    for (int i = 0; i < job->n_places && job->report->last_failure[0] == '\0'; i++) {
        stk_stage_outcome o;
        if (job->bases[i][0] == '\0') continue;
        stk_stage_outcome_read(job->bases[i], job->source.key, &o);
        memcpy(job->report->last_failure, o.failure, sizeof o.failure);
    }
}

/* ---- Choosing. */

static void measure_source(stk_stage_job *job, stk_source_speed *speed)
{
    *speed = stk_stage_source_speed(&job->source);
    job->report->source_mb_s = speed->mb_s;
    int cpus = stk_cpu_usable_threads();
    uint32_t quick = cpus < 2 ? 2 : cpus > 4 ? 4 : (uint32_t)cpus;
    bool slow = !speed->from_memory && speed->mb_s < SLOW_MB_S;
    job->n_threads = job->o->n_threads != 0 ? job->o->n_threads : slow ? SLOW_THREADS : quick;
}

static stk_status choose(stk_stage_job *job, bool *needless, stk_error *error)
{
    stk_place of_source;
    char folder[STK_STAGE_PATH];
    snprintf(folder, sizeof folder, "%s", job->source.path);
    if (!job->source.is_folder) *(strrchr(folder, '/') == folder ? folder + 1 : strrchr(folder, '/')) = '\0';
    stk_place_look(&stk_stage_real, folder, 0, &of_source);
    stk_stage_wish wish = {.source = job->source.path,
                           .n_bytes = job->source.n_bytes,
                           .source_device = job->source.device,
                           .source_kind = of_source.kind,
                           .named = is_named(job->o)};
    if (job->o->max_bytes != 0 && wish.n_bytes > job->o->max_bytes) wish.n_bytes = job->o->max_bytes;
    wish.beside = stk_stage_beside(wish.n_bytes);
    for (int i = 0; i < job->n_places; i++) wish.already[i] = stk_stage_part_bytes(job->bases[i], job->source.key);
    int i = stk_stage_choose(job->places, job->n_places, &wish, needless, job->report->reason);
    if (i >= 0) {
        take_place(job, i);
        return STK_OK;
    }
    if (*needless) return STK_OK;
    stk_status status = STK_ERR_NO_SPACE;
    if (wish.named && !job->places[0].usable) status = STK_ERR_ARGUMENT;
    return stk_fail(error, status, "%s; give --to or --keep-free", job->report->reason);
}

/* Chooses, makes the base there and measures it. A place that turns out slower than the source is passed over, unless
 * the user named it. */
static stk_status settle_place(stk_stage_job *job, const stk_source_speed *speed, bool *needless, stk_error *error)
{
    for (;;) {
        STK_TRY(choose(job, needless, error));
        if (*needless || job->o->dry_run) return STK_OK;
        stk_place *p = &job->places[job->place];
        char full[STK_STAGE_PATH];
        stk_error why = {0};
        int n = snprintf(full, sizeof full, "%s%s", job->seams->root, p->folder);
        if (n < 0 || (size_t)n >= sizeof full) return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", p->folder);
        stk_status status = stk_stage_base(full, true, job->bases[job->place], &why);
        if (status == STK_OK)
            job->report->target_mb_s = stk_stage_target_speed(job->bases[job->place], p->kind == STK_PLACE_MEMORY);
        if (is_named(job->o) && status != STK_OK) return stk_fail(error, status, "%s", why.text);
        bool slow = p->kind != STK_PLACE_MEMORY && !speed->from_memory && job->report->target_mb_s < speed->mb_s;
        if (status == STK_OK && (!slow || is_named(job->o))) break;
        p->usable = false;
        snprintf(p->why_not, sizeof p->why_not, "%.150s", status == STK_OK ? "is no faster than the source" : why.text);
    }
    take_place(job, job->place); /* the base is there now */
    size_t used = strlen(job->report->reason);
    snprintf(job->report->reason + used, sizeof job->report->reason - used, "; the source gives %.0f MB/s%s, there %.0f MB/s",
             speed->mb_s, speed->from_memory ? " (from memory)" : "", job->report->target_mb_s);
    return STK_OK;
}

/* ---- Doing. */

static uint64_t count_good(const stk_stage_job *job)
{
    uint64_t n = 0;
    for (uint64_t b = 0; b < job->map.n_blocks; b++) n += job->map.blocks[b].state == STK_BLOCK_GOOD;
    return n;
}

/* Compares every block and copies bad ones again; job->place is locked. */
static stk_status verify_and_mend(stk_stage_job *job, stk_error *error)
{
    uint64_t n = count_good(job);
    STK_TRY(stk_stage_job_pass(job, STK_PASS_CHECK, "verify", job->copy, NULL, NULL, error));
    job->report->blocks_checked = n;
    for (uint64_t b = 0; b < job->map.n_blocks; b++)
        job->report->blocks_mended += job->map.blocks[b].state == STK_BLOCK_WANTED;
    STK_TRY(stk_stage_job_pass(job, STK_PASS_MEND, "copy", job->copy, NULL, &job->report->bytes_copied, error));
    return STK_OK;
}

/* What to do with a copy that is there, with its lock held. *again: it is of no use and gone. */
static stk_status keep_copy(stk_stage_job *job, bool damaged, bool *again, stk_error *error)
{
    *again = false;
    if (damaged || job->o->verify) {
        stk_status status = verify_and_mend(job, error);
        /* Right by its checksums and still not what the source holds, or not to be mended from it: the source was
         * changed behind its times. */
        bool useless = status == STK_ERR_STATE || (damaged && status == STK_OK && job->report->blocks_mended == 0);
        if (useless) {
            *again = true;
            job->report->blocks_checked = job->report->blocks_mended = 0;
            return stk_stage_discard(job->bases[job->place], job->copy) == 0
                       ? STK_OK
                       : stk_fail(error, STK_ERR_IO, "%s: an old copy cannot be removed", job->copy);
        }
        STK_TRY(status);
    }
    stk_stage_touch(job->copy);
    return STK_OK;
}

/* Turns a published part into one that is being made, its record into a journal. Nobody reads it. */
static stk_status reopen(stk_stage_job *job, stk_error *error)
{
    char path[STK_STAGE_PATH];
    stk_file journal = STK_FILE_CLOSED;
    stk_status status;
    STK_GOTO(stk_stage_journal_open(job->copy, job->map.block_bytes, &journal, path, error));
    for (uint64_t b = 0; b < job->map.n_blocks; b++)
        if (job->map.blocks[b].state == STK_BLOCK_GOOD)
            STK_GOTO(stk_stage_journal_put(&journal, b, job->map.blocks[b].hash, error));
    (void)stk_stage_discard(job->bases[job->place], job->part);
    STK_GOTO(stk_publish(job->copy, job->part, false, error));
    snprintf(job->report->reason, sizeof job->report->reason, "there is more room in %.200s now than before",
             job->places[job->place].folder);
cleanup:
    stk_file_close(&journal);
    return status;
}

/* With the lock of job->place held. */
static stk_status work_there(stk_stage_job *job, stk_error *error)
{
    int found;
    bool damaged, again = true;
    STK_TRY(look_for_copy(job, &found, &damaged, error)); /* another may have finished meanwhile */
    /* Readers take the blocks of the record for right as long as they run. Growing may end with less than there was:
     * killed half-way, and gone on with when there is less room, it gives blocks back to the disk. */
    int hold = -1;
    bool grow = found >= 0 && !damaged && can_grow(job);
    if (grow) {
        hold = stk_stage_hold(job->copy, LOCK_EX | LOCK_NB);
        grow = hold >= 0 || errno != EWOULDBLOCK;
    }
    stk_status status = STK_OK;
    if (grow)
        status = reopen(job, error);
    else if (found >= 0)
        status = keep_copy(job, damaged, &again, error);
    stk_stage_unlock(&hold);
    STK_TRY(status);
    if (again) {
        STK_TRY(stk_stage_make(job, error));
        stk_stage_clean(job->bases[job->place], &job->source);
    }
    report_copy(job);
    return STK_OK;
}

static void note_outcome(stk_stage_job *job, stk_status status, const stk_error *error)
{
    const char *base = job->bases[job->place];
    if (status == STK_OK || status == STK_ERR_CANCELLED) {
        stk_stage_outcome_remove(base, job->source.key);
        return;
    }
    stk_stage_outcome o = {.bytes_total = job->source.n_bytes};
    snprintf(o.failure, sizeof o.failure, "%.500s", error->text);
    stk_stage_outcome_write(base, job->source.key, &o);
}

/* STK_AGAIN: somebody else works there. */
static stk_status lock_and_work(stk_stage_job *job, int *choose_lock, stk_error *error)
{
    char lock[STK_STAGE_PATH];
    int fd = -1;
    stk_error local = {0};
    if (!stk_stage_join(lock, job->bases[job->place], job->source.key, ".lock"))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", job->bases[job->place]);
    stk_status status = stk_stage_lock(lock, &fd, NULL, error);
    stk_stage_unlock(choose_lock);
    if (status != STK_OK) return status;
    status = work_there(job, &local);
    note_outcome(job, status, &local);
    stk_stage_drop_lock(lock, &fd);
    if (status != STK_OK && error != NULL) *error = local;
    return status;
}

/* Decisions are made one after the other: two calls at once would each find the room that only one can have, and choose
 * two places. */
static stk_status lock_choice(stk_stage_job *job, int *fd, stk_error *error)
{
    *fd = -1;
    for (int i = 0; i < job->n_places; i++) {
        char base[STK_STAGE_PATH], lock[STK_STAGE_PATH], full[STK_STAGE_PATH];
        int n = snprintf(full, sizeof full, "%s%s", job->seams->root, job->places[i].folder);
        if (!job->places[i].usable || n < 0 || (size_t)n >= sizeof full) continue;
        if (stk_stage_base(full, true, base, NULL) != STK_OK || !stk_stage_join(lock, base, "choose.lock", "")) continue;
        return stk_stage_lock(lock, fd, NULL, error);
    }
    return STK_OK; /* no place at all: choosing will say so */
}

/* Another process is at it. */
static stk_status meet_copier(stk_stage_job *job, int copier, stk_error *error)
{
    stk_stage_outcome o;
    take_place(job, copier);
    stk_stage_outcome_read(job->bases[copier], job->source.key, &o);
    job->report->state = STK_STAGE_COPYING;
    job->report->bytes_staged = o.bytes_done;
    snprintf(job->report->reason, sizeof job->report->reason, "another process is copying it to %.300s",
             job->places[copier].folder);
    if (job->o->dry_run) return STK_OK;
    if (job->o->wait) return STK_AGAIN;
    return stk_fail(error, STK_ERR_BUSY, "%s: %s now", job->source.path, job->report->reason);
}

/* One round: STK_AGAIN to be called again after a while. */
static stk_status one_round(stk_stage_job *job, stk_source_speed *speed, stk_error *error)
{
    int found, copier, choose_lock = -1;
    bool damaged, needless = false;
    look_at_places(job);
    STK_TRY(look_for_copy(job, &found, &damaged, error));
    bool grows = found >= 0 && !damaged && can_grow(job) && !stk_stage_in_use(job->copy);
    bool done = found >= 0 && !damaged && !grows && !job->o->verify;
    if (found >= 0 && (done || job->o->dry_run)) {
        if (!job->o->dry_run) stk_stage_touch(job->copy);
        report_copy(job);
        return STK_OK;
    }
    copier = find_copier(job);
    if (copier >= 0) return meet_copier(job, copier, error);
    if (speed->mb_s <= 0) measure_source(job, speed);
    if (job->o->dry_run) {
        STK_TRY(settle_place(job, speed, &needless, error));
        bool part = !needless && stk_stage_part_bytes(job->bases[job->place], job->source.key) > 0;
        job->report->state = needless ? STK_STAGE_NEEDLESS : part ? STK_STAGE_PART : STK_STAGE_NONE;
        return STK_OK;
    }
    STK_TRY(lock_choice(job, &choose_lock, error));
    stk_status status = find_copier(job) >= 0 ? STK_AGAIN : STK_OK;
    if (status == STK_OK && found < 0) status = settle_place(job, speed, &needless, error);
    if (status == STK_OK && needless) job->report->state = STK_STAGE_NEEDLESS;
    if (status == STK_OK && !needless) status = lock_and_work(job, &choose_lock, error);
    stk_stage_unlock(&choose_lock);
    return status;
}

static stk_status check_options(const stk_stage_options *o, stk_error *error)
{
    if (o->struct_size != sizeof *o)
        return stk_fail(error, STK_ERR_ARGUMENT, "options were not filled by stk_stage_options_init of this version");
    if (is_named(o) && o->to[0] == '\0') return stk_fail(error, STK_ERR_ARGUMENT, "the folder to stage to has no name");
    return STK_OK;
}

stk_status stk_stage_run(const char *path, const stk_stage_options *options, const stk_stage_seams *seams,
                         stk_stage_report *report, stk_error *error)
{
    stk_stage_job *job = calloc(1, sizeof *job);
    if (job == NULL) return stk_fail_memory(error, "staging");
    job->o = options;
    job->seams = seams;
    job->report = report;
    job->place = -1;
    job->started_ns = stk_now_ns();
    stk_status status;
    stk_source_speed speed = {0};
    STK_GOTO(stk_stage_source_open(path, &job->source, error));
    report->bytes = job->source.n_bytes;
    memcpy(report->content_id, job->source.content, sizeof job->source.content);
    look_at_places(job);
    report_last_failure(job);
    job->n_threads = options->n_threads != 0 ? options->n_threads : 2; /* until the source was measured */
    while ((status = one_round(job, &speed, error)) == STK_AGAIN) STK_GOTO(wait_a_little(job, error));
cleanup:
    report->seconds = (double)(stk_now_ns() - job->started_ns) * 1e-9;
    stk_stage_map_close(&job->map);
    stk_stage_source_close(&job->source);
    free(job);
    return status;
}

stk_status stk_stage(const char *path, const stk_stage_options *options, stk_stage_report *report, stk_error *error)
{
    stk_stage_options defaults;
    stk_stage_report local;
    stk_stage_options_init(&defaults);
    if (options == NULL) options = &defaults;
    if (report == NULL) report = &local;
    *report = (stk_stage_report){.state = STK_STAGE_NONE};
    if (path == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "path is NULL");
    STK_TRY(check_options(options, error));
    return stk_stage_run(path, options, &stk_stage_real, report, error);
}
