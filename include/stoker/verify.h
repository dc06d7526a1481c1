/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking a packed data set. */
#ifndef STOKER_VERIFY_H
#define STOKER_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_verify_issue {
    uint64_t record;  /* UINT64_MAX for damage outside records (header, index ...) */
    uint64_t offset;  /* of the damage's place in its file */
    const char *file; /* path of the file; that of the data set when the file is not there */
    const char *path; /* the record's source path, or "" */
    const char *reason;
} stk_verify_issue;

typedef struct stk_verify_options {
    size_t struct_size;
    bool deep;          /* false; true: decode each image too */
    uint32_t n_threads; /* 0 = stk_cpu_usable_threads() */
    void (*issue)(void *user, const stk_verify_issue *issue); /* in record order, calling thread */
    bool (*progress)(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done);
    void *user;
} stk_verify_options;
STK_API void stk_verify_options_init(stk_verify_options *options);

typedef struct stk_verify_report {
    uint64_t records, bad, bytes;
    double seconds;
    uint64_t dead; /* records that stk_repair has given up; not counted as bad */
} stk_verify_report;

/* Checks header, index, every payload's checksum, the data set id, and with deep every image. STK_OK when
 * all is well, STK_ERR_CHECKSUM when anything is not. Each finding went to the callback, also dead records, of
 * which the data set itself says that they are lost: they alone leave the status STK_OK. */
STK_API STK_NODISCARD stk_status stk_verify(const char *path, const stk_verify_options *options,
                                            stk_verify_report *report, stk_error *error);

STK_END_DECLS

#endif
