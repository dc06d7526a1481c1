/* SPDX-License-Identifier: Apache-2.0
 *
 * The packer's threads. team.c is the only file here that knows of OpenMP: all else is plain functions that
 * take a thread's number, and POSIX mutexes. */
#ifndef STK_PACKER_TEAM_H
#define STK_PACKER_TEAM_H

#include <stdint.h>

typedef void (*stk_team_fn)(void *user, uint32_t thread);

/* Runs fn(user, thread) for thread = 0 .. k-1 at once and returns when all have returned. k is n_threads, or
 * fewer where the system gives fewer; fn must do its work for any k >= 1. Thread 0 is the caller's. */
void stk_team_run(uint32_t n_threads, stk_team_fn fn, void *user);

#endif
