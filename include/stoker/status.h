/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes and error texts. Every fallible function of stoker returns an stk_status and takes an
 * optional, caller-owned stk_error for the text. There is no thread-local or global "last error", so
 * texts survive worker threads. */
#ifndef STOKER_STATUS_H
#define STOKER_STATUS_H

#include <stddef.h>

#include <stoker/export.h>

STK_BEGIN_DECLS

/* Values are part of the ABI: grouped by theme with gaps, never reused. */
typedef enum stk_status {
    STK_OK = 0,
    STK_END = 1,   /* nothing more: the epoch is over. Not an error. */
    STK_AGAIN = 2, /* not ready within the time allowed; call again. Not an error. */

    STK_ERR_ARGUMENT = 10,    /* the caller passed something that cannot be: named in the text */
    STK_ERR_UNSUPPORTED = 11, /* valid, but this build or version cannot do it */
    STK_ERR_STATE = 12,       /* the call does not fit the handle's state (used after fork, say) */

    STK_ERR_IO = 20,        /* the operating system reported an error on a file */
    STK_ERR_NOT_FOUND = 21, /* a file, column or record that does not exist */
    STK_ERR_EXISTS = 22,    /* the output exists already */
    STK_ERR_NO_SPACE = 23,  /* disk or quota full */
    STK_ERR_BUSY = 24,      /* another living process holds it */

    STK_ERR_CORRUPT = 30,  /* a container's structure is broken (bad magic, bounds, index checksum) */
    STK_ERR_CHECKSUM = 31, /* a record's payload does not match its checksum */
    STK_ERR_IMAGE = 32,    /* bytes that no decoder accepts as an image */
    STK_ERR_DAMAGED = 33,  /* pixels came out, but the decoder complained */
    STK_ERR_VERSION = 34,  /* written by a newer stoker; the text names the feature */
    STK_ERR_LIMIT = 35,    /* a limit on untrusted input was exceeded; the text names the option */

    STK_ERR_MEMORY = 40,    /* out of memory */
    STK_ERR_CANCELLED = 41, /* a callback asked to stop */
    STK_ERR_THREAD = 42,    /* a thread could not be started */

    STK_ERR_DEVICE = 60, /* the GPU or its driver reported an error */

    STK_ERR_INTERNAL = 90 /* stoker broke one of its own rules: please report it */
} stk_status;

/* Room for one error text. Caller-owned; NULL may be passed wherever a pointer to it is taken.
 * Contents are meaningful only after a call returned a status >= 10. */
typedef struct stk_error {
    stk_status status;
    char text[1020]; /* one sentence or two, UTF-8, zero-terminated, no newline at the end */
} stk_error;

/* The status's name without prefix, e.g. "checksum". Never NULL. Thread-safe. */
STK_API const char *stk_status_name(stk_status status);

STK_END_DECLS

#endif
