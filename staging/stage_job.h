/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of stk_stage: what it knows, and the making of a copy under its lock. */
#ifndef STK_STAGING_STAGE_JOB_H
#define STK_STAGING_STAGE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/stage.h>

#include "staging/stage_place.h"
#include "staging/stage_record.h"

typedef struct stk_stage_job {
    const stk_stage_options *o;
    const stk_stage_seams *seams;
    stk_stage_report *report;
    stk_stage_source source;
    stk_place places[STK_PLACES];
    char bases[STK_PLACES][STK_STAGE_PATH]; /* "" = there is none (yet) */
    int n_places;
    int place;                  /* the one in use; -1 = none yet */
    char copy[STK_STAGE_PATH];  /* BASE/KEY in it */
    char part[STK_STAGE_PATH];
    stk_stage_map map;
    bool subset;
    bool suspect; /* a published copy was found with wrong bytes in it */
    uint32_t n_threads;
    uint64_t started_ns, told_ns; /* told: the status file */
} stk_stage_job;

/* Calls the caller's progress function, and writes the status file once a second. User of passes: the job. */
bool stk_stage_job_progress(void *job, const stk_stage_progress *progress);

/* A pass of the job's own over job->map in folder. */
stk_status stk_stage_job_pass(stk_stage_job *job, int kind, const char *phase, const char *folder,
                              const stk_file *journal, uint64_t *n_bytes, stk_error *error);

/* Makes or goes on with the copy in job->place, whose lock the caller holds, and publishes it. */
stk_status stk_stage_make(stk_stage_job *job, stk_error *error);

/* Bytes that a .part takes already. */
uint64_t stk_stage_part_bytes(const char *base, const char *key);

/* What a copy of n_bytes takes beside its data, rounded up well: record, journal, folders. */
uint64_t stk_stage_beside(uint64_t n_bytes);

/* stk_stage with seams. */
stk_status stk_stage_run(const char *path, const stk_stage_options *options, const stk_stage_seams *seams,
                         stk_stage_report *report, stk_error *error);

/* Removes copies in base of the same path as the source's with another key, when nobody uses them, and what earlier
 * calls meant to remove. */
void stk_stage_clean(const char *base, const stk_stage_source *source);

#endif
