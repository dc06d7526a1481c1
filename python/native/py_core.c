/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "py_slot.h"

struct stk_py_core {
    int64_t pid;
    stk_py_log *log;
    stk_loader *loader; /* one of the two once it is open */
    stk_uploader *uploader;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* users or closed */
    unsigned users;         /* calls under way */
    bool closing, closed;
};

stk_py_core *stk_py_core_new(void)
{
    stk_py_core *core = calloc(1, sizeof *core);
    stk_py_log *log = stk_py_log_new();
    if (core == NULL || log == NULL) {
        free(core);
        stk_py_log_free(log);
        return NULL;
    }
    core->pid = (int64_t)getpid();
    core->log = log;
    pthread_mutex_init(&core->lock, NULL);
    pthread_cond_init(&core->changed, NULL);
    return core;
}

void stk_py_core_close(stk_py_core *core)
{
    if (core->pid != (int64_t)getpid()) {
        return;
    }
    pthread_mutex_lock(&core->lock);
    bool mine = !core->closing;
    core->closing = true;
    while (mine ? core->users > 0 : !core->closed) {
        pthread_cond_wait(&core->changed, &core->lock);
    }
    pthread_mutex_unlock(&core->lock);
    if (!mine) {
        return;
    }
    stk_loader_close(&core->loader);
    stk_uploader_close(&core->uploader);
    pthread_mutex_lock(&core->lock);
    core->closed = true;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

void stk_py_core_free(stk_py_core *core)
{
    if (core == NULL) {
        return;
    }
    stk_py_core_close(core);
    /* In a forked child the lock may be held by a thread that it does not have, and the log by one of the loader's. */
    if (core->pid != (int64_t)getpid()) {
        return;
    }
    stk_py_log_free(core->log);
    pthread_cond_destroy(&core->changed);
    pthread_mutex_destroy(&core->lock);
    free(core);
}

static stk_status refuse(stk_error *error, const char *text)
{
    error->status = STK_ERR_STATE;
    snprintf(error->text, sizeof error->text, "%s", text);
    return STK_ERR_STATE;
}

/* Counts a call in; leave() must follow unless it failed. */
static stk_status enter(stk_py_core *core, stk_error *error)
{
    if (core->pid != (int64_t)getpid()) {
        return refuse(error, "this Loader was made in another process");
    }
    pthread_mutex_lock(&core->lock);
    bool good = !core->closing;
    core->users += good;
    pthread_mutex_unlock(&core->lock);
    return good ? STK_OK : refuse(error, "this Loader was closed");
}

static void leave(stk_py_core *core)
{
    pthread_mutex_lock(&core->lock);
    if (--core->users == 0) {
        pthread_cond_broadcast(&core->changed);
    }
    pthread_mutex_unlock(&core->lock);
}

stk_status stk_py_core_open(stk_py_core *core, const stk_dataset *dataset, const stk_loader_options *options,
                            const stk_uploader_options *device_options, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    stk_loader_options own = *options;
    stk_py_log_attach(core->log, &own);
    status = device_options != NULL ? stk_uploader_open(dataset, &own, device_options, &core->uploader, error)
                                    : stk_loader_open(dataset, &own, &core->loader, error);
    leave(core);
    return status;
}

static stk_status state(stk_py_core *core, char *text, stk_error *error)
{
    return core->uploader != NULL ? stk_uploader_state(core->uploader, text, error)
                                  : stk_loader_state(core->loader, text, error);
}

static stk_status next(stk_py_core *core, stk_py_slot *slot, void *stream, int timeout_ms)
{
    if (state(core, slot->before, NULL) != STK_OK) {
        slot->before[0] = '\0';
    }
    if (core->uploader == NULL) {
        return stk_loader_next(core->loader, timeout_ms, &slot->batch, &slot->error);
    }
    slot->stream = stream;
    return stk_uploader_next(core->uploader, stream, timeout_ms, &slot->device_batch, &slot->error);
}

stk_status stk_py_core_next(stk_py_core *core, stk_py_slot *slot, void *stream, int timeout_ms)
{
    if (slot->full) {
        /* Kept from a call that was interrupted; its work is ordered before what another stream was given then. */
        if (slot->device_batch != NULL && slot->stream != stream) {
            stk_py_slot_wait(slot);
            slot->stream = stream;
        }
        return slot->status;
    }
    stk_status status = enter(core, &slot->error);
    if (status != STK_OK) {
        return status;
    }
    slot->status = next(core, slot, stream, timeout_ms);
    slot->full = slot->status != STK_AGAIN;
    leave(core);
    return slot->status;
}

stk_status stk_py_core_state(stk_py_core *core, const stk_py_slot *kept, char *text, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    if (kept != NULL && kept->full && kept->before[0] != '\0') {
        memcpy(text, kept->before, sizeof kept->before);
    } else {
        status = state(core, text, error);
    }
    leave(core);
    return status;
}

stk_status stk_py_core_restore(stk_py_core *core, const char *text, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    status = core->uploader != NULL ? stk_uploader_restore(core->uploader, text, error)
                                    : stk_loader_restore(core->loader, text, error);
    leave(core);
    return status;
}

stk_status stk_py_core_set_epoch(stk_py_core *core, uint64_t epoch, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    status = core->uploader != NULL ? stk_uploader_set_epoch(core->uploader, epoch, error)
                                    : stk_loader_set_epoch(core->loader, epoch, error);
    leave(core);
    return status;
}

stk_status stk_py_core_len(stk_py_core *core, uint64_t *out, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    *out = core->uploader != NULL ? stk_uploader_len(core->uploader) : stk_loader_len(core->loader);
    leave(core);
    return STK_OK;
}

stk_status stk_py_core_stats(stk_py_core *core, stk_loader_stats *host, stk_uploader_stats *device, stk_error *error)
{
    stk_status status = enter(core, error);
    if (status != STK_OK) {
        return status;
    }
    if (core->uploader != NULL) {
        stk_uploader_get_stats(core->uploader, device);
    } else {
        stk_loader_get_stats(core->loader, host);
    }
    leave(core);
    return STK_OK;
}

bool stk_py_core_log_waiting(const stk_py_core *core)
{
    return stk_py_log_waiting(core->log);
}

bool stk_py_core_log_take(stk_py_core *core, char *text, size_t capacity)
{
    return core->pid == (int64_t)getpid() && stk_py_log_take(core->log, text, capacity);
}
