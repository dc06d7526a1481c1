/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_outcome.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/file.h"
#include "common/json.h"
#include "staging/stage_base.h"

enum { MAX_STATUS = 64 << 10 };

void stk_stage_outcome_write(const char *base, const char *key, const stk_stage_outcome *o)
{
    char path[STK_STAGE_PATH], temporary[STK_STAGE_PATH];
    stk_buffer text = {0};
    stk_json_writer w = stk_jw_begin(&text, NULL);
    stk_jw_object(&w);
    stk_jw_key(&w, "pid");
    stk_jw_i64(&w, getpid());
    stk_jw_key(&w, "bytes_done");
    stk_jw_u64(&w, o->bytes_done);
    stk_jw_key(&w, "bytes_total");
    stk_jw_u64(&w, o->bytes_total);
    stk_jw_key(&w, "failure");
    stk_jw_bytes(&w, o->failure, strlen(o->failure));
    stk_jw_end_object(&w);
    /* No fsync: after a power cut it may be gone. */
    if (stk_jw_end(&w) == STK_OK && stk_stage_join(path, base, key, ".status") &&
        stk_stage_join(temporary, base, key, ".status.new")) {
        int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        bool good = fd >= 0 && write(fd, text.data, text.n_bytes) == (ssize_t)text.n_bytes;
        if (fd >= 0) close(fd);
        if (!good || rename(temporary, path) != 0) unlink(temporary);
    }
    stk_buffer_free(&text);
}

void stk_stage_outcome_read(const char *base, const char *key, stk_stage_outcome *out)
{
    char path[STK_STAGE_PATH];
    stk_buffer text = {0};
    stk_json *root = NULL;
    *out = (stk_stage_outcome){0};
    if (stk_stage_join(path, base, key, ".status") && stk_file_read_all(path, MAX_STATUS, &text, NULL) == STK_OK &&
        stk_json_parse((const char *)text.data, text.n_bytes, &root, NULL) == STK_OK) {
        const char *failure = stk_json_string(stk_json_get(root, "failure"), NULL);
        (void)stk_json_u64(stk_json_get(root, "bytes_done"), &out->bytes_done);
        (void)stk_json_u64(stk_json_get(root, "bytes_total"), &out->bytes_total);
        if (failure != NULL) snprintf(out->failure, sizeof out->failure, "%s", failure);
    }
    stk_json_close(&root);
    stk_buffer_free(&text);
}

void stk_stage_outcome_remove(const char *base, const char *key)
{
    char path[STK_STAGE_PATH];
    if (stk_stage_join(path, base, key, ".status")) unlink(path);
}
