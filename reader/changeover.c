/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/changeover.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/stage.h>

#include "common/fail.h"
#include "reader/staged_storage.h"
#include "staging/staged.h"

struct stk_changeover {
    char *path, *to, *hdf5_images, *hdf5_labels;
    stk_dataset_options options;
    stk_storage *source;
    stk_payload_source *payload;
    stk_storage *whole; /* the whole copy as a data set; NULL = none, or a part */
    pthread_t thread;
    pid_t thread_of; /* the process that has the thread; 0 = none was started */
    atomic_bool stop;
    /* Written once by whoever finishes, before state says so. */
    char text[STK_STAGE_TEXT];
    uint64_t bytes;
    _Atomic(const char *) state;
};

/* The copy as a data set, with all its files open: an eviction cannot take them away then. */
static stk_status open_whole(stk_changeover *c, const char *path, stk_error *error)
{
    STK_TRY(stk_storage_open(path, &c->options, &c->whole, error));
    stk_status status = STK_OK;
    if (strcmp(c->whole->id, c->source->id) != 0 || c->whole->n_files != c->source->n_files ||
        c->whole->n_rows != c->source->n_rows)
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: is another data set than its source", path);
    for (uint32_t i = 0; status == STK_OK && i < c->whole->n_files; i++) {
        stk_file file;
        uint64_t n_bytes;
        status = c->whole->ops->file(c->whole, i, &file, &n_bytes, error);
    }
    if (status != STK_OK) stk_storage_close(&c->whole);
    return status;
}

static void finish(stk_changeover *c, const char *state, uint64_t bytes, const char *text)
{
    snprintf(c->text, sizeof c->text, "%.500s", text);
    c->bytes = bytes;
    atomic_store(&c->state, state);
}

/* Looks for a copy and reads from it. *found false: there is none. */
static stk_status adopt(stk_changeover *c, bool *found, stk_error *error)
{
    stk_staged *staged = NULL;
    stk_storage *storage = NULL;
    *found = false;
    STK_TRY(stk_staged_open(c->path, c->to, &staged, error));
    if (staged == NULL) return STK_OK;
    const char *whole = stk_staged_path(staged);
    char folder[STK_STAGE_TEXT];
    snprintf(folder, sizeof folder, "%.500s", stk_staged_folder(staged));
    uint64_t bytes = stk_staged_bytes(staged);
    stk_status status = whole != NULL ? open_whole(c, whole, error) : STK_OK;
    if (status == STK_OK) status = stk_staged_storage_open(staged, c->source, c->whole, &storage, error);
    if (status == STK_OK) status = stk_payload_adopt(c->payload, storage, &c->options, error);
    else stk_staged_close(&staged);
    if (status != STK_OK) {
        if (c->whole != NULL) stk_storage_close(&c->whole); /* the next attempt opens another one */
        return status;
    }
    finish(c, whole != NULL ? "whole" : "subset", bytes, folder);
    *found = true;
    return STK_OK;
}

static bool go_on(void *user, const stk_stage_progress *progress)
{
    (void)progress;
    return !atomic_load(&((stk_changeover *)user)->stop);
}

static void *run(void *argument)
{
    stk_changeover *c = argument;
    stk_error error = {0};
    stk_stage_options options;
    stk_stage_report *report = calloc(1, sizeof *report);
    bool found = false;
    stk_stage_options_init(&options);
    options.to = c->to;
    options.progress = go_on;
    options.user = c;
    stk_status status = report == NULL ? stk_fail_memory(&error, "staging") : stk_stage(c->path, &options, report, &error);
    if (status == STK_OK && report->state == STK_STAGE_NEEDLESS) {
        finish(c, "needless", 0, report->reason);
    } else {
        if (status == STK_OK) status = adopt(c, &found, &error);
        if (status == STK_OK && !found) status = stk_fail(&error, STK_ERR_STATE, "the copy is gone again");
        if (status != STK_OK) finish(c, "failed", 0, error.text);
    }
    free(report);
    return NULL;
}

static stk_status start(stk_changeover *c, stk_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) c->thread_of = getpid();
    if (rc == 0) return STK_OK;
    (void)stk_fail_errno(error, rc, "cannot start the staging thread");
    if (error != NULL) error->status = STK_ERR_THREAD;
    return STK_ERR_THREAD;
}

static stk_status keep_text(const char *text, char **out, stk_error *error)
{
    *out = text != NULL ? strdup(text) : NULL;
    return text == NULL || *out != NULL ? STK_OK : stk_fail_memory(error, "staging");
}

stk_status stk_changeover_open(const char *path, const stk_dataset_options *options, stk_storage *source,
                               stk_payload_source *payload, stk_changeover **out, stk_storage **index,
                               stk_error *error)
{
    *out = NULL;
    *index = source;
    stk_changeover *c = calloc(1, sizeof *c);
    if (c == NULL) return stk_fail_memory(error, "staging");
    stk_status status;
    bool found = false;
    c->source = source;
    c->payload = payload;
    c->options = *options;
    atomic_init(&c->state, "copying");
    STK_GOTO(keep_text(path, &c->path, error));
    STK_GOTO(keep_text(options->stage, &c->to, error));
    STK_GOTO(keep_text(options->hdf5_images, &c->hdf5_images, error));
    STK_GOTO(keep_text(options->hdf5_labels, &c->hdf5_labels, error));
    c->options.hdf5_images = c->hdf5_images;
    c->options.hdf5_labels = c->hdf5_labels;
    c->options.stage = NULL;
    /* A copy that turns out to be of no use is none; the thread makes it good. */
    status = adopt(c, &found, NULL);
    if (status != STK_ERR_MEMORY) status = STK_OK;
    if (status == STK_OK && !found) status = start(c, error);
    if (found && c->whole != NULL) *index = c->whole; /* without a copy c->whole is the thread's */
cleanup:
    *out = c;
    if (status != STK_OK) stk_changeover_close(out);
    return status;
}

void stk_changeover_stop(stk_changeover *c)
{
    /* A forked child has no such thread. */
    if (c == NULL || c->thread_of != getpid()) return;
    atomic_store(&c->stop, true);
    pthread_join(c->thread, NULL);
    c->thread_of = 0;
}

void stk_changeover_close(stk_changeover **changeover)
{
    stk_changeover *c = *changeover;
    if (c == NULL) return;
    stk_changeover_stop(c);
    if (c->whole != NULL) stk_storage_close(&c->whole);
    free(c->path);
    free(c->to);
    free(c->hdf5_images);
    free(c->hdf5_labels);
    free(c);
    *changeover = NULL;
}

void stk_changeover_state(const stk_changeover *c, stk_dataset_stage_info *out)
{
    *out = (stk_dataset_stage_info){.state = "off", .text = ""};
    if (c == NULL) return;
    out->state = atomic_load(&c->state);
    if (strcmp(out->state, "copying") == 0) return;
    out->bytes = c->bytes;
    out->text = c->text;
}
