/* SPDX-License-Identifier: Apache-2.0
 *
 * A text file written front to back in large pieces, with a running checksum. */
#ifndef STK_PACKER_TEXT_FILE_H
#define STK_PACKER_TEXT_FILE_H

#include <stoker/dataset.h>

#include "common/file.h"
#include "common/hash.h"

typedef struct stk_text_file {
    char *path; /* owned */
    stk_file file;
    stk_buffer pending; /* append text here, then call stk_text_file_flow */
    uint64_t written;
    double written_at; /* seconds */
    stk_hasher *hasher;
} stk_text_file;

/* Creates the file; one that is there is replaced. */
stk_status stk_text_file_open(const char *path, stk_text_file *out, stk_error *error);
/* Writes what is pending once it is much, or half a second old: little is lost when the process is killed. */
stk_status stk_text_file_flow(stk_text_file *text, stk_error *error);
/* Writes all that is pending. */
stk_status stk_text_file_write(stk_text_file *text, stk_error *error);
/* Writes all and returns the checksum of everything so far. */
stk_status stk_text_file_checksum(stk_text_file *text, uint64_t *xxh3, stk_error *error);
/* Writes all, fsyncs, closes. */
stk_status stk_text_file_finish(stk_text_file *text, stk_error *error);
/* Frees; an unfinished file stays for the caller to remove with its folder. */
void stk_text_file_close(stk_text_file *text);

#endif
