/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include <signal.h>
#include <string.h>
#include <time.h>

/* Wrappers send a signal twice at once, which is one wish; whoever asks again after this many seconds means it. */
enum { AGAIN_S = 2 };

static volatile sig_atomic_t caught;
static struct timespec first;

/* A second one ends the process where it stands: it may wait for a pipe or a disk that gives no answer, and what it leaves
 * goes with the next run. */
static void on_signal(int number)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* safe in a handler, by POSIX */
    if (caught == 0) {
        first = now;
        caught = 1;
    } else if (now.tv_sec - first.tv_sec >= AGAIN_S) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void catch_interrupts(void)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* The terminal is gone; under nohup that is nobody's concern. */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

bool interrupted(void)
{
    return caught != 0;
}
