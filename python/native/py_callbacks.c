/* SPDX-License-Identifier: Apache-2.0
 *
 * C calls Python. Once the interpreter has begun to end this must not happen any more: a thread that asks for the GIL then
 * is ended by CPython in the midst of our C code, whose other threads go on using its stack, or finds no interpreter and
 * crashes. Work that a daemon thread has not finished by then goes on without a word until the process is gone. */
#include <stdatomic.h>
#include <unistd.h>

#include "py_shim.h"

/* One interpreter, one process. */
static atomic_bool ending;
static atomic_int inside; /* Python, below C */

/* As cffi makes them, of the functions in _pack.py, _verify.py and _stage.py. */
bool stk_py_call_pack_progress(void *user, const stk_pack_progress *progress);
void stk_py_call_pack_issue(void *user, const stk_pack_issue *issue);
bool stk_py_call_verify_progress(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done);
void stk_py_call_verify_issue(void *user, const stk_verify_issue *issue);
bool stk_py_call_stage_progress(void *user, const stk_stage_progress *progress);

static bool enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (!atomic_load(&ending)) {
        return true;
    }
    atomic_fetch_sub(&inside, 1);
    return false;
}

static bool leave(bool go_on)
{
    atomic_fetch_sub(&inside, 1);
    return go_on;
}

bool stk_py_pack_progress(void *user, const stk_pack_progress *progress)
{
    return !enter() || leave(stk_py_call_pack_progress(user, progress));
}

bool stk_py_verify_progress(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done)
{
    return !enter() || leave(stk_py_call_verify_progress(user, records_done, records_total, bytes_done));
}

bool stk_py_stage_progress(void *user, const stk_stage_progress *progress)
{
    return !enter() || leave(stk_py_call_stage_progress(user, progress));
}

void stk_py_pack_issue(void *user, const stk_pack_issue *issue)
{
    if (enter()) {
        stk_py_call_pack_issue(user, issue);
        (void)leave(true);
    }
}

void stk_py_verify_issue(void *user, const stk_verify_issue *issue)
{
    if (enter()) {
        stk_py_call_verify_issue(user, issue);
        (void)leave(true);
    }
}

void stk_py_end_callbacks(unsigned timeout_ms)
{
    atomic_store(&ending, true);
    for (unsigned ms = 0; ms < timeout_ms && atomic_load(&inside) > 0; ms++) {
        usleep(1000);
    }
}

void stk_py_callbacks_forked(void)
{
    atomic_store(&inside, 0);
}
