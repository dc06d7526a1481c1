/* SPDX-License-Identifier: Apache-2.0
 *
 * A pack as something that can be killed and found again. A job is identified by its sources and its
 * parameters; all it writes before the output appears lies in the folder DST.tmp.<job id> beside DST:
 *
 *     data             the shard, or a folder of shards
 *     sources, report  what become DST.sources and DST.report.jsonl
 *
 * DST.tmp.lock is held by flock while somebody packs to DST, whatever the job. The kernel lets go of it when
 * its owner dies, so a folder found under the lock belongs to a dead job. */
#ifndef STK_PACKER_PACK_JOB_H
#define STK_PACKER_PACK_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/pack.h>

#include "packer/sources.h"

typedef struct stk_job {
    char *dst;                     /* without a final slash */
    bool folder;                   /* DST is a folder of shards */
    char *lock;                    /* path */
    int lock_fd;                   /* -1: the file system has no locks */
    char *temp;                    /* DST.tmp.<id>; NULL until the job is known */
    char *data, *sources, *report; /* paths in it */
    char *next_sources;            /* where sources is written anew while a killed run's is read */
    bool published;                /* data has taken the place of a folder, which now lies where data was */
    bool keep;                     /* close leaves the folder for a later run to go on with */
} stk_job;

/* Takes DST's lock: STK_ERR_BUSY when another pack lives. STK_ERR_EXISTS when DST is there and force is not
 * set, or is something that must not be replaced. */
stk_status stk_job_lock(const char *dst, bool force, stk_job *out, stk_error *error);

/* The same for a change of what is at DST; whether that is a folder is looked up, not read off the name.
 * STK_ERR_NOT_FOUND when there is nothing. Without `writes` no lock is taken: DST is only looked at, perhaps on a
 * read-only disk. */
stk_status stk_job_lock_present(const char *dst, bool writes, stk_job *out, stk_error *error);

/* Makes the job's folder, and removes those of dead jobs. With resume, what a killed run of this very job has
 * left stays: *found. */
stk_status stk_job_begin(stk_job *job, uint64_t id, bool resume, bool *found, stk_error *error);

/* Puts data, sources and report in place (commit.c). */
stk_status stk_job_commit(stk_job *job, bool force, stk_error *error);

/* Removes what is left in the job's folder, lets go of the lock. */
void stk_job_close(stk_job *job);

/* The identity: parameters, list of files with labels, columns. */
stk_status stk_job_id(const stk_sources *sources, const stk_pack_options *options, bool folder, uint64_t *id,
                      stk_error *error);

#endif
