/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader's threads: one OpenMP parallel region for its whole life, started from a POSIX thread so that
 * stk_loader_open returns at once. loader_team.c is the reader's only file that knows of OpenMP: all else is
 * plain functions that take a thread's number. */
#ifndef STK_READER_LOADER_TEAM_H
#define STK_READER_LOADER_TEAM_H

#include <stdint.h>

#include <stoker/status.h>

typedef struct stk_loader_team stk_loader_team;

/* thread is 0 .. n_threads - 1. Signals are blocked in these threads, so that Ctrl-C reaches the program's own. */
typedef void (*stk_loader_team_fn)(void *user, uint32_t thread);

/* Runs body(user, t) in n_threads threads, or fewer where the system gives fewer; each must return when the
 * owner has told it to, by means of its own. Errors: STK_ERR_THREAD. */
stk_status stk_loader_team_start(uint32_t n_threads, stk_loader_team_fn body, void *user, stk_loader_team **out,
                                 stk_error *error);

/* Waits until all bodies have returned; frees. NULL content is fine. */
void stk_loader_team_join(stk_loader_team **team);

#endif
