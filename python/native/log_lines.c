/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py_shim.h"

enum { LOG_LINES = 64, LOG_LINE_BYTES = 1024 };

struct stk_py_log {
    pthread_mutex_t mutex;
    atomic_uint waiting;
    unsigned first; /* oldest line */
    char lines[LOG_LINES][LOG_LINE_BYTES];
};

stk_py_log *stk_py_log_new(void)
{
    stk_py_log *log = calloc(1, sizeof *log);
    if (log != NULL && pthread_mutex_init(&log->mutex, NULL) != 0) {
        free(log);
        return NULL;
    }
    return log;
}

void stk_py_log_free(stk_py_log *log)
{
    if (log != NULL) {
        pthread_mutex_destroy(&log->mutex);
        free(log);
    }
}

/* Keeps the newest lines: an old one that nobody asked for makes room. */
static void add_line(void *user, const char *line)
{
    stk_py_log *log = user;
    pthread_mutex_lock(&log->mutex);
    unsigned waiting = atomic_load(&log->waiting);
    if (waiting == LOG_LINES) {
        log->first = (log->first + 1) % LOG_LINES;
        waiting--;
    }
    snprintf(log->lines[(log->first + waiting) % LOG_LINES], LOG_LINE_BYTES, "%s", line);
    atomic_store(&log->waiting, waiting + 1);
    pthread_mutex_unlock(&log->mutex);
}

void stk_py_log_attach(stk_py_log *log, stk_loader_options *options)
{
    options->log = add_line;
    options->log_user = log;
}

bool stk_py_log_take(stk_py_log *log, char *text, size_t capacity)
{
    pthread_mutex_lock(&log->mutex);
    unsigned waiting = atomic_load(&log->waiting);
    if (waiting > 0) {
        snprintf(text, capacity, "%s", log->lines[log->first]);
        log->first = (log->first + 1) % LOG_LINES;
        atomic_store(&log->waiting, waiting - 1);
    }
    pthread_mutex_unlock(&log->mutex);
    return waiting > 0;
}

bool stk_py_log_waiting(const stk_py_log *log)
{
    return atomic_load_explicit(&log->waiting, memory_order_relaxed) > 0;
}
