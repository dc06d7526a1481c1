/* SPDX-License-Identifier: Apache-2.0
 *
 * An OpenMP structured block has one entry and one exit: the region only calls a function. */
#include "reader/loader_team.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "common/fail.h"

struct stk_loader_team {
    pthread_t conductor; /* becomes thread 0 of the region */
    uint32_t n_threads;
    stk_loader_team_fn body;
    void *user;
};

static void *conduct(void *argument)
{
    stk_loader_team *team = argument;
    int n = (int)team->n_threads;
    stk_loader_team_fn body = team->body;
    void *user = team->user;
    omp_set_dynamic(0); /* of this thread only: OMP_DYNAMIC would shrink the team by the machine's load */
#pragma omp parallel num_threads(n)
    body(user, (uint32_t)omp_get_thread_num());
    return NULL;
}

/* OpenMP ends the process when it cannot start a thread (libgomp: "Thread creation failed"). So plain threads
 * are tried first, all alive at once; where these cannot be had, the caller gets a status. */
typedef struct trial {
    pthread_mutex_t lock;
    pthread_cond_t go;
    int open;
} trial;

static void *wait_at_gate(void *argument)
{
    trial *t = argument;
    pthread_mutex_lock(&t->lock);
    while (!t->open) pthread_cond_wait(&t->go, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static stk_status cannot_start(int errno_value, uint32_t started, uint32_t n, stk_error *error)
{
    (void)stk_fail_errno(error, errno_value, "only %u of %u threads could be started; give a smaller n_threads",
                         started, n);
    if (error != NULL) error->status = STK_ERR_THREAD;
    return STK_ERR_THREAD;
}

static stk_status try_threads(uint32_t n, stk_error *error)
{
    pthread_t *threads = calloc(n, sizeof *threads);
    if (threads == NULL) return stk_fail_memory(error, "the loader's threads");
    trial t = {.lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER};
    uint32_t started = 0;
    int rc = 0;
    while (started < n && (rc = pthread_create(&threads[started], NULL, wait_at_gate, &t)) == 0) started++;
    pthread_mutex_lock(&t.lock);
    t.open = 1;
    pthread_cond_broadcast(&t.go);
    pthread_mutex_unlock(&t.lock);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_cond_destroy(&t.go);
    pthread_mutex_destroy(&t.lock);
    free(threads);
    if (started == n) return STK_OK;
    return cannot_start(rc, started, n, error);
}

stk_status stk_loader_team_start(uint32_t n_threads, stk_loader_team_fn body, void *user, stk_loader_team **out,
                                 stk_error *error)
{
    *out = NULL;
    stk_loader_team *team = calloc(1, sizeof *team);
    if (team == NULL) return stk_fail_memory(error, "the loader's threads");
    *team = (stk_loader_team){.n_threads = n_threads, .body = body, .user = user};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by every thread started below */
    stk_status status = try_threads(n_threads, error);
    if (status == STK_OK) {
        int rc = pthread_create(&team->conductor, NULL, conduct, team);
        if (rc != 0) status = cannot_start(rc, 0, n_threads, error);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != STK_OK) {
        free(team);
        return status;
    }
    *out = team;
    return STK_OK;
}

void stk_loader_team_join(stk_loader_team **team)
{
    if (*team == NULL) return;
    pthread_join((*team)->conductor, NULL);
    free(*team);
    *team = NULL;
}
