/* SPDX-License-Identifier: Apache-2.0
 *
 * The others of a team are a region of a thread of its own. Were it the caller's, a child after fork() would wait for
 * ever in its first region: libgomp keeps the threads of a region for the next one, and the child has none of them. */
#include "packer/team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

typedef struct others {
    uint32_t n;
    stk_team_fn fn;
    void *user;
} others;

static void *conduct(void *argument)
{
    const others *o = argument;
    stk_team_fn fn = o->fn;
    void *user = o->user;
    int n = (int)o->n;
#pragma omp parallel num_threads(n)
    fn(user, 1 + (uint32_t)omp_get_thread_num());
    return NULL;
}

void stk_team_run(uint32_t n_threads, stk_team_fn fn, void *user)
{
    others o = {.n = n_threads - 1, .fn = fn, .user = user};
    pthread_t conductor;
    bool started = false;
    if (n_threads > 1) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the caller's threads */
        started = pthread_create(&conductor, NULL, conduct, &o) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    fn(user, 0);
    if (started) pthread_join(conductor, NULL);
}
