/* SPDX-License-Identifier: Apache-2.0 */
/* strerror_r's XSI form is wanted here; with _GNU_SOURCE glibc declares another function of that name, which
 * returns the text instead of filling the buffer. */
#undef _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "common/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *stk_status_name(stk_status status)
{
    switch (status) {
    case STK_OK: return "ok";
    case STK_END: return "end";
    case STK_AGAIN: return "again";
    case STK_ERR_ARGUMENT: return "argument";
    case STK_ERR_UNSUPPORTED: return "unsupported";
    case STK_ERR_STATE: return "state";
    case STK_ERR_IO: return "io";
    case STK_ERR_NOT_FOUND: return "not-found";
    case STK_ERR_EXISTS: return "exists";
    case STK_ERR_NO_SPACE: return "no-space";
    case STK_ERR_BUSY: return "busy";
    case STK_ERR_CORRUPT: return "corrupt";
    case STK_ERR_CHECKSUM: return "checksum";
    case STK_ERR_IMAGE: return "image";
    case STK_ERR_DAMAGED: return "damaged";
    case STK_ERR_VERSION: return "version";
    case STK_ERR_LIMIT: return "limit";
    case STK_ERR_MEMORY: return "memory";
    case STK_ERR_CANCELLED: return "cancelled";
    case STK_ERR_THREAD: return "thread";
    case STK_ERR_DEVICE: return "device";
    case STK_ERR_INTERNAL: return "internal";
    }
    return "unknown";
}

static void set_text(stk_error *error, stk_status status, const char *format, va_list args)
{
    error->status = status;
    int n = vsnprintf(error->text, sizeof error->text, format, args);
    if (n < 0) error->text[0] = '\0';
}

stk_status stk_fail(stk_error *error, stk_status status, const char *format, ...)
{
    if (error == NULL) return status;
    va_list args;
    va_start(args, format);
    set_text(error, status, format, args);
    va_end(args);
    return status;
}

static stk_status status_of_errno(int value)
{
    switch (value) {
    case ENOSPC:
    case EDQUOT: return STK_ERR_NO_SPACE;
    case ENOENT:
    case ENOTDIR: return STK_ERR_NOT_FOUND;
    case ENOMEM: return STK_ERR_MEMORY;
    case EEXIST: return STK_ERR_EXISTS;
    default: return STK_ERR_IO;
    }
}

stk_status stk_fail_errno(stk_error *error, int errno_value, const char *format, ...)
{
    stk_status status = status_of_errno(errno_value);
    if (error == NULL) return status;
    va_list args;
    va_start(args, format);
    set_text(error, status, format, args);
    va_end(args);
    /* strerror_r's XSI form: thread-safe, unlike strerror. */
    char why[128];
    if (strerror_r(errno_value, why, sizeof why) != 0) snprintf(why, sizeof why, "error %d", errno_value);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, ": %s", why);
    return status;
}

void stk_fail_prefix(stk_error *error, const char *format, ...)
{
    if (error == NULL) return;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (n < 0) n = 0;
    size_t used = (size_t)n < sizeof error->text ? (size_t)n : sizeof error->text - 1;
    size_t room = sizeof error->text - used - 1;
    size_t keep = strnlen(old, sizeof old);
    if (keep > room) keep = room;
    memcpy(error->text + used, old, keep);
    error->text[used + keep] = '\0';
}

stk_status stk_fail_memory(stk_error *error, const char *what)
{
    return stk_fail(error, STK_ERR_MEMORY, "out of memory for %s", what);
}
