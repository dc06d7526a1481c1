/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole test framework: a test program is a list of functions; a failed check prints and counts. Exit
 * code 0 all passed, 1 something failed, 77 skipped (nothing could be tested, the reason is printed). */
#ifndef STK_TESTS_CHECK_H
#define STK_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/status.h>

static int check_failures_;

#define CHECK(cond)                                                                    \
    do {                                                                               \
        if (!(cond)) {                                                                 \
            fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #cond);   \
            check_failures_++;                                                         \
        }                                                                              \
    } while (0)

#define CHECK_EQ(a, b)                                                                                       \
    do {                                                                                                     \
        long long check_a_ = (long long)(a), check_b_ = (long long)(b);                                      \
        if (check_a_ != check_b_) {                                                                          \
            fprintf(stderr, "%s:%d: CHECK_EQ failed: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a,      \
                    check_a_, #b, check_b_);                                                                 \
            check_failures_++;                                                                               \
        }                                                                                                    \
    } while (0)

/* The call must give this status; `error` must be a local stk_error whose text is printed otherwise. */
#define CHECK_STATUS(expr, want)                                                                             \
    do {                                                                                                     \
        memset(&error, 0, sizeof error);                                                                     \
        stk_status check_s_ = (expr);                                                                        \
        if (check_s_ != (want)) {                                                                            \
            fprintf(stderr, "%s:%d: %s gave %s, wanted %s: %s\n", __FILE__, __LINE__, #expr,                 \
                    stk_status_name(check_s_), stk_status_name(want), error.text);                           \
            check_failures_++;                                                                               \
        }                                                                                                    \
    } while (0)
#define CHECK_OK(expr) CHECK_STATUS(expr, STK_OK)

#define RUN(test)                                   \
    do {                                            \
        int before_ = check_failures_;              \
        test();                                     \
        printf("%s %s\n", check_failures_ == before_ ? "ok  " : "FAIL", #test); \
        fflush(stdout);                             \
    } while (0)

static inline int check_exit(void) { return check_failures_ == 0 ? 0 : 1; }

#endif
