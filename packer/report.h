/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told about a pack: DST.report.jsonl (one object for each file that was left out or kept with
 * damage, then one with the sums), the counts, and the caller's callbacks, which run on the caller's own
 * thread. */
#ifndef STK_PACKER_REPORT_H
#define STK_PACKER_REPORT_H

#include <pthread.h>
#include <stdbool.h>

#include <stoker/pack.h>

#include "packer/product.h"
#include "packer/text_file.h"

typedef struct stk_report {
    const stk_pack_options *options;
    stk_text_file file;
    double started; /* seconds of the monotonic clock */

    pthread_mutex_t lock; /* guards what follows: products are taken on any thread */
    stk_pack_report counts;
    uint64_t files_total;
    uint64_t found; /* by the scan so far; 0 once it is over */
    uint64_t hints;
    const char *phase;
    stk_buffer issues; /* waiting for the caller's thread: path, action, kind, reason as strings */
    uint64_t n_issues; /* so far */
    uint64_t n_told;   /* the first ones, of which the caller has heard already */
} stk_report;

stk_status stk_report_open(const stk_pack_options *options, stk_report *out, stk_error *error);
/* This pack begins anew what one before it had begun at `started`: its first n_told issues are not told twice. */
void stk_report_goes_on(stk_report *report, double started, uint64_t n_told);
stk_status stk_report_open_file(stk_report *report, const char *path, stk_error *error);
void stk_report_close(stk_report *report);

/* Counts a product and notes its issue. Products come in the list's order. */
stk_status stk_report_add(stk_report *report, const char *path, const stk_product *product, stk_error *error);

/* Tells of something that is no source file, as "ignored" or "kept"; nothing is counted. action, kind: static text. */
stk_status stk_report_note(stk_report *report, const char *path, const char *action, const char *kind, const char *reason,
                           stk_error *error);

/* On the caller's thread: hands waiting issues to the callback and shows progress; false when that cancels.
 */
bool stk_report_tick(stk_report *report, bool always);
/* While scanning: files found so far are shown as done. 0: the scan is over. */
void stk_report_found(stk_report *report, uint64_t n_files);
void stk_report_phase(stk_report *report, const char *phase);

/* Since stk_report_open. */
double stk_report_seconds(const stk_report *report);

/* Writes the sums and ends the file. */
stk_status stk_report_finish(stk_report *report, stk_error *error);

#endif
