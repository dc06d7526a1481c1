/* SPDX-License-Identifier: Apache-2.0
 *
 * Reporting failures: the two check macros and the functions that fill an stk_error. */
#ifndef STK_COMMON_FAIL_H
#define STK_COMMON_FAIL_H

#include <stoker/status.h>

/* Writes the text (printf style, truncated to fit) and returns status. error may be NULL. */
stk_status stk_fail(stk_error *error, stk_status status, const char *format, ...) STK_PRINTF(3, 4);

/* As stk_fail with ": " and the text of errno_value at the end; ENOSPC and EDQUOT become STK_ERR_NO_SPACE,
 * ENOENT STK_ERR_NOT_FOUND, ENOMEM STK_ERR_MEMORY, EEXIST STK_ERR_EXISTS, all others STK_ERR_IO. */
stk_status stk_fail_errno(stk_error *error, int errno_value, const char *format, ...) STK_PRINTF(3, 4);

/* Puts context before the text that is there already: "photos.stk: " + text. */
void stk_fail_prefix(stk_error *error, const char *format, ...) STK_PRINTF(2, 3);

/* Out of memory, naming what it was for. */
stk_status stk_fail_memory(stk_error *error, const char *what);

/* Return / go to cleanup when the expression's status is not STK_OK. `status` must be a local variable
 * for STK_GOTO. */
#define STK_TRY(expr)                                   \
    do {                                                \
        stk_status stk_try_status_ = (expr);            \
        if (stk_try_status_ != STK_OK) return stk_try_status_; \
    } while (0)
#define STK_GOTO(expr)                        \
    do {                                      \
        status = (expr);                      \
        if (status != STK_OK) goto cleanup;   \
    } while (0)

#endif
